"""A request: which answers, of which table, under which guarantee; in Python or in TOML. It is planned without data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, InitVar, field, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.source_description import read_source, with_path
from gaussmith.errors import RequestError, nearest
from gaussmith.expressions import parse, same_meaning
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, choose
from gaussmith.notations import TOML, notation, written_in
from gaussmith.numerics.threads import single_threaded
from gaussmith.plans import Draw, Plan, Slot
from gaussmith.plans.about import About, read_about
from gaussmith.plans.choice import refused_count
from gaussmith.plans.tying import Questions, everybody_of, placed_again, scales_of
from gaussmith.requests.accuracy import AccuracyFirst
from gaussmith.requests.apart import ANSWERS, TOGETHER, questions_apart
from gaussmith.requests.diagnosis import NAME as DIAGNOSIS
from gaussmith.requests.diagnosis import beside, check_parts, read_diagnose, slot_places, split_sliver
from gaussmith.requests.fields import READERS, Fields, read_complete, read_missing
from gaussmith.requests.finding import ask_found_values, check_found, found_parts, plan_found, split_found
from gaussmith.requests.given import (
    fill_absent,
    joined_columns,
    read_guarantee,
    read_toml,
    refuse_paths,
    refuse_unasked,
    refuse_unknown,
    unknown_key,
)
from gaussmith.requests.parts import Part, merge, never_missing_in, parts_of, slot_of, unite
from gaussmith.requests.private_bins import plan_private
from gaussmith.requests.question import Question
from gaussmith.requests.translation import plan_part
from gaussmith.values import dataclass

SHARED = tuple(name for name in Question.field_names() if name not in ("name", "share", "error_at_most"))
"""What may stand in the request itself, or in a question."""

KEYS = (
    "source",
    *SHARED,
    "unit",
    "keys_delta",
    "keys_first",
    "diagnose",
    "budget",
    "vector_means",
    "guarantee",
    "neighbours",
    "question",
    "about",
)
"""The fields of a TOML request."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Request(AccuracyFirst, Fields):
    """A request about one table: its source, what to release and how well people are protected; the rest is optional.

    With `questions`, the other fields are defaults for all of them; if both have a filter, both apply. docs/requests.md
    and `Question` say more of each field, of which this is one example each:

    source="visits.parquet"                       or a frame; {"path": …, "ids": "integer"} says more (docs/people.md)
    guarantee=Guarantee(epsilon=1, delta=1e-6)    how well people are protected
    neighbours="add-remove"                       against what; "replace-one": the number of people is public
    unit="person"                                 the column that names the person; without it each row is one
    rows_per_unit=12                              how many rows of a person count in means over rows
    groups_per_unit=2                             in how many groups a person counts
    values_per_unit=2                             in how many values of a histogram a person counts
    count=True                                    the number of people; "rows": of rows
    sums={"income": (0, 200_000)}                 within bounds, which with a unit are those of a person's total
    means={"age": (0, 100)}                       within bounds; or ["age"], with its bounds in bounds
    mean_of="units"                               every person has the same weight in means
    mean_within={"age": (30, 50)}                 where means lie, for the errors that a plan states
    medians={"income": (0, 200_000)}              within bounds
    quantiles={"income": [0.1, 0.9]}              of columns with bounds or bins
    variances={"age": (0, 100)}                   with standard deviations
    covariance=["age", "bmi"]                     with correlations; bounds in bounds
    regression={"of": "income", "on": ["age"]}    slopes and the constant; bounds in bounds
    histograms={"health": ["good", "poor"]}       how many people have each value
    proportions={"health": ["good", "poor"]}      the same, with shares
    marginals=[["age", "sex"], ["region"]]        tables over columns with values or bins
    vector_means=["height", "weight"]             means of columns of which nothing is known (docs/vectors.md)
    bounds={"age": (0, 100)}                      of a row, for all answers; "private": learned (docs/bounds.md)
    total_bounds={"spent": (0, 500)}              of a person's total
    values={"sex": ["f", "m"]}                    the declared values of a column
    bins={"age": [18, 40, 65]}                    the cells of a column of numbers or dates
    by={"region": ["north", "south"]}             declared groups; {"region": "found"}: those in the data (docs/keys.md)
    group_weights={"north": 4}                    how much the errors of groups matter
    keys_delta=1e-7                               the part of δ for finding keys
    keys_first=True                               find keys in a stage of its own
    keys_at_least=20                              found keys with fewer people are never shown
    top=10                                        show at most so many found groups
    where="age >= 18"                             only rows where this holds (docs/expressions.md)
    columns={"late": "days > 20"}                 derived columns
    person_columns={"visits": "count()"}          a person's own numbers; then each person is one row
    missing={"age": 40}                           what stands in for a missing value; "skip": it is left out
    complete=["age"]                              columns promised to have a value in every row
    weights="equal"                               which errors matter: "relative", "equal", or a number each
    diagnose=True                                 also how many people are beyond bounds and limits (docs/diagnosis.md)
    budget={"bounds": 0.1}                        the shares of the stages that learn bounds or keys
    questions=[Question("a", count=True)]         several questions under one guarantee
    about={"curator": "…", "purpose": "…"}        who publishes this, and why (docs/publishing.md)

    >>> import gaussmith as gm
    >>> request = gm.Request("people.parquet", sums={"income": (0, 200_000)}, means={"age": (0, 100)}, count=True,
    ...                      guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    >>> request.plan.names
    ('income_sum', 'age_mean', 'count')
    >>> gm.Request("people.csv", count=True, guarantee=gm.Guarantee(mu=1))
    Request('people.csv', count=True, guarantee=Guarantee(mu=1.0))
    """

    source: Any = field(kw_only=False, repr=False)  # a frame would show its values
    unit: str | None = None
    keys_delta: float | None = None
    keys_first: bool = False
    diagnose: bool | Sequence[str] = False
    budget: Mapping[str, float] = field(default_factory=dict)
    vector_means: Any = ()
    guarantee: Guarantee = field(default=None)  # type: ignore[assignment]  # refused below, in words
    neighbours: str = ADD_REMOVE
    questions: Sequence[Question | Mapping[str, Any]] = ()
    about: About | Mapping[str, Any] | None = None
    neighbors: InitVar[str | None] = None  # the same as neighbours, which holds what was said

    plan: Plan = field(init=False, repr=False)
    """The plan of this request; made without data, from names, bounds and what the types of columns can hold."""
    notation: str = field(init=False, repr=False)
    """How it was written, in Python or as TOML: errors of its release tell what to write in the same way."""

    def __new__(cls, *values: Any, **given: Any) -> Request:
        refuse_unknown(given, [each.name for each in fields(cls) if each.init] + ["neighbors"])
        return super().__new__(cls)

    def __post_init__(self, neighbors: str | None) -> None:
        fill_absent(self)
        object.__setattr__(self, "notation", notation())
        object.__setattr__(self, "guarantee", read_guarantee(self.guarantee))
        object.__setattr__(self, "neighbours", choose(self.neighbours, neighbors))
        about = read_about(self.about)
        object.__setattr__(self, "about", about)
        refuse_paths(read_source(self.source).data)  # which refuses a table that says what a source has not
        if self.unit is not None and (not isinstance(self.unit, str) or not self.unit):
            what, rule = f"unit={self.unit!r}", "it must be the name of a column"
            raise RequestError(what, rule, 'write unit = "person"', code="unit-not-a-name", unit=self.unit)
        if self.vector_means:
            from gaussmith.requests.vector_means import plan_vector_means

            object.__setattr__(self, "plan", replace(plan_vector_means(self), about=about))
            return
        staged, clipped = plan_private(self)
        made = self._plan(clipped) if staged is None else staged
        object.__setattr__(self, "plan", replace(made, about=about))

    def __repr__(self) -> str:
        (_, source), *others = self.said()
        return f"Request({', '.join([source, *(f'{name}={text}' for name, text in others)])})"

    def _repr_html_(self) -> str:
        from gaussmith.words.displays import request_html

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
                usual = each.default if each.default_factory is MISSING else each.default_factory()
                if not (type(value) is type(usual) and value == usual):
                    said.append((each.name, repr(value)))
        return said

    def _question(self, own: Mapping[str, Any]) -> Question:
        """The request's own fields and those of a question, which come first; both filters and all derived columns."""
        fields = {name: getattr(self, name) for name in SHARED} | dict(own)
        if own.get("where") is not None and self.where is not None:
            for text in (self.where, own["where"]):
                parse(text)  # each by itself: brackets of one must not close those of the other
            fields["where"] = f"({self.where}) and ({own['where']})"
        for which in ("columns", "person_columns"):
            if own.get(which) and getattr(self, which):
                fields[which] = joined_columns(getattr(self, which), own[which])
        named = [name for name in ANSWERS if name not in ("count", "marginals") and own.get(name)]
        asked = {column for name in named for column in READERS[name](name, own[name])}
        if own and "missing" not in own and isinstance(self.missing, Mapping):
            fields["missing"] = {column: value for column, value in self.missing.items() if column in asked}
        if own and "complete" not in own:
            fields["complete"] = [column for column in read_complete("complete", self.complete) if column in asked]
        if own and "mean_within" not in own and isinstance(self.mean_within, Mapping):
            means = own.get("means", ())
            fields["mean_within"] = {column: where for column, where in self.mean_within.items() if column in means}
        for name in ("bounds", "total_bounds", "values", "bins"):
            shared = getattr(self, name)
            if isinstance(shared, Mapping) and isinstance(own.get(name), Mapping):
                fields[name] = {**shared, **own[name]}
        question = Question(**ask_found_values(fields, self.unit))
        return question.settled(None if question.person_columns else self.unit)

    def asked(self) -> list[Question]:
        """The questions of the request, settled: with what it says for all, and with all bounds and values."""
        for name in ANSWERS if self.questions else ():
            if getattr(self, name):
                what, rule = f"{name} outside the questions", "a request with questions asks for everything in them"
                raise RequestError(what, rule, "move it into a question", code="answer-beside-questions", key=name)
        return self._named_questions() if self.questions or len(questions_apart(self)) > 1 else [self._question({})]

    @single_threaded()
    def _plan(self, clipped: Fraction) -> Plan:
        questions = self.asked()
        for question in questions:
            question.check_unit(self.unit)
        if self.unit is not None:
            from gaussmith.requests.limits import check_limits

            check_limits(questions, lambda limited: self._planned(limited, clipped))
        return self._planned(questions, clipped)

    def _planned(self, questions: Sequence[Question], clipped: Fraction) -> Plan:
        """The plan of these questions, which state their limits."""
        check_found(questions, self.neighbours, self.keys_delta)
        shared = any(question.share is not None for question in questions)
        finding = [i for i, question in enumerate(questions) if question.finds]
        filled = [never_missing_in(question, self.source) for question in questions]
        plain = [(i, question) for i, question in enumerate(questions) if i not in finding]
        owners = [(i, part) for i, question in plain for part in parts_of(question, filled[i])]
        sets = merge([part for _, part in owners], apart=shared)
        parts = [unite([owners[k][1] for k in members]) for members in sets]
        at = {k: (j, parts[j]) for j, members in enumerate(sets) for k in members}
        asking = [{owners[k][0] for k in members} for members in sets]
        guarantee, spent, checks = self.guarantee, [], []
        if diagnosed := read_diagnose(self.diagnose):
            checks = check_parts(questions, self.unit, None if diagnosed is True else diagnosed)
            guarantee, sliver = split_sliver(self.guarantee, float(clipped))
        if finding:
            shares = [questions[i].share or 1.0 for i in finding]
            others = sum(question.share or 1.0 for question in questions if not question.finds)
            own, rest, kappas = split_found(self.guarantee, shares, others, self.keys_delta)
            guarantee, spent = rest or self.guarantee, list(zip(finding, own, kappas, strict=True))
        draws: list[Draw] = []
        if plain:
            draws = (
                self._shared(questions, parts, asking, guarantee) if shared else self._tied(parts, asking, guarantee)
            )
        places = {i: [at[k] for k, (owner, _) in enumerate(owners) if owner == i] for i in range(len(questions))}
        parts_in = {i: [part for owner, part in owners if owner == i] for i in range(len(questions))}
        for which, (i, share, kappa) in enumerate(spent):
            found = found_parts(questions[i], self.unit, filled[i])
            places[i], parts_in[i] = [(len(draws) + k, part) for k, part in enumerate(found)], found
            draws += plan_found(questions[i], found, self.unit, share, kappa, which)
        slots = [slot_of(question, parts_in[i], places[i]) for i, question in enumerate(questions)]
        if checks:
            slots = [replace(slot, name=slot.name or TOGETHER) for slot in slots]
            slots.append(Slot.of(DIAGNOSIS, slot_places(checks, len(draws))))
            diagnose = partial(self._tied, checks, [{0}] * len(checks), sliver)
            draws = beside(draws, diagnose, float(clipped))
        made = Plan(self.guarantee, self.neighbours, tuple(draws), tuple(slots))
        made.certify()
        if not made.noises:
            raise refused_count()
        return made

    def _shared(
        self, questions: Sequence[Question], parts: Sequence[Part], asking: Sequence[set[int]], guarantee: Guarantee
    ) -> list[Draw]:
        """The draws of the parts of each question, at the share of the guarantee that was given for it.

        A question whose answers are all public takes no share.
        """
        plain = [i for i, question in enumerate(questions) if not question.finds]
        own = {i: [k for k, owners in enumerate(asking) if i in owners] for i in plain}
        noisy = plain
        if self.neighbours != ADD_REMOVE:
            alone = [plan_part(part, self.unit, guarantee, self.neighbours) for part in parts]
            noisy = [i for i in plain if not all(alone[k].is_public for k in own[i])]
        shares = dict(zip(noisy, guarantee.split([questions[i].share or 1.0 for i in noisy] or [1.0]), strict=False))
        draws: list[Draw] = []
        people: list[Draw] = []  # those that only count people for a tie come last, and every tie is told its places
        for i in plain:
            held = own[i]
            made = self._tied([parts[k] for k in held], [asking[k] for k in held], shares.get(i, guarantee))
            draws += made[: len(held)]
            people += made[len(held) :]
        return placed_again(draws, people)

    def _tied(
        self, parts: Sequence[Part], asking: Sequence[set[int]], guarantee: Guarantee, worth: float = 1.0
    ) -> list[Draw]:
        """The draws of these parts under one guarantee; one more may count their people.

        `asking` has the questions of each part: weights compare the answers of one question, whatever its parts.
        """

        def plan_alone(i: int, share: Guarantee) -> Draw:
            return plan_part(parts[i], self.unit, share, self.neighbours)

        alone = [plan_alone(i, guarantee) for i in range(len(parts))]
        rules = [draw.row_rule for draw in alone if draw.row_rule is not None]
        everybody = everybody_of(rules, self.where, self.neighbours)
        scales = [worth * scale for scale in scales_of(alone, asking)]
        together = Questions(alone, scales, plan_alone, everybody, guarantee, self.neighbours)
        limits = [part.limit for part in parts]
        if not any(limits):
            return together.draws()
        from gaussmith.plans.question_costs import draws_within

        return draws_within(together, limits)

    def _named_questions(self) -> list[Question]:
        questions: list[Question] = []
        for number, own in enumerate(self.questions or questions_apart(self), start=1):
            if isinstance(own, Question):
                own = own.given()
            if not isinstance(own, Mapping):
                rule, remedy = "a question must be a table", "write [[question]] and what it asks"
                raise RequestError(f"question {own!r}", rule, remedy, code="question-not-a-table", question=own)
            for key in own:
                if key not in Question.field_names():
                    raise RequestError(
                        f"unknown key {key!r} in question {number}",
                        f"{key} applies to the whole request" if key in KEYS else "a question has no such key",
                        "write it above the questions" if key in KEYS else nearest(str(key), Question.field_names()),
                        code="unknown-key-in-question",
                        key=key,
                        question=number,
                    )
            named = {"name": str(number), **own}
            question = self._question(named)
            if any(question.name == other.name for other in questions):
                what, rule = f"two questions named {question.name!r}", "every question needs its own name"
                raise RequestError(what, rule, "rename one", code="question-name-twice", name=question.name)
            questions.append(question)
        if self.unit is not None and not same_meaning([self.unit], [question.columns for question in questions]):
            raise RequestError(
                f"unit={self.unit!r} is derived in several ways",
                "one column names the people of all questions",
                "derive it once, above the questions",
                code="unit-derived-in-several-ways",
                unit=self.unit,
            )
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
        for key in fields:
            if key not in (*KEYS, "neighbors"):
                raise unknown_key(str(key), fields, KEYS)
        if "neighbors" in fields and "neighbours" in fields:
            what, rule = "both neighbours and neighbors", "these are two spellings of one field"
            raise RequestError(what, rule, "leave one out", code="request-neighbours-spelled-twice")
        if "source" not in fields:
            raise RequestError(
                "no source",
                "a request must name its data",
                'add source = "people.parquet"',
                code="request-without-source",
            )
        source = fields["source"]
        path = read_source(source).data
        if beside is not None and isinstance(path, str) and "://" not in path:
            source = with_path(source, str(beside / os.path.expanduser(path)))  # an absolute path stays as it is
        known = {key: value for key, value in fields.items() if key not in ("source", "guarantee", "question")}
        questions = fields.get("question", ())
        if isinstance(questions, Mapping) or not isinstance(questions, list | tuple):
            remedy = "write [[question]] with two brackets"
            raise RequestError("question is not a list", "there may be several", remedy, code="question-not-a-list")
        return cls(source, guarantee=fields.get("guarantee"), questions=questions, **known)  # type: ignore[arg-type]
