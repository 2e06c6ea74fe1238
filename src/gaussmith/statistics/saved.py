"""The saved form of answers: their features and statistics; weights follow from those of the statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.errors import PlanError, nearest
from gaussmith.problem import Domain, Features
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import ask_workload, ground_of
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import Statistic


def answers_to_dict(answers: Answers) -> dict[str, Any]:
    """The features, the statistics in order, and how weights were chosen."""
    fields = {"weighting": answers.weighting, "features": answers.features.to_dict()}
    work = answers.features.workload
    if work is None:
        return fields | {"statistics": [statistic.to_dict() for statistic in answers.statistics]}
    given = answers.weights[work.given_at].tolist() if answers.weighting == "given" else None  # as they were given
    return fields | {"count": answers.count, "weights": given}


def answers_from_dict(fields: dict[str, Any], domain: Domain) -> Answers:
    """The answers that `answers_to_dict` described; refuses what it does not know."""
    features, weighting = Features.from_dict(fields["features"]), str(fields["weighting"])
    if features.workload is not None:
        weights = weighting if fields["weights"] is None else fields["weights"]
        asked = ask_workload(domain, features.workload, bool(fields["count"]), weights)
        return replace(asked, features=replace(asked.features, targets=features.targets))
    statistics = [_statistic(each, domain, features) for each in fields["statistics"]]
    return Answers.of(features, statistics, weighting)


def _statistic(fields: dict[str, Any], domain: Domain, features: Features) -> Statistic:
    kind = fields["kind"]
    if kind not in STATISTICS:
        raise PlanError(f"statistic {kind!r}", "this version does not know it", nearest(str(kind), list(STATISTICS)))
    known, names = STATISTICS[kind], tuple(map(str, fields["names"]))
    places = np.array(fields["places"], np.int64).reshape(-1, len(known.coefficients))
    inside = bool(((places >= -1) & (places < features.size)).all())
    if not (inside and len(places) == len(names) == len(fields["weights"])):
        raise PlanError("a statistic without its features", "every field must be as it was saved", "plan again")
    return known.placed(names, places, np.array(fields["weights"], float), ground_of(domain, features))
