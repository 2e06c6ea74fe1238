"""A request: which answers, of which table, under which guarantee; in Python or in TOML. It is planned without data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, InitVar, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.source_description import read_source, with_path
from gaussmith.errors import RequestError, nearest
from gaussmith.expressions import parse, same_meaning
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, choose
from gaussmith.plans import Draw, Plan, Slot
from gaussmith.plans.assembly import AskedAnswer
from gaussmith.plans.choice import refused_count
from gaussmith.plans.question_costs import draws_within
from gaussmith.plans.tying import Questions, everybody_of, placed_again, scale_of
from gaussmith.requests.question import Bounds, Question, read_values
from gaussmith.requests.translation import asked_of, plan_question

SHARED = tuple(name for name in Question.field_names() if name not in ("name", "share", "error_at_most"))
"""What may stand in the request itself, or in a question."""

KEYS = ("source", *SHARED, "unit", "guarantee", "neighbours", "question")
"""The fields of a TOML request."""

STATED = ("epsilon", "delta", "mu", "rho")
"""The fields of a guarantee."""

OF_A_RELEASE = ("ledger", "id", "engine", "master")
"""Arguments of a release, not of a request."""

ANSWERS = ("sums", "means", "count", "histograms")

TOGETHER = "answers"
"""The name of the sums, means and count of a request that has histograms too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """A request about one table. `Question` documents the fields; docs/requests.md has examples.

    `source` is a path, a frame, or a table `{"path": …, "ids": "integer", "row_per_row": True}` (docs/people.md).
    With `questions`, the fields here are defaults for all of them; if both have a filter, both apply.

    >>> import gaussmith as gm
    >>> request = gm.Request("people.parquet", sums={"income": (0, 200_000)}, means={"age": (0, 100)}, count=True,
    ...                      guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    >>> request.plan.names
    ('income_sum', 'age_mean', 'count')
    >>> gm.Request("people.csv", count=True, guarantee=gm.Guarantee(mu=1))
    Request('people.csv', count=True, guarantee=Guarantee(mu=1.0))
    """

    source: Any = field(kw_only=False, repr=False)  # a frame would show its values
    sums: Bounds = field(default_factory=dict)
    means: Bounds = field(default_factory=dict)
    count: bool | str = False
    by: Any = field(default_factory=dict)
    unit: str | None = None
    rows_per_unit: int | None = None
    groups_per_unit: int = 1
    group_weights: Any = None
    mean_of: str = "rows"
    where: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    mean_within: Mapping[str, Any] | float = field(default_factory=dict)
    weights: Any = "relative"
    histograms: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    values_per_unit: int = 1
    guarantee: Guarantee = field(default=None)  # type: ignore[assignment]  # refused below, in words
    neighbours: str = ADD_REMOVE
    questions: Sequence[Question | Mapping[str, Any]] = ()
    neighbors: InitVar[str | None] = None  # the same as neighbours, which holds what was said

    plan: Plan = field(init=False, repr=False)
    """The plan of this request; made without data."""

    def __post_init__(self, neighbors: str | None) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise RequestError(
                "no guarantee" if self.guarantee is None else f"guarantee of type {type(self.guarantee).__name__}",
                "a request must say how well people are protected",
                "write guarantee = { epsilon = 1, delta = 1e-6 }, in Python gaussmith.Guarantee(epsilon=1, delta=1e-6)",
                code="request-without-guarantee",
            )
        object.__setattr__(self, "neighbours", choose(self.neighbours, neighbors))
        read_source(self.source)  # refuses a table that says what a source has not
        if self.unit is not None and (not isinstance(self.unit, str) or not self.unit):
            what, rule = f"unit={self.unit!r}", "it must be the name of a column"
            raise RequestError(what, rule, 'write unit = "person"', code="unit-not-a-name", unit=self.unit)
        if self.questions or len(self._apart()) > 1:
            plan = self._plan_questions()
        else:
            plan = Plan.of(*self._tied([[self._question({})]], self.guarantee))
            plan.certify()
        if not plan.noises:
            raise refused_count()
        object.__setattr__(self, "plan", plan)

    def __repr__(self) -> str:
        """The source by name, never a frame's values, and the questions about it."""
        told = read_source(self.source)
        name = repr(without_secrets(str(told.data))) if isinstance(told.data, str | Path) else None
        said = [f"<{type(told.data).__name__}>" if name is None else name]
        said += [f"{key}={value!r}" for key, value in told.said.items()]
        for each in fields(self):
            if each.init and each.name != "source":
                value = getattr(self, each.name)
                usual = each.default if each.default_factory is MISSING else each.default_factory()
                if not (type(value) is type(usual) and value == usual):
                    said.append(f"{each.name}={value!r}")
        return f"Request({', '.join(said)})"

    def _question(self, own: Mapping[str, Any]) -> Question:
        """The request's own fields and those of a question, which come first; both filters and all derived columns."""
        fields = {name: getattr(self, name) for name in SHARED} | dict(own)
        if own.get("where") is not None and self.where is not None:
            for text in (self.where, own["where"]):
                parse(text)  # each by itself: brackets of one must not close those of the other
            fields["where"] = f"({self.where}) and ({own['where']})"
        if own.get("columns") and self.columns:
            for name in own["columns"]:
                if name in self.columns:
                    what, rule = f"column {name!r} is derived twice", "every derived column needs its own name"
                    raise RequestError(what, rule, "rename one", code="column-derived-twice", column=name)
            fields["columns"] = {**self.columns, **own["columns"]}
        if own and "missing" not in own and isinstance(self.missing, Mapping):
            asked = {column for name in ("sums", "means") for column in own.get(name, ())}
            fields["missing"] = {column: value for column, value in self.missing.items() if column in asked}
        if own and "mean_within" not in own and isinstance(self.mean_within, Mapping):
            means = own.get("means", ())
            fields["mean_within"] = {column: where for column, where in self.mean_within.items() if column in means}
        return Question(**fields)

    def _apart(self) -> list[dict[str, Any]]:
        """A request's own answers as questions: sums, means and count together, each histogram by itself."""
        if not isinstance(self.histograms, Mapping) or not self.histograms:
            return []
        longest = max(map(len, read_values(self.histograms).values()))
        none: dict[str, Any] = {"sums": {}, "means": {}, "count": False, "histograms": {}, "values_per_unit": 1}
        apart: list[dict[str, Any]] = []
        own: dict[str, Any]
        if self.sums or self.means:
            own = {"sums": self.sums, "means": self.means, "count": self.count}
            apart.append({**none, **own, "name": TOGETHER})
        counted = bool(apart)  # else the first histogram brings the number of people
        for column, values in self.histograms.items():
            own = {"histograms": {column: values}, "count": self.count and not counted, "name": str(column)}
            few = min(self.values_per_unit, len(values)) if self.values_per_unit <= longest else self.values_per_unit
            apart.append({**none, **own, "values_per_unit": few, "weights": "equal"})
            counted = True
        return apart

    def _plan_questions(self) -> Plan:
        for name in ANSWERS if self.questions else ():
            if getattr(self, name):
                what, rule = f"{name} outside the questions", "a request with questions asks for everything in them"
                raise RequestError(what, rule, "move it into a question", code="answer-beside-questions", key=name)
        questions = self._named_questions()
        sets = _together(questions)
        some = [[questions[i] for i in members] for members in sets]
        draws = self._draws(some)
        slots = {i: _slot(questions[i], some[at], at, draws[at]) for at, members in enumerate(sets) for i in members}
        made = Plan(self.guarantee, self.neighbours, tuple(draws), tuple(slots[i] for i in range(len(questions))))
        made.certify()
        return made

    def _draws(self, sets: Sequence[Sequence[Question]]) -> list[Draw]:
        """The draws of sets of questions, in order: by the shares that were given, else tied as far as they can be."""
        questions = [question for some in sets for question in some]

        if not any(question.share is not None for question in questions):
            return self._tied(sets, self.guarantee)
        public = [self._draw(some, self.guarantee).is_public for some in sets]
        weights = [sum(question.share or 1.0 for question in some) for some in sets]
        shared = iter(self.guarantee.split([w for w, free in zip(weights, public, strict=True) if not free] or [1.0]))
        draws: list[Draw] = []
        people: list[Draw] = []  # those that only count people for a tie come last, and every tie is told its places
        for some, free in zip(sets, public, strict=True):
            own = self._tied([some], self.guarantee if free else next(shared))
            draws.append(own[0])
            people += own[1:]
        return placed_again(draws, people)

    def _tied(self, sets: Sequence[Sequence[Question]], guarantee: Guarantee) -> list[Draw]:
        """The draws of these sets under one guarantee; one more may count their people."""

        def plan_alone(i: int, share: Guarantee) -> Draw:
            return self._draw(sets[i], share)

        alone = [plan_alone(i, guarantee) for i in range(len(sets))]
        rules = [draw.row_rule for draw in alone if draw.row_rule is not None]
        scales = [1.0 if len(alone) == 1 else scale_of(draw) for draw in alone]
        everybody = everybody_of(rules, self.where, self.neighbours)
        together = Questions(alone, scales, plan_alone, everybody, guarantee, self.neighbours)
        limits = [some[0].error_at_most for some in sets]
        return together.draws() if not any(limits) else draws_within(together, limits)

    def _draw(self, questions: Sequence[Question], guarantee: Guarantee) -> Draw:
        """The draw that answers some questions together, or one histogram."""
        if len(questions) == 1:
            return plan_question(questions[0], self.unit, guarantee, self.neighbours)
        return plan_question(_union(questions), self.unit, guarantee, self.neighbours, _asked(questions))

    def _named_questions(self) -> list[Question]:
        questions: list[Question] = []
        for number, own in enumerate(self.questions or self._apart(), start=1):
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
        for column in self.missing:
            if not any(column in {*q.sums, *q.means} for q in questions):
                what = f"missing names {column!r}"
                rule = "it must be a column that is asked for"
                remedy = "leave it out, or ask for it"
                raise RequestError(what, rule, remedy, code="missing-of-unasked-column", column=column)
        for column in self.mean_within if isinstance(self.mean_within, Mapping) else ():
            if not any(column in q.means for q in questions):
                what, rule = f"mean_within names {column!r}", "it must be a column whose mean is asked for"
                remedy = "leave it out, or ask for its mean"
                raise RequestError(what, rule, remedy, code="mean-within-of-unasked-mean", column=column)
        return questions

    @classmethod
    def from_toml(cls, path: str | Path) -> Request:
        """The request in a TOML file. A relative source is relative to the folder of the file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8-sig")  # some editors put a mark at the beginning
        except FileNotFoundError:
            what, rule, remedy = f"request file {without_secrets(path)!r}", "it does not exist", "check the name"
            raise RequestError(what, rule, remedy, code="no-such-request-file", file=without_secrets(path)) from None
        except (OSError, UnicodeDecodeError):
            what = f"request file {without_secrets(path)!r}"
            rule = "it cannot be read as text"
            remedy = "check the file"
            raise RequestError(what, rule, remedy, code="request-file-not-text", file=without_secrets(path)) from None
        try:
            fields = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            what, rule, remedy = f"request file {without_secrets(path)!r}", f"it is not TOML: {error}", "fix that line"
            raise RequestError(what, rule, remedy, code="request-file-not-toml", file=without_secrets(path)) from None
        return cls.from_dict(fields, beside=file.parent)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], beside: Path | None = None) -> Request:
        """The request in a mapping with the keys of a TOML request."""
        for key in fields:
            if key not in (*KEYS, "neighbors"):
                raise RequestError(
                    f"unknown key {key!r}", *_misplaced(str(key), fields), code="unknown-key-in-request", key=key
                )
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
            source = with_path(source, str(beside / Path(path).expanduser()))  # an absolute path stays as it is
        known = {key: value for key, value in fields.items() if key not in ("source", "guarantee", "question")}
        questions = fields.get("question", ())
        if isinstance(questions, Mapping) or not isinstance(questions, list | tuple):
            remedy = "write [[question]] with two brackets"
            raise RequestError("question is not a list", "there may be several", remedy, code="question-not-a-list")
        return cls(source, guarantee=_guarantee(fields.get("guarantee")), questions=questions, **known)


def _together(questions: Sequence[Question]) -> list[list[int]]:
    """The questions that are planned together: those that use the same rows, unless shares were given; in order."""
    if any(question.share is not None for question in questions):
        return [[i] for i in range(len(questions))]
    sets: list[list[int]] = []
    for i, question in enumerate(questions):
        for members in sets:
            others = [questions[j] for j in members]
            if all(_alike(question, other) for other in others):
                members.append(i)
                break
        else:
            sets.append([i])
    return sets


def _alike(one: Question, other: Question) -> bool:
    """Whether two questions can share a plan: the same people read alike, weights by rule, counts of one kind."""
    if one.histograms or other.histograms or one.error_at_most or other.error_at_most:
        return False
    counts = {question.count for question in (one, other)} - {False}
    if not isinstance(one.weights, str) or one.described() != other.described() or len(counts) > 1:
        return False
    both_ways = ({*one.sums} & {*other.means}) | ({*one.means} & {*other.sums})
    shared = ({*one.sums, *one.means} & {*other.sums, *other.means}) | both_ways
    # A missing value has one stand-in; of a column asked both ways it must have been said which.
    return all(one.missing.get(c) == other.missing.get(c) for c in shared) and both_ways <= {*one.missing}


def _asked(questions: Sequence[Question]) -> list[AskedAnswer]:
    """The answers of questions that are planned together, each once; sums first, as a single question has them."""
    asked = list(dict.fromkeys(a for question in questions for a in asked_of(question)))
    return sorted(asked, key=lambda a: a[0] != "sum")


def _slot(question: Question, together: Sequence[Question], at: int, draw: Draw) -> Slot:
    """Where the answers of a question are in the draw that it shares."""
    if question.histograms:
        return Slot(question.name, at, tuple(range(draw.block.answers.size)), bool(question.count))
    asked = _asked(together)
    places = [asked.index(a) for a in asked_of(question)]
    over_rows = question.count == "rows" and draw.block.answers.size > len(asked)
    places += [len(asked)] if over_rows else []
    return Slot(question.name, at, tuple(places), bool(question.count) and not over_rows)


def _union(questions: Sequence[Question]) -> Question:
    """One question that asks what all of them ask; bounds that differ are told apart by what is asked."""
    sums = {column: pair for question in questions for column, pair in question.sums.items()}
    means = {column: pair for question in questions for column, pair in question.means.items()}
    count = next((question.count for question in questions if question.count), False)
    missing = {column: value for question in questions for column, value in question.missing.items()}
    union = replace(questions[0], sums=sums, means=means, count=count, missing=missing, mean_within={})
    return replace(union, mean_within=_widest([question for question in questions if question.means], means))


def _widest(questions: Sequence[Question], means: Bounds) -> dict[str, tuple[float, float]]:
    """Where means lie that all questions about them state, as far as any says; only of means with the same bounds."""
    found = {}
    for column, bounds in means.items():
        asking = [question for question in questions if column in question.means]
        stated = [question.where_means_lie.get(column, bounds) for question in asking]
        if all(question.means[column] == bounds for question in asking) and bounds not in stated:
            found[column] = (min(low for low, _ in stated), max(high for _, high in stated))
    return found


def _misplaced(key: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    """The rule that a key breaks which no request has, and where it belongs."""
    if key in STATED:
        given = {name: fields[name] for name in STATED if name in fields}
        given |= {"delta": 1e-6} if "epsilon" in given and "delta" not in given else {}
        shown = ", ".join(f"{name} = {value!r}" for name, value in given.items())
        return "the guarantee is stated in one table", f"write guarantee = {{ {shown} }}"
    if key in OF_A_RELEASE:
        return (
            "it is not part of a request; give it when you release",
            f"write gaussmith release REQUEST.toml --{key} …, or gaussmith.release(request, {key}=…)",
        )
    return "a request has no such key", nearest(key, KEYS, most=len(KEYS))


def _guarantee(fields: Any) -> Any:
    if fields is None or isinstance(fields, Guarantee):
        return fields
    allowed = STATED
    if not isinstance(fields, Mapping):
        what, remedy = f"guarantee={fields!r}", "write guarantee = { epsilon = 1, delta = 1e-6 }"
        raise RequestError(what, "it must be a table", remedy, code="request-guarantee-not-a-table", guarantee=fields)
    for key in fields:
        if key not in allowed:
            what, rule = f"unknown key {key!r} in guarantee", "it has no such key"
            raise RequestError(what, rule, nearest(key, allowed), code="unknown-key-in-guarantee", key=key)
    return Guarantee(**fields)
