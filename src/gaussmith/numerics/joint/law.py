"""Laws on what one person adds to every question: each proves a lower bound for any Gaussian noise.

A *type* of a part says how many groups hold each corner (the names of the groups do not matter). A law draws one of
its components, then a type of every part, independent of the others given the component:

    corners[q]   what a group can hold: (z_1, …, z_p, 1) of part q where it is counted, a row each;
                 under replace-one a difference of two: (±2, …, 0) kept, ±(z, 1) gained or lost
    counts[q]    a row per type: how many groups hold each corner
    picks[q]     a row per component: the chance of each type; or, one-dimensional, the one type that it takes
    weights      a number per component, in proportion to its chance

A list of whole people is a law whose components take one type each; independent parts are one component with chances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.parts import Body, Family, JointPart, states_of, taken
from gaussmith.numerics.packed_arrays import MAX_WRITTEN_OUT, pack, unpack

_MAX_COUNTS = 50_000_000
"""Limit on the numbers of types and corners of a part, so that a saved law cannot ask for any memory."""


@dataclass(frozen=True, eq=False)
class TypesLaw:
    """A law on types, as the module says. All arrays are of doubles, also those of whole numbers."""

    corners: tuple[Array, ...]
    counts: tuple[Array, ...]
    picks: tuple[Array, ...]
    weights: Array

    def check(self, body: Body, replaced: bool) -> None:
        """Refuse a law that is not one of people of this body (of differences of two of them where `replaced`)."""
        parts, n = body.parts, len(self.weights)
        if not len(self.corners) == len(self.counts) == len(self.picks) == len(parts):
            raise refused_law()
        fits = self.weights.shape == (n,) and _are_chances(self.weights) and bool(self.weights.any())
        for part, corners, counts, picks in zip(parts, self.corners, self.counts, self.picks, strict=True):
            fits = fits and corners.ndim == counts.ndim == 2 and corners.shape[1] == part.columns + 1
            fits = fits and counts.shape[1] == len(corners) and picks.shape in ((n,), (n, len(counts)))
            if not (fits and _are_cores(corners, part, replaced) and _are_types(counts, corners, part, replaced)):
                raise refused_law()
            if picks.ndim == 1:
                fits = bool(((picks >= 0) & (picks < len(counts)) & (picks == np.floor(picks))).all())
            else:
                fits = _are_chances(picks) and bool((picks.sum(axis=1) > 0).all())
        if not (fits and all(self._keeps(family, replaced) for family in body.families)):
            raise refused_law()

    def _keeps(self, family: Family, replaced: bool) -> bool:
        """Whether nobody is in more groups than a family allows, whatever types a component draws."""
        used = np.zeros((len(self.weights), 2 if replaced else 1))
        for q in family.members:
            counts, picks = self.counts[q], self.picks[q]
            each = taken(states_of(self.corners[q], counts), replaced)
            drawn = picks > 0 if picks.ndim == 2 else np.eye(len(counts), dtype=bool)[picks.astype(int)]
            used += np.stack([np.where(drawn, side, 0.0).max(axis=1) for side in each.T], axis=1)
        return bool((used <= family.most).all())

    def to_dict(self) -> dict[str, Any]:
        return {
            "corners": [pack(each) for each in self.corners],
            "counts": [_pack_counts(each) for each in self.counts],
            "picks": [pack(each) for each in self.picks],
            "weights": pack(self.weights),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TypesLaw:
        """The law that `to_dict` described."""
        corners, picks = (tuple(unpack(each) for each in fields[name]) for name in ("corners", "picks"))
        return cls(corners, tuple(map(_unpack_counts, fields["counts"])), picks, unpack(fields["weights"]))


def _pack_counts(counts: Array) -> Any:
    """As any array, or, where few are not 0 among many, where these are and what."""
    (at,) = np.nonzero(counts.reshape(-1))
    if counts.size <= MAX_WRITTEN_OUT or 2 * len(at) >= counts.size:
        return pack(counts)
    return {"shape": list(counts.shape), "at": pack(at.astype(float)), "numbers": pack(counts.reshape(-1)[at])}


def _unpack_counts(packed: Any) -> Array:
    if not (isinstance(packed, dict) and "at" in packed):
        return unpack(packed)
    at, numbers, shape = unpack(packed["at"]), unpack(packed["numbers"]), [int(n) for n in packed["shape"]]
    size = math.prod(shape)
    fits = len(shape) == 2 and min(shape) >= 0 and size <= _MAX_COUNTS and at.shape == numbers.shape == (at.size,)
    if not (fits and bool(((at >= 0) & (at < size) & (at == np.floor(at))).all())):
        raise refused_law()
    counts = np.zeros(size)
    counts[at.astype(int)] = numbers
    return counts.reshape(shape)


def refused_law() -> PlanError:
    """Why a law is refused."""
    return damaged_plan("a law that is not one of people")


def _are_chances(numbers: Array) -> bool:
    return bool((np.isfinite(numbers) & (numbers >= 0) & (numbers <= 1e100)).all())


def _are_cores(corners: Array, part: JointPart, replaced: bool) -> bool:
    """Whether every row is what a group can hold."""
    if part.counts_rows:
        t = corners[:, -2]
        sums, own = corners[:, part.of_rows], corners[:, : part.of_rows.start]
        fits = not replaced and bool((corners[:, -1] == 1.0).all() and (np.abs(own) <= 1.0).all())
        fits = fits and bool((np.abs(sums) <= t[:, None]).all() and ((t > 0.0) & (t <= 1.0)).all())
        return fits and all(Fraction(each) * part.max_rows >= 1 for each in set(t.tolist()))  # one row or more
    size, last = np.abs(corners[:, :-1]).max(axis=1, initial=0.0), corners[:, -1]
    if not replaced:
        return bool((last == 1.0).all() and (size <= 1.0).all())
    return bool((((last == 0.0) & (size <= 2.0)) | ((np.abs(last) == 1.0) & (size <= 1.0) & (not part.always))).all())


def _are_types(counts: Array, corners: Array, part: JointPart, replaced: bool) -> bool:
    """Whether every row says how many groups of one person, or of two, hold each corner."""
    if not bool(((counts >= 0) & (counts <= part.groups) & (counts == np.floor(counts))).all()):
        return False
    if not replaced:
        k = counts.sum(axis=1)
        return bool(((k >= part.fewest) & (k <= part.most)).all())
    kept, gained, lost = (counts[:, corners[:, -1] == sign].sum(axis=1) for sign in (0.0, 1.0, -1.0))
    # Two people who are in fewer groups than they must be hold the same in others: the most that can is enough.
    room = np.minimum(part.groups - kept - gained - lost, part.most - kept - np.maximum(gained, lost))
    return bool(((room >= 0) & (kept + np.minimum(gained, lost) + room >= part.fewest)).all())
