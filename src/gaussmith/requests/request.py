"""A request: which answers, of which table, under which guarantee; in Python or in TOML. It is planned without data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gaussmith.checks import is_number, repeated
from gaussmith.engines.addresses import read_source, with_path, without_secrets
from gaussmith.errors import GaussmithError, GuaranteeError, RequestError, meant_names, nearest
from gaussmith.expressions.formulas import same_meaning
from gaussmith.notations import TOML, notation, setting, written_in
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.answer_notes import read_about
from gaussmith.planning.choice import refused_count
from gaussmith.planning.joining import Questions, everybody_of, placed_again, queries_within, scales_of
from gaussmith.planning.plan import Plan, Slot
from gaussmith.planning.query import Query
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, choose
from gaussmith.requests.diagnosis import NAME as DIAGNOSIS
from gaussmith.requests.diagnosis import beside, check_parts, read_diagnose, slot_places, split_sliver
from gaussmith.requests.fields import KEYS, SHARED, RequestFields, described, usual
from gaussmith.requests.noise_laws import plan_by_law, refuse_found
from gaussmith.requests.private_bins import plan_private
from gaussmith.requests.question import ANSWERS, TOGETHER, Question, joined_fields, questions_apart
from gaussmith.requests.readers import (
    fill_absent,
    misplaced,
    read_guarantee,
    read_missing,
    read_noise,
    read_toml,
    read_unit,
    refuse_paths,
    refuse_unasked,
    refuse_unknown,
    unknown_key,
)
from gaussmith.requests.translation import (
    Part,
    ask_found_values,
    bare_part,
    check_found,
    found_parts,
    merge,
    never_missing_in,
    parts_of,
    plan_found,
    plan_part,
    slot_of,
    split_found,
    unite,
)

# Accuracy first: the least guarantee at which stated errors are kept. Solved from the plan, without data.

if TYPE_CHECKING:
    from gaussmith.planning.answer_notes import About

MAX_ROUNDS = 20
"""Limit on the plans that are made to close in on the least guarantee."""

CLOSE = 1e-6
"""How close the guarantee comes to the least one, as a share of μ."""


def least_guarantee(request: Request, targets: Mapping[str, float], rows: int | None) -> Guarantee:
    """The least guarantee, in the form that the request states, at which no standard error exceeds its target.

    Errors fall as 1/μ, or as 1/ε under pure ε, so one plan nearly tells it; plans are made anew until the errors are
    kept and hardly more.
    """
    wanted = _check_targets(targets)
    if request.plan.staging is not None:
        if request.keys_first:
            rule = "errors follow from the keys that are shown, which are not known before the release"
            remedy = "leave keys_first out, or state a guarantee"
            raise RequestError("targets beside keys_first", rule, remedy, code="targets-beside-keys-first")
        what = "targets beside private bounds"
        rule = "errors follow from bounds, which are not known before the release"
        raise RequestError(what, rule, "give bounds, or state a guarantee", code="targets-beside-private-bounds")
    if any(limit is not None for limit in _limits(request)):
        what, rule = "targets beside error_at_most", "both say how large an error may be"
        raise RequestError(what, rule, "leave error_at_most out of the questions", code="targets-beside-error-limits")
    asked = request.guarantee
    by_epsilon = request.plan.guarantee.is_pure
    mu = (float(asked.epsilon or 0) if by_epsilon else asked.mu) * _excess(request, wanted, rows)
    for _ in range(MAX_ROUNDS):
        stated = _as_stated(asked, mu * (1 + CLOSE / 2), wanted, by_epsilon)
        excess = _excess(replace(request, guarantee=stated), wanted, rows)
        if 1 - CLOSE <= excess <= 1:
            return stated
        mu *= excess
    raise _out_of_reach(wanted)


def _limits(request: Request) -> list[Any]:
    return [
        question.get("error_at_most") if isinstance(question, Mapping) else question.error_at_most
        for question in request.questions
    ]


def _check_targets(targets: Any) -> dict[str, float]:
    if not isinstance(targets, Mapping) or not targets:
        rule = "they must map answers to standard errors"
        raise RequestError(f"targets={targets!r}"[:120], rule, 'write {"age_mean": 0.5}', code="targets-not-a-mapping")
    for name, target in targets.items():
        if not (is_number(target) and 0 < target < math.inf):
            rule, remedy = "a target is a standard error above 0, in the units of the answer", "write 0.5"
            raise RequestError(f"target of {name!r} = {target!r}", rule, remedy, code="target-not-positive", name=name)
    return {str(name): float(target) for name, target in targets.items()}


def _excess(request: Request, targets: Mapping[str, float], rows: int | None) -> float:
    """The largest standard error over its target; refuses answers that are not asked for."""
    stated: dict[str, list[float]] = {}
    for question in request.plan:
        needs_rows = not divided_names(question).isdisjoint(targets)
        errors = question.errors(rows if needs_rows or rows else 1)  # others do not depend on it
        for name, error in errors.items():
            stated.setdefault(str(name), []).append(float(error))
    for name in targets:
        if name not in stated:
            rule, remedy = "the request does not ask for it", nearest(name, list(stated))
            raise RequestError(f"target of {name!r}", rule, remedy, code="target-of-unasked-answer", name=name)
    found = max(max(stated[name]) / target for name, target in targets.items())
    if found == 0:
        rule, remedy = "it is public and has no error", "leave it out"
        raise RequestError("targets of public answers", rule, remedy, code="target-of-public-answer")
    return found


def divided_names(question: Plan) -> set[str]:
    """The answers whose error depends on a number of rows or people."""
    return {
        str(name)
        for piece in question.pieces
        for name, divided in zip(piece.names, piece.answers.divided.tolist(), strict=True)
        if divided
    }


def _as_stated(guarantee: Guarantee, mu: float, targets: Mapping[str, float], by_epsilon: bool) -> Guarantee:
    """A guarantee of at least this μ, or this ε, in the form that was stated: ε at the same δ, ρ, or μ itself."""
    try:
        if by_epsilon:
            return Guarantee(epsilon=mu, delta=None if guarantee.is_pure else guarantee.delta)
        least = Guarantee(mu=mu)
        if guarantee.stated_rho is not None:
            return Guarantee(rho=least.rho)
        if guarantee.epsilon is None or guarantee.delta is None:
            return least
        epsilon = least.epsilon_at(guarantee.delta)
        if epsilon > 0:
            return Guarantee(epsilon=epsilon, delta=guarantee.delta)
    except GuaranteeError:
        raise _out_of_reach(targets) from None
    what, rule = "targets that need no ε at this δ", f"δ = {guarantee.delta:g} alone already allows smaller errors"
    raise RequestError(what, rule, "state a smaller δ, or state the guarantee as μ", code="targets-met-by-delta")


def _out_of_reach(targets: Mapping[str, float]) -> RequestError:
    what, rule = f"targets {dict(targets)!r}"[:120], "no guarantee that can be stated keeps them"
    return RequestError(what, rule, "allow larger errors, or ask about more rows", code="targets-out-of-reach")


@dataclass(frozen=True, eq=False, kw_only=True)
class Request(RequestFields):
    """A request about one table: its source, what to release and how well people are protected; the rest is optional.

    With `questions`, the other fields are defaults for all of them; if both have a filter, both apply
    (docs/requests.md).

    >>> import gaussmith as gm
    >>> request = gm.Request("people.parquet", sums={"income": (0, 200_000)}, means={"age": (0, 100)}, count=True,
    ...                      guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    >>> request.plan.names
    ('income_sum', 'age_mean', 'count')
    >>> gm.Request("people.csv", count=True, guarantee=gm.Guarantee(mu=1))
    Request('people.csv', count=True, guarantee=Guarantee(mu=1.0))
    """

    neighbors: InitVar[str | None] = None  # the same as neighbours, which holds what was said

    plan: Plan = field(init=False, repr=False)
    """The plan of this request; made without data, from names, bounds and what the types of columns can hold."""
    notation: str = field(init=False, repr=False)
    """How it was written, in Python or as TOML: errors of its release tell what to write in the same way."""

    def __new__(cls, *values: Any, **given: Any) -> Request:
        refuse_unknown(given, [each.name for each in fields(cls) if each.init] + ["neighbors"])
        if len(values) > 1:
            what, rule = f"{len(values)} arguments without a name", "only the source of a request has none"
            remedy = "write gaussmith.Request(source, count=True, guarantee=gaussmith.Guarantee(…))"
            raise RequestError(what, rule, remedy, code="unnamed-fields-of-request")
        if given and not values and "source" not in given:
            raise _no_source()
        return super().__new__(cls)

    def __post_init__(self, neighbors: str | None) -> None:
        fill_absent(self)
        object.__setattr__(self, "notation", notation())
        object.__setattr__(self, "guarantee", read_guarantee(self.guarantee))
        object.__setattr__(self, "noise", read_noise("noise", self.noise))
        object.__setattr__(self, "neighbours", choose(self.neighbours, neighbors))
        object.__setattr__(self, "about", read_about(self.about))
        refuse_paths(read_source(self.source).data)  # which refuses a table that says what a source has not
        if self.unit is not None:
            read_unit("unit", self.unit)
        staged, clipped = plan_private(self)
        object.__setattr__(self, "plan", self._plan(clipped) if staged is None else staged)

    def __repr__(self) -> str:
        (_, source), *others = self.said()
        return f"Request({', '.join([source, *(f'{name}={text}' for name, text in others)])})"

    def _repr_html_(self) -> str:
        from gaussmith.report.tables import request_html

        return request_html(self)

    def said(self) -> list[tuple[str, str]]:
        """What was asked, as text by field: the source by name, never a frame's values, and what is not as usual."""
        told = read_source(self.source)
        name = repr(without_secrets(str(told.data))) if isinstance(told.data, str | Path) else None
        said = [("source", f"<{type(told.data).__name__}>" if name is None else name)]
        said += [(key, repr(value)) for key, value in told.said.items()]
        for each in fields(self):
            if each.init and each.name != "source":
                value = getattr(self, each.name)
                if not (type(value) is type(usual(each)) and value == usual(each)):
                    said.append((each.name, repr(value)))
        return said

    def guarantee_for(self, targets: Mapping[str, float], rows: int | None = None) -> Guarantee:
        """The least ε at the stated δ (or μ, or ρ) at which no standard error exceeds its target.

        Targets are standard errors in the units of the answers, as `plan.errors` states them (± at 95 % is 1.96 times
        as much); means need an estimate of the number of rows. An answer of several questions keeps it in all.

        >>> import gaussmith as gm
        >>> request = gm.Request("people.csv", means={"age": (0, 100)}, guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
        >>> least = request.guarantee_for({"age_mean": 0.5}, rows=1_000)
        >>> round(least.epsilon, 2), least.delta
        (0.87, 1e-06)
        """
        return least_guarantee(self, targets, rows)

    def cost_of_missing(self) -> float:
        """By which factor the total squared error is larger because missing values are left out: 1 where none can be.

        Without it, `complete` would have to name every column. The same request is planned with that promise.
        """
        rules = [query.row_rule for query in self.plan.queries if query.row_rule is not None]
        asked = [name for rule in rules for name in rule.present]
        if not asked:
            return 1.0
        promised = list(dict.fromkeys([*self.complete, *asked]))
        questions = [dict(each.given() if isinstance(each, Question) else each) for each in self.questions]
        for each in questions:
            each.pop("complete", None)
        complete = replace(self, complete=promised, questions=questions).plan
        return self.plan.total_variance / complete.total_variance

    def splits(self) -> list[dict[str, float]]:
        """How each question says that the guarantee is split: its share, or the errors that it may have."""
        each = [vars(question) if isinstance(question, Question) else question for question in self.questions]
        split = ("share", "error_at_most")
        return [{name: float(fields[name]) for name in split if fields.get(name) is not None} for fields in each]

    def _question(self, own: Mapping[str, Any]) -> Question:
        """The request's own fields and those of a question, settled."""
        fields = joined_fields({name: getattr(self, name) for name in SHARED}, own)
        question = Question(**ask_found_values(fields, self.unit))
        return question.settled(None if question.person_columns else self.unit)

    def asked(self) -> list[Question]:
        """The questions of the request, settled: with what it says for all, and with all bounds and values."""
        for name in ANSWERS if self.questions else ():
            if getattr(self, name):
                what, rule = f"{name} outside the questions", "a request with questions asks for everything in them"
                raise RequestError(what, rule, "move it into a question", code="answer-beside-questions", key=name)
        several = self.questions or questions_apart(self)
        return self._named_questions(several) if self.questions or len(several) > 1 else [self._question({})]

    @single_threaded()
    def _plan(self, clipped: Fraction) -> Plan:
        questions = self.asked()
        for question in questions:
            question.check_unit(self.unit)
        if self.unit is not None:
            check_limits(questions, lambda limited: self._planned(limited, clipped))
        return self._planned(questions, clipped)

    def _planned(self, questions: Sequence[Question], clipped: Fraction) -> Plan:
        """The plan of these questions, which state their limits, with the law of noise that is asked for."""
        check_found(questions, self.neighbours, self.keys_delta)
        return plan_by_law(self, partial(self._planned_at, questions, clipped))

    def _planned_at(self, questions: Sequence[Question], clipped: Fraction, whole: Guarantee) -> Plan:
        """The same under this guarantee, whatever law its noise has."""
        if diagnosed := self.diagnose is not False and read_diagnose(self.diagnose):
            only = None if diagnosed is True else diagnosed
            queries, slots = self._diagnosed(questions, only, float(clipped), whole)
        elif any(question.finds for question in questions):
            refuse_found(whole)
            queries, slots = self._finding(questions, whole)
        else:
            queries, slots = self._together(questions, whole, _are_shared(questions))
        about = cast("About | None", self.about)
        made = Plan(whole, self.neighbours, tuple(queries), tuple(slots), about=about)
        if not made.noises:
            raise refused_count()
        return made.certified()

    def _diagnosed(
        self, questions: Sequence[Question], only: Sequence[str] | None, clipped: float, whole: Guarantee
    ) -> tuple[list[Query], list[Slot]]:
        """The queries of the questions, and of a diagnosis for this share of the guarantee."""
        checks = check_parts(questions, self.unit, only)
        guarantee, sliver = split_sliver(whole, clipped)
        queries, slots = self._together(questions, guarantee, _are_shared(questions))
        slots = [replace(slot, name=slot.name or TOGETHER) for slot in slots]
        slots.append(Slot.of(DIAGNOSIS, slot_places(checks, len(queries))))
        return beside(queries, partial(self._tied, checks, [{0}] * len(checks), sliver), clipped), slots

    def _finding(self, questions: Sequence[Question], whole: Guarantee) -> tuple[list[Query], list[Slot]]:
        """The queries of questions of which some find keys, each of these at its share of the guarantee and of κ."""
        finding = [question for question in questions if question.finds]
        declared = [question for question in questions if not question.finds]
        others = sum(question.share or 1.0 for question in declared)
        shares = [question.share or 1.0 for question in finding]
        own, rest, kappas = split_found(whole, shares, others, self.keys_delta)
        queries, slots = self._together(declared, rest or whole, _are_shared(questions))
        places = dict(zip(declared, slots, strict=True))
        for which, question in enumerate(finding):
            found = found_parts(question, self.unit, never_missing_in(question, self.source))
            places[question] = slot_of(question, found, [(len(queries) + k, part) for k, part in enumerate(found)])
            queries += plan_found(question, found, self.unit, own[which], kappas[which], which)
        return queries, [places[question] for question in questions]

    def _together(
        self, questions: Sequence[Question], guarantee: Guarantee, are_shared: bool
    ) -> tuple[list[Query], list[Slot]]:
        """The queries of questions about declared groups, or none, and where the answers of each are in them.

        Each question has its share of the guarantee if these `are_shared`; else all are planned together.
        """
        own = [parts_of(question, never_missing_in(question, self.source)) for question in questions]
        owners, parts = [i for i, each in enumerate(own) for _ in each], [part for each in own for part in each]
        if are_shared:
            at = {part: (k, part) for k, part in enumerate(parts)}
            queries = self._shared(questions, own, guarantee)
        else:
            sets = merge(parts, self.unit)
            united = [unite([parts[k] for k in members]) for members in sets]
            at = {parts[k]: (j, united[j]) for j, members in enumerate(sets) for k in members}
            queries = self._tied(united, [{owners[k] for k in members} for members in sets], guarantee)
        slots = [slot_of(*each, [at[part] for part in each[1]]) for each in zip(questions, own, strict=True)]
        return queries, slots

    def _shared(
        self, questions: Sequence[Question], own: Sequence[Sequence[Part]], guarantee: Guarantee
    ) -> list[Query]:
        """The queries of the parts of each question, at the share of the guarantee that was given for it.

        A question whose answers are all public takes no share.
        """

        def is_public(part: Part) -> bool:
            return plan_part(part, self.unit, guarantee, self.neighbours).is_public

        noisy = [i for i, each in enumerate(own) if self.neighbours == ADD_REMOVE or not all(map(is_public, each))]
        shares = dict(zip(noisy, guarantee.split([questions[i].share or 1.0 for i in noisy] or [1.0]), strict=False))
        from gaussmith.planning.pure_noise import drawn_after

        queries: list[Query] = []
        people: list[Query] = []  # those that only count people for a tie come last, and every tie is told its places
        for i, parts in enumerate(own):
            made = drawn_after(queries, self._tied(parts, [{i}] * len(parts), shares.get(i, guarantee)))
            queries += made[: len(parts)]
            people += made[len(parts) :]
        return placed_again(queries, people)

    def _tied(
        self, parts: Sequence[Part], asking: Sequence[set[int]], guarantee: Guarantee, worth: float = 1.0
    ) -> list[Query]:
        """The queries of these parts under one guarantee; one more may count their people.

        `asking` has the questions of each part: weights compare the answers of one question, whatever its parts.
        """

        def plan_alone(i: int, share: Guarantee) -> Query:
            return plan_part(parts[i], self.unit, share, self.neighbours)

        if not parts:
            return []
        limits = [part.limit for part in parts]
        if guarantee.is_pure:
            bare = [bare_part(part, self.unit, guarantee, self.neighbours) for part in parts]
            from gaussmith.planning.pure_noise import plan_pure

            return plan_pure(bare, [worth * scale for scale in scales_of(bare, asking)], guarantee, limits)
        alone = [plan_alone(i, guarantee) for i in range(len(parts))]
        limited = any(limits)
        if len(alone) == 1 and not limited and self.neighbours == ADD_REMOVE and alone[0].held == 1:
            return [replace(alone[0], scale=worth)]  # there is nothing to share a noise with
        rules = [query.row_rule for query in alone if query.row_rule is not None]
        everybody = everybody_of(rules, self.where, self.neighbours)
        scales = [worth * scale for scale in scales_of(alone, asking)]
        together = Questions(alone, scales, plan_alone, everybody, guarantee, self.neighbours)
        return queries_within(together, limits) if limited else together.queries()

    def _named_questions(self, asked: Sequence[Any]) -> list[Question]:
        own = [_question_table(each, number) for number, each in enumerate(asked, start=1)]
        questions = [self._question({"name": str(number), **each}) for number, each in enumerate(own, start=1)]
        if (twice := repeated(question.name for question in questions)) is not None:
            what, rule = f"two questions named {twice!r}", "every question needs its own name"
            raise RequestError(what, rule, "rename one", code="question-name-twice", name=twice)
        if self.unit is not None and not same_meaning([self.unit], [question.columns for question in questions]):
            what = f"unit={self.unit!r} is derived in several ways"
            rule, remedy = "one column names the people of all questions", "derive it once, above the questions"
            raise RequestError(what, rule, remedy, code="unit-derived-in-several-ways", unit=self.unit)
        refuse_unasked([*read_missing("missing", self.missing), *self.complete], self.mean_within, questions)
        return questions

    @classmethod
    @written_in(TOML)
    def from_toml(cls, path: str | Path) -> Request:
        """The request in a TOML file. A relative source is relative to the folder of the file."""
        return cls.from_dict(read_toml(path), beside=Path(path).parent)

    @classmethod
    @written_in(TOML)
    def from_dict(cls, fields: Mapping[str, Any], beside: Path | None = None) -> Request:
        """The request in a mapping with the keys of a TOML request."""
        _check_keys(fields)
        source = fields["source"]
        path = read_source(source).data
        if beside is not None and isinstance(path, str) and "://" not in path:
            source = with_path(source, str(beside / os.path.expanduser(path)))  # an absolute path stays as it is
        known = {key: value for key, value in fields.items() if key not in ("source", "guarantee", "question")}
        questions = fields.get("question", ())
        if not isinstance(questions, list | tuple):
            remedy = f"write {setting('question')} with two brackets"
            raise RequestError("question is not a list", "there may be several", remedy, code="question-not-a-list")
        return cls(source, guarantee=fields.get("guarantee"), questions=questions, **known)  # type: ignore[arg-type]


def _are_shared(questions: Sequence[Question]) -> bool:
    """Whether some question says its share of the guarantee."""
    return any(question.share is not None for question in questions)


def _check_keys(fields: Mapping[str, Any]) -> None:
    for key in fields:
        if key not in (*KEYS, "neighbors"):
            raise unknown_key(str(key), fields, KEYS)
    if "neighbors" in fields and "neighbours" in fields:
        what, rule = "both neighbours and neighbors", "these are two spellings of one field"
        raise RequestError(what, rule, "leave one out", code="request-neighbours-spelled-twice")
    if "source" not in fields:
        raise _no_source()


def _question_table(own: Any, number: int) -> Mapping[str, Any]:
    """What a question says itself."""
    if isinstance(own, Question):
        return own.given()
    if not isinstance(own, Mapping):
        rule, remedy = "a question must be a table", f"write {setting('question')} and what it asks"
        raise RequestError(f"question {own!r}", rule, remedy, code="question-not-a-table", question=own)
    for key in own:
        if key not in Question.field_names():
            what, code = f"unknown key {key!r} in question {number}", "unknown-key-in-question"
            raise RequestError(what, *_misplaced_in_question(str(key), own), code=code, key=key, question=number)
    return own


Request.__doc__ = f"{Request.__doc__}\n\n{described(Request)}\n"


def _misplaced_in_question(key: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    """The rule that a key breaks which no question has, and where it belongs."""
    meant = key if key in KEYS else next(iter(meant_names(key, KEYS)), "")
    if meant in KEYS and meant not in SHARED:
        return f"{meant} applies to the whole request", f"write {setting(meant)} above the questions"
    return misplaced(key, fields, Question.field_names())


def _no_source() -> RequestError:
    rule, remedy = "a request must name its data", f"add {setting('source', 'people.parquet')}"
    return RequestError("no source", rule, remedy, code="request-without-source")


# How many groups or values a person counts in: a choice that must be made, with what each choice costs.

SHOWN = (1, 2, 5)
"""The limits whose cost is told, beside that of all."""

ROWS = 10_000
"""How many rows a group has for which the error of a mean is told."""

PlanOf = Callable[[Sequence[Question]], Plan]


def check_limits(questions: Sequence[Question], plan_of: PlanOf) -> None:
    """Refuse groups, or a histogram, of people with many rows that do not say how many of them a person counts in.

    The error tells what each choice costs in this very request; `plan_of` is its plan with other limits.
    """
    for place, question in enumerate(questions):
        if question.person_columns:
            continue
        if question.finds and question.groups_per_unit is None:
            raise RequestError(
                "found keys with a unit, without groups_per_unit",
                "a person may have several keys, and counts in at most so many: those with the most of their rows",
                f"write {setting('groups_per_unit', 1)}, or more: errors and the threshold grow with its square root",
                code="found-limit-not-given",
            )
        if _lacks_groups(question):
            lists = question.by.values() if isinstance(question.by, Mapping) else [question.by]
            size = math.prod(map(len, lists))
            raise _refusal("by", "groups_per_unit", "be in several groups", size, questions, place, plan_of)
        if _lacks_values(question):
            size = max(map(len, [*question.histograms.values(), *question.proportions.values()]))
            raise _refusal("a histogram", "values_per_unit", "have several values", size, questions, place, plan_of)


def _lacks_groups(question: Question) -> bool:
    return bool(question.by) and question.groups_per_unit is None


def _lacks_values(question: Question) -> bool:
    counts = bool(question.histograms or question.proportions)
    return counts and question.values_per_unit is None and not question.by


def _refusal(
    what: str, limit: str, may: str, size: int, questions: Sequence[Question], place: int, plan_of: PlanOf
) -> RequestError:
    choices = [m for m in dict.fromkeys((*SHOWN, size)) if m <= size]
    prices = [_price(_limited(questions, place, limit, m), place, plan_of) for m in choices]
    shown = [
        f"{m}{' for all' if m == size and m > 1 else ''}{_told(price, is_first=i == 0)}"
        for i, (m, price) in enumerate(zip(choices, prices, strict=True))
    ]
    told = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    rule = f"a person may {may}, and counts in at most so many: those with the most of their rows"
    remedy = f"write {setting(limit, choices[0])}{told.removeprefix(str(choices[0]))}"
    return RequestError(
        f"{what} with a unit, without {limit}", rule, remedy, code="limit-not-given", limit=limit, size=size
    )


def _limited(questions: Sequence[Question], place: int, limit: str, most: int) -> list[Question]:
    """The questions with this limit in one of them, and 1 wherever else a limit is not given."""
    found = []
    for i, question in enumerate(questions):
        lacking: dict[str, Any] = {"groups_per_unit": 1} if _lacks_groups(question) else {}
        lacking |= {"values_per_unit": 1} if _lacks_values(question) else {}
        found.append(replace(question, **lacking | ({limit: most} if i == place else {})))
    return found


def _price(questions: Sequence[Question], place: int, plan_of: PlanOf) -> tuple[str, float] | None:
    """What an answer of one question is, and its standard error; None where there is no such plan."""
    question = questions[place]
    try:
        plan = plan_of(questions)
    except GaussmithError:  # the refusal that is being made comes first
        return None
    errors = (plan[question.name] if len(plan) > 1 else plan).errors(ROWS)
    name = "count" if "count" in errors else next(iter(errors))
    if name == "count" or question.histograms or question.proportions:
        return "each count", errors[name]
    if name in {f"{column}_sum" for column in question.sums}:
        return name, errors[name]
    return (f"ranks of {name}" if question.quantiles else f"{name} of {ROWS:,} rows"), errors[name]


def _told(price: tuple[str, float] | None, is_first: bool) -> str:
    if price is None:
        return ""
    return f" (± {price[1]:.3g}{f' in {price[0]}' if is_first else ''})"
