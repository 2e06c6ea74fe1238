"""Whole requests as people ask them: how close to the best noise there is, how long planning takes, what it gains.

    ./run python benchmarks/requests.py

Claims: every request is certified within a factor 1.8 of the least total of any Gaussian noise; bounds of questions
that read one column add up. Ten questions of up to 1 000 groups are planned in half a second of processor time, fifty
in five. Noise of its own for every question, at the best shares or at equal ones, is never better.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gaussmith as gm
from gaussmith.numerics.stored import _KEPT

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings

MONTHS = list(range(1, 13))
REGIONS = ["north", "south", "east", "west"]
AGES = ["0-17", "18-29", "30-44", "45-59", "60-74", "75+"]
YES, SEXES = ["yes", "no"], ["f", "m"]


def values(name: str, size: int) -> list[str]:
    return [f"{name} {i}" for i in range(size)]


REQUESTS: dict[str, dict[str, Any]] = {
    "health: visits of a year": {"unit": "patient", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "by month", "count": True, "by": {"month": MONTHS}, "groups_per_unit": 12},
        {"name": "spending by region", "sums": {"spent": (0, 5_000)}, "count": True, "by": {"region": REGIONS}},
        {"name": "patients", "count": True},
        {"name": "ages", "histograms": {"age group": AGES}},
        {"name": "diabetics", "count": True, "where": "diabetes == 1"},
        {"name": "inpatients", "sums": {"nights": (0, 60)}, "count": True, "where": "ward == 1"}]},
    "health: blood pressure of a cohort": {"questions": [
        {"name": "everybody", "means": {"systolic": (80, 200), "diastolic": (40, 120)}, "count": True},
        {"name": "smokers", "means": {"systolic": (80, 200)}, "count": True, "where": "smoker == 1"},
        {"name": "treated", "means": {"systolic": (80, 200)}, "count": True, "where": "treated == 1"},
        {"name": "ages", "histograms": {"age group": AGES}},
        {"name": "classes", "histograms": {"class": values("class", 5)}}]},
    "health: a trial by arm": {"questions": [
        {"name": "outcome", "sums": {"score": (0, 10), "pain": (0, 10), "days": (1, 90)}, "count": True,
         "by": {"arm": ["a", "b", "c"]}},
        {"name": "events", "count": True, "by": {"site": values("site", 25)}, "where": "event == 1"},
        {"name": "dropouts", "count": True, "where": "dropout == 1"},
        {"name": "old", "means": {"score": (0, 10), "pain": (0, 10)}, "count": True, "where": "age >= 65"},
        {"name": "laboratory", "means": {"glucose": (40, 400), "sodium": (120, 160), "albumin": (1, 6)},
         "where": "measured == 1"},
        {"name": "severity", "histograms": {"severity": values("grade", 5)}}]},
    "health: prescriptions": {"unit": "patient", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "drugs", "histograms": {"drug": values("drug", 200)}, "values_per_unit": 8},
        {"name": "cost by month", "sums": {"cost": (0, 400)}, "by": {"month": MONTHS}, "groups_per_unit": 12},
        {"name": "chronic", "count": True, "where": "chronic == 1"},
        {"name": "cost", "sums": {"cost": (0, 3_000)}, "count": True}]},
    "retail: shops and months": {"unit": "customer", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "shops", "sums": {"spent": (0, 500)}, "count": True, "by": {"shop": values("shop", 100)},
         "groups_per_unit": 5},
        {"name": "months", "sums": {"spent": (0, 300)}, "count": True, "by": {"month": MONTHS}, "groups_per_unit": 12},
        {"name": "cards", "histograms": {"card": ["none", "silver", "gold"]}},
        {"name": "returns", "sums": {"returned": (0, 200)}, "count": True, "where": "returns > 0"},
        {"name": "customers", "count": True}]},
    "retail: a thousand products": {"unit": "customer", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "products", "count": True, "by": {"product": values("product", 1000)}, "groups_per_unit": 5},
        {"name": "ages", "histograms": {"age group": AGES}},
        {"name": "sexes", "histograms": {"sex": SEXES}},
        {"name": "payment", "histograms": {"payment": ["cash", "card", "phone"]}, "values_per_unit": 2},
        *({"name": f"coupon {i}", "sums": {f"saved {i}": (0, 20)}, "where": f"coupon == {i}"} for i in range(3)),
        {"name": "spending", "means": {"spent": (0, 800)}, "mean_of": "units"},
        {"name": "online", "count": True, "where": "online == 1"},
        {"name": "customers", "count": True}]},
    "retail: orders of a week": {"questions": [
        {"name": "orders", "sums": {"total": (0, 250), "items": (0, 30)}, "count": True},
        {"name": "days", "sums": {"total": (0, 250)}, "count": True, "by": {"day": values("day", 7)}},
        {"name": "late", "count": True, "where": "late == 1"},
        {"name": "carriers", "histograms": {"carrier": values("carrier", 6)}}]},
    "mobility: trips between zones": {"unit": "traveller", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "zones", "count": True, "by": {"zone": values("zone", 300)}, "groups_per_unit": 10},
        {"name": "hours", "count": True, "by": {"hour": list(range(24))}, "groups_per_unit": 8},
        {"name": "distance", "sums": {"km": (0, 200)}, "count": True},
        {"name": "modes", "histograms": {"mode": ["walk", "bike", "bus", "train", "car"]}, "values_per_unit": 3},
        {"name": "night", "count": True, "where": "hour < 5"}]},
    "mobility: shared bikes": {"unit": "rider", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "stations", "sums": {"minutes": (0, 120)}, "count": True, "by": {"station": values("station", 150)},
         "groups_per_unit": 6},
        {"name": "weekdays", "count": True, "by": {"weekday": values("day", 7)}, "groups_per_unit": 7},
        {"name": "members", "count": True, "where": "member == 1"},
        {"name": "helmets", "histograms": {"helmet": YES}}]},
    "mobility: taxis by district": {"questions": [
        {"name": "fares", "sums": {"fare": (2, 100), "tip": (0, 30)}, "count": True,
         "by": {"district": values("district", 60)}},
        {"name": "airport", "means": {"fare": (20, 120)}, "count": True, "where": "airport == 1"},
        {"name": "payment", "histograms": {"payment": ["cash", "card"]}},
        {"name": "hours", "histograms": {"hour": list(range(24))}}]},
    "education: grades of schools": {"unit": "pupil", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "subjects", "sums": {"grade": (1, 6)}, "count": True, "by": {"subject": values("subject", 10)},
         "groups_per_unit": 10},
        {"name": "schools", "count": True, "by": {"school": values("school", 400)}},
        {"name": "absent", "sums": {"days": (0, 40)}, "count": True, "where": "days > 0"},
        {"name": "sexes", "histograms": {"sex": SEXES}},
        {"name": "support", "count": True, "where": "support == 1"},
        {"name": "pupils", "count": True}]},
    "education: an online course": {"unit": "student", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "lessons", "count": True, "by": {"lesson": values("lesson", 12)}, "groups_per_unit": 12},
        {"name": "quizzes", "sums": {"points": (0, 10)}, "by": {"quiz": values("quiz", 6)}, "groups_per_unit": 6},
        {"name": "finished", "count": True, "where": "finished == 1"},
        {"name": "hours", "means": {"hours": (0, 100)}, "mean_of": "units"},
        {"name": "countries", "histograms": {"country": values("country", 50)}}]},
    "survey: a household panel": {"questions": [
        {"name": "income", "sums": {"income": (0, 200_000)}, "means": {"size": (1, 12)}, "count": True},
        {"name": "regions", "sums": {"income": (0, 200_000)}, "count": True, "by": {"region": REGIONS}},
        {"name": "tenure", "histograms": {"tenure": ["own", "rent", "other"]}},
        {"name": "heating", "histograms": {"heating": values("heating", 7)}},
        {"name": "poor", "count": True, "where": "income < 12000"},
        {"name": "children", "sums": {"children": (0, 8)}, "where": "children > 0"}]},
    "survey: opinions": {"unit": "person", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        *({"name": f"item {i}", "histograms": {f"item {i}": values("answer", 5)}} for i in range(8)),
        {"name": "topics", "histograms": {"topic": values("topic", 12)}, "values_per_unit": 5},
        {"name": "answered", "count": True}]},
    "survey: ten yes or no questions": {"questions": [
        {"name": f"yes {i}", "count": True, "where": f"answer{i} == 1"} for i in range(10)]},
    "census: households of a county": {"questions": [
        {"name": "blocks", "count": True, "by": {"block": values("block", 1000)}},
        {"name": "ages", "histograms": {"age group": AGES}},
        {"name": "size", "sums": {"size": (1, 15)}, "by": {"tract": values("tract", 40)}},
        {"name": "vacant", "count": True, "where": "vacant == 1"},
        {"name": "households", "count": True}]},
    "census: tables of the same keys": {"questions": [
        {"name": "ages", "count": True, "by": {"age group": AGES}},
        {"name": "sexes", "count": True, "by": {"sex": SEXES}},
        {"name": "regions", "histograms": {"region": REGIONS}},
        {"name": "ages and sexes", "count": True, "by": {"age group": AGES, "sex": SEXES}},
        {"name": "all three", "count": True, "by": {"age group": AGES, "sex": SEXES, "region": REGIONS}},
        {"name": "people", "count": True}]},
    "telecom: calls and data": {"unit": "subscriber", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "cells", "sums": {"minutes": (0, 600), "gigabytes": (0, 50)}, "count": True,
         "by": {"cell": values("cell", 1000)}, "groups_per_unit": 12},
        {"name": "use", "sums": {"gigabytes": (0, 100), "minutes": (0, 2_000), "messages": (0, 3_000)}, "count": True},
        {"name": "months", "sums": {"gigabytes": (0, 20), "minutes": (0, 300)}, "count": True,
         "by": {"month": MONTHS}, "groups_per_unit": 12},
        {"name": "roaming", "sums": {"minutes": (0, 300), "gigabytes": (0, 10)}, "count": True,
         "where": "roaming == 1"},
        {"name": "prepaid", "means": {"minutes": (0, 2_000)}, "count": True, "where": "prepaid == 1",
         "mean_of": "units"},
        {"name": "countries", "count": True, "by": {"country": values("country", 60)}, "groups_per_unit": 4},
        {"name": "plans", "histograms": {"plan": values("plan", 8)}},
        {"name": "devices", "histograms": {"device": values("device", 40)}, "values_per_unit": 3},
        {"name": "complaints", "count": True, "where": "complaint == 1"},
        {"name": "tests", "means": {"speed": (0, 1_000), "latency": (0, 200)}, "by": {"region": REGIONS},
         "mean_of": "units", "groups_per_unit": 2}]},
    "energy: smart meters": {"unit": "meter", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "months", "sums": {"kwh": (0, 900)}, "by": {"month": MONTHS}, "groups_per_unit": 12},
        {"name": "tariffs", "sums": {"kwh": (0, 9_000)}, "count": True, "by": {"tariff": values("tariff", 6)}},
        {"name": "solar", "sums": {"fed in": (0, 6_000)}, "count": True, "where": "solar == 1"},
        {"name": "meters", "count": True}]},
    "finance: loans": {"unit": "borrower", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
        {"name": "purpose", "sums": {"amount": (500, 50_000)}, "count": True, "by": {"purpose": values("for", 9)},
         "groups_per_unit": 3},
        {"name": "defaults", "sums": {"loss": (0, 50_000)}, "count": True, "where": "default == 1"},
        {"name": "scores", "histograms": {"score": values("score", 10)}},
        {"name": "rates", "means": {"rate": (0, 0.3)}, "count": True, "mean_of": "units"},
        {"name": "late", "count": True, "where": "late == 1"}]},
    "labour: wages, one person replaced": {"neighbours": "replace-one", "questions": [
        {"name": "wages", "sums": {"wage": (0, 9_000)}, "means": {"hours": (0, 60)}},
        {"name": "sectors", "sums": {"wage": (0, 9_000)}, "count": True, "by": {"sector": values("sector", 20)}},
        {"name": "union", "count": True, "where": "member == 1"},
        {"name": "education", "histograms": {"degree": values("degree", 6)}}]},
    "mixed: incomes of a town": {"questions": [
        {"name": "income", "quantiles": {"income": [0.1, 0.5, 0.9]}, "bounds": {"income": (0, 200_000)}},
        {"name": "people", "means": {"age": (0, 110), "rooms": (1, 12)}, "count": True},
        {"name": "regions", "histograms": {"region": REGIONS}},
        {"name": "owners", "count": True, "where": "owner == 1"}]},
    "mixed: a clinic": {"questions": [
        {"name": "pressure", "means": ["systolic"], "variances": ["systolic"], "bounds": {"systolic": (80, 200)}},
        {"name": "stay", "medians": {"days": (0, 60)}},
        {"name": "wards", "count": True, "by": {"ward": values("ward", 12)}},
        {"name": "ages", "histograms": {"age group": AGES}},
        {"name": "patients", "count": True}]},
    "mixed: growth of children": {"questions": [
        {"name": "size", "means": ["height", "weight"], "covariance": ["height", "weight"],
         "bounds": {"height": (40, 200), "weight": (1, 120)}, "complete": ["height", "weight"]},
        {"name": "sleep", "medians": {"hours": (0, 24)}},
        {"name": "schools", "count": True, "by": {"school": values("school", 80)}},
        {"name": "glasses", "count": True, "where": "glasses == 1"}]},
    "mixed: rents and wages": {"questions": [
        {"name": "rent", "quantiles": {"rent": [0.25, 0.5, 0.75]}, "bounds": {"rent": (0, 5_000)}},
        {"name": "wage", "medians": {"wage": (0, 12_000)}},
        {"name": "debt", "variances": {"debt": (0, 100_000)}},
        {"name": "tenure", "histograms": {"tenure": ["own", "rent", "other"]}},
        {"name": "size", "means": {"size": (1, 12)}, "count": True}]},
    "mixed: tables, a regression and a median": {"questions": [
        {"name": "tables", "marginals": [["sex"], ["age group"], ["sex", "age group"]],
         "values": {"sex": SEXES, "age group": AGES}},
        {"name": "slope", "regression": {"of": "spending", "on": ["income"]},
         "bounds": {"spending": (0, 90_000), "income": (0, 200_000)}, "complete": ["spending", "income"]},
        {"name": "time", "medians": {"minutes": (0, 600)}},
        {"name": "online", "count": True, "where": "online == 1"}]},
}  # fmt: skip

FIFTY: dict[str, Any] = {"unit": "person", "groups_per_unit": 1, "values_per_unit": 1, "questions": [
    *({"name": f"month {i}", "count": True, "by": {f"month {i}": MONTHS}, "groups_per_unit": 1 + i} for i in range(8)),
    *({"name": f"filter {i}", "sums": {f"x{i}": (0, 10 + i)}, "count": True, "where": f"f == {i}"} for i in range(14)),
    *({"name": f"kind {i}", "histograms": {f"kind {i}": values("kind", 3 + i)}} for i in range(14)),
    *({"name": f"yes {i}", "count": True, "where": f"yes == {i}"} for i in range(10)),
    {"name": "places", "sums": {"spent": (0, 9)}, "count": True, "by": {"place": values("place", 900)},
     "groups_per_unit": 6},
    {"name": "all", "sums": {"a": (0, 5), "b": (-3, 8)}, "means": {"c": (0, 1)}, "mean_of": "units"},
    {"name": "rest", "means": {"d": (0, 2)}, "where": "f == 99", "mean_of": "units"},
    {"name": "people", "count": True}]}  # fmt: skip
"""Fifty questions of one table."""


ROUNDS = 3
"""Plans of each request; the quickest counts, so that other work on the machine does not."""


@dataclass(frozen=True)
class Planned:
    """What the plan of a request is like: totals at μ = 1, and processor seconds."""

    questions: int
    groups: int
    total: float
    lower_bound: float
    optimality: float
    seconds: float
    seconds_bound: float
    apart: float
    """What noise of its own for every question would cost, at the best shares."""
    equal: float
    """The same at equal shares."""
    ways: tuple[str, ...]


def plan_request(fields: dict[str, Any]) -> Planned:
    """Plan a request, and its questions one by one."""
    seconds = []
    for _ in range(ROUNDS):
        _KEPT.clear()  # what was solved a moment ago must not be found
        start = time.process_time()
        plan = gm.Request("table.parquet", guarantee=gm.Guarantee(mu=1), **fields).plan
        seconds.append(time.process_time() - start)
    planned = time.process_time()
    optimality = plan.optimality
    bounded = time.process_time()
    alone = [_alone(each, fields) for each in fields["questions"]]
    asked = [total for total in alone if total is not None]
    return Planned(
        len(plan.slots),
        max(max(query.size, query.block.answers.size) for query in plan.queries),
        plan.total_variance,
        plan.lower_bound,
        optimality,
        min(seconds),
        bounded - planned,
        sum(total**0.5 for total in asked) ** 2,
        len(asked) * sum(asked),
        tuple(dict.fromkeys(tie.how for tie in plan.ties)),
    )


def _alone(question: dict[str, Any], fields: dict[str, Any]) -> float:
    """The total of one question, with noise of its own as good as it gets where groups are planned one by one."""
    rest = {name: value for name, value in fields.items() if name != "questions"}
    plan = gm.Request("table.parquet", guarantee=gm.Guarantee(mu=1), questions=[question], **rest).plan
    if any(tie.lent_to for tie in plan.ties):
        return plan.total_variance
    return sum(tie.apart for tie in plan.ties) + sum(d.total_variance for d in plan.queries if d.tie is None)


def main() -> int:
    found = Findings("requests", "Whole requests at their optimum")
    plan_request(REQUESTS["survey: ten yes or no questions"])  # modules are imported, and are not measured
    names = (
        ("questions", 10),
        ("groups", 8),
        ("total", 12),
        ("least", 12),
        ("ratio", 9),
        ("s", 7),
        ("split", 7),
        ("equal", 7),
    )
    print(f"{'request':<38}" + "".join(f"{name:>{width}}" for name, width in names))
    results = {}
    for name, fields in {**REQUESTS, "fifty questions": FIFTY}.items():
        one = results[name] = plan_request(fields)
        print(
            f"{name:<38}{one.questions:>10}{one.groups:>8}{one.total:>12.5g}{one.lower_bound:>12.5g}{one.optimality:>9.5f}"
            f"{one.seconds:>7.2f}{one.apart / one.total:>7.2f}{one.equal / one.total:>7.2f}  {', '.join(one.ways)}",
            flush=True,
        )
    fifty = results.pop("fifty questions")
    each = list(results.values())
    found.say(
        f"{len(each)} requests: worst total over what any Gaussian noise needs",
        max(r.optimality for r in each),
        at_most=1.8,
    )
    found.say("fifty questions: total over what any Gaussian noise needs", fifty.optimality, at_most=1.2)
    found.say(f"{len(each)} requests: slowest plan, processor seconds", max(r.seconds for r in each), at_most=0.5)
    found.say("fifty questions, processor seconds", fifty.seconds, at_most=5)
    found.say(f"{len(each)} requests: slowest bound, processor seconds", max(r.seconds_bound for r in each))
    found.say(
        "noise of its own at the best shares: least ratio of totals",
        min(r.apart / r.total for r in each),
        at_least=1 - 1e-6,
    )
    found.say("noise of its own at the best shares: largest ratio", max(r.apart / r.total for r in each))
    found.say("noise of its own at equal shares: largest ratio", max(r.equal / r.total for r in each))
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())
