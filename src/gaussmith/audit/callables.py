"""The audit of any Python function f(data): nothing is known of it but what it returns.

The function gets an array of records, one per row, and returns a number or numbers with noise. Tables are made of the
domain; a direction along which neighbours' outputs differ is learned on some outputs and judged on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith.audit.attacks import Guesser, fisher_direction, low_bits, odd_values, repeated_values
from gaussmith.audit.bounds import EarlyLook, at_least, epsilon_from_event, factor_detected, quantile
from gaussmith.audit.verdict import SAMPLED, Attempt, Effort, shares
from gaussmith.domains.domain import Domain
from gaussmith.errors import RequestError
from gaussmith.numerics.exact import Array
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE

TRAINING = 0.04
"""The part of the samples from which tables and a direction are chosen."""

LOW_BITS = 20_000
"""Outputs of either table that the attack on low bits uses."""


@dataclass(frozen=True, eq=False)
class _Pair:
    name: str
    one: Array
    other: Array


def audit_callable(
    f: Callable[[Array], Any], domain: Domain, guarantee: Guarantee, error: float, effort: Effort,
    neighbours: str = ADD_REMOVE, gaussian: bool = True,
) -> tuple[list[Attempt], float]:  # fmt: skip
    """All attempts on a function, and the largest lower bound on μ.

    With `gaussian` the claim is that of Gaussian noise with this guarantee, its μ. Without, only the stated (ε, δ) is
    claimed: then `mu` is the least μ at which a guess may be right as often as (ε, δ) allows it to be, and events are
    held against ε.
    """
    mu = guarantee.mu if gaussian else _mu_allowed(guarantee)
    early, main, bits, near, odd, again, first = shares(error, (0.5, 8, 1, 0.5, 0.25, 0.25, 0.5))
    pairs = _pairs(domain, neighbours)
    asked = _Asked(f)
    training = max(64, int(effort.samples * TRAINING) // (2 * len(pairs)))
    learned = [_learn(asked, pair, training, mu, first / len(pairs)) for pair in pairs]
    if broken_early := next((each for each in learned if each.broken), None):
        return [broken_early.told(first)], mu
    best = max(learned, key=lambda each: each.distance)
    pair, direction, middle, centres = best.pair, best.direction, best.middle, best.centres
    spent = 2 * training * len(pairs)
    strict = None if gaussian else guarantee
    times = min(LOW_BITS, max(1000, effort.samples // 10))
    attempts = _look_at_values(asked, pairs, mu, strict, (bits, odd, again), times)
    half = max(1000, (effort.samples - spent) // 2)
    guesser = Guesser(EarlyLook(mu, early), direction, middle, centres)
    attempts.append(
        guesser.run(lambda n: (asked.often(pair.one, n), asked.often(pair.other, n)), half, effort, f"of {pair.name} ")
    )
    if attempts[-1].refutes:
        return attempts, mu
    trials = 2 * guesser.outputs
    right, bound = guesser.right, guesser.by_direction(main).mu
    said = f"right in {100 * right / trials:.3f} % of {trials:,} guesses on {pair.name}: {at_least(bound)}"
    if guarantee.delta is not None:
        epsilon = epsilon_from_event(*guesser.above[::-1], guesser.outputs, guarantee.delta, main)
        said += f", ε at δ={guarantee.delta:g} at least {epsilon:.3g}" if epsilon > 0 else ""
    factor = factor_detected(mu, trials, main)
    detects = f"a true μ {factor:.3g} times the claimed one: noise {100 * (1 - 1 / factor):.2g} % too small"
    attempts.append(Attempt("direction search", SAMPLED, bound > mu, said, mu, bound, main, trials, detects))
    by_centre = guesser.by_centre(near)
    nearest = by_centre.mu
    said = f"right in {100 * by_centre.right:.3f} %: {at_least(nearest)}"
    attempts.append(Attempt("nearest centre", SAMPLED, nearest > mu, said, mu, nearest, near, trials))
    return attempts, max(bound, nearest)


def _mu_allowed(guarantee: Guarantee) -> float:
    """A μ that no attack by guesses exceeds where (ε, δ) holds: for one output, and for a pair at (2ε, δ(1 + e^ε)).

    P(right) ≤ (e^ε + δ)/(1 + e^ε) = Φ(μ/2)
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if epsilon is None or delta is None:
        return guarantee.mu
    e, more = math.exp(epsilon), delta * (1 + math.exp(epsilon))
    one = 2 * quantile((e + delta) / (1 + e))
    pair = math.sqrt(2) * quantile(min(1.0, (e * e + more) / (1 + e * e)))
    return max(one, pair)


def _pairs(domain: Domain, neighbours: str) -> list[_Pair]:
    """A few tables with one person more, or another: nobody and somebody at the bounds, or beyond, and among others."""
    centre, radius = (np.asarray(each, float) for each in (domain.centre, domain.radius))
    high, low = centre + radius, centre - radius
    others = np.tile(centre, (15, 1))
    wild = centre + 1e6 * radius
    if neighbours != ADD_REMOVE:
        return [
            _Pair("one person at either bound", low[None], high[None]),
            _Pair("one person at either bound among others", np.vstack([others, low]), np.vstack([others, high])),
            _Pair("one person within and beyond the bounds", low[None], wild[None]),
        ]
    nobody = np.zeros((0, len(centre)))
    return [
        _Pair("nobody and one person at the upper bounds", nobody, high[None]),
        _Pair("nobody and one person at the lower bounds", nobody, low[None]),
        _Pair("one person more among others", others, np.vstack([others, high])),
        _Pair("one person far beyond the bounds", others, np.vstack([others, wild])),
    ]


@dataclass(eq=False)
class _Asked:
    """A function, asked again and again. It must return equally many numbers every time."""

    f: Callable[[Array], Any]
    width: int | None = None

    def often(self, table: Array, times: int) -> Array:
        """Its outputs, one per row; what is no number as 0."""
        return np.nan_to_num(self.raw(table, times), nan=0.0, posinf=0.0, neginf=0.0)

    def raw(self, table: Array, times: int) -> Array:
        """Its outputs as they are, one per row. It gets a copy of the table: it may change it."""
        try:
            found = [self.f(table.copy()) for _ in range(times)]
            if all(type(each) is float for each in found):
                self._check_widths({1})
                return np.array(found).reshape(times, 1)
            if any(np.iscomplexobj(each) for each in found):
                raise TypeError("complex numbers")
            numbers = [np.asarray(each, dtype=float).ravel() for each in found]
        except RequestError:
            raise
        except Exception as problem:
            raise RequestError(
                f"a function that failed on a table of {len(table)} rows ({type(problem).__name__}: {problem})",
                "it must take an array of records, one per row, and return a number or numbers",
                "wrap it: audit(lambda data: f(data[:, 0]), …)",
                code="audited-function-failed",
            ) from problem
        self._check_widths({len(each) for each in numbers})
        return np.array(numbers, dtype=float).reshape(times, -1)

    def _check_widths(self, widths: set[int]) -> None:
        self.width = min(widths) if self.width is None else self.width
        if widths != {self.width} or not self.width:
            many = ", ".join(map(str, sorted({self.width, *widths})))
            what = f"a function that returned {many} numbers"
            rule = "it must return equally many every time, one at least: their number would tell neighbours apart"
            remedy = "return as many numbers for every table"
            raise RequestError(what, rule, remedy, code="audited-function-of-changing-size")


@dataclass(eq=False)
class _Learned:
    """What was learned of a pair of tables, and whether outputs told them apart then already."""

    pair: _Pair
    direction: Array
    middle: float
    centres: tuple[Array, Array]
    distance: float
    look: EarlyLook
    broken: bool

    def told(self, error: float) -> Attempt:
        said = f"{self.look.right:,} of the first {self.look.pairs:,} pairs of {self.pair.name} told apart"
        return Attempt("early look", SAMPLED, True, said, error=error, samples=2 * self.look.pairs)


def _learn(asked: _Asked, pair: _Pair, times: int, mu: float, error: float) -> _Learned:
    """A direction, the middle between both tables along it, their centres, and how far apart they are.

    Learned on the first half; on the second a bet is made with it, so that a function that has no noise at first is
    noticed.
    """
    both = asked.often(pair.one, times), asked.often(pair.other, times)
    one, other = (each[: times // 2] for each in both)
    centres = np.median(one, axis=0), np.median(other, axis=0)
    shift = other.mean(axis=0) - one.mean(axis=0)
    direction = fisher_direction(one, other)
    if not direction.any():  # there is no noise, or nothing differs
        direction = shift if shift.any() else np.ones(len(shift))
    a, b = one @ direction, other @ direction
    look = EarlyLook(mu, error)
    broken = look.see(both[0][times // 2 :] @ direction < both[1][times // 2 :] @ direction)
    spread = float(np.sqrt((a.var() + b.var()) / 2)) or 1e-300
    distance = abs(float(b.mean() - a.mean())) / spread
    return _Learned(pair, direction, float((a.mean() + b.mean()) / 2), centres, distance, look, broken)


def _look_at_values(
    asked: _Asked, pairs: list[_Pair], mu: float, strict: Guarantee | None, errors: tuple[float, ...], times: int
) -> list[Attempt]:
    """Attacks on what the outputs are, not where: their lowest bits, values that are no numbers, and repeated ones."""
    outputs = [(asked.raw(pair.one, times), asked.raw(pair.other, times)) for pair in pairs]
    attacks = {
        "low bits": (low_bits, errors[0], f"by the lowest bits of {2 * times:,} outputs"),
        "no numbers": (odd_values, errors[1], f"by which of {2 * times:,} outputs are no finite numbers"),
        "repeated values": (repeated_values, errors[2], f"by which of {2 * times:,} outputs were seen before"),
    }
    attempts = []
    for name, (attack, error, said) in attacks.items():
        share = error / len(pairs)
        best = max((attack(*each, share) for each in outputs), key=lambda found: found.mu)
        limit, found = mu, best.mu
        n = 2 * times * len(pairs) if name == "low bits" else 0  # all three look at the same outputs
        said = f"{said}: {at_least(best.mu)}"
        if strict is not None and strict.epsilon is not None and strict.delta is not None:
            found = epsilon_from_event(*best.hits, best.trials // 2, strict.delta, share)
            limit = strict.epsilon
            said += f", and ε at least {found:.3g}" if found > 0 else ""
        attempts.append(Attempt(name, SAMPLED, found > limit, said, limit, found, error, n))
    return attempts
