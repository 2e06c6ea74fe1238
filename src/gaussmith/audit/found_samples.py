"""Samples of noise where keys are found: whole releases of made-up tables with very many keys.

One table has keys with so many people that each is shown: its noise is tested like any other. Another has keys with as
many people as the threshold asks for: how often they are shown must be what the plan says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith import mechanism
from gaussmith.audit import exact
from gaussmith.audit.effort import Effort
from gaussmith.audit.noise_tests import check_noise, evenly
from gaussmith.audit.recording import watch
from gaussmith.audit.verdict import SAMPLED, UNTRIED, Attempt, shares
from gaussmith.domains import FoundGroups
from gaussmith.errors import GaussmithError
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan
from gaussmith.plans.found_draws import threshold_of
from gaussmith.plans.threshold import Threshold
from gaussmith.problem.features import Places
from gaussmith.requests.made_up_rows import made_up_table

ROWS = 100_000
"""Rows of a table with many keys, about."""

MAX_KEYS = 2_000
MAX_FEATURES = 128
RELEASES = 200
"""Releases of a table with many keys, at most: each gives a sample of the noise for every key."""

SURELY = 14
"""By how many standard deviations a key's people exceed the threshold where each key must be shown."""

COUNTED = 20_000
"""Keys near the threshold that are counted."""


def sample_found(plan: Plan, error: float, effort: Effort) -> list[Attempt]:
    """The noise of every question whose keys are found, and how often keys near the threshold are shown."""
    deciding = [(i, threshold) for i, draw in enumerate(plan.draws) if (threshold := threshold_of(draw)) is not None]
    attempts: list[Attempt] = []
    for at, ((i, threshold), share) in enumerate(zip(deciding, shares(error, [1.0] * len(deciding)), strict=True)):
        step = effort.within(at / len(deciding), (at + 1) / len(deciding))
        attempts += _sample_question(plan, i, threshold, share, step)
    return attempts


def _sample_question(plan: Plan, i: int, threshold: Threshold, error: float, effort: Effort) -> list[Attempt]:
    name = f"found keys of draw {i + 1}" if len(plan.draws) > 1 else "found keys"
    maker = _maker(plan, i, threshold)
    if maker is None:
        said = "no table of many keys could be made up: their noise is not sampled; exact attempts cover it"
        return [Attempt(f"{name}, samples", UNTRIED, False, said)]
    alike = [j for j, draw in enumerate(plan.draws) if _which(draw) == _which(plan.draws[i])]
    *noise_shares, shown_share = shares(error, [2.0] * len(alike) + [1.0])
    times = max(2, min(RELEASES, math.ceil(effort.samples / maker.keys)))
    prepared = maker.prepare(maker.people)
    silent = watch(lambda: mechanism.release(prepared), zero=True).features
    attempts = []
    for at, (j, share) in enumerate(zip(alike, noise_shares, strict=True)):
        kept = evenly(silent[j].shape[1], MAX_FEATURES)
        covariance = exact.feature_covariance(plan.draws[j])[np.ix_(kept, kept)]
        errors = _errors(prepared, j, times, silent[j], kept)
        step = effort.within(0.8 * at / len(alike), 0.8 * (at + 1) / len(alike))
        of = f"noise of found keys, draw {j + 1}" if len(plan.draws) > 1 else "noise of found keys"
        attempts.append(check_noise(f"{of}, whitened", errors, covariance, share, times * maker.keys, step.report))
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
        found = mechanism.release(prepared).noisy[maker.draw]
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
    draw: int
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
    draw = plan.draws[i]
    assert isinstance(draw.groups, FoundGroups) and draw.row_rule is not None
    people = max(threshold.at_least, math.ceil(threshold.at_half + SURELY * threshold.noise)) + 1
    keys = max(2, min(MAX_KEYS, ROWS // people))
    if draw.groups.top is not None:
        keys = min(keys, draw.groups.top)
    unit = draw.row_rule.unit
    for key in (name for name in draw.row_rule.by if name in table.columns):
        for row in (each for each in table.to_dicts() if None not in each.values()):
            maker = _Maker(plan, i, row, dict(table.schema), key, unit, keys, people, draw.groups.top)
            try:
                seen = watch(lambda maker=maker: mechanism.release(maker.prepare(people, 2)), zero=True)  # type: ignore[misc]
            except (GaussmithError, TypeError, ValueError):
                continue
            if len(seen.features[i]) == 2:
                return maker
    return None


def _which(draw: Any) -> int | None:
    return draw.groups.which if isinstance(draw.groups, FoundGroups) else None
