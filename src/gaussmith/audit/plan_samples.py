"""Samples of the noises of a plan: white-box tests of each, then guesses at the worst neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith import mechanism
from gaussmith.audit import exact
from gaussmith.audit.attacks import FoundLoss, Guesser, low_bits
from gaussmith.audit.bounds import EarlyLook, at_least, factor_detected
from gaussmith.audit.noise_tests import (
    NUMBERS,
    Noise,
    Sampler,
    check_noise,
    evenly,
    judge_integers,
    release_often,
    seen_integers,
    tied_noise,
    width_of,
)
from gaussmith.audit.scenes import Pair, Scene, watch
from gaussmith.audit.verdict import SAMPLED, UNTRIED, Attempt, Effort, shares
from gaussmith.domains.features import Places
from gaussmith.domains.groups import FoundGroups
from gaussmith.errors import GaussmithError
from gaussmith.numerics.exact import Array
from gaussmith.planning.discovered_groups import Threshold, threshold_of
from gaussmith.planning.noise_covariances import Combination, NoiseCovariances, Term
from gaussmith.planning.plan import Plan
from gaussmith.requests.made_up_rows import made_up_table

# Samples of noise where keys are found: whole releases of made-up tables with very many keys.
#
# One table has keys with so many people that each is shown: its noise is tested like any other. Another has keys with
# as many people as the threshold asks for: how often they are shown must be what the plan says.

ROWS = 100_000
"""Rows of a table with many keys, about."""

MAX_KEYS = 2_000
FOUND_RELEASES = 300
"""Releases of a table with many keys, at most: each gives a sample of the noise for every key."""

SURELY = 14
"""By how many standard deviations a key's people exceed the threshold where each key must be shown."""

COUNTED = 20_000
"""Keys near the threshold that are counted."""


def sample_found(plan: Plan, error: float, effort: Effort) -> list[Attempt]:
    """The noise of every question whose keys are found, and how often keys near the threshold are shown."""
    deciding = [
        (i, threshold) for i, query in enumerate(plan.queries) if (threshold := threshold_of(query)) is not None
    ]
    attempts: list[Attempt] = []
    for at, ((i, threshold), share) in enumerate(zip(deciding, shares(error, [1.0] * len(deciding)), strict=True)):
        step = effort.within(at / len(deciding), (at + 1) / len(deciding))
        attempts += _sample_question(plan, i, threshold, share, step)
    return attempts


def _sample_question(plan: Plan, i: int, threshold: Threshold, error: float, effort: Effort) -> list[Attempt]:
    name = f"found keys of query {i + 1}" if len(plan.queries) > 1 else "found keys"
    maker = _maker(plan, i, threshold)
    if maker is None:
        said = "no table of many keys could be made up: their noise is not sampled; exact attempts cover it"
        return [Attempt(f"{name}, samples", UNTRIED, False, said)]
    alike = [j for j, query in enumerate(plan.queries) if _which(query) == _which(plan.queries[i])]
    *noise_shares, shown_share, whole = shares(error, [2.0] * len(alike) + [1.0, 1.0])
    times = max(2, min(FOUND_RELEASES, math.ceil(effort.samples / maker.keys)))
    prepared = maker.prepare(maker.people)
    silent = watch(lambda: mechanism.release(prepared), zero=True).features
    attempts = []
    for at, (j, share) in enumerate(zip(alike, noise_shares, strict=True)):
        kept = evenly(silent[j].shape[1], MAX_FEATURES)
        covariance = exact.feature_covariance(plan.queries[j])[np.ix_(kept, kept)]
        errors = _errors(prepared, j, times, silent[j], kept)
        step = effort.within(0.8 * at / len(alike), 0.8 * (at + 1) / len(alike))
        of = f"noise of found keys, query {j + 1}" if len(plan.queries) > 1 else "noise of found keys"
        with seen_integers() as (sums, people):
            attempts.append(check_noise(f"{of}, whitened", errors, covariance, share, times * maker.keys, step.report))
        attempts += [
            judge_integers(f"integers of {of[9:]} ({which})", seen, whole / len(alike) / 2)
            for which, seen in (("people", people), ("sums", sums))
            if seen.count
        ]
    if not threshold.has_spare and maker.top is None:
        attempts.append(_count_shown(maker, threshold, shown_share, name))
    effort.report(1.0)
    return attempts


def _errors(prepared: mechanism.Prepared, j: int, times: int, silent: Array, kept: Places) -> Iterator[Array]:
    for _ in range(times):
        noisy = np.asarray(mechanism.release(prepared).noisy[j], float)
        if noisy.shape != silent.shape:  # a key that must be shown was not
            yield np.full((1, len(kept)), np.inf)
            return
        yield (noisy - silent)[:, kept]


def _count_shown(maker: _Maker, threshold: Threshold, error: float, name: str) -> Attempt:
    """Keys with as many people as are shown half of the time, against the exact binomial."""
    from scipy.special import bdtr, bdtrc

    people = max(threshold.at_least, round(threshold.at_half))
    chance = threshold.chance(people)
    prepared, shown, trials = maker.prepare(people), 0, 0
    while trials < COUNTED:
        found = mechanism.release(prepared).noisy[maker.query]
        shown, trials = shown + len(found), trials + maker.keys
    p = min(1.0, 2 * min(float(bdtr(shown, trials, chance)), float(bdtrc(shown - 1, trials, chance)) if shown else 1.0))
    said = (
        f"of {trials:,} keys near the threshold {100 * shown / trials:.2f} % were shown, {100 * chance:.2f} % expected"
    )
    said += f" (p={p:.2g})"
    return Attempt(f"{name}, how often shown", SAMPLED, p < error, said, error, p, error, trials)


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes tables of many keys, each with equally many people of one row."""

    plan: Plan
    query: int
    row: Mapping[str, Any]
    schema: Mapping[str, Any]
    key: str
    unit: str | None
    keys: int
    people: int
    """So many that every key is shown."""
    top: int | None

    def prepare(self, people: int, keys: int | None = None) -> mechanism.Prepared:
        import polars as pl

        keys = self.keys if keys is None else keys
        n = keys * people
        rows = self.schema.items()
        columns: dict[str, Any] = {name: pl.repeat(self.row[name], n, dtype=kind, eager=True) for name, kind in rows}
        labels = pl.Series([f"key {k:06d}" for k in range(keys)] if self.schema[self.key] == pl.String else range(keys))
        columns[self.key] = labels.cast(self.schema[self.key]).gather(np.repeat(np.arange(keys), people))
        if self.unit is not None:
            columns[self.unit] = pl.Series(np.arange(n)).cast(self.schema[self.unit])
        return mechanism.prepare_request(self.plan, pl.DataFrame(columns), is_made_up=True)


def _maker(plan: Plan, i: int, threshold: Threshold) -> _Maker | None:
    """A maker whose keys are really shown: rows and columns of keys are tried until one is; None where none is."""
    table = made_up_table(plan, 8)
    query = plan.queries[i]
    assert isinstance(query.groups, FoundGroups) and query.row_rule is not None
    people = max(threshold.at_least, math.ceil(threshold.at_half + SURELY * threshold.noise)) + 1
    keys = max(2, min(MAX_KEYS, ROWS // people))
    if query.groups.top is not None:
        keys = min(keys, query.groups.top)
    unit = query.row_rule.unit
    for key in (name for name in query.row_rule.by if name in table.columns):
        for row in (each for each in table.to_dicts() if None not in each.values()):
            maker = _Maker(plan, i, row, dict(table.schema), key, unit, keys, people, query.groups.top)
            try:
                seen = watch(lambda maker=maker: mechanism.release(maker.prepare(people, 2)), zero=True)  # type: ignore[misc]
            except (GaussmithError, TypeError, ValueError):
                continue
            if len(seen.features[i]) == 2:
                return maker
    return None


def _which(query: Any) -> int | None:
    return query.groups.which if isinstance(query.groups, FoundGroups) else None


RELEASES = 1_500
WIDE_RELEASES = 300
"""Whole releases that are made of a table, and of one with a noise wider than `MAX_FEATURES`, each of which takes a
product of exact integers: they find what is wrong beyond a single noise."""

MAX_FEATURES = 128
MAX_SHARED = 48
"""Features of a noise that are tested, of one that queries share fewer: of more so many, evenly chosen."""

MAX_DIRECTION = 512
"""Features of a noise by which neighbours are told apart; of one that queries share, twice `MAX_SHARED`."""

MAX_WIDTH = 2_048
"""Features of a noise that is sampled at all; what is beyond is audited exactly, and the verdict says so."""

PER_SAMPLE = 128
"""Numbers that are drawn of a noise per sample that was asked for: of wider ones there are fewer samples."""

LOW_BITS = 20_000
"""Outputs of either neighbour for the attack on low bits."""


def sample_plan(plan: Plan, scene: Scene, pair: Pair, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    """White-box tests of each noise, then attacks on the worst pair."""
    white, whole, found_share, attack = shares(error, (5, 1, 2, 4) if plan.finds_keys else (5, 1, 0, 4))
    totals = [mechanism.add_up(scene.prepare(rows)) for rows in (pair.one, pair.other)]
    silent = [scene.watch(rows, zero=True).features for rows in (pair.one, pair.other)]
    with Sampler(plan, totals, effort.processes) as sampler:
        samples = _Samples(plan, sampler, silent, effort)
        attempts = [*samples.test_noises(white, effort.within(0.3, 0.6)), *samples.test_integers(whole / 2)]
        with seen_integers() as (seen, _):
            attempts += samples.test_releases(white)
        attempts += [judge_integers("integers of releases", seen, whole / 2)] if seen.count else []
        attempts += sample_found(plan, found_share, effort.within(0.6, 0.75)) if plan.finds_keys else []
        left = samples.say_unsampled()
        if any(each.refutes for each in attempts) or plan.finds_keys:
            return [*attempts, *left], 0.0
        attacks, bound = samples.attack(attack, effort.within(0.75, 1.0))
    return [*attempts, *attacks, *left], bound


@dataclass(frozen=True, eq=False)
class _Samples:
    plan: Plan
    sampler: Sampler
    silent: list[Any]
    """The features of either table without noise."""
    effort: Effort

    # -- what there is to sample ------------------------------------------------------------------------------------

    @cached_property
    def _drawn(self) -> list[int]:
        """Draws with noise whose groups are known; those of found keys are sampled on tables of their own."""
        queries = enumerate(self.plan.queries)
        return [i for i, d in queries if not (d.is_public or (d.groups is not None and d.groups.is_found))]

    @cached_property
    def _own(self) -> list[int]:
        """Draws with noise of their own."""
        found = [
            i for i in self._drawn if self.plan.queries[i].tie is None and self.plan.queries[i].block.lender is None
        ]
        return [i for i in found if 0 < self._width(i) <= MAX_WIDTH]

    @cached_property
    def _shared(self) -> list[Noise]:
        """Noises that several queries share."""
        found = [tied_noise(self.plan, at) for at in range(len(self.plan.ties))]
        return [noise for noise in found if width_of(self.plan, noise) <= MAX_WIDTH]

    def _width(self, i: int) -> int:
        return int(self.plan.queries[i].block.shape.features.shape[0])

    def _named(self, of: str, i: int) -> str:
        return f"{of} of query {i + 1}, whitened" if len(self.plan.queries) > 1 else f"{of}, whitened"

    def _times(self, width: int) -> int:
        """How many samples of a noise are drawn: the asked number shared by all noises, fewer of wide ones."""
        each = self.effort.samples // max(1, len(self._own) + len(self._shared))
        return max(RELEASES, min(each, PER_SAMPLE * self.effort.samples // width))

    def say_unsampled(self) -> list[Attempt]:
        """What samples do not look at: exact attempts cover it."""
        said = []
        kept = {*self._own, *(i for noise in self._shared for i, _ in noise.read)}
        if left := [str(i + 1) for i in self._drawn if i not in kept and self._width(i)]:
            of = f" of {'queries' if left[1:] else 'query'} {', '.join(left)}" if len(self.plan.queries) > 1 else ""
            said.append(f"the noise{of} is not sampled: an audit samples noises of up to {MAX_WIDTH:,} numbers")
        if any(query.block.domain.chosen for query in self.plan.queries):
            said.append("choices of a cell are not sampled, only the noise around one")
        if self.plan.finds_keys:
            said.append("guesses at neighbours are not made where keys are found")
        return [Attempt("samples", UNTRIED, False, f"{each}; exact attempts cover it") for each in said]

    # -- white-box tests --------------------------------------------------------------------------------------------

    def test_noises(self, error: float, effort: Effort) -> Iterator[Attempt]:
        """Every noise in bulk: of a query that of its first group, of one that queries share all that is read of it."""
        noises = [*(Noise(((i, 0),)) for i in self._own), *self._shared]
        for at, (noise, share) in enumerate(zip(noises, self._white_shares(error), strict=False)):
            step = effort.within(at / len(noises), (at + 1) / len(noises))
            kept = self._kept(noise)
            centre = self._flat(0, noise)
            times = self._times(len(centre))
            blocks = (block[:, kept] - centre[kept] for block in self.sampler.blocks(noise, times))
            name = self._named("noise", noise.read[0][0]) if noise.tie is None else self._named_shared(noise)
            tested = check_noise(name, blocks, self._covariance(noise, kept), share, times, step.report)
            yield _say_chosen(tested, len(kept), len(centre))

    def test_releases(self, error: float) -> Iterator[Attempt]:
        """The same in whole releases, along the whole path from sums to a release: the last group of each query."""
        tested = [*self._own, *dict.fromkeys(i for noise in self._shared for i, _ in noise.read)]
        if not tested or self.plan.finds_keys:
            return
        kept = {i: evenly(self._width(i), MAX_FEATURES) for i in tested}
        wide = any(self._width(i) > MAX_FEATURES for i in tested)
        times = WIDE_RELEASES if wide else RELEASES

        def read(features: Any) -> dict[int, Array]:
            return {i: np.asarray(features[i], float)[-1, kept[i]] for i in tested}

        often = release_often(self.plan, self.sampler.tables[0], times, read)
        noises = len(self._own) + len(self._shared)
        for i, share in zip(tested, self._white_shares(error)[noises:], strict=True):
            group = self.plan.queries[i].size - 1
            errors = np.array([each[i] for each in often]) - self.silent[0][i][group][kept[i]]
            covariance = exact.feature_covariance(self.plan.queries[i], group)[np.ix_(kept[i], kept[i])]
            found = check_noise(self._named("releases", i), [errors], covariance, share, times)
            yield _say_chosen(found, len(kept[i]), self._width(i))

    def test_integers(self, error: float) -> Iterator[Attempt]:
        """The exact integers of all noises together, as many as samples were asked for."""
        noises = [*(Noise(((i, 0),)) for i in self._own), *self._shared]
        with seen_integers() as (seen, _):
            for at, noise in enumerate(noises, 1):
                before = seen.count
                self.sampler.take(noise, 1)
                each = seen.count - before
                left = math.ceil((self.effort.samples * at // len(noises) - seen.count) / each) if each else 0
                most = max(1, NUMBERS // width_of(self.plan, noise))
                for start in range(0, left, most):
                    self.sampler.take(noise, min(most, left - start))
        if seen.count:
            yield judge_integers("integers of the noise", seen, error)

    def _white_shares(self, error: float) -> list[float]:
        """A share for every noise, then for the releases of every query."""
        queries = len(self._own) + len({i for noise in self._shared for i, _ in noise.read})
        return shares(error, [1.0] * (len(self._own) + len(self._shared) + queries))

    def _named_shared(self, noise: Noise) -> str:
        queries = ", ".join(str(i + 1) for i in dict.fromkeys(i for i, _ in noise.read))
        return (
            f"noise that queries {queries} share, whitened" if "," in queries else f"noise of query {queries}, whitened"
        )

    def _flat(self, table: int, noise: Noise) -> Array:
        """The features without noise of what is read of a noise."""
        return np.asarray(np.concatenate([self.silent[table][i][g] for i, g in noise.read]))

    def _kept(self, noise: Noise) -> Places:
        """The places of the features that are tested: of a noise that queries share some of every query and group."""
        if noise.tie is None:
            return evenly(self._width(noise.read[0][0]), MAX_FEATURES)
        starts = np.cumsum([0, *(self._width(i) for i, _ in noise.read)])
        places = evenly(len(noise.read), MAX_SHARED)
        most = max(1, MAX_SHARED // len(places))
        return np.concatenate([starts[p] + evenly(self._width(noise.read[p][0]), most) for p in places])

    def _covariance(self, noise: Noise, kept: Places) -> Array:
        """What is claimed of the tested features."""
        if noise.tie is None:
            ((i, group),) = noise.read
            return exact.feature_covariance(self.plan.queries[i], group)[np.ix_(kept, kept)]
        names = [(i, g, j) for i, g in noise.read for j in range(self._width(i))]
        terms = [Term(i, g, np.array([j]), np.ones(1)) for i, g, j in (names[at] for at in kept)]
        return NoiseCovariances(self.plan).covariances([Combination((term,)) for term in terms])

    # -- attacks ----------------------------------------------------------------------------------------------------

    def attack(self, error: float, effort: Effort) -> tuple[list[Attempt], float]:
        """Guesses which of the worst neighbours an output came from, from all noises that tell them apart."""
        own = [Noise(((i, g),)) for i in self._own for g in range(self.plan.queries[i].size)]
        centres = [[self._flat(table, noise) for noise in (*own, *self._shared)] for table in (0, 1)]
        told = [at for at, (a, b) in enumerate(zip(*centres, strict=True)) if (a != b).any()]
        noises = [(*own, *self._shared)[at] for at in told]
        if not noises:
            return [], 0.0
        both = [np.concatenate([centres[table][at] for at in told]) for table in (0, 1)]
        direction = np.concatenate([self._direction(noise) for noise in noises])
        half = max(RELEASES, min(self.effort.samples // 2, PER_SAMPLE * self.effort.samples // len(direction)))
        early, main, bits, near = shares(error, (1, 6, 1, 2))
        mu = self.plan.spends.mu
        middle = float((both[0] + both[1]) @ direction / 2)
        guesser = Guesser(EarlyLook(mu, early), direction, middle, (both[0], both[1]))
        first: list[list[Array]] = [[], []]

        def sample(block: int) -> tuple[Array, Array]:
            both = self._outputs(noises, block, 0), self._outputs(noises, block, 1)
            if guesser.outputs < LOW_BITS:
                for kept, outputs in zip(first, both, strict=True):
                    kept.append(outputs)
            return both

        attempts = [guesser.run(sample, half, effort, "")]
        if attempts[0].refutes:
            return attempts, mu
        found = {
            "likelihood ratio at the worst neighbours": (guesser.by_direction(main), main),
            "low bits": (low_bits(np.concatenate(first[0]), np.concatenate(first[1]), bits), bits),
            "nearest centre": (guesser.by_centre(near), near),
        }
        attempts += [_attack(name, each, mu, share) for name, (each, share) in found.items()]
        return attempts, max(each.mu for each, _ in found.values())

    def _outputs(self, noises: list[Noise], times: int, table: int) -> Array:
        return np.hstack([self.sampler.sample(noise, times, table) for noise in noises])

    def _direction(self, noise: Noise) -> Array:
        """Σ⁺ s of what is read of a noise; of a wide one over some features, among them those that differ; else 0."""
        shift = self._flat(1, noise) - self._flat(0, noise)
        most = MAX_DIRECTION if noise.tie is None else MAX_SHARED
        kept = np.union1d(evenly(len(shift), most), np.flatnonzero(shift)[:most])
        covariance, shift = self._covariance(noise, kept), shift[kept]
        sizes = np.sqrt(np.diag(covariance))
        inverse = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1.0), 0.0)
        core = np.linalg.pinv(covariance * np.outer(inverse, inverse), rcond=1e-9, hermitian=True)
        found = np.zeros(len(self._flat(0, noise)))
        found[kept] = inverse * (core @ (inverse * shift))
        return found


def _say_chosen(attempt: Attempt, tested: int, width: int) -> Attempt:
    if tested == width:
        return attempt
    return replace(attempt, finding=f"{attempt.finding}; {tested} of {width:,} numbers were tested, evenly chosen")


def _attack(name: str, found: FoundLoss, mu: float, error: float) -> Attempt:
    factor = factor_detected(mu, found.trials, error) if name != "low bits" else np.inf
    detects = f"a true μ {factor:.3g} times the claimed one" if factor < 100 else ""
    said = f"right in {100 * found.right:.2f} % of {found.trials:,} guesses: {at_least(found.mu)}"
    return Attempt(name, SAMPLED, found.mu > mu, said, mu, found.mu, error, found.trials, detects)
