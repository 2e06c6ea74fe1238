"""The saved form of answers: their features and statistics; weights follow from those of the statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.errors import PlanError, nearest
from gaussmith.problem import Domain, Features
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import ask_workload, ground_of
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import ONE, Statistic
from gaussmith.statistics.workload import Workloads


def answers_to_dict(answers: Answers) -> dict[str, Any]:
    """The features, the statistics in order, and how weights were chosen."""
    fields = {"weighting": answers.weighting, "features": answers.features.to_dict()}
    work = answers.features.workload
    if work is None or not isinstance(answers.statistics[0], Workloads):
        return fields | {"statistics": [statistic.to_dict() for statistic in answers.statistics]}
    given = answers.weights[work.given_at].tolist() if answers.weighting == "given" else None  # as they were given
    return fields | {"count": answers.count, "weights": given}


def answers_from_dict(fields: dict[str, Any], domain: Domain) -> Answers:
    """The answers that `answers_to_dict` described; refuses what it does not know."""
    _check_fields(fields, {"weighting", "features", "statistics"}, {"weighting", "features", "count", "weights"})
    made_of = ({"index", "centred"}, {"matrix"}, {"workload"})
    _check_fields(fields["features"], *made_of, *(names | {"targets"} for names in made_of))
    features, weighting = Features.from_dict(fields["features"]), str(fields["weighting"])
    if features.workload is not None and "statistics" in fields:
        read = [_quantiles(each, features.size) for each in fields["statistics"]]
        return Answers.of(features, read, weighting)
    if features.workload is not None:
        weights = weighting if fields["weights"] is None else fields["weights"]
        asked = ask_workload(domain, features.workload, bool(fields["count"]), weights)
        return replace(asked, features=replace(asked.features, targets=features.targets))
    statistics = [_statistic(each, domain, features) for each in fields["statistics"]]
    return Answers.of(features, statistics, weighting)


def _quantiles(fields: dict[str, Any], size: int) -> Quantiles:
    """What is read from all features of a workload together."""
    _check_fields(fields, {"kind", "names", "levels", "limits"})
    return Quantiles.from_fields(fields, size)


def _statistic(fields: dict[str, Any], domain: Domain, features: Features) -> Statistic:
    own = {"kind", "names", "places", "weights"}
    _check_fields(fields, own, own | {"within"})
    kind = fields["kind"]
    if kind not in STATISTICS:
        raise PlanError(
            f"statistic {kind!r}",
            "this version does not know it",
            nearest(str(kind), list(STATISTICS)),
            code="unknown-statistic",
            kind=kind,
        )
    known, names = STATISTICS[kind], tuple(map(str, fields["names"]))
    places, weights = np.array(fields["places"], np.int64), np.array(fields["weights"], float)
    inside = places.ndim == 2 and len(places) == len(names) == len(weights) and known.has_width(places.shape[1])
    if not (inside and ((places >= ONE) & (places < features.size)).all() and (weights > 0).all()):
        raise PlanError(
            "a statistic without its features",
            "every field must be as it was saved",
            "plan again",
            code="statistic-without-features",
        )
    return known.placed(names, places, weights, ground_of(domain, features)).stating(_stated(fields, names))


def _stated(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Between which numbers means are stated to lie, by name."""
    stated = fields.get("within", [None] * len(names))
    pairs = [pair for pair in stated if pair is not None] if isinstance(stated, list) else [()]
    fits = len(stated) == len(names) and all(
        isinstance(p, list) and len(p) == 2 and all(map(is_number, p)) for p in pairs
    )
    if not fits:
        raise PlanError(
            "a statement of where means lie that does not fit them",
            "every field must be as it was saved",
            "plan again",
            code="stated-means-do-not-fit",
        )
    return {
        name: (float(pair[0]), float(pair[1])) for name, pair in zip(names, stated, strict=True) if pair is not None
    }


def _check_fields(fields: dict[str, Any], *known: set[str]) -> None:
    if set(fields) not in known:
        odd = sorted(set(fields).symmetric_difference(known[0]))
        raise PlanError(
            f"plan fields {odd}",
            "a plan must have exactly the fields it was saved with",
            "plan again",
            code="plan-fields-differ",
            fields=odd,
        )
