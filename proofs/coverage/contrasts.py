"""Coverage of the intervals of differences, ratios, shares and contrasts, from the noise that a plan really adds.

`cases()` gives the cases; each is a name, the coverage that is promised, and a function that makes so many releases and
says in how many of them the interval held the truth. Releases are made by adding production noise, pushed through the
lift of the plan row by row, to known totals; nothing of `plans.joint_noise` is used for that. Intervals are computed
for all releases at once by the functions of the library; the first few are compared with what a release itself says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gaussmith as gm
from gaussmith.noise.gaussian import normal_integers
from gaussmith.numerics.exact import Array
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.noise_covariances import Combination, combine
from gaussmith.planning.plan import Plan
from gaussmith.releases.contrasts import Contrast, Contrasts, recovered_interval, recovered_ratio
from gaussmith.releases.release import Release
from gaussmith.statistics.mean import fieller_intervals

SIZES = (500, 2_000, 20_000)
GROUPS = {"north": 0.5, "south": 0.3, "east": 0.2}
MEANS = {"north": 45.0, "south": 20.0, "east": 80.0}
GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
PRESENT = 0.7
"""The share of people who have a score."""
NOMINAL = 0.95
COMPARED = 10
"""How many releases of a case are compared with what the release itself says."""


@dataclass(frozen=True)
class Case:
    """A name, the promised coverage, and how many of so many intervals held the truth."""

    name: str
    nominal: float
    covered: Callable[[int], int]


def cases() -> list[Case]:
    """All cases, by the number of people."""
    return [case for n in SIZES for case in _of_size(n)]


# -- what is asked, and the truth -------------------------------------------------------------------------------------


def _of_size(n: int) -> Iterator[Case]:
    grouped = gm.Request(
        "nowhere.csv", means={"age": (0, 100), "score": (0, 1)}, sums={"visits": (0, 20)}, count=True,
        by={"region": list(GROUPS)}, complete=["age", "score"], guarantee=GUARANTEE,
    ).plan  # fmt: skip
    truth = _truth(grouped, [[_group(n, key)] for key in GROUPS])
    yield _case(f"difference of means of two groups, n = {n:,}", grouped, truth, _difference)
    yield _case(f"difference of two means of one group, n = {n:,}", grouped, truth, _two_means)
    yield _case(f"ratio of means of two groups, n = {n:,}", grouped, truth, _ratio_of_means)
    yield _case(f"ratio of a sum and the count by group, n = {n:,}", grouped, truth, _ratio_of_sums)
    yield _case(f"share of a group in the count, n = {n:,}", grouped, truth, _share)
    yield _case(f"contrast of the means of three groups, n = {n:,}", grouped, truth, _contrast)
    yield _case(f"means of all groups against one, at once, n = {n:,}", grouped, truth, _against_one)
    values = gm.Request("nowhere.csv", histograms={"region": list(GROUPS)}, guarantee=GUARANTEE).plan
    cells = np.array([[n * p for p in GROUPS.values()]])
    yield _case(f"share of a value, n = {n:,}", values, (cells,), _share_of_value)
    tied = _questions()
    present = {"all": 1.0, "paid": 0.7, "regions": 1.0}
    filled = _truth(tied, [[_person(n * present[name])] for name in present if name != "regions"], n)
    yield _case(f"difference of means, one with missing values, n = {n:,}", tied, filled, _missing)
    skipped = gm.Request(
        "nowhere.csv", means={"age": (0, 100), "score": (0, 1)}, count=True, by={"region": list(GROUPS)},
        guarantee=GUARANTEE,
    ).plan  # fmt: skip
    some = _truth(skipped, [[_group(n, key)] for key in GROUPS])
    yield _case(f"difference of means over present values by group, n = {n:,}", skipped, some, _present_means)
    yield _case(f"ratio of means over present values by group, n = {n:,}", skipped, some, _present_ratio)
    yield _case(f"contrast of means over present values of three groups, n = {n:,}", skipped, some, _present_contrast)
    yield _case(f"means over present values of all groups against one, n = {n:,}", skipped, some, _present_against_one)
    yield _case(f"share of those who are present, n = {n:,}", tied, filled, _present)
    yield _case(f"count of a group over all people, n = {n:,}", tied, filled, _group_over_all)


def _questions() -> Plan:
    """Three questions with tied noise: the mean of one column, of one that may be missing, and counts of groups."""
    return gm.Request(
        "nowhere.csv",
        questions=[
            {"name": "all", "means": {"age": (0, 100)}, "count": True, "complete": ["age"]},
            {
                "name": "paid",
                "means": {"income": (0, 100)},
                "count": True,
                "where": "not is_null(income)",
                "complete": ["income"],
            },
            {"name": "regions", "count": True, "by": {"region": list(GROUPS)}},
        ],
        guarantee=GUARANTEE,
    ).plan


def _group(n: int, key: str) -> dict[str, float]:
    return {"count": n * GROUPS[key], "age": MEANS[key], "score": 0.3, "visits": 4.0}


def _person(n: float) -> dict[str, float]:
    return {"count": n, "age": 45.0, "income": 20.0}


def _truth(plan: Plan, told: Sequence[Sequence[dict[str, float]]], n: int | None = None) -> tuple[Array, ...]:
    """The features of every query without noise: groups × features."""
    found = []
    rows = [each for some in told for each in some]
    for i, query in enumerate(plan.queries):
        if query.groups is not None and n is not None:
            here = [{"count": n * share} for share in GROUPS.values()]
        else:
            here = rows if query.groups is not None else [rows[min(i, len(rows) - 1)]]
            if query.row_rule is not None and "score" in query.row_rule.present:
                here = [{**each, "count": PRESENT * each["count"]} for each in here]
        found.append(np.array([_features(query.block, each) for each in here]))
    return tuple(found)


def _features(block: Any, told: dict[str, float]) -> Array:
    features = np.zeros(block.shape.features.shape[0])
    for statistic in block.answers.statistics:
        for name, places in zip(statistic.names, statistic.places.tolist(), strict=True):
            column, _, kind = name.rpartition("_")
            if kind == "mean":
                at = list(statistic.names).index(name)
                features[places[0]] = told["count"] * (told[column] - statistic.middles[at])
            elif kind == "sum":
                features[places[0]] = told["count"] * told[column]
    if block.shape.counted:
        features[-1] = told["count"]
    return features


# -- noise, by the lift itself ----------------------------------------------------------------------------------------


def _noise(plan: Plan, repeats: int) -> list[Array]:
    """Production noise in the features of every query: repeats × groups × features."""
    found: dict[int, Array] = {}
    for i, query in enumerate(plan.queries):
        if query.tie is None:
            block = query.block
            rows = block.shape.features.shape[1]
            z = _normals(repeats * query.size * rows).reshape(repeats, query.size, rows) * block.noise_scale
            found[i] = z @ block.shape.features.dense().T
    for tie in plan.ties:
        members = [tie.seen(plan.queries[i]) for i in tie.members]  # one group, where the noise is drawn anew in each
        units = [tie.features(members, row) for row in np.eye(tie.lift.size)]
        z = _normals(repeats * tie.copies * tie.lift.size).reshape(repeats, tie.copies, tie.lift.size) * tie.noise_scale
        for k, i in enumerate(tie.members):
            noise = np.einsum("rcl,lgf->rcgf", z, np.array([unit[k] for unit in units]))
            found[i] = noise.reshape(repeats, -1, noise.shape[-1])
    return [found[i] for i in range(len(plan.queries))]


def _normals(size: int) -> Array:
    return normal_integers(size, NOISE_BITS).astype(float) / 2.0**NOISE_BITS


# -- intervals of all releases at once --------------------------------------------------------------------------------


def _case(name: str, plan: Plan, truth: Sequence[Array], ask: Callable[[Release], Contrasts]) -> Case:
    def covered(repeats: int) -> int:
        exact = _release(plan, truth)
        wanted = ask(exact)
        noisy = [true + noise for true, noise in zip(truth, _noise(plan, repeats), strict=True)]
        width = wanted.width(NOMINAL)
        ends = [_ends(contrast, noisy, width) for contrast in wanted.each]
        for k in range(min(COMPARED, repeats)):
            said = ask(_release(plan, [each[k] for each in noisy]))
            _compare(said, width, [(float(low[k]), float(high[k])) for low, high in ends])
        inside = np.ones(repeats, bool)
        for contrast, (low, high) in zip(wanted.each, ends, strict=True):
            inside &= (low <= contrast.value) & (contrast.value <= high)
        return int(inside.sum())

    return Case(name, NOMINAL, covered)


def _release(plan: Plan, noisy: Sequence[Array]) -> Release:
    return Release(plan, tuple(noisy), (None,) * len(noisy), (None,) * len(noisy))


def _compare(said: Contrasts, width: float, found: Sequence[tuple[float, float]]) -> None:
    """Refuse to go on if a release says other intervals.

    The width for several means at once is that of the truth here: a release takes it from its own correlations.
    """
    there = [contrast.ends(width) for contrast in said.each]
    if not np.allclose(np.array(found), np.array(there), rtol=1e-7, atol=1e-9):
        raise AssertionError(f"{said.names}: {found} here, {there} there")


def _measured(noisy: Sequence[Array], combination: Combination) -> Array:
    repeats = len(noisy[0])
    found = np.zeros(repeats)
    for term in combination.terms:
        found = found + noisy[term.query][:, term.group][:, term.places] @ term.factors
    return found


def _exact(contrast: Contrast) -> tuple[Combination, Combination | None, float] | None:
    """Numerator, denominator and what is added, in features, where the contrast says that its interval is exact."""
    forms = [side.reduced for side in (contrast.top, contrast.bottom) if side is not None]
    if contrast.exact is None or None in forms:
        return None
    top, bottom = forms[0], forms[-1]
    assert top is not None and bottom is not None
    if contrast.bottom is None:
        return top.above, top.below, top.added
    if top.below is None:
        return top.above, bottom.above, 0.0
    above, below = (combine([(1.0, each.above), (each.added, top.below)]) for each in (top, bottom))
    return above, below, 0.0


def _ends(contrast: Contrast, noisy: Sequence[Array], width: float) -> tuple[Array, Array]:
    """The interval of one contrast in every release."""
    exact = _exact(contrast)
    if exact is not None:
        above, below, added = exact
        top = _measured(noisy, above)
        if below is None:
            half = width * float(np.sqrt(contrast.noise.covariances([above])[0, 0]))
            return top + added - half, top + added + half
        C = contrast.noise.covariances([above, below])
        one = np.ones(len(top))
        low, high = fieller_intervals(width, top, _measured(noisy, below), C[0, 0] * one, C[1, 1] * one, C[0, 1] * one)
        return added + low, added + high
    # Every answer is a mean: numerators and denominators, then the first-order correlations of each release.
    quantities = [
        quantity for _, quantity in (*contrast.top.parts, *(contrast.bottom.parts if contrast.bottom else ()))
    ]
    fractions = [quantity.fraction for quantity in quantities]
    linear = [part for fraction in fractions if fraction is not None for part in fraction[:2] if part is not None]
    S = contrast.noise.covariances(linear)
    measured = np.stack([_measured(noisy, part) for part in linear], axis=-1)
    values, lower, upper = [], [], []
    J = np.zeros((len(measured), len(quantities), len(linear)))
    for i, fraction in enumerate(fractions):
        assert fraction is not None
        N, D = measured[:, 2 * i], measured[:, 2 * i + 1]
        one = np.ones(len(N))
        a, b = 2 * i, 2 * i + 1
        ends = fieller_intervals(width, N, D, S[a, a] * one, S[b, b] * one, S[a, b] * one)
        values.append(fraction[2] + N / D)
        lower.append(fraction[2] + ends[0])
        upper.append(fraction[2] + ends[1])
        J[:, i, a], J[:, i, b] = 1 / D, -N / D**2
    C = J @ S @ np.swapaxes(J, 1, 2)
    sigma = np.sqrt(np.einsum("rii->ri", C))
    R = C / (sigma[:, :, None] * sigma[:, None, :])
    told = [np.stack(each, axis=-1) for each in (values, lower, upper)]
    if not contrast.bottom:
        factors = np.array([factor for factor, _ in contrast.top.parts])
        return recovered_interval(factors, *told, R)
    top, bottom = (tuple(each[:, k] for each in told) for k in (0, 1))
    return recovered_ratio(top, bottom, R[:, 0, 1])  # type: ignore[arg-type]


# -- what is read -----------------------------------------------------------------------------------------------------


def _difference(release: Release) -> Contrasts:
    return release.difference("north", "east", answer="age_mean")


def _two_means(release: Release) -> Contrasts:
    return release.difference("age_mean", "score_mean")["east"]


def _ratio_of_means(release: Release) -> Contrasts:
    return release.ratio("south", "east", answer="age_mean")


def _ratio_of_sums(release: Release) -> Contrasts:
    return release.ratio("visits_sum", "count")[0]


def _share(release: Release) -> Contrasts:
    return release.shares("count")[2]


def _contrast(release: Release) -> Contrasts:
    return release.contrast({"north": 1, "south": -0.5, "east": -0.5}, answer="age_mean")


def _against_one(release: Release) -> Contrasts:
    return release.contrasts("north", answer="age_mean")


def _share_of_value(release: Release) -> Contrasts:
    return release.shares()[2]


def _missing(release: Release) -> Contrasts:
    return release.difference(("all", "age_mean"), ("paid", "income_mean"))


def _present_means(release: Release) -> Contrasts:
    return release.difference("age_mean", "score_mean")["east"]


def _present_ratio(release: Release) -> Contrasts:
    return release.ratio("north", "east", answer="score_mean")


def _present_contrast(release: Release) -> Contrasts:
    return release.contrast({"north": 1, "south": -0.5, "east": -0.5}, answer="score_mean")


def _present_against_one(release: Release) -> Contrasts:
    return release.contrasts("north", answer="score_mean")


def _present(release: Release) -> Contrasts:
    return release.ratio(("paid", "count"), ("all", "count"))


def _group_over_all(release: Release) -> Contrasts:
    return release.ratio(("regions", "east", "count"), ("all", "count"))


if __name__ == "__main__":
    import sys

    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for case in cases():
        print(f"{case.covered(repeats) / repeats:.4f}  {case.name}", flush=True)
