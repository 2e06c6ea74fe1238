"""`keys_first = true`: keys are found in a first stage, and answers are asked about the keys that were shown.

    by = { airport = "found" }      keys_first = true      budget = { keys = 0.5 }

The first stage is an ordinary request: people counted by found keys. The last one is the request itself, with the shown
keys declared, at the rest of μ²: so rows of other keys are left out before a person's m groups are chosen, and every
answer that declared groups can have may be asked. Nothing here sees data: only the keys that noise has let pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.domains.groups import FoundGroups
from gaussmith.errors import RequestError
from gaussmith.notations import setting
from gaussmith.planning.discovered_groups import ROUNDED, split_keys_first
from gaussmith.planning.plan import Plan
from gaussmith.planning.staging import ANSWERS, KeysFirst, StageStep, Staging, share_of
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.private_bounds import budget_left, read_budget
from gaussmith.requests.question import ANSWERS as ASKED
from gaussmith.requests.question import TOGETHER, Question, questions_apart
from gaussmith.requests.readers import is_found
from gaussmith.requests.translation import check_found

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

GUESS = 100
"""So many keys are assumed for the errors that are stated before any data is read; more where people are in many."""

FOUND_BY = ("by", "where", "columns", "person_columns", "groups_per_unit", "keys_at_least", "top")
"""What says which keys a question finds."""

Keys = Mapping[str, Sequence[Sequence[Any]]]
"""The keys of each question that has found ones; a question that is not there is not asked."""

Scope = dict[str, Any]


def plan_keys_first(request: Request) -> Plan:
    """The plan of a request whose keys are found first: its draws and errors are those under the guess."""
    questions = request.asked()
    if not any(question.finds for question in questions):
        raise RequestError(
            "keys_first without found keys",
            "it finds keys in a stage of its own, and no keys are found",
            f"leave it out, or ask for found keys: {setting('by', {'airport': 'found'})}",
            code="keys-first-without-found-keys",
        )
    check_found(questions, request.neighbours, request.keys_delta, first=True)
    shares = read_budget(request, False, True)
    finders = _finders(questions)
    finding = [question for question in questions if question.name in finders.values() and question.finds]
    parts = [question.share or 1.0 for question in finding]
    stated = None if request.keys_delta is None else Fraction(request.keys_delta)
    whole, kappa = split_keys_first(request.guarantee, shares["keys"], parts, stated)
    keys = whole * shares["keys"]
    alone = all(question.finds for question in questions) and not request.diagnose
    named = tuple((_named(request, name), finder) for name, finder in finders.items())
    rule = KeysFirst(named, keys, (whole - keys) * ROUNDED, alone)
    first = rule.step((), request.guarantee.mu_squared)

    def planner(step: StageStep, guarantee: Guarantee) -> Plan:
        return _answers(request, questions, step.asks["keys"], shares["clipped"], guarantee).plan

    share = share_of(request.guarantee, first, request.guarantee.mu_squared)
    found = _found(request, finding, share, kappa).plan
    many = max([GUESS, *(4 * (question.groups_per_unit or 1) for question in finding)])
    guess = {_named(request, q.name): _made_up(q, many) for q in questions if q.finds}
    step = StageStep(ANSWERS, rule.answers, {"keys": guess})
    guessed = planner(step, share_of(request.guarantee, step, request.guarantee.mu_squared))
    made = replace(guessed, guarantee=request.guarantee, staging=Staging(rule, found, _told_guess(many), planner))
    return made.certified()


def example_key(plan: Plan, kinds: Sequence[str]) -> list[Any]:
    """A key of the types that the columns hold, for a question of the first stage; refuses what cannot be declared."""
    groups = plan.groups
    assert isinstance(groups, FoundGroups)
    declared, made = dict(groups.declared), []
    for name, kind in zip(groups.columns, kinds, strict=True):
        if kind == "object" and name not in declared:
            raise RequestError(
                f"keys_first with keys of {name!r}, a column of Python objects",
                "keys that were shown are looked up again, and must be text, whole numbers, booleans or dates",
                "store the column as text, or leave keys_first out",
                code="keys-first-of-objects",
                column=name,
            )
        made.append(declared[name][0] if name in declared else _EXAMPLES[kind])
    return made


_EXAMPLES: dict[str, Any] = {"text": "key", "integer": 1, "digits": 1, "truth": True, "date": "2000-01-01"}


def _told_guess(many: int) -> str:
    return (
        f"Errors are stated as if {many:,} keys were shown. With more keys they grow a little where a person is in "
        "several groups, with fewer they shrink."
    )


def _named(request: Request, name: str) -> str:
    """The name of a question in the plan of the answers."""
    return name or (TOGETHER if request.diagnose else "")


def _finders(questions: Sequence[Question]) -> dict[str, str]:
    """Each question about found keys, with the first one that finds the same keys."""
    firsts: dict[str, str] = {}
    return {
        each.name: firsts.setdefault(repr([getattr(each, name) for name in FOUND_BY]), each.name)
        for each in questions
        if each.finds
    }


def _found(request: Request, finding: Sequence[Question], guarantee: Guarantee, kappa: Fraction) -> Request:
    """The request of the first stage: how many people have each key."""
    from gaussmith.requests.request import Request

    asked = [{name: getattr(each, name) for name in FOUND_BY} | {"count": True} for each in finding]
    own = asked[0] if not finding[0].name else {}
    named = [{**each, "name": q.name, "share": q.share or 1.0} for each, q in zip(asked, finding, strict=True)]
    return Request(
        request.source, unit=request.unit, guarantee=guarantee, keys_delta=float(kappa),
        questions=[] if own else named, **own,
    )  # fmt: skip


def _made_up(question: Question, many: int) -> list[list[Any]]:
    """So many keys of a question, for its guess."""
    return [
        [f"key {i + 1}" if is_found(keys) else keys[i % len(keys)] for keys in question.by.values()]
        for i in range(many)
    ]


def _answers(
    request: Request, questions: Sequence[Question], keys: Keys, clipped: Fraction, guarantee: Guarantee
) -> Request:
    """The request itself about these keys; questions of which no key was shown are left out."""
    own: Scope = {"keys_first": False, "keys_delta": None, "keys_at_least": 1, "top": None, "guarantee": guarantee}
    own["budget"] = budget_left(request.diagnose, clipped, request.guarantee, guarantee)
    scopes = list(request.questions) or questions_apart(request)
    if not request.questions and len(scopes) < 2:
        (question,) = questions
        own |= _about(question, keys[_named(request, question.name)], request.histograms)
    else:
        own |= {} if request.questions else dict.fromkeys((*ASKED, "values_per_unit"))
        own["questions"] = []
        for scope, question in zip(scopes, questions, strict=True):
            said = {**(scope.given() if isinstance(scope, Question) else scope), "name": question.name}
            if question.finds and question.name in keys:
                own["questions"].append({**said, **_about(question, keys[question.name], said.get("histograms"))})
            elif not question.finds:
                own["questions"].append(said)
    return replace(request, **own)


def _about(question: Question, keys: Sequence[Sequence[Any]], counted: Any) -> Scope:
    """What a question about found keys says of its groups when these were shown; `counted` are its histograms."""
    names = list(question.by)
    own: Scope = {"by": [dict(zip(names, key, strict=True)) for key in keys], "keys_at_least": 1, "top": None}
    if isinstance(counted, Mapping) and any(map(is_found, counted.values())):
        own |= {"histograms": None, "count": True, "values_per_unit": None}
    limit = question.groups_per_unit
    return own | {"groups_per_unit": None if limit is None else min(limit, len(keys))}
