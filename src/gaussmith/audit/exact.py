"""Exact attempts: nothing is sampled, so a finding here is a fact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.audit.verdict import EXACT, Attempt
from gaussmith.domains.groups import FoundGroups
from gaussmith.errors import GaussmithError
from gaussmith.numerics.exact import Array, Words
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import threshold_of
from gaussmith.planning.plan import Plan
from gaussmith.planning.pure_intervals import COARSE
from gaussmith.planning.query import Query
from gaussmith.planning.staging import NOTHING
from gaussmith.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from gaussmith.audit.scenes import Pair, Scene, SeenRelease

DIGITS = 50
MAX_VERIFIED = 64
"""Coordinates of a noise whose certificate is checked anew."""

KEYS_ROOM = 1e-9
"""The second look at a key leaves out 16 bits of 52; the tail is computed without this."""

SLACK = 1e-6
"""Released features are doubles: differences of them are compared with this relative room, integers with none."""


def passed(name: str, finding: str, **numbers: Any) -> Attempt:
    return Attempt(name, EXACT, False, finding, **numbers)


def refuted(name: str, finding: str, **numbers: Any) -> Attempt:
    return Attempt(name, EXACT, True, finding, **numbers)


def gaussian_delta(epsilon: Any, mu: Any) -> Any:
    """δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), to 50 digits, from mpmath alone.

    >>> float(gaussian_delta(1, 1))
    0.1269367375066439...
    """
    import mpmath

    with mpmath.workdps(DIGITS + 20):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def check_guarantee(plan: Plan) -> Attempt:
    """What is stated follows from the noises: every μ is small enough, and their squares add up to no more than μ²."""
    name, whole = "guarantee at 50 digits", plan.guarantee
    if whole.is_pure:
        return _check_pure_guarantee(plan)
    if not mu_is_safe(whole):
        return refuted(name, f"μ={whole.mu!r} is too large for what is stated", limit=whole.mu)
    spent = sum((Fraction(noise.guarantee.mu) ** 2 for noise in plan.whole.noises), Fraction(0))
    limit = Fraction(plan.spends.mu) ** 2
    if plan.staging is None and spent > limit:
        found = math.sqrt(spent)
        return refuted(name, "the noises together spend more than the guarantee", limit=plan.spends.mu, found=found)
    return passed(name, "what is stated follows from μ, and all μ² add up to no more", limit=float(limit))


def _check_pure_guarantee(plan: Plan) -> Attempt:
    """Where δ = 0 is stated every noise is of a pure law, and what all groups of a person take of ε adds up to ε."""
    name = "guarantee, in fractions"
    drawn: dict[int, Fraction] = {}
    for i, query in enumerate(plan.queries):
        law = query.block.noise_law
        if law is None or query.noise is None:
            return refuted(name, f"δ = 0 is stated, and query {i + 1} has Gaussian noise")
        groups = 1 if query.groups is None else query.groups.at_most
        drawn[query.noise] = max(drawn.get(query.noise, Fraction(0)), groups * law.epsilon)
    spent = sum(drawn.values(), Fraction(0))
    limit = plan.guarantee.epsilon
    assert limit is not None
    if spent > Fraction(limit):
        return refuted(name, "the noises together spend more than ε", limit=limit, found=float(spent))
    return passed(name, "every noise is of a pure law, and all ε add up to no more", limit=limit, found=float(spent))


def mu_is_safe(guarantee: Guarantee) -> bool:
    """Whether μ satisfies the stated (ε, δ) or ρ, to 50 digits."""
    import mpmath

    if guarantee.epsilon is not None and guarantee.delta is not None:
        with mpmath.workdps(DIGITS + 20):
            return bool(gaussian_delta(guarantee.epsilon, guarantee.mu) <= mpmath.mpf(guarantee.delta))
    if guarantee.stated_rho is not None:
        return Fraction(guarantee.mu) ** 2 / 2 <= Fraction(guarantee.stated_rho)
    return guarantee.mu == guarantee.stated_mu


def check_certificate(plan: Plan) -> Attempt:
    """The certified largest difference, and the certificate where the noise is small."""
    name = "certificate"
    try:
        plan.certify()
        if plan.guarantee.is_pure:
            return passed(name, "every largest difference is within the guarantee, in exact integers")
        small = all(each.block.shape.lift.shape[0] <= MAX_VERIFIED for each in plan.untied)
        if plan.is_narrowed or plan.staging is not None or plan.finds_keys or not small or plan.ties:
            return passed(name, "every largest difference is within the guarantee, rounded up")
        from gaussmith.planning.certificate import verify

        problems = verify(plan, plan.certificate).problems
    except GaussmithError as error:
        return refuted(name, str(error))
    if problems:
        return refuted(name, " · ".join(problems))
    return passed(name, "every largest difference is within the guarantee, and the certificate holds")


def check_worst(pair: Pair) -> Attempt:
    """The worst pair that the search found, through the whole path, in exact integers."""
    name = "worst neighbours, in integers"
    if pair.problem:
        return refuted(name, pair.problem)
    said = f"the worst of {pair.tried} tables with one more or another person uses {pair.ratio:.6f} of what is charged"
    return Attempt(name, EXACT, pair.square > 1, said, limit=1.0, found=pair.ratio)


def check_replay(scene: Scene, pair: Pair) -> list[Attempt]:
    """Record a release on one table and replay its noise on the same and on the neighbour: what differs, leaks."""
    first = scene.watch(pair.one)
    again = scene.watch(pair.one, given=first.drawn)
    other = scene.watch(pair.other, given=first.drawn)
    fresh = scene.watch(pair.one)
    found = [_check_noise(scene, first, again, fresh)]
    if scene.is_staged or scene.plan.finds_keys:
        return found
    found.append(_check_record(first, other))
    silent = scene.watch(pair.one, zero=True), scene.watch(pair.other, zero=True)
    found.append(_check_difference(scene.plan, (first, other), silent))
    found.append(_check_rare(scene, pair, [len(each) for each in first.drawn]))
    return found


def _repeats(numbers: list[int]) -> bool:
    return len(set(numbers)) < len(numbers)


def _check_noise(scene: Scene, first: SeenRelease, again: SeenRelease, fresh: SeenRelease) -> Attempt:
    name = "record and replay: noise"
    drawn, added = _numbers(first.drawn), _numbers(first.added)
    alone, moved = _never_twice(scene.plan, first)
    later, _ = _never_twice(scene.plan, fresh)
    public = all(query.is_public for query in scene.plan.queries)
    in_order = not (scene.is_staged or scene.plan.finds_keys)
    faults = {
        "no noise was drawn": not public and not drawn,
        "noise is used twice": _repeats(alone + later),
        "two integers get the same noise": in_order and _repeats(moved),
        "noise of δ > 0 under a pure ε": scene.plan.guarantee.is_pure and None in first.laws,
        "what is added to the sums is not the noise that was drawn": in_order and sorted(added) != sorted(drawn),
        "the same data and the same noise give another release: something else is random": (
            again.record != first.record or not _same(again.features, first.features)
        ),
    }
    if found := next((fault for fault, there in faults.items() if there), None):
        return refuted(name, found)
    return passed(
        name, f"{len(drawn)} integers of noise, each used once, new in every release, and nothing else random"
    )


MOST_FINE = 1 << 12
"""So many numbers of pure noise on a fine lattice are compared with each other: two of them are alike once in 2^39."""


def _never_twice(plan: Plan, seen: SeenRelease) -> tuple[list[int], list[int]]:
    """The noise that was drawn and that was added, where no number comes twice: whole numbers of people do."""
    if not plan.guarantee.is_pure or None in seen.laws:
        return _numbers(seen.drawn), _numbers(seen.added)
    drawn, added, at = [], [], 0
    for noise, numbers, law in zip(plan.pure_noises, seen.drawn, seen.laws, strict=True):
        if law is not None and law.sensitivity > COARSE and len(numbers) <= MOST_FINE:
            drawn += _numbers([numbers])
            added += _numbers(seen.added[at : at + len(noise.members)])
        at += len(noise.members)
    return drawn, added


def _numbers(parts: Sequence[Sequence[int] | Words]) -> list[int]:
    return [int(z) for each in parts for z in each]


def _check_record(first: SeenRelease, other: SeenRelease) -> Attempt:
    name = "record and replay: bytes"
    if first.strayed or other.strayed:
        return refuted(name, "neighbours query different amounts of noise")
    if first.record != other.record:
        at = next((i for i, (a, b) in enumerate(zip(first.record, other.record, strict=False)) if a != b), 0)
        said = first.record[max(0, at - 30) : at + 40]
        return refuted(name, f"the record differs between neighbours in more than released values, near {said!r}")
    return passed(name, "records of neighbours are equal byte by byte, but for released values")


def _check_difference(
    plan: Plan, noisy: tuple[SeenRelease, SeenRelease], silent: tuple[SeenRelease, SeenRelease]
) -> Attempt:
    """Released features of neighbours under the same noise: they differ by what the guarantee allows, in directions
    that have noise, and as they do without noise."""
    name, total = "record and replay: released values", 0.0
    for i, query in enumerate(plan.queries):
        for group in range(query.size):
            shift = silent[1].features[i][group] - silent[0].features[i][group]
            moved = noisy[1].features[i][group] - noisy[0].features[i][group]
            covariance = feature_covariance(query, group)
            sizes = np.sqrt(np.diag(covariance))
            room = SLACK * np.maximum(sizes, np.abs(noisy[0].features[i][group]) * 1e-6)
            if not np.allclose(shift, moved, rtol=SLACK, atol=float(room.max(initial=0.0)) + 1e-300):
                return refuted(name, "noise is not simply added: neighbours differ in another way with it than without")
            square = mahalanobis(shift, covariance)
            if not math.isfinite(square):
                return refuted(name, "neighbours differ in a released number that has no noise")
            if query.tie is None and query.block.lender is None:
                total += square
    if plan.ties or plan.guarantee.is_pure:
        return passed(name, "neighbours differ with noise as they do without, and only in numbers that have noise")
    ratio = math.sqrt(total) / plan.spends.mu
    said = f"under the same noise, released values of neighbours use {ratio:.6f} of what is charged"
    return Attempt(name, EXACT, ratio > 1 + SLACK, said, limit=1.0, found=ratio)


def _check_rare(scene: Scene, pair: Pair, sizes: list[int]) -> Attempt:
    """Noise of a kind that chance hardly brings: what it changes must be in proportion to it, whatever the table is.

    Noise between 1 and 2 σ is replayed, then its opposite, 4 and 16 times as much, and 2^-26 of it, which has its low
    bits alone; on both neighbours, and on an empty table where the domain can have one.
    """
    name = "record and replay: rare noise"

    def changed(rows: Any, sixteenths: int) -> list[Array] | None:
        given = _made_noise(sizes, sixteenths)
        silent, noisy = scene.watch(rows, zero=True), scene.watch(rows, given=given)
        scale.extend(float(np.abs(each).max(initial=0.0)) for each in silent.features)
        if noisy.strayed or [len(each) for each in noisy.drawn] != sizes:
            return None
        return [a - b for a, b in zip(noisy.features, silent.features, strict=True)]

    scale: list[float] = []
    usual = changed(pair.one, UNIT)
    tables = [pair.one, pair.other]
    with suppress(GaussmithError):  # columns of an empty table may have no type that their domain reads
        scene.watch((), zero=True)
        tables.append(())
    for rows in tables:
        for part, said in RARE.items():
            scale.clear()
            moved = changed(rows, part)
            if usual is None or moved is None:
                return refuted(name, "tables query different amounts of noise")
            for one, each, size in zip(usual, moved, scale, strict=True):
                expected = one * (part / UNIT)
                room = (1e-2 if part == 1 else SLACK) * np.abs(expected).max(initial=0.0) + size * 2.0**-44
                if not (np.abs(each - expected) <= room).all():
                    return refuted(
                        name, f"{said} does not reach the released numbers of some table as other noise does"
                    )
    said = f"noise of either sign, in far tails or in low bits alone is added as any other is, on {len(tables)} tables"
    return passed(name, said)


UNIT = 1 << 26
RARE = {
    UNIT: "usual noise",
    -UNIT: "noise of the other sign",
    4 * UNIT: "noise beyond 4 σ",
    16 * UNIT: "noise beyond 16 σ",
    1: "noise in low bits alone",
}


def _made_noise(sizes: list[int], times: int) -> list[Words]:
    """So many times odd integers between 2^26 and 2^27, all different, of both signs."""
    count = sum(sizes)
    step = (UNIT - 2) // max(1, count) & ~1 | 1
    odd = [UNIT + 1 + 2 * (i * step % (UNIT // 2)) for i in range(count)]
    signed = np.array([times * (-z if i % 3 == 1 else z) for i, z in enumerate(odd)], np.int64)
    return np.split(signed, np.cumsum(sizes)[:-1])


def feature_covariance(query: Query, group: int = 0) -> Array:
    """The claimed covariance of the noise in the features of one group."""
    noise = query.block_of(group).noise
    F = noise.rows.dense()
    return np.asarray(F @ F.T * noise.unit)


def mahalanobis(shift: Array, covariance: Array) -> float:
    """sᵀ Σ⁺ s, infinite where s leaves the range of Σ."""
    sizes = np.sqrt(np.diag(covariance))
    if (shift[sizes == 0] != 0).any():
        return math.inf
    s, kept = shift[sizes > 0] / sizes[sizes > 0], sizes > 0
    if not s.any():
        return 0.0
    values, vectors = np.linalg.eigh(covariance[np.ix_(kept, kept)] / np.outer(sizes[kept], sizes[kept]))
    inside = values > values.max() * 1e-9
    along = vectors.T @ s
    if np.abs(along[~inside]).max(initial=0.0) > 1e-6 * np.abs(s).max():
        return math.inf
    return float((along[inside] ** 2 / values[inside]).sum())


def check_keys(plan: Plan) -> list[Attempt]:
    """Found keys: the probability that a key of one person alone is shown, by the tail of its noise to 50 digits."""
    import mpmath

    found = []
    for query in plan.queries:
        threshold = threshold_of(query)
        if threshold is None:
            continue
        assert isinstance(query.groups, FoundGroups)
        k, most = threshold.at_least, 0.0
        with mpmath.workdps(DIGITS):
            for groups in range(1, threshold.at_most + 1):
                spare = threshold.spares[groups - 1] if threshold.has_spare else 0
                others = (k - 1) * threshold.spares[0] if threshold.has_spare else 0
                shown = _shown_at(threshold, k, spare + others)
                most = max(most, float(1 - (1 - shown) ** groups))
        said = f"one person's keys are shown with probability {most:.6g} at most; {float(threshold.kappa):.6g} is spent"
        wrong = most > float(threshold.kappa) * (1 + KEYS_ROOM)
        found.append(Attempt("found keys", EXACT, wrong, said, limit=float(threshold.kappa), found=most))
    return found


def _shown_at(threshold: Any, people: int, spare: int) -> Any:
    """At most the probability that a group of so many people is shown: where the noisy numbers pass, by bisection on
    what the mechanism itself calls, and the normal tail beyond that."""
    import mpmath

    def passes(noise: int, other: int) -> bool:
        one = np.array([people], np.int64)
        more = np.array([spare], np.int64)
        return bool(threshold.shows(one, np.array([noise], np.int64), more, np.array([other], np.int64))[0])

    def least(passing: Any) -> int:
        low, high = -(1 << 57), 1 << 57
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if passing(middle) else (middle, high)
        return high

    def tail(noise: int, length: float = 1.0) -> Any:
        return mpmath.ncdf(-(mpmath.mpf(noise) - mpmath.mpf(1) / 2) / (length * 2**NOISE_BITS))

    if not threshold.has_spare:
        return tail(least(lambda z: passes(z, 0)))
    from gaussmith.planning.discovered_groups import LOOK

    a, b = LOOK
    plain = least(lambda z: passes(z, -(1 << 57)))
    # Along the direction (a, b) the second look needs the least; its projection is standard normal too.
    length = math.hypot(a, b)
    second = least(lambda z: passes(int(z * (a / length)), int(z * (b / length)))) if a and b else plain
    return tail(plain) + tail(second)


def check_stages(plan: Plan, scene: Scene, runs: int = 3) -> Attempt:
    """An adaptive path spends no more than was charged: Σ μ² over its stages, in fractions."""
    name = "stages"
    limit, most = plan.guarantee.mu_squared, Fraction(0)
    for _ in range(runs):
        made = scene.make(scene.others)
        spent = Fraction(0) if made.path is None else made.path.taken
        if made.path is None or made.path.last.stage != NOTHING:
            spent += made.plan.spent
        most = max(most, spent)
    ratio = math.sqrt(most / limit)
    said = f"on {runs} paths the stages together spend at most {ratio:.6f} of μ"
    return Attempt(name, EXACT, most > limit, said, limit=1.0, found=ratio)


def _same(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
