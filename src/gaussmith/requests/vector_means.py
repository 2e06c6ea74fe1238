"""`vector_means`: the means of columns of which nothing is known, no bounds and no spread, planned in stages.

    vector_means = ["height", "weight"]
    vector_means = { columns = ["height", "weight"], rows = 4000, normal = true }

It is a request of its own: its stages share one table, and each row (or each person, by person_columns) is a vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from gaussmith.domains import Domain, UnknownGaussianData
from gaussmith.errors import RequestError, nearest
from gaussmith.expressions import split_filter
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans import Plan
from gaussmith.plans.planner import plan
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.vector_plan import plan_vectors
from gaussmith.problem.features import VECTOR
from gaussmith.requests.fields import Fields

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

KEYS = ("columns", "rows", "normal")
ROWS = 10_000
"""The number of records that is assumed where none is stated."""

ALLOWED = ("where", "columns", "person_columns", "weights")
"""What may stand beside vector_means, with unit, guarantee and neighbours."""

EXAMPLE = 'write vector_means = ["height", "weight"], or { columns = ["height", "weight"], rows = 4000 }'


def read_vector_means(given: Any) -> dict[str, Any]:
    """The columns, the public guess of the number of records, and whether they are declared normal.

    >>> read_vector_means(["height", "weight"])
    {'columns': ['height', 'weight'], 'rows': 10000, 'normal': False}
    """
    found = dict(given) if isinstance(given, Mapping) else {"columns": given}
    for key in found:
        if key not in KEYS:
            what, rule = f"unknown key {key!r} in vector_means", "it has no such key"
            raise RequestError(what, rule, nearest(str(key), KEYS), code="unknown-key-of-vector-means", key=key)
    columns = found.get("columns")
    names = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else []
    if not names or not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        what, rule = f"vector_means={given!r}"[:120], "it names columns, each once"
        raise RequestError(what, rule, EXAMPLE, code="vector-means-without-columns")
    return {"columns": names, "rows": found.get("rows", ROWS), "normal": found.get("normal", False)}


def plan_vector_means(request: Request) -> Plan:
    """The plan of a request for vector_means; refuses what cannot stand beside them."""
    asked = read_vector_means(request.vector_means)
    _check_alone(request)
    columns = asked["columns"]
    where, person_where = split_filter(request.where, dict(request.person_columns))
    if request.neighbours != ADD_REMOVE and (where is not None or person_where is not None):
        raise RequestError(
            "a filter beside vector_means under replace-one",
            "the number of all people is public there, and that of those who pass the filter is not",
            'leave where out, or write neighbours = "add-remove"',
            code="filtered-vector-means-under-replace-one",
        )
    if request.unit is not None and not request.person_columns:
        name = columns[0]
        raise RequestError(
            "vector_means of people with several rows",
            "each person is one vector, so it must be said how rows become one",
            f'write person_columns = {{ own_{name} = "mean({name})" }} and name these columns',
            code="vector-means-of-rows",
        )
    rule = RowRule(
        tuple((VECTOR, name) for name in columns),
        request.unit,
        columns=tuple(request.columns.items()),
        where=where,
        person_columns=tuple(request.person_columns.items()),
        person_where=person_where,
    )
    names = [f"{name}_mean" for name in columns]
    domain = UnknownGaussianData(names=names, rows=asked["rows"], normal=asked["normal"])

    def make(one: Domain, share: Guarantee, answers: str, weights: Any) -> Plan:
        return plan(one, share, neighbours=request.neighbours, answers=answers, weights=weights)

    return plan_vectors(domain, request.guarantee, request.neighbours, request.weights, make, rule)


def _check_alone(request: Request) -> None:
    """Refuse other answers, groups and limits."""
    others: list[tuple[str, bool]] = [("questions", not request.questions), ("diagnose", request.diagnose is False)]
    others += [("keys_delta", request.keys_delta is None), ("budget", not request.budget)]
    others += [("keys_first", request.keys_first is False)]
    for each in fields(Fields):
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        given = getattr(request, each.name)
        others.append((each.name, each.name in ALLOWED or given == usual or not given))
    for name, is_usual in others:
        if not is_usual:
            raise RequestError(
                f"{name} beside vector_means",
                "means of vectors are planned in stages of their own",
                f"leave {name} out, or ask for it in a request of its own",
                code="answers-beside-vector-means",
                name=name,
            )
