from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from refusals import Expected, refusal, refused

import gaussmith
from gaussmith.errors import GuaranteeError
from gaussmith.privacy.guarantee import Guarantee, compose

STATED = [Guarantee(epsilon=1, delta=1e-6), Guarantee(mu=0.1), Guarantee(rho=0.1)]


def test_stated_numbers_come_back_and_the_others_are_absent() -> None:
    assert [(g.epsilon, g.delta) for g in STATED] == [(1.0, 1e-6), (None, None), (None, None)]
    assert STATED[0].mu == 0.2367043806634357
    assert STATED[1].mu == 0.1
    assert STATED[2].rho == 0.1


def test_rho_may_be_as_large_as_the_square_of_the_largest_mu() -> None:
    assert Guarantee(rho=1e200).rho == Guarantee(mu=1e100).mu ** 2 == 1e200
    with pytest.raises(GuaranteeError):
        Guarantee(rho=1.1e200)


def test_rho_gives_mu_rounded_down_and_mu_gives_rho_rounded_up() -> None:
    assert Guarantee(rho=0.5).mu == 1.0
    assert (
        Fraction(Guarantee(rho=0.1).mu) ** 2 <= Fraction(1, 5) < Fraction(math.nextafter(Guarantee(rho=0.1).mu, 1)) ** 2
    )
    assert Guarantee(mu=1).rho == 0.5
    assert Fraction(Guarantee(mu=0.1).rho) >= Fraction(0.1) ** 2 / 2


def test_five_tenths_of_rho_fit_into_a_half() -> None:
    assert 5 * Guarantee(rho=0.1).charge() <= Guarantee(rho=0.5).charge() == 1


def test_a_typed_decimal_is_kept_under_both_readings() -> None:
    """0.1 is a little above one tenth as a double, 0.3 a little below three tenths."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert Fraction(0.3) < Fraction(3, 10)
    for delta in (0.1, 0.3):
        assert Guarantee(epsilon=1, delta=delta).delta_at(epsilon=1) <= delta


def test_values_are_equal_by_stated_form_hashable_and_frozen() -> None:
    g = Guarantee(epsilon=1, delta=1e-6)
    assert g == Guarantee(epsilon=1.0, delta=0.000001)
    assert g != Guarantee(mu=g.mu)
    assert len({*STATED, *(copy.deepcopy(s) for s in STATED)}) == 3
    with pytest.raises(FrozenInstanceError):
        g.epsilon = 2.0  # type: ignore[misc]
    assert [pickle.loads(pickle.dumps(s)) for s in STATED] == STATED


@pytest.mark.parametrize("number", [1, 1.0, np.float64(1), np.float32(1), np.int64(1), Fraction(1)])
def test_any_kind_of_real_number_is_a_number(number: float) -> None:
    assert Guarantee(mu=number) == Guarantee(mu=1.0)
    assert type(Guarantee(mu=number).mu) is float


def test_a_fraction_no_double_holds_is_rounded_down() -> None:
    assert Guarantee(mu=Fraction(2, 3)).mu < Fraction(2, 3)


def test_texts() -> None:
    assert [str(g) for g in STATED] == [
        "(ε=1, δ=1e-06), that is μ=0.2367 or ρ=0.02801",
        "μ=0.1, that is ρ=0.005",
        "ρ=0.1, that is μ=0.4472",
    ]
    assert repr(STATED[0]) == "Guarantee(epsilon=1.0, delta=1e-06)"
    assert eval(repr(STATED[2])) == STATED[2]


def test_description_in_plain_words() -> None:
    assert STATED[0].describe() == (
        "One person's record makes no result more than 2.72 times as likely, plus at most 1e-06 in probability. "
        "Guessing from the release whether one person's record was used "
        "is right at most 54.8 % of the time (a coin flip: 50 %)."
    )
    assert STATED[1].describe().startswith("Guessing from the release")
    assert "more than 2.69e+43 times" in Guarantee(epsilon=100, delta=0.5).describe()
    assert "at most 100 %" in Guarantee(mu=50).describe()


def test_dictionaries_survive_json_to_the_last_bit() -> None:
    for g in [*STATED, Guarantee(epsilon=0.1 + 0.2, delta=1 / 3), Guarantee(mu=math.pi)]:
        assert Guarantee.from_dict(json.loads(json.dumps(g.to_dict()))) == g
    assert STATED[0].to_dict() == {"epsilon": 1.0, "delta": 1e-06}


def test_curve_is_read_on_the_safe_side() -> None:
    g = STATED[0]
    assert g.delta_at(epsilon=1) <= 1e-6
    assert g.delta_at(epsilon=1) == pytest.approx(1e-6, rel=1e-13, abs=0)
    assert g.epsilon_at(delta=1e-6) <= 1
    assert g.epsilon_at(delta=1e-6) == pytest.approx(1, rel=1e-13, abs=0)
    assert Guarantee(mu=1).delta_at(epsilon=0) == pytest.approx(math.erf(1 / math.sqrt(8)), rel=1e-15, abs=0)
    assert Guarantee(mu=0.05).delta_at(epsilon=10) == 5e-324
    assert Guarantee(mu=0.05).log_delta_at(epsilon=10) / math.log(10) == pytest.approx(-8690.020514, abs=1e-5)


def test_composition_adds_squares_and_rounds_up() -> None:
    g = STATED[0]
    assert compose([Guarantee(mu=3), Guarantee(mu=4)]) == Guarantee(mu=5) == Guarantee(mu=3) + Guarantee(mu=4)
    assert (g + g).mu_squared >= 2 * g.mu_squared
    assert (g + g).mu == pytest.approx(math.sqrt(2) * g.mu, rel=4e-16, abs=0)
    assert sum([g, g, g]) == g + g + g  # type: ignore[comparison-overlap]
    assert compose([g]).mu == g.mu
    with pytest.raises(TypeError, match="unsupported operand"):
        g + 1  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + g  # type: ignore[operator]


def test_parts_group_and_scale() -> None:
    g = STATED[0]
    parts = g.split([3, 1, 0.1])
    assert sum(p.mu_squared for p in parts) <= g.mu_squared
    assert parts[0].mu / parts[1].mu == pytest.approx(math.sqrt(3))
    assert compose(g.split([1] * 7)).mu == pytest.approx(g.mu, rel=1e-15, abs=0)
    assert g.split([5])[0].mu == g.mu
    assert g.for_group(3).mu >= 3 * Fraction(g.mu)
    assert g.for_group(1).mu == g.mu
    assert g.scaled(1 / 3).mu <= Fraction(1 / 3) * Fraction(g.mu)
    assert g.scaled(1 / 3).mu == pytest.approx(g.mu / 3, rel=1e-15, abs=0)


REFUSED: list[tuple[dict[str, object], Expected]] = [
    ({}, "guarantee-without-numbers"),
    ({"delta": 1e-6}, "delta-without-epsilon"),
    ({"epsilon": 1, "mu": 1}, refusal("guarantee-stated-twice", names=("epsilon", "mu"))),
    ({"delta": 0.1, "rho": 1}, refusal("guarantee-stated-twice", names=("delta", "rho"))),
    ({"epsilon": 1, "delta": 1e-6, "mu": 1}, refusal("guarantee-stated-twice", names=("delta", "epsilon", "mu"))),
    ({"mu": 1, "rho": 0.5}, refusal("guarantee-stated-twice", names=("mu", "rho"))),
    ({"epsilon": 0, "delta": 1e-6}, refusal("epsilon-not-positive", epsilon=0.0)),
    ({"epsilon": -1, "delta": 1e-6}, refusal("epsilon-not-positive", epsilon=-1.0)),
    ({"epsilon": math.nan, "delta": 1e-6}, "epsilon-not-finite"),
    ({"epsilon": math.inf, "delta": 1e-6}, refusal("epsilon-not-finite", epsilon=math.inf)),
    ({"epsilon": 100.5, "delta": 1e-6}, refusal("epsilon-too-large", epsilon=100.5)),
    ({"epsilon": 1e-91, "delta": 1e-6}, refusal("epsilon-too-small", epsilon=1e-91)),
    ({"guess": 0.5}, refusal("guess-out-of-range", guess=0.5)),
    ({"guess": 1}, refusal("guess-out-of-range", guess=1.0)),
    ({"epsilon": 1, "delta": 1}, refusal("delta-out-of-range", delta=1.0)),
    ({"epsilon": 1, "delta": -1e-6}, refusal("delta-out-of-range", delta=-1e-06)),
    ({"epsilon": 1, "delta": math.nan}, "delta-out-of-range"),
    ({"mu": 0}, refusal("guarantee-number-not-positive", name="mu", value=0.0)),
    ({"mu": -2}, refusal("guarantee-number-not-positive", name="mu", value=-2.0)),
    ({"mu": math.nan}, refusal("guarantee-number-not-finite", name="mu")),
    ({"mu": -math.inf}, refusal("guarantee-number-not-finite", name="mu", value=-math.inf)),
    ({"mu": 1e101}, refusal("guarantee-number-out-of-range", name="mu", value=1e101)),
    ({"mu": 1e-101}, refusal("guarantee-number-out-of-range", name="mu", value=1e-101)),
    ({"rho": 0.0}, refusal("guarantee-number-not-positive", name="rho", value=0.0)),
    ({"rho": math.nan}, refusal("guarantee-number-not-finite", name="rho")),
    ({"rho": math.inf}, refusal("guarantee-number-not-finite", name="rho", value=math.inf)),
    ({"rho": 1e-210}, refusal("guarantee-number-out-of-range", name="rho", value=1e-210)),
    (
        {
            "epsilon": "1",
            "delta": 1e-6,
        },
        refusal("guarantee-number-not-a-number", name="epsilon", value="1"),
    ),
    ({"epsilon": 1, "delta": True}, refusal("guarantee-number-not-a-number", name="delta", value=True)),
    ({"mu": np.True_}, refusal("guarantee-number-not-a-number", name="mu", value="np.True_")),
    ({"mu": [1]}, refusal("guarantee-number-not-a-number", name="mu", value=(1,))),
    ({"rho": Decimal(1)}, refusal("guarantee-number-not-a-number", name="rho", value=Decimal("1"))),
    ({"mu": 1j}, refusal("guarantee-number-not-a-number", name="mu", value=1j)),
]


@pytest.mark.parametrize(("numbers", "expected"), REFUSED)
def test_numbers_that_mean_nothing_are_refused(numbers: dict[str, object], expected: Expected) -> None:
    with refused(expected, GuaranteeError):
        Guarantee(**numbers)  # type: ignore[arg-type]


def test_the_ends_of_the_ranges_are_allowed() -> None:
    assert Guarantee(epsilon=100, delta=0.999).mu > 15
    assert Guarantee(epsilon=1e-90, delta=5e-324).mu > 1e-100
    assert Guarantee(mu=1e100).rho == pytest.approx(5e199, rel=1e-15, abs=0)
    assert Guarantee(rho=1e-200).mu == pytest.approx(math.sqrt(2) * 1e-100, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g: g.delta_at(epsilon=-1), refusal("curve-epsilon-out-of-range", epsilon=-1.0)),
        (lambda g: g.delta_at(epsilon=math.nan), "curve-epsilon-out-of-range"),
        (lambda g: g.log_delta_at(epsilon=math.inf), "curve-epsilon-out-of-range"),
        (lambda g: g.delta_at(epsilon="1"), refusal("guarantee-number-not-a-number", name="epsilon", value="1")),
        (lambda g: g.epsilon_at(delta=0), refusal("delta-out-of-range", delta=0.0)),
        (lambda g: g.epsilon_at(delta=True), refusal("guarantee-number-not-a-number", name="delta", value=True)),
        (lambda g: g.split([]), refusal("parts-out-of-range", parts=())),
        (lambda g: g.split([1, 0]), refusal("parts-out-of-range", parts=(1.0, 0.0))),
        (lambda g: g.split([1, math.inf]), refusal("parts-out-of-range", parts=(1.0, math.inf))),
        (lambda g: g.split(["a"]), refusal("guarantee-number-not-a-number", name="part", value="a")),
        (lambda g: g.scaled(0), refusal("factor-out-of-range", factor=0.0)),
        (lambda g: g.scaled(math.nan), "factor-out-of-range"),
        (lambda g: g.for_group(0), refusal("whole-number-out-of-range", name="size", value=0)),
        (lambda g: g.for_group(1.5), refusal("whole-number-out-of-range", name="size", value=1.5)),
        (lambda g: g.for_group(True), refusal("whole-number-out-of-range", name="size", value=True)),
        (lambda g: compose([]), "empty-composition"),
        (
            lambda g: Guarantee.from_dict({"epsilonn": 1}),
            refusal("unknown-guarantee-field", says="did you mean 'epsilon'", field="epsilonn"),
        ),
        (lambda g: Guarantee.from_dict([1, 2]), refusal("guarantee-not-a-table", guarantee=(1, 2))),
    ],
)
def test_questions_that_mean_nothing_are_refused(call, text: Expected) -> None:  # type: ignore[no-untyped-def]
    with refused(text):
        call(STATED[0])


def test_making_a_guarantee_is_quick() -> None:
    assert STATED[0].mu > 0
    start = time.process_time()
    for k in range(50):
        assert Guarantee(epsilon=1 + k / 100, delta=1e-6).mu > 0
    assert time.process_time() - start < 50 * 0.005


def test_calibration_imports_no_library_of_numbers() -> None:
    code = """
import sys
from gaussmith.privacy.guarantee import Guarantee
g = Guarantee(mu=1) + Guarantee(rho=0.5)
assert Guarantee(epsilon=1, delta=1e-6).mu > 0.2367
assert "mpmath" not in sys.modules and "scipy" not in sys.modules
"""
    sources = str(Path(gaussmith.__file__).parents[1])
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={**os.environ, "PYTHONPATH": sources})


def test_limits_stand_where_they_are_stated():
    for wrong in ({"mu": 1.5e100}, {"mu": 0.5e-100}, {"rho": 1e201}, {"rho": 1e-201}):
        with pytest.raises(GuaranteeError):
            Guarantee(**wrong)
    assert Guarantee(mu=1e100).mu == 1e100 and Guarantee(mu=1e-100).mu == 1e-100
    with pytest.raises(GuaranteeError):
        Guarantee(mu=1).scaled(math.inf)


def test_a_number_of_parts_is_so_many_equal_ones():
    assert [each.mu for each in Guarantee(mu=1).split(4)] == [0.5] * 4
    assert Guarantee(mu=1).split(1) == (Guarantee(mu=1),)
    with pytest.raises(GuaranteeError):
        Guarantee(mu=1).split(0)
