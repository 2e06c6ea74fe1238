"""`bounds = "private"`: a request whose bounds are learned from the data, in stages, before its answers are planned.

    sums = { income = "private" }      means = { income = "private" }      bounds = { income = "private" }
    bounds = "private"                 every column that has no bounds of its own

The stages are ordinary requests: histograms of people over cells. The last one is the request itself, with the learned
bounds in place of the word, at what is left of μ². Nothing here sees data: only what the rule made of noisy counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from gaussmith.checks import is_list, is_number
from gaussmith.errors import RequestError, nearest, wrong_value
from gaussmith.notations import setting
from gaussmith.planning.plan import Plan
from gaussmith.planning.staging import ANSWERS as ANSWERS_RULE
from gaussmith.planning.staging import StageStep
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.fields import SHARED
from gaussmith.requests.question import Question, joined_fields
from gaussmith.requests.readers import is_found, is_private, named_in, without

if TYPE_CHECKING:
    from gaussmith.planning.learned_bounds import LearnBounds, Target
    from gaussmith.requests.request import Request


ASKED = ("sums", "means", "variances", "covariance", "regression", "quantiles", "medians")
"""The fields that ask about columns with bounds."""

DEFAULTS = {
    "bounds": Fraction(6, 100), "zooms": Fraction(4, 100), "clipped": Fraction(2, 100), "keys": Fraction(1, 2),
}  # fmt: skip
"""Shares of μ²: of the first histogram, each zoom, a diagnosis, and keys that come first."""

ROUNDS = 3
"""At most so many zooms."""

MOST = Fraction(9, 10)
"""Limit on all shares together: something must be left for the answers."""

GUESS = (0.0, 100.0)
"""The bounds that are assumed for the errors that are stated before any data is read."""

Learned = Mapping[tuple[str, str], tuple[float, float]]
"""Bounds by column, "value" or "total"."""

Scope = dict[str, Any]
"""What a request says itself, or one of its questions, as it was written."""


def private_columns(request: Request) -> list[tuple[str, str]]:
    """The columns whose bounds are learned, each with "value" (of one row) or "total" (of a person's rows)."""
    found = dict.fromkeys(target for scope in _scopes(request) for target in _targets(request, scope))
    return list(found)


def read_budget(request: Request, is_staged: bool, keys_first: bool = False) -> dict[str, Fraction]:
    """The shares of μ² of the stages; refuses those that are no shares, or that nothing would use."""
    _check_shares(request.budget)
    _check_stages(request, is_staged, keys_first)
    shares = {name: _fraction(share) for name, share in request.budget.items()}
    if "bounds" in shares:
        shares.setdefault("zooms", shares["bounds"] * 2 / 3)
    shares = {**DEFAULTS, **({} if request.diagnose else {"clipped": Fraction(0)}), **shares}
    learned = shares["keys"] if keys_first else shares["bounds"] + ROUNDS * shares["zooms"]
    whole, stages = learned + shares["clipped"], "keys" if keys_first else f"bounds and {ROUNDS} zooms"
    if whole > MOST:
        stages += " with clipped" if request.diagnose else ""
        what = f"stages that take {100 * float(whole):.3g} % of the budget: {stages}"
        rule = f"at most {100 * float(MOST):.3g} % may go to them, or too little is left for the answers"
        remedy = f"choose smaller shares, such as {setting('budget', {'keys': 0.5} if keys_first else {'bounds': 0.1})}"
        raise RequestError(what, rule, remedy, code="budget-shares-too-large", share=float(whole))
    return shares


def _check_shares(budget: Any) -> None:
    """Refuse what does not map stages to shares."""
    if not isinstance(budget, Mapping):
        rule = "it must map stages to their shares of the budget"
        raise wrong_value("budget", budget, rule, {"bounds": 0.1}, code="budget-not-a-mapping")
    for name, share in budget.items():
        if name not in DEFAULTS:
            what, rule = f"budget of {name!r}", "the stages that have a share are bounds, zooms, clipped and keys"
            remedy = nearest(str(name), list(DEFAULTS))
            raise RequestError(what, rule, remedy, code="budget-of-unknown-stage", stage=name)
        if not (isinstance(share, int | float | Fraction) and is_number(share) and 0 < share < 1):
            what, rule = f"budget of {name!r} = {share!r}"[:120], "a share of the budget is a number between 0 and 1"
            example = f"write {setting('budget', {name: 0.1})}"
            raise RequestError(what, rule, example, code="budget-share-out-of-range", stage=name, share=share)


def _check_stages(request: Request, is_staged: bool, keys_first: bool) -> None:
    """Refuse shares of stages that the request does not have."""
    if "keys" in request.budget and not keys_first:
        rule = "it is the share of the stage that finds keys before all answers"
        remedy = f"leave it out, or write {setting('keys_first', True)}"
        raise RequestError("a budget of 'keys' without keys_first", rule, remedy, code="budget-without-keys-first")
    if "clipped" in request.budget and not request.diagnose:
        rule = "it is the share that counts people who are clipped, and nothing counts them"
        remedy = f"leave it out, or write {setting('diagnose', True)}"
        raise RequestError("a budget of 'clipped' without diagnose", rule, remedy, code="budget-without-diagnose")
    if not is_staged and {*request.budget} & {"bounds", "zooms"}:
        rule = "it says what the stages take that learn bounds, and no bounds are learned"
        remedy = f"leave it out, or write {setting('bounds', 'private')}"
        raise RequestError("budget without private bounds", rule, remedy, code="budget-without-stages")


def _fraction(share: Any) -> Fraction:
    """A share as it is written: 0.1 is one tenth."""
    return Fraction(repr(share)) if isinstance(share, float) else Fraction(share)


def plan_stages(request: Request, targets: Sequence[tuple[str, str]]) -> Plan:
    """The plan of a request with private bounds: its draws and errors are those under the guess."""
    from gaussmith.planning.learned_bounds import LearnBounds
    from gaussmith.planning.staging import Staging, share_of

    shares = read_budget(request, True)
    named = tuple(_target(column, of, request) for column, of in targets)
    rule = LearnBounds(named, shares["bounds"], shares["zooms"], ROUNDS, shares["clipped"])
    _check(request, targets)

    def planner(step: StageStep, guarantee: Guarantee) -> Plan:
        if step.stage == ANSWERS_RULE:
            learned = {(column, of): (low, high) for column, of, low, high in step.asks["bounds"]}
            return _answers(request, rule, learned, guarantee).plan
        return _cells(request, rule, step, guarantee).plan

    whole = request.guarantee
    first = rule.step((), whole.mu_squared)
    staging = Staging(rule, planner(first, share_of(whole, first, whole.mu_squared)), _told_guess(named), planner)
    left = share_of(whole, StageStep(ANSWERS_RULE), (1 - rule.most_before) * whole.mu_squared)
    guessed = _answers(request, rule, dict.fromkeys(targets, GUESS), left).plan
    made = replace(guessed, guarantee=whole, staging=staging)
    return made.certified()


def _told_guess(targets: Sequence[Target]) -> str:
    names = ", ".join(target.name for target in targets)
    low, high = GUESS
    return (
        f"Errors are stated as if the bounds of {names} came out as [{low:g}, {high:g}] after all zooms. "
        "The true ones grow in proportion to the width that is learned."
    )


def _scopes(request: Request) -> list[Scope]:
    """What is asked, as it was written: of each question with what the request says for all, or of the request."""
    shared = {name: getattr(request, name) for name in SHARED}
    return [joined_fields(shared, own) for own in _own_questions(request)] or [shared]


def _own_questions(request: Request) -> list[Scope]:
    found = []
    for each in request.questions:
        own = each.given() if isinstance(each, Question) else each
        found.append(dict(own) if isinstance(own, Mapping) else {})  # what is no table is refused by the request
    return found


def entries_of(field: str, given: Any) -> dict[str, Any]:
    """Columns of a field with what stands beside them: bounds, the word, or None."""
    if field == "regression" and isinstance(given, Mapping) and "of" in given:
        given = named_in(given)
    if isinstance(given, Mapping):
        return {str(name): None if field == "quantiles" else pair for name, pair in given.items()}
    names = given if is_list(given) else ()
    return dict.fromkeys(name for name in names if isinstance(name, str))


class Bounded(NamedTuple):
    """A column of which something is asked that needs bounds: of "value" or "total", and these, the word, or None."""

    field: str
    column: str
    of: str
    bounds: Any


def _bounded(request: Request, scope: Scope) -> Iterator[Bounded]:
    """The columns of which something is asked that needs bounds, with those that stand beside them or are said once."""
    has_totals = request.unit is not None and not scope.get("person_columns")
    cells = () if has_totals else scope.get("bins") or ()
    for field in ASKED:
        for column, beside in entries_of(field, scope.get(field)).items():
            if field == "quantiles" and column in cells:
                continue
            total, row = (_said(scope.get(name), column) for name in ("total_bounds", "bounds"))
            of_person = field in ("quantiles", "medians") and beside is None and total is not None
            of = "total" if has_totals and (field == "sums" or of_person) else "value"
            if beside is None:
                beside = row if total is None or (has_totals and of == "value") else total
            yield Bounded(field, column, of, beside)


def _said(bounds: Any, column: str) -> Any:
    """What is said once of the bounds of a column."""
    return bounds.get(column) if isinstance(bounds, Mapping) else bounds


def _targets(request: Request, scope: Scope) -> list[tuple[str, str]]:
    return [(each.column, each.of) for each in _bounded(request, scope) if is_private(each.bounds)]


def _target(column: str, of: str, request: Request) -> Target:
    from gaussmith.planning.learned_bounds import Target

    if request.unit is None or any(scope.get("person_columns") for scope in _scopes(request)):
        return Target(column, of, column, column)
    if of == "total":
        return Target(column, of, f"total of {column}", f"total of {column}")
    return Target(column, of, f"lowest {column}", f"highest {column}")


def _check(request: Request, targets: Sequence[tuple[str, str]]) -> None:
    """Refuse what would depend on bounds that are not known yet."""
    columns, scopes = {column for column, _ in targets}, _scopes(request)
    for scope in scopes:
        if any(map(is_found, (*values_in(scope.get("by")), *values_in(scope.get("histograms"))))):
            what = "private bounds beside found keys"
            rule = "bounds are learned in stages, and found keys are a stage of their own"
            remedy = "declare the groups or values, or find them in a request of its own"
            raise RequestError(what, rule, remedy, code="private-bounds-beside-found-keys")
        if scope.get("error_at_most") is not None:
            what = "error_at_most beside private bounds"
            rule = "errors follow from bounds, which are not known before the release"
            raise RequestError(what, rule, "leave it out, or give bounds", code="error-limit-beside-private-bounds")
        within = scope.get("mean_within")
        for column in sorted(columns.intersection(within if isinstance(within, Mapping) else ())):
            what = f"mean_within of {column!r}, whose bounds are private"
            rule = "it says where a mean lies between bounds that are not known yet"
            remedy = "leave it out, or give bounds"
            raise RequestError(what, rule, remedy, code="mean-within-beside-private-bounds", column=column)
    if len({bool(scope.get("person_columns")) for scope in scopes}) > 1:
        what = "private bounds in questions with and without person_columns"
        rule = "bounds are learned once, from people's rows or from person columns"
        raise RequestError(what, rule, "ask the two in requests of their own", code="private-bounds-of-rows-and-people")


def values_in(given: Any) -> list[Any]:
    """What stands beside columns; nothing where they are named alone."""
    return list(given.values()) if isinstance(given, Mapping) else []


def _cells(request: Request, rule: LearnBounds, step: StageStep, guarantee: Guarantee) -> Request:
    """The request of a stage: how many people are in each cell, by the edges that the step asks."""
    from gaussmith.requests.request import Request

    context = _context(request)
    edges = step.asks["edges"]
    if request.unit is not None and not context["person_columns"]:
        made = {name: text for target in rule.targets for name, text in _numbers_of(target).items() if name in edges}
        context["person_columns"] = made
    questions = [{"name": name, "histograms": {name: {"bins": list(each)}}} for name, each in edges.items()]
    return Request(
        request.source, unit=request.unit, questions=questions, guarantee=guarantee, neighbours=request.neighbours,
        **context,
    )  # fmt: skip


def _numbers_of(target: Target) -> dict[str, str]:
    """The person columns that put a person into one cell each.

    A total is added in steps of 10⁻⁶ as long as it is small, else in whole numbers, which reach beyond all cells.
    """
    x = "`" + target.column.replace("`", "``") + "`"
    if target.of == "total":
        return {target.low: f"if(abs(sum({x})) < 2147483648, sum({x}), sum({x}, 0))"}
    return {target.low: f"min({x})", target.high: f"max({x})"}


def _context(request: Request) -> Scope:
    """The rows from which bounds are learned: the filter that all questions about these columns have in common."""
    names = ("where", "columns", "person_columns")
    asking = [{name: scope.get(name) for name in names} for scope in _scopes(request) if _targets(request, scope)]
    context = asking[0]
    if any(each != context for each in asking):
        context = {"where": request.where, **{which: _united(asking, which) for which in names[1:]}}
    kept = {name: value for name, value in context.items() if value is not None}
    return kept | {"person_columns": dict(context["person_columns"] or {})}


def _united(scopes: Sequence[Scope], which: str) -> dict[str, str]:
    """The derived columns of several questions; refuses one that is derived in several ways."""
    made: dict[str, str] = {}
    for name, text in (pair for scope in scopes for pair in (scope[which] or {}).items()):
        if made.setdefault(name, text) != text:
            what, code = f"column {name!r} is derived in several ways", "private-column-derived-in-several-ways"
            rule, remedy = "private bounds are learned once for every column", "give the columns different names"
            raise RequestError(what, rule, remedy, code=code, column=name)
    return made


def _answers(request: Request, rule: LearnBounds, learned: Learned, guarantee: Guarantee) -> Request:
    """The request itself within learned bounds; answers without bounds are left out."""
    lost = {target.column for target in rule.targets if (target.column, target.of) not in learned}
    shared = {name: getattr(request, name) for name in SHARED}
    changes = _within(request, shared, shared, learned, lost)
    asked = zip(_own_questions(request), _scopes(request), strict=False)
    questions = [_within(request, own, scope, learned, lost) for own, scope in asked]
    changes["questions"] = [own for own in questions if any(own.get(name) for name in (*OTHERS, *ASKED))]
    diagnose = request.diagnose
    if isinstance(diagnose, Sequence):
        diagnose = [name for name in diagnose if name not in lost] or False
    changes["budget"] = budget_left(diagnose, rule.clipped, request.guarantee, guarantee)
    return replace(request, **changes, diagnose=diagnose, guarantee=guarantee)


def budget_left(diagnose: Any, clipped: Fraction, whole: Guarantee, left: Guarantee) -> dict[str, Fraction]:
    """The share of a diagnosis, `clipped` of the whole, in what is left for the answers; empty without a diagnosis."""
    return {"clipped": clipped * whole.mu_squared / left.mu_squared} if diagnose else {}


OTHERS = ("count", "histograms", "proportions", "marginals")
"""What is asked beside columns with bounds."""


BESIDE = ("sums", "means", "variances", "covariance")
"""The fields in which learned bounds are written beside their columns."""


def _within(request: Request, own: Scope, scope: Scope, learned: Learned, lost: set[str]) -> Scope:
    """What was written, with learned bounds instead of the word and without the columns that have none.

    `scope` is the same with what the request says for all questions.
    """
    found = dict(own)
    for name in ("bounds", "total_bounds"):
        if own.get(name):
            found[name] = _public(own[name])
    asked = [field for field in ASKED if own.get(field)]
    found |= {field: _left(field, own[field], lost) for field in asked}
    for field, column, of, bounds in _bounded(request, scope):
        if field in asked and is_private(bounds) and column not in lost:
            _write(found, field, column, of, learned[column, of])
    if isinstance(own.get("missing"), Mapping):
        kept = without(own["missing"], lost)
        found["missing"] = {column: _clamped(column, value, learned) for column, value in kept.items()}
    if own.get("complete"):
        found["complete"] = [column for column in own["complete"] if column not in lost]
    return found


def _public(bounds: Any) -> dict[str, Any]:
    """The bounds that are said once, without those that are learned."""
    return {c: pair for c, pair in bounds.items() if not is_private(pair)} if isinstance(bounds, Mapping) else {}


def _write(found: Scope, field: str, column: str, of: str, pair: tuple[float, float]) -> None:
    """Write learned bounds beside a column, or where they are said once."""
    if field not in BESIDE:
        where = "bounds" if of == "value" else "total_bounds"
        found[where] = {**(found.get(where) or {}), column: pair}
    elif column in found[field]:
        found[field][column] = pair


def _left(field: str, given: Any, lost: set[str]) -> Any:
    """What a field asks without these columns, and without the word for bounds that are learned."""
    entries = entries_of(field, given)
    if field == "regression":
        return {} if lost & set(entries) else given
    if field == "quantiles" or not entries:  # what has no entries is refused where it is read
        return without(given, lost) if entries else given
    left = {column: None if is_private(pair) else pair for column, pair in without(entries, lost).items()}
    return {} if field == "covariance" and len(left) < min(2, len(entries)) else left


def _clamped(column: str, value: Any, learned: Learned) -> Any:
    """What stands in for a missing value, clipped as a value would be."""
    pair = learned.get((column, "value"))
    return value if pair is None or not is_number(value) else min(max(value, pair[0]), pair[1])
