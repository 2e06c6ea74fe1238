"""Queries over keys that are found in the data, and what their keys cost: κ, beside μ.

A question about found keys has one query that decides which groups are shown: its last lifted coordinate counts people,
and carries at least half of the squared norm. Other queries of the question (answers that leave out rows with missing
values, say) tell more about the groups that are shown. Under add-remove the release of all questions is

    δ(ε) = max over sets N of questions of  1 − Q_N + Q_N δ(ε − ln Q_N; √(μ² − Σ_N μ_i²))

(`numerics.found_keys`), which is checked here for a stated (ε, δ). A stated μ or ρ says nothing of keys: the release is
then κ-approximately μ-GDP, and its κ must be stated too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.groups import FoundGroups
from gaussmith.domains.strategies import Strategy, read_features
from gaussmith.errors import GuaranteeError, PlanError, damaged_plan
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array, Words, fraction_down, smaller_reading, sqrt_downward, sqrt_upward
from gaussmith.numerics.matrices import Dense, Diagonal
from gaussmith.planning.block import Block
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.choice import plan_problem
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.privacy.thresholds import Found, integer_threshold, keeps, largest_kappa, look_threshold, mu_beside
from gaussmith.statistics.answers import Answers

# The threshold of found keys: which noisy integers show a group, made from a plan before any data is seen.
#
# The last lifted coordinate of a group counts its people (`shapes.people_first`). On the grid one person adds Y₁ to
# it, and noise is round(2^52 Z). A group is shown if one of its looks passes:
#
#     plain     Û ≥ T₀                     Û the noisy integer of people
#     spare     a·Û′ + b·V̂′ ≥ T₁           V̂ the noisy integer of the spare number; ′: without the last BITS bits
#
# **The spare number.** A person in j ≤ m groups uses j/m of its squared norm. It adds S_j to the spare number of each
# of its groups, with j (R² + S_j²) ≤ m R², R the certified length of one group's lifted integers: so all of it is
# used, no answer gets more noise, and groups of people who are in few groups are found more easily.
#
# Both looks hide a group that one person made up with probability at least 1 − κ over all of its groups: each is
# allowed half of it. With a floor of k people the others may add k − 1 persons' worth, each at most that of a person
# in one group.

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


# Noise for groups whose keys are found: one lifted coordinate counts people, and nothing else, so that it can decide.
#
# A group is shown if its noisy number of people passes a threshold. With t² of the squared norm on that coordinate
# the threshold lies at 1 + x√m/(tμ) people, so t² should not be small; half is the least here:
#
#     boxes      the lifted shape itself, with √E ← max(√E, Σ √ω_j r_j), so that t² ≥ ½; its constant serves sums too
#     others     any shape with ‖lift · s‖ ≤ 1 becomes (√(1 − t²) lift ; t), t² = ½; the rest is read as before
#     people     nothing else is asked: t = 1

NAME = "people first"

LEAST_SHARE = 0.5
"""The least t²: the threshold stays within √2 of that of a count alone."""


def people_first(problem: Problem[Domain], base: Strategy) -> Strategy:
    """The shape whose last lifted coordinate is t times the number of people; `base` is the best without that rule."""
    if problem.domain.dimension == 0:
        return Strategy(NAME, Diagonal(np.ones(1)), Dense(np.ones((1, 1))), True)
    if isinstance(base.lift, Diagonal) and not problem.features.is_linear:
        return _box(problem)
    t, rest = math.sqrt(LEAST_SHARE), math.sqrt(1 - LEAST_SHARE)
    lift, features = base.lift.dense(), base.features.dense()
    if lift.shape[1] == problem.domain.dimension:  # it takes no number of people yet
        lift = np.column_stack([lift, np.zeros(len(lift))])
    last = np.zeros((1, lift.shape[1]))
    last[0, -1] = t
    read = np.column_stack([features[: problem.features.size] / rest, np.zeros(problem.features.size)])
    count = np.zeros((1, read.shape[1]))
    count[0, -1] = 1 / t
    return Strategy(NAME, Dense(np.vstack([rest * lift, last])), Dense(np.vstack([read, count])), True)


def _box(problem: Problem[Domain]) -> Strategy:
    parts = np.sqrt(problem.coordinate_weights) * problem.domain.radius
    root = max(math.sqrt(problem.offset_weight), float(parts.sum()))
    whole = parts.sum() + root
    entries, last = np.sqrt(parts / whole), math.sqrt(root / whole)
    return Strategy(NAME, Diagonal(np.append(entries, last)), *read_features(problem, entries, last))


NO_KEYS = Fraction(0)

ROUNDED = 1 - Fraction(1, 2**40)
"""What is left free where shares are rounded several times."""


def query_found(
    groups: FoundGroups, guarantee: Guarantee, answers: Answers, missing: Mapping[str, float] | None = None
) -> Query:
    """The query of every found group; with a kappa it decides which groups are shown."""
    problem = Problem(groups.domain, answers.features, ADD_REMOVE)
    share = Guarantee(mu=fraction_down(Fraction(guarantee.mu) / Fraction(sqrt_upward(float(groups.at_most)))))
    block = plan_problem(problem, answers, share, missing)
    if groups.kappa is not None:
        block = replace(block, shape=people_first(problem, block.shape), alternatives=())
    return Query(block, guarantee, ADD_REMOVE, groups)


def threshold_of(query: Query) -> Threshold | None:
    """What shows the groups of a query; None where it does not decide."""
    groups = query.groups
    if not isinstance(groups, FoundGroups) or groups.kappa is None:
        return None
    return Threshold(query.block, groups.at_most, groups.kappa, groups.at_least)


def check_threshold(query: Query) -> None:
    """Refuse a query of found keys whose threshold could be passed by less than stated; with all rounding upward."""
    threshold = threshold_of(query)
    if threshold is None:
        return
    if not 0 < threshold.kappa <= LARGEST_KAPPA:
        raise damaged_plan("found keys that are shown too easily")
    lift = query.block.grid.lift
    last = lift.row(lift.shape[0] - 1)
    counts_people = lift.shape[1] > query.block.codes.width and last[-1] > 0 and not last[:-1].any()
    if not (counts_people and threshold.holds() and threshold.people(1) > 0):
        raise damaged_plan("found keys whose threshold does not hold")


def found_of(queries: Sequence[Query]) -> list[Found]:
    """Each question about found keys: μ of all its queries together, and κ. Refuses a question that none decides."""
    squares: dict[int, Fraction] = {}
    kappas: dict[int, list[Fraction]] = {}
    for query in queries:
        if isinstance(query.groups, FoundGroups):
            which = query.groups.which
            squares[which] = squares.get(which, Fraction(0)) + Fraction(query.guarantee.mu) ** 2
            kappas.setdefault(which, []).extend([] if query.groups.kappa is None else [query.groups.kappa])
    if any(len(each) != 1 for each in kappas.values()):
        raise damaged_plan("found keys that no query decides, or several do")
    return [Found(sqrt_upward(square), kappas[which][0]) for which, square in squares.items()]


def check_alike(queries: Sequence[Query]) -> None:
    """Refuse queries of one question about found keys that do not count the same people in the same groups.

    The person who makes a key must be, in every query, in no other groups than those that were decided about. Only rows
    with missing values may be left out, and not by the query that decides. No such query shares its noise with others.
    """
    found = [(query, query.groups) for query in queries if isinstance(query.groups, FoundGroups)]
    deciding = {groups.which: (groups, query.row_rule) for query, groups in found if groups.kappa is not None}
    for query, groups in found:
        rule = query.row_rule
        leaves_out = groups.kappa is not None and rule is not None and bool(rule.present)
        alike = _counted(groups, rule) == _counted(*deciding[groups.which])
        if query.tie is not None or leaves_out or not alike:
            raise damaged_plan("queries of found keys that count other people than the one that decides")


def _counted(groups: FoundGroups, rule: RowRule | None) -> Any:
    """What says who is counted in which group."""
    own = (groups.columns, groups.declared, groups.at_most, groups.at_least, groups.top)
    if rule is None:
        return own
    kept = (rule.unit, rule.by, rule.groups_per_unit, rule.columns, rule.where)
    return (*own, *kept, rule.person_columns, rule.person_where, rule.form)


def check_keys_before(before: Sequence[Found], after: Fraction, finds: bool, guarantee: Guarantee) -> None:
    """Refuse answers about keys that a stage has found, if the two together exceed a stated (ε, δ).

    `after` is what is spent of μ² after keys were found. Proof: docs/theory.md, keys first.
    """
    if finds or not all(0 < each.kappa <= LARGEST_KAPPA and each.mu > 0 for each in before):
        raise damaged_plan("keys that a stage has found beside keys that are found later, or at no probability")
    if guarantee.epsilon is None or guarantee.delta is None:
        return
    epsilon, delta = smaller_reading(guarantee.epsilon), smaller_reading(guarantee.delta)
    if not keeps(delta, epsilon, before, sqrt_upward(after) if after else 0.0):
        raise _spends_too_much()


def split_keys_first(
    guarantee: Guarantee, share: Fraction, parts: Sequence[float], keys_delta: Fraction | None
) -> tuple[Fraction, Fraction]:
    """The part of μ² that keys and answers have together, and κ of all questions that find keys, rounded down.

    Keys have `share` of that part, divided among their questions as `parts`. Without a stated `keys_delta` noise keeps
    all of μ(ε, δ), and κ is the largest that fits.
    """
    each = [float(share) * part / sum(parts) for part in parts]
    _, _, kappas = split_with_keys(guarantee, each, float(1 - share), keys_delta)
    kappa = fraction_down(sum(kappas, NO_KEYS) * ROUNDED)
    if guarantee.epsilon is None or guarantee.delta is None or keys_delta is None:
        return Fraction(1), Fraction(kappa)
    mu = mu_beside(smaller_reading(guarantee.epsilon), smaller_reading(guarantee.delta), keys_delta)
    return Fraction(mu) ** 2 / guarantee.mu_squared, Fraction(kappa)


def spent_by(queries: Sequence[Query]) -> Guarantee:
    """The μ of all queries together, rounded up: what a ledger is charged for noise."""
    return Guarantee(mu=sqrt_upward(_square(queries)))


def _square(queries: Sequence[Query]) -> Fraction:
    ties = {id(query.tie): query.tie.guarantee for query in queries if query.tie is not None}
    own = [query.guarantee for query in queries if query.tie is None and not query.is_public]
    return sum((Fraction(each.mu) ** 2 for each in (*ties.values(), *own)), Fraction(0))


def check_keys(queries: Sequence[Query], guarantee: Guarantee) -> None:
    """Refuse found keys that do not fit into a stated (ε, δ) together with all noise."""
    found = found_of(queries)
    if not found:
        return
    check_alike(queries)
    if any(query.neighbours != ADD_REMOVE for query in queries):
        raise PlanError(
            "found keys under replace-one",
            "a replaced person may both show a key and hide one, and the number of people is public",
            "use add-remove",
            code="found-keys-under-replace-one",
        )
    others = _square([query for query in queries if not isinstance(query.groups, FoundGroups)])
    if guarantee.epsilon is None or guarantee.delta is None:
        return
    epsilon, delta = smaller_reading(guarantee.epsilon), smaller_reading(guarantee.delta)
    if not keeps(delta, epsilon, found, sqrt_upward(others) if others else 0.0):
        raise _spends_too_much()


def _spends_too_much() -> PlanError:
    return damaged_plan("found keys that spend too much")


def split_with_keys(
    guarantee: Guarantee, shares: Sequence[float], rest: float, keys_delta: Fraction | None
) -> tuple[list[Guarantee], Guarantee | None, list[Fraction]]:
    """Guarantees of questions about found keys by their shares of μ², that of all others, and κ of each of the first.

    Without a stated `keys_delta` noise keeps all of μ(ε, δ), and κ is the largest that fits: of one question alone δ.
    With it each of r questions has an equal part of it, and μ is what a ledger of this guarantee would leave beside it:
    so that a request can spend all of a ledger.
    """
    whole = sum(shares) + rest
    parts, left = [share / whole for share in shares], rest / whole
    if guarantee.epsilon is None or guarantee.delta is None:
        if keys_delta is None:
            raise GuaranteeError(
                "found keys under a guarantee stated as μ or ρ",
                "that says nothing about keys, which need a probability of their own",
                f"add {setting('keys_delta', 1e-7)}, or state epsilon and delta",
                code="keys-delta-not-stated",
            )
        mu, kappas = guarantee.mu, [keys_delta / len(shares)] * len(shares)
    else:
        epsilon, delta = smaller_reading(guarantee.epsilon), smaller_reading(guarantee.delta)
        mu = guarantee.mu
        if keys_delta is None:
            found = [_part(mu, part) for part in parts]
            kappas = [largest_kappa(epsilon, delta, found, _part(mu, left) if left else 0.0)] * len(shares)
        else:
            kappas = [keys_delta / len(shares)] * len(shares)
            mu = mu_beside(epsilon, delta, keys_delta) if 0 <= keys_delta < delta else 0.0
    if not (mu > 0 and all(kappa > 0 for kappa in kappas)):
        raise GuaranteeError(
            f"keys_delta={float(keys_delta or 0):g} within this guarantee",
            "it must be above 0 and below δ",
            "leave it out, or give a part of δ, such as a tenth",
            code="keys-delta-does-not-fit",
        )
    own = [Guarantee(mu=_part(mu, part)) for part in parts]
    return own, Guarantee(mu=_part(mu, left)) if left else None, kappas


def _part(mu: float, part: float) -> float:
    return sqrt_downward(Fraction(mu) ** 2 * Fraction(part))
