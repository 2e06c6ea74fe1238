"""Proof: noise of a pure ε keeps its promise to neighbours and wastes nothing, and its intervals hold as they say.

    neighbours  random pairs of neighbours, from rows to exact integers: Σ N(difference) · ε/S is never above ε
    coverage    real noise on known sums: 95 % intervals hold in 94 to 96 % of releases on fine lattices; of whole
                numbers in at least 95 %, and the next smaller whole half-width in less
    least       d sums in [0, 1] at (1, 1e-6): `noise = "least"` has the smaller error of both laws, d = 1 … 128

Writes docs/evidence/pure.json; leaves with 1 where anything missed.

    ./run prove pure                                    10 000 pairs, 20 000 releases of each case, a fresh seed
    ./run prove pure --pairs 300 --repeats 2000         fewer, nothing is written
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from evidence import write_found
from whole.asks import SMALL, WIDE
from whole.pure import random_pure, random_pure_statistics, try_pure_pairs, try_pure_statistics

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import normal_width
from gaussmith.releases.readout import Readout
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import Statistic
from gaussmith.totals.opened import total

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence" / "pure.json"
PACKAGES = ("gaussmith", "numpy", "scipy", "polars")
PAIRS, REPEATS, EACH, EACH_STATISTIC = 10_000, 20_000, 50, 10
STATISTICS = 10
"""One pair in so many is of quantiles, tables, moments and a person's own numbers."""
ALL_OF_IT = 1 - 1e-9
EPSILONS = (0.3, 1.0, 3.0)
PEOPLE = (30, 1_000)
NOMINAL, LOW, HIGH = 0.95, 0.94, 0.96
ALARM = 1e-12
"""The probability with which a case that keeps its promise fails, where fewer releases are made."""
FINE = 1 << 20
"""A larger change of one person is on a fine lattice."""
LONGEST = 128


# -- neighbours --------------------------------------------------------------------------------------------------------


def prove_neighbours(pairs: int, seed: str) -> dict[str, Any]:
    """No pair loses more than ε, and some pair all of it."""
    of_statistics = pairs // STATISTICS
    found: list[tuple[Fraction, Fraction]] = []
    missed, tried = [], {"requests": 0, "statistics": 0}
    for i in range(-(-(pairs - of_statistics) // EACH)):
        generator = random.Random(f"{seed}:neighbours:{i}")
        ask = random_pure(generator, SMALL if i % 2 else WIDE)
        found.append(try_pure_pairs(ask, generator, min(EACH, pairs - of_statistics - i * EACH)))
        tried["requests"] += 1
        if max(found[-1]) > 1:
            missed.append(f"{seed}:neighbours:{i} {found[-1]}")
    for i in range(-(-of_statistics // EACH_STATISTIC)):
        generator = random.Random(f"{seed}:statistics:{i}")
        name, request = random_pure_statistics(generator)
        found.append(try_pure_statistics(request, generator, min(EACH_STATISTIC, of_statistics - i * EACH_STATISTIC)))
        tried["statistics"] += 1
        if max(found[-1]) > 1:
            missed.append(f"{seed}:statistics:{i} {name} {found[-1]}")
    largest, together = (float(max(each)) for each in zip(*found, strict=True))
    if largest < ALL_OF_IT:
        missed.append(f"nobody loses more than {largest!r}: noise is wasted")
    print(
        f"{pairs} pairs: {len(missed)} missed, largest loss over ε {largest!r}, of all noises {together!r}", flush=True
    )
    return {
        "pairs": pairs,
        **tried,
        "violations": sum(max(each) > 1 for each in found),
        "largest_loss_over_epsilon": largest,
        "largest_loss_of_all_noises": together,
        "missed": missed,
    }


# -- coverage ----------------------------------------------------------------------------------------------------------

X, Y, Z = (0, 60), (0, 100), (0, 60)
ASKED: dict[str, dict[str, Any]] = {
    "one sum": {"sums": {"x": X}},
    "sums": {"sums": {"x": X, "y": Y, "z": Z}, "count": True},
    "one mean": {"means": {"x": X}, "complete": ["x"]},
    "a mean at its bounds": {"means": {"z": Z}, "complete": ["z"], "count": True},
    "means": {"means": {"x": X, "y": Y, "z": Z}, "count": True},
    "rows of people": {"sums": {"x": X}, "unit": "u", "rows_per_unit": 3, "count": "rows"},
    "groups": {"sums": {"x": X}, "by": {"r": ["a", "b", "c"]}},
    "variance": {"variances": {"x": X}},
    "covariance": {"covariance": {"x": X, "y": Y}},
    "regression": {"regression": {"of": "y", "on": ["x"]}, "bounds": {"x": X, "y": Y}},
    "count": {"count": True},
    "histogram": {"histograms": {"r": ["a", "b", "c"]}},
    "several values": {"histograms": {"r": ["a", "b", "c"]}, "unit": "u", "values_per_unit": 3},
    "shares": {"proportions": {"r": ["a", "b", "c"]}},
    "tables": {"marginals": [["r", "s"], ["s"]], "values": {"r": ["a", "b", "c"], "s": ["f", "m"]}},
    "median": {"medians": ["x"], "bins": {"x": [0, 10, 20, 30, 40, 50, 60]}},
}


@dataclass(frozen=True)
class Held:
    """How often the interval of one answer held the truth, and whether it should do so in 94 to 96 % of releases."""

    name: str
    law: str
    releases: int
    held: int
    is_exact: bool
    is_whole: bool

    @property
    def share(self) -> float:
        return self.held / self.releases

    def problem(self) -> str:
        """What is wrong; "" where nothing is. Fewer releases are judged by an exact binomial test alone."""
        from scipy.stats import binom

        enough = self.releases >= REPEATS
        least = binom.ppf(ALARM, self.releases, NOMINAL) / self.releases
        if self.share < (max(least, LOW) if enough else least):
            return "too narrow"
        most = binom.isf(ALARM, self.releases, NOMINAL) / self.releases
        if self.is_exact and not self.is_whole and self.share > (HIGH if enough else most):
            return "too wide"
        return ""


def data_of(people: int) -> Any:
    """Which people is no matter of chance: the noise is."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(people)
    x = rng.uniform(*X, people)
    return pl.DataFrame(
        {
            "x": x,
            "y": np.clip(x / 2 + rng.normal(20, 10, people), *Y),
            "z": rng.choice([float(end) for end in Z], people),
            "r": rng.choice(["a", "b", "c"], people),
            "s": rng.choice(["f", "m"], people),
            "u": rng.integers(0, people, people),
        }
    )


def measure(asked: str, people: int, epsilon: float, releases: int) -> Iterator[Held]:
    """So many releases of the same totals; of each answer how often its interval holds the exact answer."""
    import numpy as np

    frame = data_of(people)
    plan = gm.Request(frame, guarantee=gm.Guarantee(epsilon=epsilon), **ASKED[asked]).plan
    sources = mechanism.prepare_request(plan, frame).sources
    for query, source in zip(plan.queries, sources, strict=True):
        totals, block = total(source)[0], query.block
        readout = Readout(block, mechanism.sample_query(query, totals, releases))
        exact = Readout(block, exact_features(block, totals)).values[0]
        low, high = readout.intervals(normal_width(NOMINAL), "fieller")
        law = block.noise_law
        assert law is not None
        is_whole = law.sensitivity < FINE
        room = 1e-13 if is_whole else 1e-9 * np.abs(exact) + 1e-12  # a whole end that is just missed is a miss
        held = ((low <= exact + room) & (exact - room <= high)).sum(axis=0)
        of = [each for each in block.answers.statistics for _ in each.names]
        told = np.isfinite(low).all(axis=0) & np.isfinite(high).all(axis=0)
        for name, each, count, known in zip(block.answers.names, of, held.tolist(), told.tolist(), strict=True):
            said = f"{asked}: {name}, n = {people}, ε = {epsilon:g}"
            exactly = is_exact(each) and known
            yield Held(said, type(law).__name__, releases, count, exactly, is_whole)


def is_exact(statistic: Statistic) -> bool:
    """Whether intervals are those of the very law: of what is linear, and of means that are never "unknown"."""
    return isinstance(statistic, Means) or (statistic.fraction(0) is not None and not statistic.divided)


def exact_features(block: Block, totals: Any) -> Any:
    """The features without noise."""
    import numpy as np

    lifted = block.grid.lifted(block.codes, totals.sums, totals.records)
    return block.shape.features.times_rows(np.array([[float(y) for y in lifted]]) / block.grid.scale)


def prove_coverage(releases: int) -> dict[str, Any]:
    """Every answer of every question, at each ε and number of people."""
    found = [
        each
        for asked in ASKED
        for people in PEOPLE
        for epsilon in EPSILONS
        for each in measure(asked, people, epsilon, releases)
    ]
    missed = [f"{each.name}: {each.share:.4f}, {each.problem()}" for each in found if each.problem()]
    parts: dict[str, Any] = {}
    for law in sorted({each.law for each in found}):
        for kind, which in (
            ("fine lattices, exact", lambda each: each.is_exact and not each.is_whole),
            ("whole numbers", lambda each: each.is_exact and each.is_whole),
            ("never too narrow", lambda each: not each.is_exact),
        ):
            shares = [each.share for each in found if each.law == law and which(each)]
            if shares:
                told = {"cases": len(shares), "smallest": round(min(shares), 4), "largest": round(max(shares), 4)}
                parts[f"{law.lower()}, {kind}"] = told
    for name, told in parts.items():
        print(name, told, flush=True)
    return {"releases": releases, "tried": len(found), "by_law": parts, "missed": missed}


def prove_whole(releases: int) -> dict[str, Any]:
    """Whole numbers: the half-width that is told holds often enough, one less does not; real noise agrees with both."""
    import numpy as np
    from scipy.stats import binom

    found, missed, frame = {}, [], data_of(30)
    for name in ("count", "histogram", "several values"):
        for epsilon in (0.1, 0.3, 1.0, 3.0):
            request = gm.Request(frame, guarantee=gm.Guarantee(epsilon=epsilon), **ASKED[name])
            made = gm.release(request)
            half = float(np.ravel(made.intervals()[1])[0] - made.values[0])
            (query,), (source,) = request.plan.queries, mechanism.prepare_request(request.plan, frame).sources
            totals, law = total(source)[0], query.block.noise_law
            assert law is not None
            errors = mechanism.sample_query(query, totals, releases)[:, 0] - exact_features(query.block, totals)[0, 0]
            wrong = half != round(half) or law.tail(half) > 1 - NOMINAL or law.tail(half - 1) <= 1 - NOMINAL
            told = {"half_width": half}
            for which, end in (("holds", half), ("one_less", half - 1)):
                held, truth = int((np.abs(errors) <= end).sum()), 1 - float(law.tail(end))
                told |= {which: round(truth, 4), f"{which}_by_noise": round(held / releases, 4)}
                wrong |= min(binom.cdf(held, releases, truth), binom.sf(held - 1, releases, truth)) < ALARM
            found[f"{name}, ε = {epsilon:g}"] = told
            if wrong:
                missed.append(f"{name}, ε = {epsilon:g}: {told}")
    return {"by_name": found, "missed": missed}


# -- the smaller of both -----------------------------------------------------------------------------------------------


def prove_least() -> dict[str, Any]:
    """Errors of d sums by each law, and which is chosen."""
    both, rows, missed = gm.Guarantee(epsilon=1, delta=1e-6), {}, []
    last = 0
    for d in range(1, LONGEST + 1):
        sums = {f"x{j}": (0, 1) for j in range(d)}
        least, pure, gaussian = (
            float(gm.Request("people.csv", sums=sums, guarantee=both, noise=noise).plan.standard_errors[0])
            for noise in ("least", "pure", "gaussian")
        )
        known = math.sqrt((d + 2) * (d + 3) / 6) if d > 1 else math.sqrt(2)
        if least != min(pure, gaussian) or abs(pure / known - 1) > 1e-9:
            missed.append(f"d = {d}: {least!r} of {pure!r} and {gaussian!r}; {known!r} by the formula")
        last = d if least == pure else last
        if d in (1, 2, 5, 16, 24, 30, 31, 32, 64, 128):
            rows[f"d = {d}"] = {"least": round(least, 4), "pure": round(pure, 4), "gaussian": round(gaussian, 4)}
    print(f"least noise is pure up to {last} sums", flush=True)
    return {"sums": LONGEST, "pure_up_to": last, "by_number": rows, "missed": missed}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="./run prove pure", description="Noise of a pure ε: neighbours and intervals."
    )
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of neighbours (10000)")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="releases of each case (20000)")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="makes the same neighbours again")
    chosen = parser.parse_args(words)
    began = time.perf_counter()
    print(f"{chosen.pairs} pairs, {chosen.repeats} releases of each case, seed {chosen.seed}", flush=True)
    parts = {
        "least": prove_least(),
        "whole": prove_whole(chosen.repeats),
        "coverage": prove_coverage(chosen.repeats),
        "neighbours": prove_neighbours(chosen.pairs, chosen.seed),
    }
    missed = [f"{name}: {what}" for name, part in parts.items() for what in part["missed"]]
    print(*missed, sep="\n")
    if chosen.pairs >= PAIRS and chosen.repeats >= REPEATS:
        write_evidence(parts, chosen.seed, time.perf_counter() - began)
        print(f"written to {EVIDENCE}")
    print(f"{len(missed)} missed")
    return 1 if missed else 0


def write_evidence(parts: dict[str, Any], seed: str, seconds: float) -> None:
    claim = (
        "under pure ε neighbours lose at most ε, in exact integers, and some lose all of it; intervals of 95 % hold as "
        "often as they say; and the least noise is the smaller of both laws"
    )
    write_found(EVIDENCE, claim, seed, seconds, parts, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
