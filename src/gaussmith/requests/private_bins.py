"""`bins = { income = "private" }`: quantiles of a column without a range, over cells that are found in stages.

    quantiles = { income = [0.1, 0.5, 0.9] }      bins = { income = "private" }

The stages are ordinary requests for the same quantiles over other cells. The last one is the request itself, with the
cells that were found. Nothing here sees data: only where noisy numbers say that the quantiles may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.checks import is_list
from gaussmith.errors import RequestError
from gaussmith.notations import setting
from gaussmith.planning.plan import Plan
from gaussmith.planning.staging import ANSWERS, StageStep
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.noise_laws import refuse_stages
from gaussmith.requests.private_bounds import ASKED, entries_of, plan_stages, private_columns, read_budget, values_in
from gaussmith.requests.readers import is_found, is_private, read_medians, read_quantiles, read_truth, without

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

GUESS = (0.0, 100.0, True)
"""Where quantiles are assumed to be, for the errors that are stated before any data is read: these are in ranks."""

MOST = 20
"""Limit on the quantiles of a column: all their cells together must be planned after the charge."""

ROWS = ("where", "columns", "person_columns")
"""What says which rows are read, and how."""


def plan_private(request: Request) -> tuple[Plan | None, Fraction]:
    """The plan of a request in stages, None without; and the share of those who are clipped."""
    bounds, cells = private_columns(request), private_cells(request)
    if bounds or cells or request.keys_first:
        refuse_stages(request)
    if read_truth("keys_first", request.keys_first):
        from gaussmith.requests.keys_first import plan_keys_first

        if bounds or cells:
            raise RequestError(
                "keys_first beside private bounds or bins",
                "each is learned in stages of its own",
                "declare the bounds or bins, or leave keys_first out",
                code="keys-first-beside-private",
            )
        return plan_keys_first(request), Fraction(0)
    clipped = read_budget(request, bool(bounds))["clipped"]
    if cells:
        return plan_cells(request, cells), clipped
    return (plan_stages(request, bounds) if bounds else None), clipped


def private_cells(request: Request) -> list[str]:
    """The columns whose cells are found in stages."""
    bins = request.bins
    return [str(column) for column, each in bins.items() if is_private(each)] if isinstance(bins, Mapping) else []


def plan_cells(request: Request, columns: list[str]) -> Plan:
    """The plan of a request with private bins: its draws and errors are those under the guess."""
    from gaussmith.planning.learned_cells import FindCells, Quantile, last_edges
    from gaussmith.planning.staging import Staging, share_of

    _check(request, columns)
    quantiles, medians = read_quantiles("quantiles", request.quantiles), read_medians("medians", request.medians)
    levels = {c: sorted({*quantiles.get(c, ()), *([0.5] if c in medians else [])}) for c in columns}
    for column, each in levels.items():
        if len(each) > MOST:
            raise RequestError(
                f"{len(each)} quantiles of {column!r} over private bins",
                f"each has cells of its own, and at most {MOST} are asked of a column",
                "ask for fewer: others are read from the release, release.quantile(0.37)",
                code="private-bins-of-many-quantiles",
                column=column,
            )
    rule = FindCells(tuple((column, tuple(each)) for column, each in levels.items()))

    def planner(step: StageStep, guarantee: Guarantee) -> Plan:
        if step.stage == ANSWERS:
            return _answers(request, columns, step.asks["cells"], guarantee).plan
        return _look(request, levels, step.asks["edges"], guarantee).plan

    whole = request.guarantee
    first = rule.step((), whole.mu_squared)
    guess = "Errors of quantiles are in ranks, and are stated as if all zooms were needed."
    staging = Staging(rule, planner(first, share_of(whole, first, whole.mu_squared)), guess, planner)
    left = share_of(whole, StageStep(ANSWERS), (1 - rule.most_before) * whole.mu_squared)
    cells = {column: list(last_edges([Quantile(*GUESS)] * len(each))) for column, each in levels.items()}
    made = replace(_answers(request, columns, cells, left).plan, guarantee=whole, staging=staging)
    return made.certified()


def _look(request: Request, levels: Mapping[str, list[float]], edges: Any, guarantee: Guarantee) -> Request:
    """The request of a stage: the same quantiles over cells with these edges."""
    from gaussmith.requests.request import Request

    columns = list(edges)
    context: dict[str, Any] = {name: getattr(request, name) for name in ROWS if getattr(request, name)}
    if isinstance(request.missing, Mapping):
        context["missing"] = {c: value for c, value in request.missing.items() if c in columns}
    context["complete"] = [c for c in request.complete if c in columns]
    questions = [{"name": column, "quantiles": {column: levels[column]}} for column in columns]
    return Request(
        request.source, unit=request.unit, questions=questions, bins={c: list(each) for c, each in edges.items()},
        guarantee=guarantee, neighbours=request.neighbours, **context,
    )  # fmt: skip


def _answers(request: Request, columns: list[str], cells: Mapping[str, Any], guarantee: Guarantee) -> Request:
    """The request itself over the cells that were found; quantiles of columns without any are left out."""
    lost = {column for column in columns if column not in cells}
    bins = {column: list(cells.get(column, ())) or each for column, each in without(request.bins, lost).items()}
    bounded = [field for field in ASKED if field not in ("quantiles", "medians")]
    others = {name for field in bounded for name in entries_of(field, getattr(request, field))}
    missing = without(request.missing, lost - others) if isinstance(request.missing, Mapping) else request.missing
    return replace(
        request, bins=bins, quantiles=without(request.quantiles, lost),
        medians=without(read_medians("medians", request.medians), lost), missing=missing,
        complete=[column for column in request.complete if column not in lost - others], guarantee=guarantee,
    )  # fmt: skip


def _check(request: Request, columns: list[str]) -> None:
    """Refuse what private bins do not go with."""
    asked = {*_names(request.quantiles), *_names(request.medians)}
    counted = {*_names(request.histograms), *_names(request.proportions)}
    counted |= {name for table in _names(request.marginals) for name in _names(table)}
    for column in columns:
        if column not in asked:
            raise RequestError(
                f"private bins of {column!r}, of which no quantile is asked",
                "cells are found around quantiles",
                f"write {setting('quantiles', {column: [0.5]})}, or declare {setting('bins', {column: [0, 10, 20]})}",
                code="private-bins-without-quantiles",
                column=column,
            )
        if column in counted:
            raise _apart(f"private bins of {column!r} for a table or histogram", "only quantiles are read from them")
    if request.questions:
        raise _apart("private bins beside questions", "they belong to a request that asks for everything at once")
    if request.by:
        raise _apart("private bins by groups", "cells are found for everybody, and groups may lie elsewhere")
    if private_columns(request):
        raise _apart("private bins beside private bounds", "each is learned in stages of its own")
    if any(map(is_found, values_in(request.histograms))):
        raise _apart("private bins beside found keys", "found keys are a stage of their own")
    if request.unit is not None and not request.person_columns:
        name = columns[0]
        raise RequestError(
            "private bins of people with several rows",
            "each person has one number, so it must be said how rows become one",
            f"write {setting('person_columns', {f'own_{name}': f'mean({name})'})} and ask for quantiles of own_{name}",
            code="private-bins-of-rows",
        )


def _names(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Mapping) or is_list(given) else []


def _apart(what: str, rule: str) -> RequestError:
    remedy = "ask for these quantiles in a request of its own, or declare bounds or bins"
    return RequestError(what, rule, remedy, code="private-bins-beside-others")
