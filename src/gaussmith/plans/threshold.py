"""The threshold of found keys: which noisy integers show a group, made from a plan before any data is seen.

The last lifted coordinate of a group counts its people (`shapes.people_first`). On the grid one person adds Y₁ to it,
and noise is round(2^52 Z). A group is shown if one of its looks passes:

    plain     Û ≥ T₀                     Û the noisy integer of people
    spare     a·Û′ + b·V̂′ ≥ T₁           V̂ the noisy integer of the spare number; ′: without the last BITS bits

**The spare number.** A person in j ≤ m groups uses j/m of its squared norm. It adds S_j to the spare number of each of
its groups, with j (R² + S_j²) ≤ m R², R the certified length of one group's lifted integers: so all of it is used, no
answer gets more noise, and groups of people who are in few groups are found more easily.

Both looks hide a group that one person made up with probability at least 1 − κ over all of its groups: each is
allowed half of it. With a floor of k people the others may add k − 1 persons' worth, each at most that of a person in
one group.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.found_keys import integer_threshold, look_threshold
from gaussmith.numerics.linear import Array, Words
from gaussmith.plans.block import Block
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.values import dataclass

BITS = 16
"""Bits that the second look leaves out, so that its products fit 64; what is left out only hides."""

LOOK = (1 << 14, 28378)
"""The second look: cos 60° and sin 60° in units of 2^15, the sine rounded up."""

SPARE_FROM = 4
"""With fewer groups per person nothing is gained by a spare number."""

SPARE_STEPS = 1 << 20
"""The spare number of a person in one group, in steps, at most: so that engines add it up in 64 bits."""

MAX_GROUPS_WITH_SPARE = 1000
"""With more groups per person only the plain look is used: the spare numbers are told to the engine one by one."""


FAR = 1 << 61
"""An integer of people this far above the floor is shown whatever the noise is, which stays below 2^60."""

FEW = 1 << 20
"""Below this numbers of people are looked up in a table."""

LARGEST_KAPPA = Fraction(1, 4)
"""More than this is never spent on keys: it would protect nobody, and thresholds would lie at the floor itself."""


@dataclass(frozen=True)
class Threshold:
    """What shows a group of a block whose last lifted coordinate counts people.

    `kappa` is the probability spent on keys over all groups of one person, `at_most` their number m, `at_least` the
    floor k: keys with fewer people are left out before noise.
    """

    block: Block
    at_most: int
    kappa: Fraction
    at_least: int = 1

    @cached_property
    def has_spare(self) -> bool:
        """Whether people in few groups are given a spare number."""
        return SPARE_FROM <= self.at_most <= MAX_GROUPS_WITH_SPARE

    def people(self, n: int) -> int:
        """The lifted integer of n people."""
        lift = self.block.grid.lift
        core = [0] * (lift.shape[1] - 1) + [n]
        return int(lift.exact_times(core)[-1])

    @cached_property
    def spares(self) -> tuple[int, ...]:
        """What a person with j kept groups adds to the spare number of each, for j = 1 … m, in steps."""
        if not self.has_spare:
            return ()
        m, R = self.at_most, self._length
        return tuple(_root_down((m - j) * R * R / (j * self.step**2)) for j in range(1, m + 1))

    @cached_property
    def step(self) -> int:
        """One step of the spare number on the grid."""
        largest = Fraction(self._length) ** 2 * (self.at_most - 1)
        return max(1, -(-math.isqrt(math.ceil(largest)) // SPARE_STEPS))

    @cached_property
    def _length(self) -> Fraction:
        """R: the certified largest length of one group's lifted integers, rounding included."""
        block = self.block
        return Fraction(block.grid.reach(block.domain, block.codes, block.neighbours))

    def holds(self) -> bool:
        """Whether j (R² + S_j²) ≤ m R² for every j, in rationals: what the guarantee of the spare number rests on."""
        m, R = self.at_most, self._length
        return all(j * (R * R + (s * self.step) ** 2) <= m * R * R for j, s in enumerate(self.spares, start=1))

    @cached_property
    def bar(self) -> int:
        """T₀: the noisy integer of people at which a group is shown."""
        hidden = self.people(self.at_least)
        if not self.has_spare:
            return integer_threshold(self.kappa, self.at_most, hidden, NOISE_BITS)
        return look_threshold(self.kappa, (1, 0), [(hidden, 0)] * self.at_most, 2, NOISE_BITS)

    @cached_property
    def second_bar(self) -> int:
        """T₁, for the integers without their last BITS bits."""
        hidden, others = self.people(self.at_least), (self.at_least - 1) * self.spares[0]
        persons = [(hidden, (s + others) * self.step) for s in self.spares]
        return -(-look_threshold(self.kappa, LOOK, persons, 2, NOISE_BITS) // (1 << BITS))

    @cached_property
    def _origin(self) -> tuple[int, int]:
        """What is taken off the integers of people, and off the spare numbers in steps, before 64 bits hold the rest.

        A floor of many people may not fit there; what decides is how far above it a group lies.
        """
        spare = (self.at_least - 1) * self.spares[0] if self.has_spare else 0
        return self.people(self.at_least) >> BITS << BITS, spare

    @cached_property
    def _bars(self) -> tuple[int, int]:
        """Both bars above the origin; of the second look in units of 2^BITS, rounded up."""
        people, spare = self._origin
        if not self.has_spare:
            return self.bar - people, 0
        a, b = LOOK
        return self.bar - people, self.second_bar - a * (people >> BITS) - b * (spare * self.step >> BITS)

    def _counts(self, people: Words) -> Words:
        """The integers of so many people above the origin, at most FAR: that is shown whatever the noise is."""
        surely = self.at_least + 2 + (self._bars[0] + FAR) // self.people(1)
        counted = np.minimum(people, surely)
        if counted.size and 0 <= counted.min() and counted.max() < FEW:  # by a table: no sorting of very many keys
            levels, places = np.flatnonzero(np.bincount(counted)), counted
            table = np.zeros(int(levels[-1]) + 1, np.int64)
        else:
            levels, places = np.unique(counted, return_inverse=True)
            table = np.zeros(len(levels), np.int64)
        origin = self._origin[0]
        lifted = [min(max(self.people(int(n)) - origin, -FAR), FAR) for n in levels]
        table[levels if places is counted else slice(None)] = lifted
        return np.asarray(table[places])

    def _spares(self, spare: Words, noise: Words) -> Words:
        """The noisy spare numbers above the origin, without their last BITS bits."""
        most = (FAR >> 1) // self.step
        return (np.clip(spare - self._origin[1], -most, most) * self.step + noise) >> BITS

    def shows(
        self, people: Words, noise: Words, spare: Words | None, spare_noise: Words | None
    ) -> npt.NDArray[np.bool_]:
        """Which groups are shown: of each the exact number of people, the spare number in steps, and their noises."""
        counts = self._counts(people) + noise
        bar, second = self._bars
        shown = counts >= bar
        if self.has_spare:
            assert spare is not None and spare_noise is not None
            a, b = LOOK
            shown |= a * (counts >> BITS) + b * self._spares(spare, spare_noise) >= second
        return np.asarray(shown)

    def bars(self, spare: Words | None, spare_noise: Words | None) -> Array:
        """In people: the least noisy number at which each group would have been shown, given its spare number."""
        unit = float(self.people(1))
        if not self.has_spare:
            return np.full(0 if spare is None else len(spare), self.bar / unit)
        assert spare is not None and spare_noise is not None
        a, b = LOOK
        bar, second = self._bars
        rest = (second - b * self._spares(spare, spare_noise)).astype(float) / a * 2.0**BITS
        return np.asarray((self._origin[0] + np.minimum(bar, rest)) / unit)

    @cached_property
    def noise(self) -> float:
        """The standard deviation of the noise in a number of people."""
        return 2.0**NOISE_BITS / self.people(1)

    @property
    def at_half(self) -> float:
        """The number of people at which a group is shown half of the time by the count alone."""
        return self.bar / self.people(1)

    def chance(self, people: float) -> float:
        """The probability that a group of so many people, each in m groups, is shown."""
        from scipy.stats import multivariate_normal, norm

        if people < self.at_least:
            return 0.0
        unit = self.people(1)
        first = (self.bar - people * unit) / 2.0**NOISE_BITS
        if not self.has_spare:
            return float(norm.sf(first))
        a, b = LOOK
        length = math.hypot(a, b)
        spare = people * self.spares[-1] * self.step
        second = (self.second_bar * 2.0**BITS - a * people * unit - b * spare) / (length * 2.0**NOISE_BITS)
        hidden = multivariate_normal([0.0, 0.0], [[1.0, a / length], [a / length, 1.0]]).cdf([first, second])
        return float(np.clip(1.0 - hidden, 0.0, 1.0))


def _root_down(value: Fraction) -> int:
    return math.isqrt(math.floor(value))
