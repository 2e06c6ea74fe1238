"""Cells: every record falls into one cell of a histogram, of one category column or of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import checks_arguments
from gaussmith.domains.cell_bounds import cell_differences, proven_cells
from gaussmith.domains.cell_strategies import in_cells, of_marginals
from gaussmith.domains.domain import Differences, DomainWords, Problem, RecordInput, WorstCase
from gaussmith.domains.encoding import Encoding
from gaussmith.domains.extremes import Marks
from gaussmith.domains.long_runs import fits_long_runs, long_runs_bound
from gaussmith.domains.strategies import Candidate, Search
from gaussmith.domains.uncentred import Label, Uncentred, read_labels
from gaussmith.domains.workloads import Marginals, Workload
from gaussmith.errors import DomainError, damaged_plan, nearest, printable
from gaussmith.numerics.exact import Array, Words
from gaussmith.numerics.marginals import ResidualLift
from gaussmith.numerics.matrices import Matrix, NormBounds
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

if TYPE_CHECKING:
    pass


# Encodings of records as counts of cells: of all cells, or of the cells of some marginals.


@dataclass(frozen=True)
class CellEncoding(Encoding):
    """Which cell of each of some marginals a record is in. The columns hold the places of values, −1 for undeclared.

    `ways` lists the attributes of each marginal, `others` the substitute of an undeclared value; None: no cell.

    >>> CellEncoding((3, 2), ((0, 1),), (2, 0)).encode(np.array([[0, 1], [-1, 1]])).tolist()
    [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """

    sizes: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...]
    others: tuple[int, ...] | None

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @cached_property
    def widths(self) -> list[int]:
        """The cells of each marginal."""
        return [math.prod(self.sizes[i] for i in way) for way in self.ways]

    @property
    def width(self) -> int:
        return sum(self.widths)

    @property
    def extents(self) -> Array:
        return np.ones(self.width)

    def centred_rows(self, sums: Words, records: Words) -> Words:
        return sums

    def add_places(self, sums: Words, places: Words, weights: Words | None = None) -> None:
        """Add to `sums` how many records are in each cell; `weights` says how often each row occurs."""
        if places.min(initial=0) >= 0:
            pass
        elif self.others is None:
            declared = np.asarray((places >= 0).all(axis=1))
            places, weights = places[declared], None if weights is None else weights[declared]
        else:
            places = np.where(places >= 0, places, np.array(self.others))
        start = 0
        for way, width in zip(self.ways, self.widths, strict=True):
            at = places[:, way[0]] if way else np.zeros(len(places), np.int64)
            for i in way[1:]:
                at = at * self.sizes[i] + places[:, i]
            np.add.at(sums[start : start + width], at, 1 if weights is None else weights)
            start += width

    def check_lift(self, lift: Matrix) -> None:
        if lift.ways is not None:
            if lift.ways != self.ways:
                raise damaged_plan("residuals of other marginals")
        elif self.ways != (tuple(range(self.columns)),):
            # With several marginals a record is in one cell of each, so the largest column of a lift is not a bound.
            raise damaged_plan("counts of marginals without residuals")

    def encode(self, rows: npt.NDArray[np.int64]) -> Words:
        found = np.zeros((len(rows), self.width), np.int64)
        for counts, row in zip(found, rows, strict=True):
            self.add_places(counts, row[None])
        return found


@dataclass(frozen=True)
class CellMarks(Marks):
    """One cell of a product of attributes of these sizes, or none; with marginals, one cell of each of them."""

    sizes: tuple[int, ...] = ()

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """That of marks; with a lift of marginals, what a record adds to the cells of all of them."""
        if lift.ways is None:
            return Marks.sensitivity(self, lift, neighbours, extent)
        return lift.sensitivity(NormBounds(residual=lambda lift: self._largest_residual(lift, neighbours)))

    def _largest_residual(self, lift: ResidualLift, neighbours: str) -> float:
        one_each = self.at_least or neighbours == ADD_REMOVE
        if lift.residuals.sizes != self.sizes or not one_each:
            raise damaged_plan("residuals of other cells")
        return lift.largest_norm(neighbours)

    def replacement_sensitivity(self, lift: Matrix) -> float:
        if lift.ways is None:
            return Marks.replacement_sensitivity(self, lift)
        moved = lift.sensitivity(NormBounds(residual=lambda lift: lift.largest_norm(REPLACE_ONE)))
        return moved if self.at_least else max(moved, self.sensitivity(lift, ADD_REMOVE))


@dataclass(frozen=True, init=False)
class Cells(Uncentred):
    """Exactly one of d cells for every record: one value of a category column, or one value of each of several columns.

    A value that is not declared, or missing, counts as `other` (a declared value; by default the first), so that
    the record stays in the domain. With `or_none` such a record is in no cell at all.

    >>> Cells({"health": ["excellent", "good", "fair", "poor"]})
    Cells(4 values of health)
    >>> Cells({"age": range(100), "sex": ["f", "m"]}, or_none=True)
    Cells(100 × 2 values of age, sex; or none)
    """

    kind = "cells"
    forms = ("categories",)

    attributes: tuple[str, ...] | None
    sizes: tuple[int, ...]
    values: tuple[tuple[Label, ...] | None, ...]
    or_none: bool
    others: tuple[int, ...]

    @checks_arguments
    def __init__(
        self,
        labels: int | Sequence[Label] | Mapping[str, int | Sequence[Label]] | None = None,
        *,
        size: int | None = None,
        shape: Sequence[int] | None = None,
        or_none: bool = False,
        other: Label | Mapping[str, Label] | None = None,
    ) -> None:
        given = [each for each in (labels, size, shape) if each is not None]
        if len(given) != 1:
            what, rule = "cells given in several ways, or in none", "give exactly one of labels, size and shape"
            remedy = 'write Cells(["a", "b"]), Cells(size=8) or Cells(shape=(10, 2))'
            raise DomainError(what, rule, remedy, code="cells-not-given-in-one-way")
        attributes = tuple(map(str, labels)) if isinstance(labels, Mapping) else None
        lists = list(labels.values()) if isinstance(labels, Mapping) else given if shape is None else list(shape)
        if not lists:
            what, rule = "cells without attributes", "there must be at least one"
            raise DomainError(what, rule, 'write {"sex": ["f", "m"]}', code="cells-without-attributes")
        read = [read_labels("cell", list(each) if isinstance(each, range) else each) for each in lists]
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "sizes", tuple(n for n, _ in read))
        object.__setattr__(self, "values", tuple(values for _, values in read))
        object.__setattr__(self, "or_none", bool(or_none))
        object.__setattr__(self, "others", self._others(other))

    def _others(self, other: Label | Mapping[str, Label] | None) -> tuple[int, ...]:
        """The substitute of undeclared values, for each attribute."""
        places = [0] * len(self.sizes)
        names = self.attributes or ("",)
        if other is not None and self.or_none:
            what, rule = f"other={other!r}", "with or_none a value that is not declared is in no cell"
            raise DomainError(what, rule, "leave one of them out", code="other-beside-or-none", other=other)
        if isinstance(other, Mapping) or other is None:
            given = other or {}
        elif len(self.sizes) == 1:
            given = {names[0]: other}
        else:
            what, rule = f"other={other!r}", "there are several attributes"
            raise DomainError(what, rule, f"write {{'age': {other!r}}}", code="other-without-attribute", other=other)
        for name, label in given.items():
            if name not in names:
                what, rule = f"other names {name!r}", "there is no such attribute"
                raise DomainError(what, rule, nearest(str(name), names), code="other-names-no-attribute", name=name)
            i = names.index(name)
            places[i] = self._place(i, label)
        return tuple(places)

    def _place(self, attribute: int, label: Label) -> int:
        """Where a declared value stands among those of its attribute."""
        known = self.values[attribute] or tuple(range(self.sizes[attribute]))
        if label not in known:
            rule, remedy = "it must be a declared value", nearest(str(label), map(str, known))
            raise DomainError(f"other={label!r}", rule, remedy, code="other-not-declared", other=label)
        return known.index(label)

    @property
    def dimension(self) -> int:
        """The number of cells."""
        return math.prod(self.sizes)

    @property
    def input(self) -> RecordInput:
        labels = (range(n) if values is None else values for values, n in zip(self.values, self.sizes, strict=True))
        return RecordInput(self.attributes, tuple(labels), tuple(map(self.attribute_name, range(len(self.sizes)))))

    @property
    def names(self) -> tuple[str, ...] | None:
        if all(values is None for values in self.values) and len(self.sizes) == 1:
            return None
        return tuple(map(self.name, range(self.dimension)))

    def name(self, j: int) -> str:
        """The values of cell j."""
        if len(self.sizes) == 1:
            return self.value_name(0, j)
        return ", ".join(self.value_name(i, int(v)) for i, v in enumerate(np.unravel_index(j, self.sizes)))

    def value_name(self, attribute: int, value: int) -> str:
        """One value of one attribute."""
        values = self.values[attribute]
        return str(value) if values is None else str(values[value])

    def attribute_name(self, i: int) -> str:
        """The name of attribute i, or its number as text."""
        return str(i) if self.attributes is None else self.attributes[i]

    @property
    def words(self) -> DomainWords:
        """What counts; and what a value that is not declared counts as.

        >>> Cells(["a", "b"]).words.undeclared
        'a value that is missing or not declared counts as: a'
        """
        several = len(self.sizes) > 1
        what = f"one value of each of {len(self.sizes)} columns" if several else f"one of {self.sizes[0]} values"
        if self.or_none:
            rest = "a record with a value that is missing or not declared is in no cell."
            return DomainWords(f"A record has {what}; {rest}")
        stand_ins = [self.value_name(i, v) for i, v in enumerate(self.others)]
        named = [f"{self.attribute_name(i)}={each}" if several else each for i, each in enumerate(stand_ins)]
        shown, told = (", ".join(each[:8]) + (", …" if each[8:] else "") for each in (stand_ins, named))
        counts = "value that is missing or not declared counts as:"
        return DomainWords(f"A record has {what}. A {counts} {shown}.", undeclared=printable(f"a {counts} {told}"))

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> CellEncoding:
        """The encoding of records as counts: of all cells, or of the cells of the requested marginals."""
        every = (tuple(range(len(self.sizes))),)
        ways = workload.ways if isinstance(workload, Marginals) else every
        return CellEncoding(self.sizes, ways, None if self.or_none else self.others)

    def farthest(self, direction: Array) -> Array:
        """The farthest cell in a direction, as a record."""
        found = np.zeros(len(direction))
        best = int(np.argmax(direction))
        found[best] = 0.0 if self.or_none and direction[best] < 0 else 1.0
        return found

    def extremes(self) -> CellMarks:
        """A record is in one cell, or in none."""
        return CellMarks(self.dimension, 1, 0 if self.or_none else 1, self.sizes)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        work = problem.features.marginals
        return in_cells(problem, search) if work is None else of_marginals(problem, work)

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        return cell_differences(problem, law)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        runs = problem.features.runs
        return WorstCase("closed", long_runs_bound(problem, runs) if runs and fits_long_runs(problem) else 0.0)

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        return proven_cells(problem, law)

    def to_dict(self) -> dict[str, Any]:
        labels = [n if values is None else list(values) for n, values in zip(self.sizes, self.values, strict=True)]
        return {
            "kind": self.kind,
            "attributes": None if self.attributes is None else list(self.attributes),
            "labels": labels,
            "or_none": self.or_none,
            "others": list(self.others),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Cells:
        labels, attributes = fields["labels"], fields["attributes"]
        names = [str(i) for i in range(len(labels))] if attributes is None else attributes
        given = dict(zip(names, labels, strict=True))
        made = cls(given, or_none=fields["or_none"])
        others = tuple(int(place) for place in fields["others"])
        if len(others) != len(made.sizes) or not all(0 <= v < n for v, n in zip(others, made.sizes, strict=True)):
            raise damaged_plan("cells with a value for others that is not declared")
        object.__setattr__(made, "attributes", None if attributes is None else made.attributes)
        object.__setattr__(made, "others", others)
        return made

    def __repr__(self) -> str:
        shown = " × ".join(map(str, self.sizes[:6])) + (" × …" if len(self.sizes) > 6 else "")
        of = "" if self.attributes is None else f" of {', '.join(self.attributes[:6])}"
        return f"Cells({shown} values{of}{'; or none' if self.or_none else ''})"
