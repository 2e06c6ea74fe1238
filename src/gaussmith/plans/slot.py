"""Where the answers of a question are: pieces, each of one draw, in the order in which answers are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from gaussmith.errors import PlanError
from gaussmith.plans.draw import Draw
from gaussmith.statistics import Answers
from gaussmith.values import dataclass

MAX_LISTED = 4096
"""Limit on places that are saved one by one."""


@dataclass(frozen=True)
class Piece:
    """Answers that follow each other and come from one draw: their places there; the count has the last place."""

    draw: int
    places: Sequence[int]

    def __post_init__(self) -> None:
        places = self.places
        if not isinstance(places, range):  # one after the other they are a range: there may be millions
            listed = tuple(places)
            follow = bool(listed) and listed == tuple(range(listed[0], listed[0] + len(listed)))
            object.__setattr__(self, "places", range(listed[0], listed[0] + len(listed)) if follow else listed)

    @classmethod
    def whole(cls, draw: int, answers: Answers) -> Piece:
        """All answers of a draw."""
        return cls(draw, range(len(answers)))

    def chosen(self, answers: Answers) -> tuple[Sequence[int], bool]:
        """The places of the answers beside the count, and whether the count is among them."""
        places, size = self.places, answers.size
        counted = answers.count and size in places
        if isinstance(places, range):
            return range(places.start, max(places.start, min(places.stop, size))), counted
        return tuple(i for i in places if i < size), counted


@dataclass(frozen=True)
class Slot:
    """The pieces of a question. The name is empty where a plan has one question without a name."""

    name: str
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, name: str, places: Iterable[tuple[int, int]]) -> Slot:
        """The question whose answers are at these places, (draw, place) of each in the order in which it is shown."""
        runs = groupby(places, key=lambda at: at[0])
        return cls(name, tuple(Piece(draw, tuple(place for _, place in run)) for draw, run in runs))

    @property
    def draws(self) -> tuple[int, ...]:
        """The draws that its answers come from, each once."""
        return tuple(dict.fromkeys(piece.draw for piece in self.pieces))

    @property
    def draw(self) -> int:
        """The only draw; refuses where there are several."""
        if len(self.draws) > 1:
            raise PlanError(
                f"a question read from {len(self.draws)} draws",
                "each has a domain and a noise of its own",
                "choose one: plan.pieces[0]",
                code="question-of-several-draws",
            )
        return self.draws[0]

    def piece_of(self, draw: int) -> Piece:
        """All answers of the question in one draw."""
        found = [piece for piece in self.pieces if piece.draw == draw]
        return found[0] if len(found) == 1 else Piece(draw, tuple(i for piece in found for i in piece.places))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "pieces": [{"draw": p.draw, "answers": _told(p.places)} for p in self.pieces]}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Slot:
        """The slot that `to_dict` described."""
        pieces = tuple(Piece(int(p["draw"]), _read(p["answers"])) for p in fields["pieces"])
        return cls(str(fields["name"]), pieces)


def _told(places: Sequence[int]) -> Any:
    """Places as they are saved: a list, or, where there are many in a row, the first and the number of them."""
    many = isinstance(places, range) and len(places) > MAX_LISTED
    return {"first": places[0], "number": len(places)} if many else list(places)


def _read(saved: Any) -> Sequence[int]:
    if isinstance(saved, dict):
        first = int(saved["first"])
        return range(first, first + int(saved["number"]))
    return tuple(int(i) for i in saved)


def check_slots(slots: Sequence[Slot], draws: Sequence[Draw]) -> None:
    """Refuse questions that name draws or answers which are not there, now and not when they are shown."""
    for slot in slots:
        inside = bool(slot.pieces) and all(_is_inside(piece, draws) for piece in slot.pieces)
        groups = {draws[i].groups for i in slot.draws} if inside else set()
        if not inside or len({None if g is None else (g.columns, g.labels) for g in groups}) > 1:
            what, rule = f"question {slot.name!r}", "its answers are not in the plan"
            raise PlanError(what, rule, "plan again", code="question-answers-not-in-plan", question=slot.name)
    if not slots or len({slot.name for slot in slots}) < len(slots):
        what = "questions with the same name, or no questions"
        raise PlanError(what, "every question needs its own name", "plan again", code="plan-questions-not-distinct")


def _is_inside(piece: Piece, draws: Sequence[Draw]) -> bool:
    size = len(draws[piece.draw].block.answers) if 0 <= piece.draw < len(draws) else 0
    places = piece.places
    if isinstance(places, range):
        return len(places) > 0 and 0 <= places[0] and places[-1] < size
    return bool(places) and all(0 <= i < size for i in places)
