"""Proof: whole requests have the best noise there is, and nobody changes what it is added to by more than was charged.

Random requests beside cvxpy's optimum over all vertices of their bodies; random pairs of neighbours, and people at the
bounds, from rows to exact integers; the same of statistics over cells and moments, and of requests that mix them with
other questions; the realistic requests of benchmarks/requests.py beside their lower bounds; certificates of random
requests with groups, filters and missing values beside the least noise for all people who can exist, and of questions
by the same groups, whose totals are the least there is but for a few; random neighbours of both, among them people who
lack a value in one of their groups. Writes docs/evidence/requests.json, and leaves with 1 where anything missed.

    ./run prove requests                                     200 requests, 10 000 pairs, 300 certificates, a fresh seed
    ./run prove requests --certificates-only                 the last part alone, which is not written down
    ./run prove requests --requests 20 --pairs 500 --seed 1f2e3d4c      fewer, the same again
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import secrets
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from evidence import write_found
from whole.asks import SMALL, WIDE, random_ask
from whole.existing import examine, named_cases, random_by_groups, random_case, try_people
from whole.mixed import random_mixed, try_mixed_corners, try_mixed_optimum, try_mixed_pairs
from whole.people import count_types
from whole.statistics import random_request, try_neighbours
from whole.trials import try_corners, try_optimum, try_pairs

import gaussmith as gm

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "requests.json"
PACKAGES = ("gaussmith", "numpy", "cvxpy", "clarabel", "polars")
EACH = 50
"""Pairs of neighbours of one request."""
CLOSE, TOLERANCE, ATTAINED, CERTIFIED = 1.01, 1e-6, 1e-12, 1.02
CLOSE_MIXED, ATTAINED_MIXED = 1.09, 1e-9
FAR, FEW, MIDDLE = 1.05, 0.05, 1.001
"""Totals beyond so many times the optimum are counted; of questions by the same groups, their share and the median."""
LISTED = 1500
"""Types of people of a request of which all are tried."""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run prove requests", description="Whole requests: optimum and neighbours.")
    parser.add_argument("--requests", type=int, default=200, help="random requests beside the optimum (200)")
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs of neighbours (10000)")
    parser.add_argument("--certificates", type=int, default=300, help="requests whose certificates are checked (300)")
    parser.add_argument("--certificates-only", action="store_true", help="check certificates, and write nothing")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="makes the same requests again")
    chosen = parser.parse_args(words)
    start = time.perf_counter()
    print(f"{chosen.requests} requests, {chosen.pairs} pairs of neighbours, seed {chosen.seed}", flush=True)
    if chosen.certificates_only:
        missed = prove_certificates(chosen.certificates, chosen.pairs, chosen.seed)["missed"]
        print(*missed, sep="\n")
        return 1 if missed else 0
    parts = {
        "optimum": prove_optimum(chosen.requests, chosen.seed),
        "neighbours": prove_neighbours(chosen.pairs, chosen.seed),
        "statistics": prove_statistics(chosen.pairs // 5, chosen.seed),
        "at_the_bounds": prove_attained(chosen.requests, chosen.seed),
        "mixed": prove_mixed(chosen.requests // 2, chosen.pairs // 5, chosen.seed),
        "realistic": prove_realistic(),
        "certificates": prove_certificates(chosen.certificates, chosen.pairs, chosen.seed),
        "by_the_same_groups": prove_by_groups(chosen.certificates, chosen.pairs, chosen.seed),
    }
    missed = [f"{name}: {what}" for name, part in parts.items() for what in part["missed"]]
    print(*missed, sep="\n")
    write_evidence(parts, chosen.seed, time.perf_counter() - start)
    print(f"{len(missed)} missed; written to {EVIDENCE}")
    return 1 if missed else 0


def prove_optimum(count: int, seed: str) -> dict[str, Any]:
    """Totals beside the optimum over all vertices: within 1 %, none below."""
    most, least, differs, missed = 1.0, 1.0, 0.0, []
    by: dict[str, int] = {}
    for i in range(count):
        ask = random_ask(random.Random(f"{seed}:optimum:{i}"), SMALL)
        found = try_optimum(ask)
        most, least = max(most, found.least), min(least, found.most)
        differs = max(differs, found.most / found.least - 1)
        by[ask.neighbours] = by.get(ask.neighbours, 0) + 1
        if found.least > CLOSE or found.most < 1 - TOLERANCE:
            missed.append(f"{seed}:optimum:{i} {found}")
    print(f"{count} requests beside cvxpy: total over optimum {least:.7f} to {most:.7f}", flush=True)
    return {
        "requests": count,
        "by_neighbours": by,
        "largest_ratio": most,
        "smallest_ratio": least,
        "optimum_known_to": differs,
        "missed": missed,
    }


def prove_neighbours(pairs: int, seed: str) -> dict[str, Any]:
    """Random neighbours through the real path: no distance beyond what is charged."""
    largest, together, violations, differ, missed = Fraction(0), Fraction(0), 0, 0, []
    requests = -(-pairs // EACH)
    for i in range(requests):
        generator = random.Random(f"{seed}:neighbours:{i}")
        ask = random_ask(generator, SMALL if i % 2 else WIDE)
        found = try_pairs(ask, generator, min(EACH, pairs - i * EACH))
        largest, together = max(largest, found.largest), max(together, found.together)
        violations, differ = violations + found.violations, differ + found.differ
        if found.violations or found.differ:
            missed.append(f"{seed}:neighbours:{i} {found.violations} violations, {found.differ} tables differ alone")
    print(f"{pairs} pairs of {requests} requests: {violations} violations, largest ratio {root(largest)}", flush=True)
    return {
        "pairs": pairs,
        "requests": requests,
        "violations": violations,
        "tables_that_differ_alone": differ,
        "largest_ratio": root(largest),
        "largest_ratio_of_all_noises": root(together),
        "missed": missed,
    }


def prove_statistics(pairs: int, seed: str) -> dict[str, Any]:
    """The same of quantiles, tables, variances, covariances, regressions and a person's own numbers."""
    largest, violations, missed = Fraction(0), 0, []
    asked: dict[str, int] = {}
    each = 10
    for i in range(-(-pairs // each)):
        generator = random.Random(f"{seed}:statistics:{i}")
        name, request = random_request(generator)
        asked[name] = asked.get(name, 0) + 1
        found, together = try_neighbours(request, generator, each)
        largest = max(largest, found)
        if max(found, together) > 1:
            violations += 1
            missed.append(f"{seed}:statistics:{i} {name}: {root(found)!r}, {root(together)!r} together")
    print(f"{pairs} pairs of statistics: {violations} violations, largest ratio {root(largest)}", flush=True)
    return {
        "pairs": pairs,
        "requests": asked,
        "violations": violations,
        "largest_ratio": root(largest),
        "missed": missed,
    }


def prove_attained(count: int, seed: str) -> dict[str, Any]:
    """People at the bounds, all types of them: the bound of every noise is attained, and kept."""
    tried, noises, people, least, missed, i = 0, 0, 0, 1.0, [], 0
    while tried < count:
        name = f"{seed}:bounds:{i}"
        ask = random_ask(random.Random(name), SMALL if i % 2 else WIDE)
        i += 1
        if ask.neighbours != "add-remove" or count_types(ask) > LISTED:
            continue
        found = try_corners(ask)
        tried, noises, people = tried + 1, noises + len(found), people + count_types(ask)
        least = min(least, root(min(found)))
        if max(found) > 1 or root(min(found)) < 1 - ATTAINED:
            missed.append(f"{name} {root(min(found))!r} to {root(max(found))!r}")
    print(f"{people} people at the bounds of {tried} requests: at least {least!r} of each bound attained", flush=True)
    return {"requests": tried, "noises": noises, "people": people, "smallest_ratio": least, "missed": missed}


def prove_mixed(count: int, pairs: int, seed: str) -> dict[str, Any]:
    """Requests with quantiles and variances: totals within 9 % of the optimum and none below, neighbours as charged.

    What borrows the number of everybody meets the other questions in that one number; small requests lose most by it.
    """
    most, least, said, lent, violations, missed = 1.0, 1.0, 1.0, 0, 0, []
    attained, largest, each = 1.0, Fraction(0), -(-pairs // count)
    for i in range(count):
        name = f"{seed}:mixed:{i}"
        generator = random.Random(name)
        ask = random_mixed(generator)
        found = try_mixed_optimum(ask)
        most, least, said = max(most, found.least), min(least, found.most), max(said, found.said)
        lent += any(tie.lent_to for tie in ask.request().plan.ties)
        corners, together = try_mixed_corners(ask)
        near = try_mixed_pairs(ask, generator, each)
        attained, largest = min(attained, root(min(corners))), max(largest, near.largest)
        violations += near.violations
        honest = found.said >= found.least * (1 - TOLERANCE)
        if found.least > CLOSE_MIXED or found.most < 1 - TOLERANCE or not honest:
            missed.append(f"{name} {found}")
        if max(*corners, together) > 1 or root(min(corners)) < 1 - ATTAINED_MIXED or near.violations or near.differ:
            missed.append(f"{name} {root(min(corners))!r} to {root(max(corners))!r}, {near.violations} violations")
    print(f"{count} mixed requests beside cvxpy: total over optimum {least:.7f} to {most:.7f}, {violations} violations")
    return {
        "requests": count,
        "that_borrow": lent,
        "pairs": each * count,
        "violations": violations,
        "largest_ratio_of_totals": most,
        "smallest_ratio_of_totals": least,
        "largest_stated_ratio": said,
        "smallest_part_of_a_bound_attained": attained,
        "largest_ratio_of_neighbours": root(largest),
        "missed": missed,
    }


def prove_certificates(count: int, pairs: int, seed: str) -> dict[str, Any]:
    """No lower bound above the least noise for all people who can exist: named requests, and random ones with pairs."""
    people = People(-(-pairs // count))
    missed, above, kinds, loosest = [], 0.0, dict.fromkeys(("replace-one", "unit", "by", "where"), 0), 1.0
    named, prices = {}, []
    cases = [*named_cases().items(), *((f"{seed}:certificates:{i}", None) for i in range(count))]
    for name, case in cases:
        fields, rows = random_case(random.Random(name)) if case is None else case
        found = examine(fields, rows)
        if case is None:
            missed += people.meet(name, fields, rows)
        above, loosest = max(above, found.bound), max(loosest, found.optimality / found.price_from)
        if case is None:
            prices.append(found.price_from)
        else:
            named[name] = {"true": round(found.price_from, 4), "stated": round(found.optimality, 4)}
        asked = [fields, *fields.get("questions", ())]
        kinds["replace-one"] += "neighbours" in fields
        for kind in ("unit", "by", "where"):
            kinds[kind] += any(kind in question for question in asked)
        if found.bound > 1 + TOLERANCE or found.optimality < found.price_from * (1 - TOLERANCE):
            missed.append(f"{name} {found} {fields}")
    print(f"{count} certificates: largest bound over the optimum {above:.6f}, {len(missed)} above it", flush=True)
    middle, far = statistics.median(prices), sum(each > FAR for each in prices) / len(prices)
    print(f"  {people.found()}", flush=True)
    print(f"totals over the optimum: median {middle:.4f}, {far:.1%} beyond {FAR}", flush=True)
    return {
        "requests": count,
        "with": kinds,
        "above_the_optimum": len(missed) - people.missed,
        "largest_bound_over_optimum": above,
        "largest_stated_over_true": loosest,
        "neighbours": people.found(),
        "median_total_over_optimum": round(middle, 6),
        f"share_beyond_{FAR}": round(far, 4),
        "named": named,
        "missed": missed,
    }


@dataclass
class People:
    """Random pairs of neighbours of many requests, so many of each: what was found of all."""

    each: int
    pairs: int = 0
    lacking: int = 0
    violations: int = 0
    missed: int = 0
    largest: Fraction = Fraction(0)

    def meet(self, name: str, fields: dict[str, Any], rows: Sequence[dict[str, Any]]) -> list[str]:
        """Try a request; what is wrong with it."""
        found, lacking = try_people(fields, rows, random.Random(f"{name}:people"), self.each)
        self.pairs, self.lacking = self.pairs + self.each, self.lacking + lacking
        self.violations, self.largest = self.violations + found.violations, max(self.largest, found.largest)
        wrong = [f"{name} {found}"] if found.violations or found.differ else []
        self.missed += len(wrong)
        return wrong

    def found(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "people_without_a_value_in_one_of_their_groups": self.lacking,
            "violations": self.violations,
            "largest_ratio": root(self.largest),
        }


def prove_by_groups(count: int, pairs: int, seed: str) -> dict[str, Any]:
    """Questions by the same groups: planned as one group, so nearly all totals are the least there is."""
    missed, above, prices, bad, people = [], 0.0, [], 0, People(-(-pairs // count))
    for i in range(count):
        name = f"{seed}:groups:{i}"
        fields, rows = random_by_groups(random.Random(name))
        found = examine(fields, rows)
        above = max(above, found.bound)
        prices.append(found.price_from)
        missed += people.meet(name, fields, rows)
        if found.bound > 1 + TOLERANCE or found.optimality < found.price_from * (1 - TOLERANCE):
            bad += 1
            missed.append(f"{name} {found} {fields}")
    middle, far = statistics.median(prices), sum(each > FAR for each in prices) / count
    print(f"  {people.found()}", flush=True)
    print(f"{count} requests by the same groups: median {middle:.4f} times the optimum, {far:.1%} beyond {FAR}")
    if middle > MIDDLE or far > FEW:
        missed.append(f"by groups: median {middle:.4f}, {far:.1%} beyond {FAR}")
    return {
        "requests": count,
        "above_the_optimum": bad,
        "neighbours": people.found(),
        "largest_bound_over_optimum": above,
        "median_total_over_optimum": round(middle, 6),
        "largest_total_over_optimum": round(max(prices), 4),
        f"share_beyond_{FAR}": round(far, 4),
        "missed": missed,
    }


def prove_realistic() -> dict[str, Any]:
    """The requests of the benchmark, planned in time: certified within 2 % where no two questions read one column.

    Where draws are divided into k sets, whose bounds add up, within k times as much. Where the cell of a quantile is
    chosen nothing is claimed: a choice takes a part of μ² that no bound on noise knows of.
    """
    spec = importlib.util.spec_from_file_location("realistic", ROOT / "benchmarks" / "requests.py")
    assert spec is not None and spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark
    spec.loader.exec_module(benchmark)
    found, missed = {}, []
    for name, fields in benchmark.REQUESTS.items():
        one = benchmark.plan_request(fields)
        found[name] = {
            "questions": one.questions,
            "total": round(one.total, 6),
            "optimality": round(one.optimality, 9),
            "sets": count_sets(fields),
            "chooses": chooses(fields),
            "over_noise_of_its_own": round(one.apart / one.total, 4),
        }
        if not chooses(fields) and one.optimality > CERTIFIED * count_sets(fields):
            missed.append(f"{name}: {one.optimality:.4f}")
    worst = max(each["optimality"] for each in found.values())
    print(f"{len(found)} realistic requests: total over lower bound at most {worst}", flush=True)
    return {"requests": len(found), "worst_optimality": worst, "by_name": found, "missed": missed}


def chooses(fields: dict[str, Any]) -> bool:
    """Whether the cell of a quantile is chosen."""
    plan = gm.Request("table.parquet", guarantee=gm.Guarantee(mu=1), **fields).plan
    return any(query.block.domain.chosen for query in plan.queries)


def count_sets(fields: dict[str, Any]) -> int:
    """Into how many sets of draws a certificate divides a request: 1 where a person can be anything in each draw."""
    plan = gm.Request("table.parquet", guarantee=gm.Guarantee(mu=1), **fields).plan
    if plan.neighbours != "add-remove":
        return len(plan.noises) if any(question.get("by") for question in fields["questions"]) else 1
    return max((len(sets) for tie in plan.ties for sets in getattr(tie, "people_sets", ())), default=1)


def root(square: Fraction) -> float:
    return float(square) ** 0.5


def write_evidence(parts: dict[str, Any], seed: str, seconds: float) -> None:
    claim = (
        "whole requests have the least noise there is where no two questions read one column, one person changes what "
        "it is added to by at most what is charged, and no certificate is above the truth"
    )
    write_found(EVIDENCE, claim, seed, seconds, parts, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
