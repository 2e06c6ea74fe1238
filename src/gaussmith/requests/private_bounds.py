"""`bounds = "private"`: a request whose bounds are learned from the data, in stages, before its answers are planned.

    sums = { income = "private" }      means = { income = "private" }      bounds = { income = "private" }
    bounds = "private"                 every column that has no bounds of its own

The stages are ordinary requests: histograms of people over cells. The last one is the request itself, with the learned
bounds in place of the word, at what is left of μ². Nothing here sees data: only what the rule made of noisy counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.checks import is_number
from gaussmith.errors import RequestError, nearest, wrong_value
from gaussmith.notations import setting
from gaussmith.planning.plan import Plan
from gaussmith.planning.staging import ANSWERS as ANSWERS_RULE
from gaussmith.planning.staging import StageStep
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.bins import is_private
from gaussmith.requests.fields import Fields
from gaussmith.requests.question import Question, settle_values
from gaussmith.requests.readers import is_found, read_all_bins, read_counted, read_values
from gaussmith.statistics.registry import asked_by_field

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
    budget: Any = request.budget
    if not isinstance(budget, Mapping):
        rule = "it must map stages to their shares of the budget"
        raise wrong_value("budget", budget, rule, {"bounds": 0.1}, code="budget-not-a-mapping")
    for name, share in budget.items():
        if name not in DEFAULTS:
            what, rule = f"budget of {name!r}", "the stages that have a share are bounds, zooms, clipped and keys"
            raise RequestError(
                what, rule, nearest(str(name), list(DEFAULTS)), code="budget-of-unknown-stage", stage=name
            )
        if not (isinstance(share, int | float | Fraction) and is_number(share) and 0 < share < 1):
            what, rule = f"budget of {name!r} = {share!r}"[:120], "a share of the budget is a number between 0 and 1"
            example = f"write {setting('budget', {name: 0.1})}"
            raise RequestError(what, rule, example, code="budget-share-out-of-range", stage=name, share=share)
    if "keys" in budget and not keys_first:
        rule = "it is the share of the stage that finds keys before all answers"
        remedy = f"leave it out, or write {setting('keys_first', True)}"
        raise RequestError("a budget of 'keys' without keys_first", rule, remedy, code="budget-without-keys-first")
    if "clipped" in budget and not request.diagnose:
        rule = "it is the share that counts people who are clipped, and nothing counts them"
        remedy = f"leave it out, or write {setting('diagnose', True)}"
        raise RequestError("a budget of 'clipped' without diagnose", rule, remedy, code="budget-without-diagnose")
    if not is_staged and set(budget) & {"bounds", "zooms"}:
        rule = "it says what the stages take that learn bounds, and no bounds are learned"
        remedy = f"leave it out, or write {setting('bounds', 'private')}"
        raise RequestError("budget without private bounds", rule, remedy, code="budget-without-stages")
    shares = {name: _fraction(share) for name, share in budget.items()}
    if "bounds" in shares:
        shares.setdefault("zooms", shares["bounds"] * 2 / 3)
    shares = {**DEFAULTS, **({} if request.diagnose else {"clipped": Fraction(0)}), **shares}
    learned = shares["keys"] if keys_first else shares["bounds"] + ROUNDS * shares["zooms"]
    whole, stages = learned + shares["clipped"], "keys" if keys_first else f"bounds and {ROUNDS} zooms"
    stages += " with clipped" if request.diagnose else ""
    if whole > MOST:
        what = f"stages that take {100 * float(whole):.3g} % of the budget: {stages}"
        rule = f"at most {100 * float(MOST):.3g} % may go to them, or too little is left for the answers"
        remedy = f"choose smaller shares, such as {setting('budget', {'keys': 0.5} if keys_first else {'bounds': 0.1})}"
        raise RequestError(what, rule, remedy, code="budget-shares-too-large", share=float(whole))
    return shares


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
    shared = {each.name: getattr(request, each.name) for each in fields(Question) if hasattr(request, each.name)}
    if not request.questions:
        return [shared]
    return [{**shared, **own, **_joined(shared, own)} for own in _own_questions(request)]


def _own_questions(request: Request) -> list[Scope]:
    found = []
    for each in request.questions:
        own = each.given() if isinstance(each, Question) else each
        found.append(dict(own) if isinstance(own, Mapping) else {})  # what is no table is refused by the request
    return found


def _joined(shared: Scope, own: Scope) -> Scope:
    """What a question and the request say together: bounds, filters and derived columns."""
    found: Scope = {}
    for name in ("bounds", "total_bounds", "columns", "person_columns"):
        both = (shared.get(name) or {}, own.get(name) or {})
        if all(isinstance(each, Mapping) for each in both):
            found[name] = {**both[0], **both[1]}
    if own.get("where") is not None and shared.get("where") is not None:
        found["where"] = f"({shared['where']}) and ({own['where']})"
    return found


def entries_of(field: str, given: Any) -> dict[str, Any]:
    """Columns of a field with what stands beside them: bounds, the word, or None."""
    if field == "regression" and isinstance(given, Mapping) and "of" in given:
        on = given.get("on", ())
        names = [given["of"], *([on] if isinstance(on, str) else on if isinstance(on, Sequence) else ())]
        return dict.fromkeys(name for name in names if isinstance(name, str))
    if isinstance(given, Mapping):
        return {str(name): None if field == "quantiles" else pair for name, pair in given.items()}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return dict.fromkeys(name for name in given if isinstance(name, str))
    return {}


def _targets(request: Request, scope: Scope) -> list[tuple[str, str]]:
    has_totals = request.unit is not None and not scope.get("person_columns")
    bounds, totals = (scope.get(name) or {} for name in ("bounds", "total_bounds"))
    found = []
    for field in ASKED:
        for column, own in entries_of(field, scope.get(field)).items():
            if field == "quantiles" and not has_totals and column in (scope.get("bins") or {}):
                continue  # which has cells
            in_totals = isinstance(totals, str) or column in totals
            own_total = own is None and has_totals and field in ("quantiles", "medians") and in_totals
            of = "total" if (field == "sums" and has_totals) or own_total else "value"
            if own is None:
                if of == "total" or not has_totals:
                    own = totals if isinstance(totals, str) else totals.get(column)
                if own is None and not own_total:
                    own = bounds if isinstance(bounds, str) else bounds.get(column)
            if is_private(own):
                found.append((column, of))
    return found


def _target(column: str, of: str, request: Request) -> Target:
    from gaussmith.planning.learned_bounds import Target

    if request.unit is None or any(scope.get("person_columns") for scope in _scopes(request)):
        return Target(column, of, column, column)
    if of == "total":
        return Target(column, of, f"total of {column}", f"total of {column}")
    return Target(column, of, f"lowest {column}", f"highest {column}")


def _check(request: Request, targets: Sequence[tuple[str, str]]) -> None:
    """Refuse what would depend on bounds that are not known yet."""
    columns = {column for column, _ in targets}
    for scope in _scopes(request):
        if any(is_found(keys) for name in ("by", "histograms") for keys in _values(scope.get(name))):
            what = "private bounds beside found keys"
            rule = "bounds are learned in stages, and found keys are a stage of their own"
            remedy = "declare the groups or values, or find them in a request of its own"
            raise RequestError(what, rule, remedy, code="private-bounds-beside-found-keys")
        if scope.get("error_at_most") is not None:
            what = "error_at_most beside private bounds"
            rule = "errors follow from bounds, which are not known before the release"
            raise RequestError(what, rule, "leave it out, or give bounds", code="error-limit-beside-private-bounds")
        within = scope.get("mean_within")
        for column in sorted(columns & set(within) if isinstance(within, Mapping) else ()):
            what = f"mean_within of {column!r}, whose bounds are private"
            rule = "it says where a mean lies between bounds that are not known yet"
            remedy = "leave it out, or give bounds"
            raise RequestError(what, rule, remedy, code="mean-within-beside-private-bounds", column=column)
    if len({bool(scope.get("person_columns")) for scope in _scopes(request)}) > 1:
        what = "private bounds in questions with and without person_columns"
        rule = "bounds are learned once, from people's rows or from person columns"
        raise RequestError(what, rule, "ask the two in requests of their own", code="private-bounds-of-rows-and-people")


def _values(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, Mapping) else []


def _cells(request: Request, rule: LearnBounds, step: StageStep, guarantee: Guarantee) -> Request:
    """The request of a stage: how many people are in each cell, by the edges that the step asks."""
    from gaussmith.requests.request import Request

    context = _context(request, {target.column for target in rule.targets})
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


def _context(request: Request, columns: set[str]) -> Scope:
    """The rows from which bounds are learned: the filter that all questions about these columns have in common."""
    names = ("where", "columns", "person_columns")
    asking = [scope for scope in _scopes(request) if _targets(request, scope)]
    context = {name: asking[0].get(name) for name in names}
    if any({name: scope.get(name) for name in names} != context for scope in asking):
        context["where"] = request.where
        for which in ("columns", "person_columns"):
            made: dict[str, str] = {}
            for scope in asking:
                for name, text in (scope.get(which) or {}).items():
                    if made.setdefault(name, text) != text:
                        raise RequestError(
                            f"column {name!r} is derived in several ways",
                            "private bounds are learned once for every column",
                            "give the columns different names",
                            code="private-column-derived-in-several-ways",
                            column=name,
                        )
            context[which] = made
    return {name: value for name, value in context.items() if value is not None} | {
        "person_columns": dict(context["person_columns"] or {})
    }


def _answers(request: Request, rule: LearnBounds, learned: Learned, guarantee: Guarantee) -> Request:
    """The request itself within learned bounds; answers without bounds are left out."""
    from gaussmith.requests.request import Request

    own = {each.name: getattr(request, each.name) for each in fields(request) if each.init and each.name != "source"}
    lost = {target for target in rule.targets if (target.column, target.of) not in learned}
    scope = _within(request, own, learned, lost)
    questions = [_within(request, each, learned, lost, own) for each in _own_questions(request)]
    if questions:
        scope["questions"] = [each for each in questions if any(each.get(name) for name in (*OTHERS, *ASKED))]
    if isinstance(request.diagnose, Sequence):
        scope["diagnose"] = [name for name in request.diagnose if name not in {each.column for each in lost}] or False
    scope["budget"] = budget_left(scope["diagnose"], rule.clipped, request.guarantee, guarantee)
    return Request(request.source, **{**scope, "guarantee": guarantee})


def budget_left(diagnose: Any, clipped: Fraction, whole: Guarantee, left: Guarantee) -> dict[str, Fraction]:
    """The share of a diagnosis, `clipped` of the whole, in what is left for the answers; empty without a diagnosis."""
    return {"clipped": clipped * whole.mu_squared / left.mu_squared} if diagnose else {}


OTHERS = ("count", "histograms", "proportions", "marginals")
"""What is asked beside columns with bounds."""


def _within(request: Request, scope: Scope, learned: Learned, lost: set[Target], above: Scope | None = None) -> Scope:
    """What was written, with learned bounds instead of the word and without the columns that have none."""
    found = dict(scope)
    gone = {target.column for target in lost}
    has_totals = request.unit is not None and not (scope.get("person_columns") or (above or {}).get("person_columns"))
    for name in ("bounds", "total_bounds"):
        said = scope.get(name)
        kept = {} if isinstance(said, str) else {c: pair for c, pair in (said or {}).items() if not is_private(pair)}
        marked = {c for c, pair in said.items() if is_private(pair)} if isinstance(said, Mapping) else set()
        of = "value" if name == "bounds" else "total"
        if above is None and name == "bounds":
            kept |= {column: pair for (column, what), pair in learned.items() if what == of}
        if name == "total_bounds":
            kept |= {c: learned[c, key] for c in marked for key in ("total", "value") if (c, key) in learned}
        if said is not None or kept:
            found[name] = kept
    for field in ASKED:
        if not scope.get(field):
            continue
        entries = entries_of(field, scope[field])
        if field == "regression":
            found[field] = {} if gone & set(entries) else scope[field]
            continue
        if field == "quantiles":
            found[field] = {c: levels for c, levels in scope[field].items() if c not in gone}
            continue
        if not entries:
            continue  # which is refused where it is read
        kept = {c: None if is_private(pair) else pair for c, pair in entries.items() if c not in gone}
        if field == "sums" and has_totals:
            kept = {c: learned.get((c, "total"), pair) if pair is None else pair for c, pair in kept.items()}
        found[field] = {} if field == "covariance" and len(kept) < min(2, len(entries)) else kept
    if isinstance(scope.get("missing"), Mapping):
        found["missing"] = {c: _clamped(c, value, learned) for c, value in scope["missing"].items() if c not in gone}
    if scope.get("complete"):
        found["complete"] = [column for column in scope["complete"] if column not in gone]
    return found


def _clamped(column: str, value: Any, learned: Learned) -> Any:
    """What stands in for a missing value, clipped as a value would be."""
    pair = learned.get((column, "value"))
    return value if pair is None or not is_number(value) else min(max(value, pair[0]), pair[1])


# The answers of a request without questions, taken apart: sums, means and count together, each histogram by itself.

ANSWERS = (*asked_by_field(), "medians", "count")
"""The fields that ask for answers."""

TOGETHER = "answers"
"""The name of the sums, means and count of a request that has histograms too."""


def questions_apart(request: Fields) -> list[dict[str, Any]]:
    """A request's own answers as questions; empty where it has no histograms."""
    if not (request.histograms or request.proportions):
        return []
    declared = {**read_all_bins("bins", request.bins), **read_values("values", request.values)}
    counted_fields = ("histograms", "proportions")
    settled = {
        name: settle_values(name, read_counted(name, getattr(request, name)), declared) for name in counted_fields
    }
    counted_columns = [(name, *pair) for name, columns in settled.items() for pair in columns.items()]
    declared_ones = [len(values) for _, _, values in counted_columns if not is_found(values)]
    longest = max(declared_ones, default=0)
    none: dict[str, Any] = {name: {} for name in ANSWERS} | {"count": False, "values_per_unit": None}
    apart: list[dict[str, Any]] = []
    own: dict[str, Any]
    others = {name: getattr(request, name) for name in ANSWERS if name not in (*counted_fields, "count")}
    if any(others.values()) or (request.count and not declared_ones):
        apart.append({**none, **others, "count": request.count, "name": TOGETHER})
    counted = bool(apart)  # else the first histogram brings the number of people
    for field_name, column, values in counted_columns:
        again = field_name == "proportions" and column in settled["histograms"]
        title = f"{column} shares" if again else str(column)
        own = {field_name: {column: values}, "count": request.count and not counted, "name": title}
        given = request.values_per_unit
        if is_found(values):
            apart.append({**none, **own, "count": False, "values_per_unit": given})
            continue
        few = min(given, len(values)) if isinstance(given, int) and given <= longest else given
        apart.append({**none, **own, "values_per_unit": few, "weights": "equal"})
        counted = True
    return apart
