"""Keys first: one stage finds the keys that enough people have, the next asks about these keys alone.

keys       people by key; a key is shown if its noisy number of people passes a threshold     half of μ², all of κ
answers    the shown keys are declared groups: a person's m groups are chosen among them      the rest of μ²

What the second stage asks follows from the keys that were shown, which are public. The probability κ is spent in the
first stage alone, and the second takes a part of μ² that is fixed beforehand: docs/theory.md, keys first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from gaussmith.stages.rule import ANSWERS, NOTHING, Rule, Seen, Step
from gaussmith.values import dataclass

KEYS = "keys"

MOST_KEYS = 1_000_000
"""If more keys are shown, those with the largest noisy counts are asked about."""


@dataclass(frozen=True)
class KeysFirst:
    """The rule of `keys_first`; shares are parts of μ².

    finders: each question about found keys, with the question of the first stage that finds them
    keys:    the share of the first stage
    answers: the share of the answers
    alone:   whether all questions are about found keys, so that nothing is asked where none is shown
    """

    finders: tuple[tuple[str, str], ...]
    keys: Fraction
    answers: Fraction
    alone: bool

    kind: ClassVar[str] = "keys"

    @property
    def most_before(self) -> Fraction:
        """The share of the keys."""
        return self.keys

    def step(self, seen: Sequence[Seen], left: Fraction) -> Step:
        """The keys, then the answers about those that were shown; questions whose keys are all hidden are left out."""
        if not seen:
            return Step(KEYS, self.keys, {"find": list(dict.fromkeys(finder for _, finder in self.finders))})
        shown = {question: _largest(seen[0], finder) for question, finder in self.finders}
        asked: dict[str, Any] = {"keys": {question: keys for question, keys in shown.items() if keys}}
        asked["hidden"] = [question for question, keys in shown.items() if not keys]
        if self.alone and not asked["keys"]:
            return Step(NOTHING, None, asked)
        return Step(ANSWERS, self.answers, asked)

    def example(self, keys: Mapping[str, Sequence[Any]]) -> Step:
        """The step that would follow if one key were shown, which is given by the question that finds it."""
        shown = {question: [list(keys[finder])] for question, finder in self.finders}
        return Step(ANSWERS, self.answers, {"keys": shown, "hidden": []})

    def to_dict(self) -> dict[str, Any]:
        shares = {"keys": str(self.keys), "answers": str(self.answers)}
        return {"kind": self.kind, "finders": [list(pair) for pair in self.finders], **shares, "alone": self.alone}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        """The rule that `to_dict` described."""
        finders = tuple((str(question), str(finder)) for question, finder in fields["finders"])
        if not isinstance(fields["alone"], bool) or not finders:
            raise ValueError("a rule of keys has questions")
        return cls(finders, Fraction(fields["keys"]), Fraction(fields["answers"]), fields["alone"])

    def describe(self) -> list[str]:
        """The stages and their shares."""
        return [
            f"stage 1, {100 * float(self.keys):.3g} % of the budget: which keys enough people have",
            "then the answers about these keys, with the rest; the groups of a person are chosen among them",
        ]


def _largest(seen: Seen, finder: str) -> list[list[Any]]:
    """The keys that were shown, in their order; if there are very many, those with the largest noisy counts."""
    labels, counts = seen.labels[finder], seen.values[finder]
    largest = sorted(range(len(labels)), key=lambda i: -counts[i])[:MOST_KEYS]
    return [list(labels[i]) for i in sorted(largest)]
