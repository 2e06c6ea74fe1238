"""A plan: queries and questions. It never sees data; it can be printed, saved, sent, hashed and released from.

    Σ μ_query² ≤ μ²

A query is one noise. A question is some of the answers of one query or of several. Only queries have shares of μ².
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gaussmith.checks import CONFIDENCE, checks_arguments
from gaussmith.domains.domain import Domain, price_over_bound
from gaussmith.domains.groups import Groups
from gaussmith.errors import GaussmithError, PlanError, damaged_plan, nearest
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array, sqrt_upward
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.answer_notes import About, read_about
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import ErrorLaw, StatedErrors, normal_width
from gaussmith.planning.query import AnyTie, Query, read_tied
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import check, protects
from gaussmith.statistics.answers import Answers

if TYPE_CHECKING:
    from gaussmith.domains.domain import WorstCase
    from gaussmith.planning.certificate import Certificate
    from gaussmith.planning.discovered_groups import Threshold
    from gaussmith.planning.pieces import Together
    from gaussmith.planning.pure_noise import PureNoise
    from gaussmith.planning.staging import Staging
    from gaussmith.privacy.thresholds import Found
    from gaussmith.releases.release import Release


# The noises of a plan: what they cost together, how good they are, and what proves it.


class HasNoises:
    """The part of a plan that is about its noises."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        neighbours: str
        queries: tuple[Query, ...]
        _only: str | None

        @property
        def _narrowed(self) -> tuple[Query, ...]: ...

        @property
        def hash(self) -> str: ...

    @property
    def is_narrowed(self) -> bool:
        """Whether the plan is narrowed to one of its questions."""
        return self._only is not None

    @property
    def untied(self) -> tuple[Query, ...]:
        """The queries with noise of their own, in order; those of public numbers have none."""
        return tuple(query for query in self.queries if query.tie is None and not query.is_public)

    @property
    def ties(self) -> tuple[AnyTie, ...]:
        """The noises that several queries share, in order."""
        found = {id(query.tie): query.tie for query in self.queries if query.tie is not None}
        return tuple(found.values())

    @property
    def noises(self) -> tuple[Query | AnyTie, ...]:
        """Every noise once: queries with noise of their own, then ties; of one question: its queries."""
        if self._only is not None:
            return tuple(query for query in self._narrowed if not query.is_public) or self._narrowed
        return (*self.untied, *self.ties)

    def worth_of(self, noise: Query | AnyTie) -> float:
        """What the squared errors of a noise are worth beside others; the scales of tied queries are in their total."""
        if len(self.noises if self._only is not None else self.provable) == 1:
            return 1.0
        return noise.place.scale if isinstance(noise, Query) and noise.place is not None else noise.scale

    @property
    def total_variance(self) -> float:
        """The weighted total of all answers, the count included when asked."""
        return sum(self.worth_of(each) * each.total_variance for each in self.noises)

    @property
    def price(self) -> float:
        """What was made small: the weighted total, or the worst squared error in units of its target squared."""
        return sum(self.worth_of(each) * each.price for each in self.noises)

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price: each noise needs as much even with all of μ.

        Under add-remove people who are in all queries at once need more. Under replace-one the roots of the noises add
        up: what changes in several questions has independent signs.
        """
        from gaussmith.planning.certificate import least_price

        return 0.0 if self.guarantee.is_pure else least_price(cast("Plan", self))

    @cached_property
    def together(self) -> WorstCase | None:
        """A law on what one person is in all queries at once: it bounds noise for all that it is about."""
        from gaussmith.planning.certificate import law_together

        return law_together(cast("Plan", self))

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do. Of one question: that of its noise.

        Of a question that takes the number of everybody from the noise of others: that of the whole plan.
        """
        if self.guarantee.is_pure:
            return math.inf
        if self.is_narrowed and any(isinstance(noise, Query) and noise.block.lender for noise in self.noises):
            whole: HasNoises = replace(cast("Plan", self), _only=None, _piece=None)
            return whole.optimality
        ties = {id(noise.tie) for noise in self.noises if isinstance(noise, Query)}
        if len(self.noises) == 1 or (len(ties) == 1 and id(None) not in ties):
            return self.noises[0].optimality
        return max(1.0, price_over_bound(self.price, self.lower_bound))

    @property
    def is_bound_quick(self) -> bool:
        """Whether the lower bound takes no longer than the plan did, by its size alone: only then it is printed."""
        from gaussmith.planning.certificate import is_quickly_bounded

        return is_quickly_bounded(cast("Plan", self))

    @cached_property
    def certificate(self) -> Certificate:
        """For each noise a law on differences that bounds every Gaussian noise, at its share of the guarantee."""
        if self.guarantee.is_pure:
            from gaussmith.planning.pure_noise import no_certificate

            raise no_certificate()
        from gaussmith.planning.certificate import Certificate, prove

        own = [query.block.proof for query in self.untied]
        together = self.together if len(self.provable) > 1 and not self.is_narrowed else None
        return Certificate(self.hash, (*own, *(prove(tie, {}) for tie in self.ties)), together)

    @property
    def provable(self) -> tuple[Block | AnyTie, ...]:
        """Every noise once, as a certificate has them: blocks with noise of their own, then ties."""
        return (*(query.block for query in self.untied), *self.ties)


# Where the answers of a question are: pieces, each of one query, in the order in which answers are shown.

MAX_LISTED = 4096
"""Limit on places that are saved one by one."""


@dataclass(frozen=True)
class Piece:
    """Answers that follow each other and come from one query: their places there; the count has the last place."""

    query: int
    places: Sequence[int]

    def __post_init__(self) -> None:
        places = self.places
        if not isinstance(places, range):  # one after the other they are a range: there may be millions
            listed = tuple(places)
            follow = bool(listed) and listed == tuple(range(listed[0], listed[0] + len(listed)))
            object.__setattr__(self, "places", range(listed[0], listed[0] + len(listed)) if follow else listed)

    @classmethod
    def whole(cls, query: int, answers: Answers) -> Piece:
        """All answers of a query."""
        return cls(query, range(len(answers)))

    def chosen(self, answers: Answers) -> tuple[Sequence[int], bool]:
        """The places of the answers beside the count, and whether the count is among them."""
        places, size = self.places, answers.size
        counted = answers.count and size in places
        if isinstance(places, range):
            return range(places.start, max(places.start, min(places.stop, size))), counted
        return tuple(i for i in places if i < size), counted

    def told(self) -> Any:
        """Its places as they are saved: a list, or, where there are many in a row, the first and the number of them."""
        many = isinstance(self.places, range) and len(self.places) > MAX_LISTED
        return {"first": self.places[0], "number": len(self.places)} if many else list(self.places)


@dataclass(frozen=True)
class Slot:
    """The pieces of a question. The name is empty where a plan has one question without a name."""

    name: str
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, name: str, places: Iterable[tuple[int, int]]) -> Slot:
        """The question whose answers are at these places, (query, place) of each in the order in which it is shown."""
        runs = groupby(places, key=lambda at: at[0])
        return cls(name, tuple(Piece(query, tuple(place for _, place in run)) for query, run in runs))

    @property
    def queries(self) -> tuple[int, ...]:
        """The queries that its answers come from, each once."""
        return tuple(dict.fromkeys(piece.query for piece in self.pieces))

    @property
    def query(self) -> int:
        """The only query; refuses where there are several."""
        if len(self.queries) > 1:
            raise PlanError(
                f"a question read from {len(self.queries)} queries",
                "each has a domain and a noise of its own",
                "choose one: plan.pieces[0]",
                code="question-of-several-queries",
            )
        return self.queries[0]

    def piece_of(self, query: int) -> Piece:
        """All answers of the question in one query."""
        found = [piece for piece in self.pieces if piece.query == query]
        return found[0] if len(found) == 1 else Piece(query, tuple(i for piece in found for i in piece.places))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "pieces": [{"query": p.query, "answers": p.told()} for p in self.pieces]}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Slot:
        """The slot that `to_dict` described."""
        pieces = tuple(Piece(int(p["query"]), _read(p["answers"])) for p in fields["pieces"])
        return cls(str(fields["name"]), pieces)


def _read(saved: Any) -> Sequence[int]:
    if isinstance(saved, dict):
        first = int(saved["first"])
        return range(first, first + int(saved["number"]))
    return tuple(int(i) for i in saved)


def check_slots(slots: Sequence[Slot], queries: Sequence[Query]) -> None:
    """Refuse questions that name queries or answers which are not there, now and not when they are shown."""
    for slot in slots:
        inside = bool(slot.pieces) and all(_is_inside(piece, queries) for piece in slot.pieces)
        groups = {queries[i].groups for i in slot.queries} if inside else set()
        if not inside or len({None if g is None else (g.columns, g.labels) for g in groups}) > 1:
            raise damaged_plan(f"question {slot.name!r}, whose answers are not in the plan")
    if not slots or len({slot.name for slot in slots}) < len(slots):
        raise damaged_plan("questions with the same name, or no questions")


def _is_inside(piece: Piece, queries: Sequence[Query]) -> bool:
    size = len(queries[piece.query].block.answers) if 0 <= piece.query < len(queries) else 0
    places = piece.places
    if isinstance(places, range):
        return len(places) > 0 and 0 <= places[0] and places[-1] < size
    return bool(places) and all(0 <= i < size for i in places)


# The saved form of plans: its version, and what is refused before anything of it is read.

FORMAT = 4
"""The version of the JSON form."""

FIELDS = {"format", "kind", "guarantee", "neighbours", "queries", "ties", "questions"}

OPTIONAL = {"stages", "about", "keys_before"}
"""Fields of plans with stages, and of those about which something was said."""


def check_saved(fields: Any) -> None:
    """Refuse what is not a plan of this version, by its outermost fields."""
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if kind == "certificate":
        what = "a certificate where a plan is expected"
        raise PlanError(what, "the plan comes first", "swap the two files", code="certificate-instead-of-plan")
    if kind == "release":
        what, rule = "a release where a plan is expected", "its plan is one of its fields"
        raise PlanError(what, rule, "save that: release.plan", code="release-instead-of-plan")
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        seen = fields.get("format") if isinstance(fields, dict) else None
        what, rule = f"plan format = {seen!r}", f"this version reads format {FORMAT}"
        raise PlanError(what, rule, "plan again with this version", code="unknown-plan-format", format=seen)
    if set(fields) - OPTIONAL != FIELDS:
        odd = sorted((set(fields) - OPTIONAL) ^ FIELDS)
        raise damaged_plan(f"fields {odd} that are missing or not known")


def parse_saved(text: str | bytes) -> Any:
    """The JSON of a plan; refuses what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PlanError(
            "a plan that is not JSON", "plans are saved by plan.to_json()", "check the file", code="plan-not-json"
        ) from None


# What a plan says of keys that are found in the data: what they cost, and how large a group must be to be shown.


class FindsKeys:
    """The part of a plan that is about found keys."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        queries: tuple[Query, ...]
        staging: Staging | None
        keys_before: tuple[Found, ...]

        @property
        def spent(self) -> Fraction: ...

        @property
        def questions(self) -> tuple[str, ...]: ...

        @property
        def groups(self) -> Groups | None: ...

    def certify_keys(self) -> None:
        """Check that thresholds hold, and that keys fit into the guarantee beside all noise; or raise PlanError."""
        if self.finds_keys:
            from gaussmith.planning.discovered_groups import check_keys, check_threshold

            check_keys(self.queries, self.guarantee)
            for query in self.queries:
                check_threshold(query)
        if before := self._found_before:
            from gaussmith.planning.discovered_groups import check_keys_before

            check_keys_before(before, self._after_keys, self.finds_keys, self.guarantee)

    @property
    def finds_keys(self) -> bool:
        """Whether some groups are found in the data."""
        return any(query.groups is not None and query.groups.is_found for query in self.queries)

    @property
    def keys_found(self) -> tuple[Found, ...]:
        """What each question about found keys spends: μ over all of a person's groups, and κ. Without stages before."""
        if not self.finds_keys:
            return ()
        from gaussmith.planning.discovered_groups import found_of

        return tuple(found_of(self.queries))

    @property
    def _found_before(self) -> tuple[Found, ...]:
        """The same of a stage before this plan, released or not."""
        return self.keys_before if self.staging is None else self.staging.first.keys_found

    @property
    def _after_keys(self) -> Fraction:
        """What is spent of μ² after keys were found, at most."""
        return self.spent if self.staging is None else self.staging.most_after(self.guarantee)

    @property
    def as_guessed(self: Any) -> Plan:
        """The answers of a plan in stages, as they are guessed, without the stages before."""
        made: Plan = replace(self, staging=None, keys_before=self._found_before)
        return made

    @property
    def pays_for_keys(self) -> bool:
        """Whether keys are found in the data, by this plan or by a stage before it: then κ is spent beside μ."""
        return self.finds_keys or bool(self._found_before)

    @property
    def keys_delta(self) -> Fraction:
        """κ: the probability that is spent on found keys, over all questions and stages; 0 where there are none."""
        return sum((each.kappa for each in (*self.keys_found, *self._found_before)), Fraction(0))

    @property
    def spends(self) -> Guarantee:
        """What a ledger is charged for noise: the guarantee; where κ is charged for keys beside it, the μ of all."""
        if before := self._found_before:
            return Guarantee(mu=sqrt_upward(sum((Fraction(each.mu) ** 2 for each in before), self._after_keys)))
        if not self.finds_keys:
            return self.guarantee
        from gaussmith.planning.discovered_groups import spent_by

        return spent_by(self.queries)

    @property
    def threshold(self) -> float:
        """The number of people at which a found group is shown half of the time, by its count alone."""
        return self._threshold.at_half

    def shown(self, people: float) -> float:
        """The probability that a found group of so many people, each in as many groups as may count, is shown."""
        return self._threshold.chance(people)

    @cached_property
    def _threshold(self) -> Threshold:
        from gaussmith.planning.discovered_groups import threshold_of

        if self.staging is not None and self.staging.first.finds_keys:
            return self.staging.finder(self.questions)._threshold
        which = getattr(self.groups, "which", None)
        alike = [query for query in self.queries if getattr(query.groups, "which", None) == which]
        found = next((each for each in map(threshold_of, alike) if which is not None and each is not None), None)
        if found is None:
            raise PlanError(
                "the threshold of a plan without found keys",
                "declared groups are always shown",
                f"ask for found keys: {setting('by', {'airport': 'found'})}",
                code="threshold-without-found-keys",
            )
        return found


@dataclass(frozen=True, eq=False)
class Plan(HasNoises, StatedErrors, FindsKeys):
    """The plan returned by `gaussmith.plan` and by `request.plan`.

    `plan["question"]` is the plan narrowed to one question; its errors are those of that question.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True, weights="equal")
    >>> plan.names, plan.standard_errors.round(2)
    (('age', 'count'), array([100.  ,   1.41]))
    >>> by = gm.Groups({"region": ["north", "south", "east"]}, gm.Box({"age": (0, 100)}), at_most=1)
    >>> gm.plan(by, gm.Guarantee(mu=1), count=True, weights="equal").standard_errors.round(2)     # in each group
    array([100.  ,   1.41])
    """

    guarantee: Guarantee
    neighbours: str
    queries: tuple[Query, ...]
    slots: tuple[Slot, ...]
    _only: str | None = field(default=None, repr=False)
    """The name of the question that this plan is narrowed to."""
    _piece: int | None = field(default=None, repr=False)
    """The piece of that question that this plan is narrowed to."""
    staging: Staging | None = field(default=None, repr=False)
    """The stages that come before; then queries and errors are those expected under its guess, and noise is planned
    when these were seen."""
    about: About | None = field(default=None, repr=False)
    """What the curator says about the release; it changes no number."""
    keys_before: tuple[Found, ...] = field(default=(), repr=False)
    """Of the answers about keys that a stage before has found: what finding them cost."""

    @classmethod
    def of(cls, query: Query, *others: Query) -> Plan:
        """The plan of one query that answers one question; others only count people for it."""
        slot = Slot("", (Piece.whole(0, query.block.answers),))
        return cls(query.guarantee, query.neighbours, (query, *others), (slot,))

    # -- questions --------------------------------------------------------------------------------------------------

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions; one empty name where there is one question without a name."""
        return tuple(slot.name for slot in self.slots) if self._only is None else (self._only,)

    @property
    def stages(self) -> tuple[str, ...]:
        """What is learned before the answers, in sentences; empty where nothing is."""
        return () if self.staging is None else tuple(self.staging.rule.describe())

    @property
    def slot(self) -> Slot:
        """The place of the only question; refuses where there are several."""
        names = self.questions
        if len(names) > 1:
            shown = ", ".join(map(repr, names[:6])) + (", …" if names[6:] else "")
            what, remedy = f"a plan of {len(names)} questions", f"choose one: plan[{names[0]!r}]"
            raise PlanError(what, f"they are: {shown}", remedy, code="plan-of-several-questions", questions=names)
        slot = next(slot for slot in self.slots if slot.name == names[0])
        return slot if self._piece is None else Slot(slot.name, (slot.pieces[self._piece],))

    def __getitem__(self, question: str) -> Plan:
        """The plan narrowed to one question; its noise, guarantee and hash are those of the whole."""
        if question not in self.questions:
            rule, remedy = "the plan has no such question", nearest(str(question), self.questions)
            raise PlanError(f"question {question!r}", rule, remedy, code="no-such-question", question=question)
        return replace(self, _only=question)

    @property
    def whole(self) -> Plan:
        """The plan of all questions."""
        return self if self._only is None else replace(self, _only=None, _piece=None)

    def __iter__(self) -> Iterator[Plan]:
        return (self[name] for name in self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def pieces(self) -> tuple[Plan, ...]:
        """The plan narrowed to each piece of the only question, in the order in which answers are shown."""
        if len(self.slot.pieces) == 1:
            return (self,)
        return tuple(replace(self, _only=self.slot.name, _piece=k) for k in range(len(self.slot.pieces)))

    @property
    def query(self) -> Query:
        """The query of the only question; refuses where its answers come from several."""
        return self.queries[self.slot.query]

    @cached_property
    def own_query(self) -> Query:
        """The query of the only question, as far as the question goes; refuses where there are several."""
        return self._narrow(self.slot.query)

    @property
    def block(self) -> Block:
        """What the only question is about, as far as it goes: its domain, answers and noise."""
        return self.own_query.block

    @property
    def groups(self) -> Groups | None:
        """The groups of the only question; None where there are none."""
        return self.queries[self.slot.queries[0]].groups

    @property
    def domain(self) -> Domain:
        """What one record can be."""
        return self.block.domain

    @property
    def answers(self) -> Answers:
        """The answers wanted, and how much each matters."""
        return self.block.answers

    @cached_property
    def names(self) -> Sequence[str]:
        """The answers' names in order, the count last if asked."""
        found = [piece.answers.names for piece in self.pieces]
        return found[0] if len(found) == 1 else tuple(name for names in found for name in names)

    @cached_property
    def shows_shares(self) -> bool:
        """Whether the only question shows shares beside its answers."""
        statistics = (each for piece in self.pieces for each in piece.answers.statistics) if len(self) == 1 else ()
        return any(each.shows_shares for each in statistics)

    @property
    def any_divided(self) -> bool:
        """Whether some answer is a mean of any kind."""
        return any(piece.answers.any_divided for piece in self.pieces)

    # -- errors -----------------------------------------------------------------------------------------------------

    @property
    def standard_errors(self) -> Array:
        """Of the answers in order (in each group at most), the count last if asked; of a mean: n times its error."""
        blocks = [piece.own_query.blocks for piece in self.pieces]
        return np.concatenate([np.max([block.standard_errors for block in each], axis=0) for each in blocks])

    @checks_arguments
    def errors(self, rows: int | None = None) -> dict[str, Any]:
        """The standard error of each answer in its own units; by question, if there are several.

        Means need an estimate of the number of rows or people; with groups, of one group.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), answers="means")
        >>> round(plan.errors(rows=10_000)["age"], 4)
        0.0104
        """
        if len(self) > 1:
            return {name: self[name].errors(rows) for name in self.questions}
        return {name: error for piece in self.pieces for name, error in piece.own_query.errors(rows).items()}

    @checks_arguments
    def errors_by_group(self, rows: int | None = None) -> dict[tuple[Any, ...], dict[str, float]]:
        """The same for each group of the only question: they differ where groups have weights."""
        labels = () if self.groups is None else self.groups.labels
        queries = [piece.own_query for piece in self.pieces]
        return {
            label: {name: error for query in queries for name, error in query.block_of(i).errors(rows).items()}
            for i, label in enumerate(labels)
        }

    def shares(self) -> dict[str, float]:
        """Each question's share of μ²; questions in one noise share it, and what is public has none."""
        from gaussmith.planning.joining import question_shares

        return question_shares(self)

    def costs(self) -> dict[str, float]:
        """What each question costs the others: by which factor their total squared error is larger because of it."""
        from gaussmith.planning.joining import question_costs

        return question_costs(self)

    @cached_property
    def _narrowed(self) -> tuple[Query, ...]:
        """The queries that this plan is about: all, or those of its question as far as it goes."""
        return self.queries if self._only is None else tuple(map(self._narrow, self.slot.queries))

    def _narrow(self, i: int) -> Query:
        """A query as far as the only question goes."""
        query, piece = self.queries[i], self.slot.piece_of(i)
        answers = query.block.answers
        return query if piece.places == range(len(answers)) else query.narrowed(*piece.chosen(answers))

    def covariance(self) -> Array:
        """Of the noise in the answers (of one group), the count last; of n times a mean, at an end of its bounds."""
        return self.block.covariance() if len(self.slot.queries) == 1 else self._together.covariance()

    @cached_property
    @single_threaded()
    def error_law(self) -> ErrorLaw:
        """The distribution of the errors of all answers (of one group), the count left out."""
        return self.block.error_law if len(self.slot.queries) == 1 else self._together.error_law()

    @property
    def _together(self) -> Together:
        from gaussmith.planning.pieces import Together

        return Together(self)

    @checks_arguments
    def error_quantiles(self, confidence: float = CONFIDENCE) -> Array:
        """The bound on each answer's own absolute error with this confidence."""
        if self.guarantee.is_pure:
            from gaussmith.planning.pure_intervals import widest

            laws = [piece.block.noise_law for piece in self.pieces]
            widths = [widest(law, confidence, law.numbers) for law in laws if law is not None]
            each = zip(self.pieces, widths, strict=True)
            return np.concatenate([width * piece.block.standard_errors for piece, width in each])
        return self.standard_errors * normal_width(confidence)

    # -- the guarantee ----------------------------------------------------------------------------------------------

    @single_threaded()
    def certify(self) -> None:
        """Check in exact arithmetic that the queries together keep the guarantee; raises PlanError otherwise."""
        for query in self.queries:
            query.certify()
            if query.neighbours != self.neighbours:
                raise damaged_plan("queries whose neighbours differ from the plan's")
        if self.guarantee.is_pure:
            from gaussmith.planning.pure_noise import certify_pure

            certify_pure(self.queries, self.guarantee)
            if self.staging is not None or self.keys_before:
                raise damaged_plan("stages under pure ε")
            return
        for tie in self.ties:
            tie.certify(self.queries)
        before = sum((Fraction(each.mu) ** 2 for each in self.keys_before), Fraction(0))
        if self.staging is not None:
            before += self.staging.certify(self.guarantee, self.neighbours)
        if self.spent + before > Fraction(self.guarantee.mu) ** 2:
            raise damaged_plan("queries that spend too much")
        self.certify_keys()

    @cached_property
    def _passes(self) -> bool:
        self.certify()
        return True

    def certified(self) -> Plan:
        """This plan, certified once: a plan cannot change, and any other made of it is certified for itself."""
        self._passes  # noqa: B018 (or raises PlanError)
        return self

    @cached_property
    def pure_noises(self) -> tuple[PureNoise, ...]:
        """The noises of a pure ε, each once; none where noise is Gaussian."""
        if not self.guarantee.is_pure:
            return ()
        from gaussmith.planning.pure_noise import pure_noises

        return pure_noises(self.queries)

    @property
    def pure_spent(self) -> Fraction:
        """Σ ε of the noises of a pure ε, exactly; 0 where noise is Gaussian."""
        return sum((noise.epsilon for noise in self.pure_noises), Fraction(0))

    @property
    def spent(self) -> Fraction:
        """Σ μ_query², exactly: what all noises of this plan take of μ², without stages before it."""
        if self.guarantee.is_pure:
            return Fraction(0)
        own = (query.guarantee for query in self.untied)
        each = (*own, *(tie.guarantee for tie in self.ties))
        return sum((Fraction(guarantee.mu) ** 2 for guarantee in each), Fraction(0))

    @property
    def protects(self) -> str:
        """What is protected, in plain words."""
        return protects(self.neighbours)

    # -- words and pictures -----------------------------------------------------------------------------------------

    @single_threaded()
    def explain(self) -> str:
        """What was chosen, what the alternatives would have cost, and why; in plain words."""
        from gaussmith.report.plans import explain

        return explain(self)

    def __str__(self) -> str:
        from gaussmith.report.plans import plan_text

        return plan_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.report.plans import plan_html

        return plan_html(self)

    @single_threaded()
    @checks_arguments
    def chart(self, columns: tuple[str, str] | None = None, kind: str = "shape") -> Any:
        """A picture of the noise (an Altair chart): its "shape" in two answers, its "spectrum", or its "errors"."""
        from gaussmith.report.charts import plan_chart

        return plan_chart(self.block, columns, kind)

    # -- the doorway to data ----------------------------------------------------------------------------------------

    @checks_arguments
    def release(
        self,
        data: Any,
        columns: list[str] | None = None,
        ledger: Any = None,
        id: str | None = None,
        form: str | None = None,
    ) -> Release:
        """Release the planned answers from data: an array, a frame of any supported library, or a path.

        `columns` names the columns of the coordinates if they differ from the domain's names. `form` is the form of
        items and ballots: "pairs" (columns: person, item) or "order" (first choice, …).
        """
        from gaussmith.pipeline.release import release_plan

        return release_plan(self, data, columns, ledger, id, form=form)

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of the plan, also where it is narrowed to one question."""
        return {
            "format": FORMAT,
            "kind": "plan",
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "queries": [query.to_dict() for query in self.queries],
            "ties": [tie.to_dict() for tie in self.ties],
            "questions": [slot.to_dict() for slot in self.slots],
            **({} if self.staging is None else {"stages": self.staging.to_dict()}),
            **({} if self.about is None else {"about": self.about.to_dict()}),
            **({"keys_before": [[each.mu, str(each.kappa)] for each in self.keys_before]} if self.keys_before else {}),
        }

    def asked(self) -> dict[str, Any]:
        """What was asked, without the noise that was found for it: a ledger tells requests apart by it.

        Another processor may find noise with other last digits, or as good in another way. This stays the same.
        """
        queries = dict.fromkeys(
            piece.query for slot in self.slots for piece in slot.pieces
        )  # not those that only count
        number = {i: k for k, i in enumerate(queries)}
        return {
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "queries": [self.queries[i].asked() for i in queries],
            "questions": [[slot.name, [[number[p.query], p.told()] for p in slot.pieces]] for slot in self.slots],
            "stages": None if self.staging is None else self.staging.asked(),
            "about": None if self.about is None else self.about.to_dict(),
        }

    def to_json(self) -> str:
        """The plan as canonical JSON: the same plan is always the same text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    @single_threaded()
    def from_dict(cls, fields: Any) -> Plan:
        """The plan that `to_dict` described, its privacy certified anew; refuses what it does not know."""
        from gaussmith.planning.staging import Staging
        from gaussmith.privacy.thresholds import Found

        check_saved(fields)
        try:
            plan = cls(
                Guarantee.from_dict(fields["guarantee"]),
                check(fields["neighbours"]),
                read_tied(list(map(Query.from_dict, fields["queries"])), fields["ties"]),
                tuple(map(Slot.from_dict, fields["questions"])),
                staging=Staging.from_dict(fields["stages"]) if "stages" in fields else None,
                about=read_about(fields.get("about")),
                keys_before=tuple(Found(float(mu), Fraction(kappa)) for mu, kappa in fields.get("keys_before", ())),
            )
            check_slots(plan.slots, plan.queries)
            plan.to_json()  # fails where a number is not finite: a saved plan has none
            plan.certify()
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, GaussmithError):
                raise
            raise damaged_plan(f"a field that cannot be read ({type(error).__name__})") from None
        return plan

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """The plan written by `to_json`, certified again."""
        return cls.from_dict(parse_saved(text))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        mine = (self.hash, self._only, self._piece)
        return isinstance(other, Plan) and mine == (other.hash, other._only, other._piece)

    def __hash__(self) -> int:
        return hash(self.hash)
