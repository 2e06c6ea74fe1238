"""Groups whose keys are found in the data: what is public of them before a release, and which were shown after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gaussmith.checks import check_whole
from gaussmith.domains.groups import Groups, Key, check_columns
from gaussmith.errors import DomainError
from gaussmith.problem import Domain
from gaussmith.values import dataclass

FOUND = "found"
"""What stands in place of a list of keys."""


@dataclass(frozen=True, init=False)
class FoundGroups(Groups):
    """One group for each key that somebody has; only groups with enough people are shown.

    declared:   the key columns whose values are declared, with their values; the others are found
    at_least:   keys with fewer people are left out before noise
    which:      the number of the question among those of a plan that find keys: its draws show the same groups
    kappa:      the probability that is spent on keys, where this draw decides which are shown; None: another does
    top:        at most so many groups are shown, those with the largest noisy counts; None: all that pass

    `labels` are the keys that were shown: none before a release.
    """

    declared: tuple[tuple[str, tuple[Key, ...]], ...]
    at_least: int
    which: int
    kappa: Fraction | None
    top: int | None

    def __init__(
        self,
        columns: Sequence[str],
        domain: Domain,
        at_most: int = 1,
        *,
        declared: Mapping[str, Sequence[Key]] | None = None,
        at_least: int = 1,
        which: int = 0,
        kappa: Fraction | None = None,
        top: int | None = None,
        labels: Sequence[tuple[Key, ...]] = (),
    ) -> None:
        check_columns(columns)
        rule = "a person is in a whole number of groups, at least one"
        at_most = check_whole("at_most", at_most, 1, rule=rule, error=DomainError)
        rule = "it is a whole number of people, at least one"
        at_least = check_whole("keys_at_least", at_least, 1, 1 << 40, rule=rule, error=DomainError)
        if top is not None:
            top = check_whole("top", top, 1, rule="it is a whole number of groups", error=DomainError)
        values = {
            "columns": tuple(columns),
            "labels": tuple(labels),
            "domain": domain,
            "at_most": at_most,
            "weights": None,
            "declared": tuple((name, tuple(keys)) for name, keys in (declared or {}).items()),
            "at_least": at_least,
            "which": which,
            "kappa": kappa,
            "top": top,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """The number of groups that were shown; before a release errors and prices are those of one group."""
        return max(1, len(self.labels))

    @property
    def is_found(self) -> bool:
        """Whether keys come from the data."""
        return True

    def showing(self, labels: Sequence[tuple[Key, ...]]) -> FoundGroups:
        """The same with the keys that were shown."""
        return self._with(labels=tuple(labels))

    def deciding(self, kappa: Fraction) -> FoundGroups:
        """The same where this draw decides, at this probability."""
        return self._with(kappa=kappa)

    def _with(self, **changes: Any) -> FoundGroups:
        made = object.__new__(FoundGroups)
        for name in self.__dataclass_fields__:
            object.__setattr__(made, name, changes.get(name, getattr(self, name)))
        return made

    def to_dict(self) -> dict[str, Any]:
        """A dictionary without the domain, which a plan stores separately, and without shown keys."""
        kappa = None if self.kappa is None else [self.kappa.numerator, self.kappa.denominator]
        return {
            "found": True,
            "columns": list(self.columns),
            "declared": {name: list(keys) for name, keys in self.declared},
            "at_most": self.at_most,
            "at_least": self.at_least,
            "which": self.which,
            "kappa": kappa,
            "top": self.top,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any], domain: Domain) -> FoundGroups:
        kappa = None
        if fields["kappa"] is not None:
            over, under = map(int, fields["kappa"])
            if under < 1:
                raise ValueError("a probability has a denominator above 0")
            kappa = Fraction(over, under)
        return cls(
            fields["columns"],
            domain,
            fields["at_most"],
            declared=fields["declared"],
            at_least=fields["at_least"],
            which=int(fields["which"]),
            kappa=kappa,
            top=fields["top"],
        )
