"""Privacy guarantees: stated as (ε, δ), as ρ, as μ or as a guess, computed with μ; or as ε alone, which is pure.

A release is μ-GDP when telling two neighbouring datasets apart from it is at least as hard as telling N(0, 1) from
N(μ, 1) from one draw. For Gaussian noise this is exact, so the library computes with μ: μ² adds up over releases, and
every (ε, δ) that holds follows from one curve (`gaussmith.privacy.gaussian`).

    ρ = μ²/2 (Gaussian releases)            μ_total = √(μ₁² + μ₂² + …)        δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)

A pure guarantee, ε without δ, is that of noise of other laws (`gaussmith.noise`): ε adds up. No Gaussian noise has it,
whatever its μ, so asking a pure guarantee for `mu` is an error.

Rounding. Values that noise is made from (`mu`, `split`, `scaled`) are rounded down; statements about a release (`rho`,
`delta_at`, `epsilon_at`, `+`, `for_group`) are rounded up. So no statement is better than the truth.
Decimals. A given ε, δ or ρ is taken as its double or as its decimal, whichever is smaller, and statements about a
release are true for both; μ is its double.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Rational, Real
from typing import Any, Never

from gaussmith.checks import check_whole, checks_arguments
from gaussmith.errors import GuaranteeError, nearest_name
from gaussmith.notations import setting
from gaussmith.numerics.exact import fraction_down, fraction_up, smaller_reading, sqrt_downward, sqrt_upward, stated_up
from gaussmith.privacy import gaussian as curve

# The numbers of a guarantee: which ε, δ, μ and ρ can be stated.

LARGEST_EPSILON = 100.0
SMALLEST_EPSILON = 1e-90


def check_epsilon(epsilon: float) -> None:
    if not math.isfinite(epsilon):
        what, rule = f"epsilon={epsilon}", "ε must be a finite number"
        remedy = f"give a number, say {setting('epsilon', 1)}"
        raise GuaranteeError(what, rule, remedy, code="epsilon-not-finite", epsilon=epsilon)
    if epsilon <= 0:
        what, rule = f"epsilon={plain(epsilon)}", "ε must be above 0: at 0 nothing could be learned"
        remedy = f"give a number, say {setting('epsilon', 1)}"
        raise GuaranteeError(what, rule, remedy, code="epsilon-not-positive", epsilon=epsilon)
    if epsilon > LARGEST_EPSILON:
        raise GuaranteeError(
            f"epsilon={plain(epsilon)}",
            "ε must be at most 100: a factor of e^100 in likelihood protects nobody",
            "give a smaller number; 0.1 to 10 is usual",
            code="epsilon-too-large",
            epsilon=epsilon,
        )
    if epsilon < SMALLEST_EPSILON:
        raise GuaranteeError(
            f"epsilon={plain(epsilon)}",
            "ε must be at least 1e-90: noise of that size cannot be drawn",
            "give a larger number; 0.1 to 10 is usual",
            code="epsilon-too-small",
            epsilon=epsilon,
        )


def check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        rule = "δ is a probability: 0 < δ < 1"
        remedy = f"give one far below 1/(number of people), say {setting('delta', 1e-9)}"
        raise GuaranteeError(f"delta={plain(delta)}", rule, remedy, code="delta-out-of-range", delta=delta)


def check_parameter(name: str, value: float, smallest: float, largest: float) -> None:
    if not math.isfinite(value):
        what, rule, remedy = f"{name}={value}", f"{name} must be a finite number", f"give a number, say {name}=0.5"
        raise GuaranteeError(what, rule, remedy, code="guarantee-number-not-finite", name=name, value=value)
    if value <= 0:
        raise GuaranteeError(
            f"{name}={plain(value)}",
            f"{name} must be above 0: at 0 nothing could be learned",
            f"give a number, say {name}=0.5",
            code="guarantee-number-not-positive",
            name=name,
            value=value,
        )
    if not smallest <= value <= largest:
        raise GuaranteeError(
            f"{name}={plain(value)}",
            f"{smallest:g} ≤ {name} ≤ {largest:g}: outside this range there is no privacy, or no noise to draw",
            f"give a number in the usual range, say {name}=0.5",
            code="guarantee-number-out-of-range",
            name=name,
            value=value,
            smallest=smallest,
            largest=largest,
        )


def plain(number: float | None) -> str:
    return repr(number).removesuffix(".0")


LARGEST_MU = 1e100
SMALLEST_MU = 1e-100

MAX_PARTS = 1_000_000
"""Limit on the equal parts of a guarantee."""

_NAMES = ("epsilon", "delta", "mu", "rho", "guess")

_FORMS = "state exactly one of: (epsilon, delta), epsilon alone, mu, rho, guess"


@dataclass(frozen=True, init=False, repr=False)
class Guarantee:
    """A guarantee, stated in one of five forms. An immutable, hashable value; equal if stated equally.

    Guarantee: a release planned for it is μ-GDP with μ = `mu`, and so satisfies what is stated; `mu` is the largest
    double for which this is true, checked with 60 digits. One of ε alone is pure: its releases are ε-DP, δ being 0.
    `guess` is how often an attacker may be right, at most, who guesses whether a person is in the table.
    Requires (checked): exactly one form; 1e-90 ≤ ε ≤ 100, 0 ≤ δ < 1; μ and √(2ρ) between 1e-100 and 1e100;
    0.5 < guess < 1.
    Rounding: `mu` down, statements up (see the module).

    >>> g = Guarantee(epsilon=1, delta=1e-6)
    >>> g.mu, g.epsilon, g.delta
    (0.2367043806634357, 1.0, 1e-06)
    >>> g.delta_at(epsilon=2), g.epsilon_at(delta=1e-9)
    (1.078629261601283e-18, 1.3176711772645673)
    >>> print(g + g)
    μ=0.3348, that is ρ=0.05603
    >>> Guarantee(epsilon=1).is_pure, Guarantee(guess=0.55).mu
    (True, 0.25132269371...)
    """

    epsilon: float | None
    delta: float | None
    stated_mu: float | None
    stated_rho: float | None
    stated_guess: float | None

    @checks_arguments
    def __init__(
        self,
        *unnamed: Never,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        rho: float | None = None,
        guess: float | None = None,
    ) -> None:
        given = dict(zip(_NAMES, (epsilon, delta, mu, rho, guess), strict=True))
        if unnamed:
            _refuse_unnamed(unnamed)
        _check_one_form({name for name, value in given.items() if value is not None})
        number = {name: None if value is None else _double(name, value) for name, value in given.items()}
        if number["epsilon"] is not None and number["delta"] is None:
            number["delta"] = 0.0  # which may also be said
        _check_ranges(**number)
        for name in _NAMES:
            field = name if name in ("epsilon", "delta") else f"stated_{name}"
            object.__setattr__(self, field, number[name])

    @property
    def is_pure(self) -> bool:
        """Whether it is ε alone: no Gaussian noise has such a guarantee."""
        return self.delta == 0.0

    @cached_property
    def mu(self) -> float:
        """The Gaussian-DP parameter: the largest double that satisfies what is stated (rounded down).

        A pure guarantee has none: Gaussian noise at any μ would break it.
        """
        if self.is_pure:
            raise GuaranteeError(
                f"μ of {self!r}",
                "Gaussian noise has no guarantee with δ = 0",
                f"use pure noise, or add {setting('delta', 1e-6)}",
                code="no-mu-of-pure-epsilon",
            )
        if self.stated_mu is not None:
            return self.stated_mu
        if self.stated_rho is not None:
            return sqrt_downward(2 * smaller_reading(self.stated_rho))
        if self.stated_guess is not None:
            return _mu_of_guess(self.stated_guess)
        assert self.epsilon is not None
        assert self.delta is not None
        return _calibrated(self.epsilon, self.delta)

    @property
    def pure_epsilon(self) -> Fraction:
        """ε of a pure guarantee, exactly: the double or the decimal, whichever is smaller. 0 of any other."""
        return smaller_reading(self.epsilon) if self.is_pure and self.epsilon is not None else Fraction(0)

    @cached_property
    def guess_bound(self) -> float:
        """How often an attacker who guesses whether a person is in the table is right, at most; rounded up.

        Φ(μ/2), or e^ε/(1 + e^ε) of a pure guarantee. A coin is right half of the time.

        >>> round(Guarantee(epsilon=1, delta=1e-6).guess_bound, 4), round(Guarantee(epsilon=1).guess_bound, 4)
        (0.5471, 0.7311)
        """
        if self.is_pure:
            from gaussmith.privacy.pure import guess_of_pure

            return guess_of_pure(self.pure_epsilon)
        if self.stated_guess is not None:
            return self.stated_guess
        # The factor covers the rounding of erfc.
        return min(1.0, 0.5 * math.erfc(-self.mu / math.sqrt(8)) * (1 + 2.0**-48))

    def share(self, part: float) -> Guarantee:
        """The guarantee of a part of this one, as μ² or a pure ε divides: μ·√part, or ε·part; rounded down.

        >>> Guarantee(mu=1).share(0.25), Guarantee(epsilon=1).share(0.25)
        (Guarantee(mu=0.5), Guarantee(epsilon=0.25))
        """
        return self.split([part, 1 - part])[0] if part < 1 else self

    @property
    def rho(self) -> float:
        """ρ = μ²/2, as stated or rounded up: the release is ρ-zCDP. (Conversely ρ gives μ for Gaussian noise only.)"""
        return self.stated_rho if self.stated_rho is not None else stated_up(self.mu_squared / 2)

    @property
    def mu_squared(self) -> Fraction:
        """The exact square of the double `mu`, which adds up over releases."""
        return Fraction(self.mu) ** 2

    def charge(self) -> Fraction:
        """The charge to a ledger for a release under this guarantee: exactly μ².

        >>> Guarantee(mu=0.5).charge()
        Fraction(1, 4)
        """
        return self.mu_squared

    @checks_arguments
    def delta_at(self, epsilon: float) -> float:
        """The smallest δ for which a release is (epsilon, δ)-DP, rounded up; at least 5e-324. ε = 0 is allowed.

            δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ);     at ε = 0:  2Φ(μ/2) − 1

        >>> Guarantee(mu=1).delta_at(epsilon=0), Guarantee(mu=0.05).delta_at(epsilon=10)
        (0.38292492254802624, 5e-324)
        """
        reading = self._reading_of_epsilon(epsilon)
        if self.is_pure:
            from gaussmith.privacy.pure import delta_of_pure

            return delta_of_pure(self.pure_epsilon, reading)
        answer = curve.delta_upward(reading, self.mu)
        holds_in_decimal = curve.delta_is_at_most(smaller_reading(answer), reading, self.mu)
        return answer if holds_in_decimal else math.nextafter(answer, math.inf)

    @checks_arguments
    def log_delta_at(self, epsilon: float) -> float:
        """ln of the smallest δ for which a release is (epsilon, δ)-DP, rounded to nearest; for δ below the doubles.

        >>> round(Guarantee(mu=0.05).log_delta_at(epsilon=10), 3)
        -20009.512
        """
        return curve.log_delta(self._reading_of_epsilon(epsilon), self.mu)

    @checks_arguments
    def epsilon_at(self, delta: float) -> float:
        """An ε ≥ 0 for which a release is (ε, delta)-DP: the smallest, rounded up; of a pure guarantee its own.

        >>> Guarantee(mu=1).epsilon_at(delta=1e-6), Guarantee(mu=1).epsilon_at(delta=0.5)
        (4.886554117462213, 0.0)
        """
        number = _double("delta", delta)
        check_delta(number)
        if self.is_pure:
            assert self.epsilon is not None
            return self.epsilon
        answer = curve.epsilon_upward(smaller_reading(number), self.mu)
        holds_in_decimal = curve.delta_is_at_most(smaller_reading(number), smaller_reading(answer), self.mu)
        return answer if holds_in_decimal else math.nextafter(answer, math.inf)

    def __add__(self, other: object) -> Guarantee:
        """The guarantee of both releases together: μ² adds up, rounded up. `compose` adds many with one rounding."""
        return compose((self, other)) if isinstance(other, Guarantee) else NotImplemented

    def __radd__(self, other: object) -> Guarantee:
        """Support for `sum`, which starts from 0."""
        return self if other == 0 else NotImplemented

    @checks_arguments
    def for_group(self, size: int) -> Guarantee:
        """The guarantee for `size` people together: size·μ, exact for Gaussian noise, or size·ε; rounded up.

        >>> Guarantee(mu=0.25).for_group(4)
        Guarantee(mu=1.0)
        """
        rule = "a group has a whole number of people, 1 or more"
        size = check_whole("size", size, 1, rule=rule, remedy="give the size of the group", error=GuaranteeError)
        if self.is_pure:
            return Guarantee(epsilon=fraction_up(size * self.pure_epsilon))
        return Guarantee(mu=fraction_up(size * Fraction(self.mu)))

    @checks_arguments
    def scaled(self, factor: float) -> Guarantee:
        """The guarantee to plan with when μ, or a pure ε, is multiplied by `factor`; rounded down.

        >>> Guarantee(mu=1).scaled(0.5)
        Guarantee(mu=0.5)
        """
        number = _double("factor", factor)
        if not 0 < number < math.inf:
            what, rule = f"factor={number:g}", "the factor must be a finite number above 0"
            raise GuaranteeError(what, rule, "give a number, say 0.5", code="factor-out-of-range", factor=number)
        if self.is_pure:
            return Guarantee(epsilon=fraction_down(Fraction(number) * self.pure_epsilon))
        return Guarantee(mu=fraction_down(Fraction(number) * Fraction(self.mu)))

    @checks_arguments
    def split(self, parts: Sequence[float] | int) -> tuple[Guarantee, ...]:
        """One guarantee per part, in proportion to its weight; together they never exceed this one.

        A number asks for so many equal parts.

            μ_i² = μ² · parts_i / Σ parts,   or   ε_i = ε · parts_i / Σ parts;   each rounded down

        >>> [round(g.mu, 4) for g in Guarantee(mu=1).split([3, 1])]
        [0.866, 0.5]
        >>> len(Guarantee(mu=1).split(52))
        52
        """
        if not isinstance(parts, Iterable):
            remedy = "write split(4), or split([2, 1, 1]) for parts of different size"
            parts = [1] * check_whole("parts", parts, 1, MAX_PARTS, remedy=remedy, error=GuaranteeError)
        weights = [_double("part", part) for part in parts]
        if not weights or not all(0 < weight < math.inf for weight in weights):
            raise GuaranteeError(
                f"parts={weights}",
                "a guarantee is split into one or more parts, each with a finite weight above 0",
                "leave out parts of weight 0",
                code="parts-out-of-range",
                parts=weights,
            )
        total = sum(map(Fraction, weights))
        if self.is_pure:
            each = (self.pure_epsilon * Fraction(weight) / total for weight in weights)
            return tuple(Guarantee(epsilon=fraction_down(epsilon)) for epsilon in each)
        return tuple(Guarantee(mu=sqrt_downward(self.mu_squared * Fraction(weight) / total)) for weight in weights)

    def to_dict(self) -> dict[str, float]:
        """The stated form, for JSON; `from_dict` returns an equal guarantee, exact to the last bit.

        >>> Guarantee(epsilon=1, delta=1e-6).to_dict()
        {'epsilon': 1.0, 'delta': 1e-06}
        """
        delta = None if self.is_pure else self.delta
        stated = dict(
            zip(_NAMES, (self.epsilon, delta, self.stated_mu, self.stated_rho, self.stated_guess), strict=True)
        )
        return {name: value for name, value in stated.items() if value is not None}

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> Guarantee:
        """The guarantee with this stated form; refuses unknown names.

        >>> Guarantee.from_dict({"rho": 0.5}).mu
        1.0
        """
        if not isinstance(stated, Mapping):
            rule = "a guarantee is a table of names and numbers"
            raise GuaranteeError(f"guarantee={stated!r}", rule, _FORMS, code="guarantee-not-a-table", guarantee=stated)
        for name in stated:
            if name not in _NAMES:
                hint = nearest_name(str(name), _NAMES)
                what, rule = f"guarantee has a field {name!r}", "its fields are epsilon, delta, mu, rho and guess"
                raise GuaranteeError(what, rule, hint, code="unknown-guarantee-field", field=name)
        return cls(**stated)

    def to_dp_event(self) -> Any:
        """This guarantee as an event of dp_accounting (an optional package): a Gaussian mechanism at 1/μ.

        >>> Guarantee(mu=0.5).to_dp_event()
        GaussianDpEvent(noise_multiplier=2.0)
        """
        from gaussmith.privacy.composition import gaussian_event

        return gaussian_event(self.mu)

    @classmethod
    def from_dp_event(cls, event: Any) -> Guarantee:
        """The guarantee of what an event of dp_accounting describes, rounded up; refuses what no μ covers."""
        from gaussmith.privacy.composition import squares_of

        return cls(mu=sqrt_upward(sum(squares_of(event), Fraction(0))))

    def __repr__(self) -> str:
        return f"Guarantee({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def __str__(self) -> str:
        if self.stated_mu is not None:
            return f"μ={self.mu:.4g}, that is ρ={self.rho:.4g}"
        if self.stated_rho is not None:
            return f"ρ={self.rho:.4g}, that is μ={self.mu:.4g}"
        if self.stated_guess is not None:
            return f"a guess right at most {100 * self.stated_guess:.4g} %, that is μ={self.mu:.4g}"
        if self.is_pure:
            return f"pure ε={plain(self.epsilon) if len(plain(self.epsilon)) < 8 else f'{self.epsilon:.4g}'} (δ=0)"
        return f"(ε={plain(self.epsilon)}, δ={plain(self.delta)}), that is μ={self.mu:.4g} or ρ={self.rho:.4g}"

    def _repr_html_(self) -> str:
        from gaussmith.report.tables import guarantee_html

        return guarantee_html(self)

    def describe(self) -> str:
        """The meaning of the guarantee in plain words; its numbers are rounded up.

        >>> print(Guarantee(mu=0.5).describe())
        Guessing from the release whether one person's record was used
        is right at most 59.9 % of the time (a coin flip: 50 %).
        >>> Guarantee(epsilon=1, delta=1e-6).describe().split(". ")[0]
        "One person's record makes no result more than 2.72 times as likely, plus at most 1e-06 in probability"
        """
        right = _three_digits_up(min(100.0, 100 * self.guess_bound))
        guess = (
            "Guessing from the release whether one person's record was used "
            f"is right at most {right} % of the time (a coin flip: 50 %)."
        )
        if self.epsilon is None:
            return guess
        odds = _three_digits_up(math.exp(self.epsilon))
        beside = "" if self.is_pure else f", plus at most {plain(self.delta)} in probability"
        return f"One person's record makes no result more than {odds} times as likely{beside}. {guess}"

    def _reading_of_epsilon(self, epsilon: float) -> Fraction:
        number = _double("epsilon", epsilon)
        if not 0 <= number < math.inf:
            what, rule = f"epsilon={number:g}", "ε must be finite and 0 or more"
            raise GuaranteeError(
                what, rule, "give a number such as 1", code="curve-epsilon-out-of-range", epsilon=number
            )
        return smaller_reading(number)


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of several releases together, rounded up once.

        μ = √(μ₁² + μ₂² + …),   or   ε = ε₁ + ε₂ + …   where all are pure

    A pure ε beside others counts as the smallest μ that covers it: 2 Φ⁻¹(e^ε/(1 + e^ε)).
    Guarantee: releases of the same people, each with its own fresh noise, are together μ-GDP, even if a later one is
    chosen after seeing the earlier ones. Rounding: up to the next double.

    >>> compose([Guarantee(mu=3), Guarantee(mu=4)])
    Guarantee(mu=5.0)
    """
    together = list(guarantees)
    if not together:
        rule = "a composition has at least one release"
        raise GuaranteeError("guarantees=[]", rule, "give one guarantee or more", code="empty-composition")
    if all(guarantee.is_pure for guarantee in together):
        return Guarantee(epsilon=fraction_up(sum((each.pure_epsilon for each in together), start=Fraction(0))))
    squares = [_square_of(guarantee) for guarantee in together]
    return Guarantee(mu=sqrt_upward(sum(squares, start=Fraction(0))))


def _square_of(guarantee: Guarantee) -> Fraction:
    """μ² of a guarantee beside others; of a pure one that of the μ which covers it."""
    if not guarantee.is_pure:
        return guarantee.mu_squared
    from gaussmith.privacy.pure import gdp_of_pure

    return Fraction(gdp_of_pure(guarantee.pure_epsilon)) ** 2


@lru_cache(maxsize=4096)
def _mu_of_guess(guess: float) -> float:
    """The largest μ with Φ(μ/2) ≤ guess, for certain."""
    from gaussmith.privacy.thresholds import normal_quantile, upper_tail

    missed = 1 - smaller_reading(guess)
    mp = upper_tail(0).context
    tail = mp.mpf(missed.numerator) / missed.denominator
    found = float(2 * normal_quantile(tail))
    while found > 0 and upper_tail(Fraction(found) / 2) < tail * (1 + mp.mpf(10) ** -40):
        found = math.nextafter(found, 0.0)
    return found


@lru_cache(maxsize=4096)
def _calibrated(epsilon: float, delta: float) -> float:
    return curve.mu_downward(smaller_reading(epsilon), smaller_reading(delta))


def _double(name: str, value: object) -> float:
    """A number as a double; integers and fractions that are not doubles are rounded down."""
    if not isinstance(value, bool):  # True is the integer 1 in Python, but a mistake here
        if isinstance(value, Rational):
            return fraction_down(Fraction(int(value.numerator), int(value.denominator)))
        if isinstance(value, Real):
            return float(value)
    what, rule, remedy = (
        f"{name}={value!r}",
        f"{name} must be a number",
        f"write {name}= and a plain number, without quotes",
    )
    raise GuaranteeError(what, rule, remedy, code="guarantee-number-not-a-number", name=name, value=value)


def _refuse_unnamed(given: Sequence[object]) -> None:
    """Refuse numbers without a name: nobody could see which is which."""
    shown = [repr(value) for value in given if isinstance(value, Real)]
    named = f"epsilon={shown[0]}, delta={shown[1] if shown[1:] else '1e-6'}" if shown else "epsilon=1, delta=1e-6"
    other = f", or Guarantee(mu={shown[0]})" if len(shown) == 1 else ""
    raise GuaranteeError(
        f"Guarantee({', '.join(shown) or '…'})"[:100],
        "its numbers have names",
        f"write Guarantee({named}){other}",
        code="guarantee-without-names",
    )


def _check_one_form(names: set[str]) -> None:
    if not names:
        what = "a guarantee without numbers"
        raise GuaranteeError(what, _FORMS, "write for example epsilon=1, delta=1e-6", code="guarantee-without-numbers")
    if names == {"delta"}:
        remedy = f"add {setting('epsilon', 1)}"
        raise GuaranteeError("delta without epsilon", _FORMS, remedy, code="delta-without-epsilon")
    if names not in ({"epsilon", "delta"}, {"epsilon"}, {"mu"}, {"rho"}, {"guess"}):
        what = f"a guarantee stated twice ({', '.join(sorted(names))})"
        raise GuaranteeError(what, _FORMS, "leave out the others", code="guarantee-stated-twice", names=sorted(names))


def _check_ranges(
    epsilon: float | None, delta: float | None, mu: float | None, rho: float | None, guess: float | None
) -> None:
    if epsilon is not None:
        check_epsilon(epsilon)
    if delta is not None and not (delta == 0 and epsilon is not None):
        check_delta(delta)
    if guess is not None and not 0.5 < guess < 1:
        rule = "a guess is right more often than a coin, and not always: 0.5 < guess < 1"
        remedy = f"write {setting('guess', 0.55)}"
        raise GuaranteeError(f"guess={plain(guess)}", rule, remedy, code="guess-out-of-range", guess=guess)
    if mu is not None:
        check_parameter("mu", mu, SMALLEST_MU, LARGEST_MU)
    if rho is not None:
        check_parameter("rho", rho, SMALLEST_MU**2, LARGEST_MU**2)


def _three_digits_up(number: float) -> str:
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(number)):g}"
