"""A plan: draws and questions. It never sees data; it can be printed, saved, sent, hashed and released from.

    Σ μ_draw² ≤ μ²

A draw is one noise. A question is some of the answers of one draw or of several. Only draws have shares of μ².
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains import Groups
from gaussmith.errors import GaussmithError, PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check, protects
from gaussmith.numerics.linear import Array
from gaussmith.numerics.threads import single_threaded
from gaussmith.plans.about import About, read_about
from gaussmith.plans.block import Block
from gaussmith.plans.draw import Draw, read_tied
from gaussmith.plans.error_distribution import ErrorLaw, StatedErrors, normal_width
from gaussmith.plans.found_keys import FindsKeys
from gaussmith.plans.noises import HasNoises
from gaussmith.plans.saved_plan import FORMAT, check_saved, parse_saved
from gaussmith.plans.slot import Piece, Slot, check_slots
from gaussmith.problem import Domain
from gaussmith.statistics import Answers
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.found_keys import Found
    from gaussmith.plans.pieces import Together
    from gaussmith.plans.staging import Staging
    from gaussmith.releases import Release


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
    draws: tuple[Draw, ...]
    slots: tuple[Slot, ...]
    _only: str | None = field(default=None, repr=False)
    """The name of the question that this plan is narrowed to."""
    _piece: int | None = field(default=None, repr=False)
    """The piece of that question that this plan is narrowed to."""
    staging: Staging | None = field(default=None, repr=False)
    """The stages that come before; then draws and errors are those expected under its guess, and noise is planned when
    these were seen."""
    about: About | None = field(default=None, repr=False)
    """What the curator says about the release; it changes no number."""
    keys_before: tuple[Found, ...] = field(default=(), repr=False)
    """Of the answers about keys that a stage before has found: what finding them cost."""

    @classmethod
    def of(cls, draw: Draw, *others: Draw) -> Plan:
        """The plan of one draw that answers one question; others only count people for it."""
        slot = Slot("", (Piece.whole(0, draw.block.answers),))
        return cls(draw.guarantee, draw.neighbours, (draw, *others), (slot,))

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
    def draw(self) -> Draw:
        """The draw of the only question; refuses where its answers come from several."""
        return self.draws[self.slot.draw]

    @cached_property
    def own_draw(self) -> Draw:
        """The draw of the only question, as far as the question goes; refuses where there are several."""
        return self._narrow(self.slot.draw)

    @property
    def block(self) -> Block:
        """What the only question is about, as far as it goes: its domain, answers and noise."""
        return self.own_draw.block

    @property
    def groups(self) -> Groups | None:
        """The groups of the only question; None where there are none."""
        return self.draws[self.slot.draws[0]].groups

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

    @property
    def any_divided(self) -> bool:
        """Whether some answer is a mean of any kind."""
        return any(piece.answers.any_divided for piece in self.pieces)

    # -- errors -----------------------------------------------------------------------------------------------------

    @property
    def standard_errors(self) -> Array:
        """Of the answers in order (in each group at most), the count last if asked; of a mean: n times its error."""
        blocks = [piece.own_draw.blocks for piece in self.pieces]
        return np.concatenate([np.max([block.standard_errors for block in each], axis=0) for each in blocks])

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
        return {name: error for piece in self.pieces for name, error in piece.own_draw.errors(rows).items()}

    def errors_by_group(self, rows: int | None = None) -> dict[tuple[Any, ...], dict[str, float]]:
        """The same for each group of the only question: they differ where groups have weights."""
        labels = () if self.groups is None else self.groups.labels
        draws = [piece.own_draw for piece in self.pieces]
        return {
            label: {name: error for draw in draws for name, error in draw.block_of(i).errors(rows).items()}
            for i, label in enumerate(labels)
        }

    def shares(self) -> dict[str, float]:
        """Each question's share of μ²; questions in one noise share it, and what is public has none."""
        from gaussmith.plans.question_costs import question_shares

        return question_shares(self)

    def costs(self) -> dict[str, float]:
        """What each question costs the others: by which factor their total squared error is larger because of it."""
        from gaussmith.plans.question_costs import question_costs

        return question_costs(self)

    @cached_property
    def _narrowed(self) -> tuple[Draw, ...]:
        """The draws that this plan is about: all, or those of its question as far as it goes."""
        return self.draws if self._only is None else tuple(map(self._narrow, self.slot.draws))

    def _narrow(self, i: int) -> Draw:
        """A draw as far as the only question goes."""
        return self.draws[i].narrowed(*self.slot.piece_of(i).chosen(self.draws[i].block.answers))

    def covariance(self) -> Array:
        """Of the noise in the answers (of one group), the count last; of n times a mean, at an end of its bounds."""
        return self.block.covariance() if len(self.slot.draws) == 1 else self._together.covariance()

    @cached_property
    @single_threaded()
    def error_law(self) -> ErrorLaw:
        """The distribution of the errors of all answers (of one group), the count left out."""
        return self.block.error_law if len(self.slot.draws) == 1 else self._together.error_law()

    @property
    def _together(self) -> Together:
        from gaussmith.plans.pieces import Together

        return Together(self)

    def error_quantiles(self, confidence: float = 0.95) -> Array:
        """The bound on each answer's own absolute error with this confidence."""
        return self.standard_errors * normal_width(confidence)

    # -- the guarantee ----------------------------------------------------------------------------------------------

    @single_threaded()
    def certify(self) -> None:
        """Check in exact arithmetic that the draws together keep the guarantee; raises PlanError otherwise."""
        for draw in self.draws:
            draw.certify()
            if draw.neighbours != self.neighbours:
                raise PlanError(
                    "draws whose neighbours differ from the plan's",
                    "they must be the same",
                    "plan again",
                    code="draws-of-other-neighbours",
                )
        for tie in self.ties:
            tie.certify(self.draws)
        before = sum((Fraction(each.mu) ** 2 for each in self.keys_before), Fraction(0))
        if self.staging is not None:
            before += self.staging.certify(self.guarantee, self.neighbours)
        if self.spent + before > Fraction(self.guarantee.mu) ** 2:
            what = "draws that spend too much"
            raise PlanError(what, "their μ² must fit in the guarantee's", "plan again", code="draws-spend-too-much")
        self.certify_keys()

    @property
    def spent(self) -> Fraction:
        """Σ μ_draw², exactly: what all noises of this plan take of μ², without stages before it."""
        own = (draw.guarantee for draw in self.untied)
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
        from gaussmith.words.plans import explain

        return explain(self)

    def __str__(self) -> str:
        from gaussmith.words.plans import plan_text

        return plan_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.words.plans import plan_html

        return plan_html(self)

    @single_threaded()
    def chart(self, columns: tuple[str, str] | None = None, kind: str = "shape") -> Any:
        """A picture of the noise (an Altair chart): its "shape" in two answers, its "spectrum", or its "errors"."""
        from gaussmith.report import plan_chart

        return plan_chart(self.block, columns, kind)

    # -- the doorway to data ----------------------------------------------------------------------------------------

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
        from gaussmith.charged_release import release_plan

        return release_plan(self, data, columns, ledger, id, form=form)

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of the plan, also where it is narrowed to one question."""
        return {
            "format": FORMAT,
            "kind": "plan",
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "draws": [draw.to_dict() for draw in self.draws],
            "ties": [tie.to_dict() for tie in self.ties],
            "questions": [slot.to_dict() for slot in self.slots],
            **({} if self.staging is None else {"stages": self.staging.to_dict()}),
            **({} if self.about is None else {"about": self.about.to_dict()}),
            **({"keys_before": [[each.mu, str(each.kappa)] for each in self.keys_before]} if self.keys_before else {}),
        }

    def to_json(self) -> str:
        """The plan as canonical JSON: the same plan is always the same text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    @single_threaded()
    def from_dict(cls, fields: Any) -> Plan:
        """The plan that `to_dict` described, its privacy certified anew; refuses what it does not know."""
        from gaussmith.numerics.found_keys import Found
        from gaussmith.plans.staging import Staging

        check_saved(fields)
        try:
            plan = cls(
                Guarantee.from_dict(fields["guarantee"]),
                check(fields["neighbours"]),
                read_tied(list(map(Draw.from_dict, fields["draws"])), fields["ties"]),
                tuple(map(Slot.from_dict, fields["questions"])),
                staging=Staging.from_dict(fields["stages"]) if "stages" in fields else None,
                about=read_about(fields.get("about")),
                keys_before=tuple(Found(float(mu), Fraction(kappa)) for mu, kappa in fields.get("keys_before", ())),
            )
            check_slots(plan.slots, plan.draws)
            plan.certify()
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, GaussmithError):
                raise
            what, rule = f"a damaged plan ({type(error).__name__})", "every field must be as it was saved"
            raise PlanError(what, rule, "plan again", code="plan-damaged", type=type(error).__name__) from None
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
