"""Plans under pure ε: their errors, shares and laws, what is refused, and that a changed file never has less noise."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains import pure_strategies
from gaussmith.domains.pure_strategies import MAX_NORM
from gaussmith.errors import GaussmithError
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.planning import pure_lattice, pure_noise
from gaussmith.planning.error_distribution import normal_width
from gaussmith.planning.plan import Plan
from gaussmith.planning.pure_lattice import FINE
from gaussmith.requests import noise_laws

PURE = gm.Guarantee(epsilon=1)
BOTH = gm.Guarantee(epsilon=1, delta=1e-6)
LETTERS = list("abcdefghij")
THREE_VALUES: dict[str, Any] = {"histograms": {"h": LETTERS}, "unit": "u", "values_per_unit": 3}


def asked(guarantee: gm.Guarantee = PURE, **fields: Any) -> Plan:
    return gm.Request("people.csv", guarantee=guarantee, **fields).plan


def sums(count: int) -> dict[str, tuple[float, float]]:
    return {f"x{j}": (0, 1) for j in range(count)}


# -- errors, as NOISE.md has them --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"count": True}, [math.sqrt(1.84134718841558)]),
        ({"sums": sums(1)}, [1.4142135623731]),
        ({"sums": sums(1), "count": True}, [1.4142135623731, 2.0]),
        ({"sums": sums(5)}, [math.sqrt(7 * 8 / 6)] * 5),
        ({"sums": sums(5), "count": True}, [math.sqrt(7 * 8 / 6)] * 5 + [4.32049379893857]),
        ({"sums": sums(16)}, [math.sqrt(18 * 19 / 6)] * 16),
        ({"means": {"x": (0, 1)}, "complete": ["x"]}, [1.4142135623731]),
        ({"sums": {"x": (-1, 1)}}, [1.4142135623731]),
        ({"histograms": {"h": LETTERS}}, [math.sqrt(1.84134718841558)] * 10),
        (THREE_VALUES, [math.sqrt(Geometric(PURE.pure_epsilon, 3).variance)] * 10),
    ],
)  # fmt: skip
def test_errors_are_those_of_the_reference(fields: dict[str, Any], errors: list[float]) -> None:
    """The lattice of 2^−40 costs one step of rounding."""
    assert asked(**fields).standard_errors.tolist() == pytest.approx(errors, rel=3e-12)


def test_a_mean_in_each_of_ten_areas_has_the_error_of_one() -> None:
    plan = asked(means={"x": (0, 1)}, complete=["x"], by={"area": LETTERS})
    assert plan.queries[0].size == 10 and plan.pure_spent == 1
    # At an edge of the bounds; in their middle n does not matter, and the error is that of w, half as large in [0, 1].
    assert plan.standard_errors.tolist() == pytest.approx([math.sqrt(2)], rel=3e-12)
    assert float(plan.queries[0].block.noise_law.variance) / FINE**2 / 4 == pytest.approx(1.0)  # type: ignore[union-attr]


@pytest.mark.parametrize("numbers", [1, 2, 3, 4, 6, 9, 17, 33])
def test_deviations_of_counts_beside_sums_are_the_reference(numbers: int) -> None:
    reference = dict(zip((1, 2, 3, 4, 6, 9, 17, 33), (1.4142135623731, 2.0, 2.58198889747161, 3.16227766016838,
        4.32049379893857, 6.05530070819498, 10.6770782520313, 19.9164923283862), strict=True))  # fmt: skip
    plan = asked(sums=sums(numbers - 1), count=True) if numbers > 1 else asked(sums={"x": (-1, 1)})
    assert plan.standard_errors[-1] == pytest.approx(reference[numbers], rel=3e-12)


@pytest.mark.parametrize(
    ("fields", "half"),
    [
        ({"sums": {"x": (-1, 1)}}, "2.99573227355399"),
        ({"sums": {"x": (-1, 1)}, "count": True}, "4.11300328071964"),
        ({"sums": {"x": (-1, 1), "y": (-1, 1)}, "count": True}, "5.18633014572417"),
        ({"sums": {f"x{j}": (-1, 1) for j in range(5)}, "count": True}, "8.28166497067734"),
        ({"sums": {f"x{j}": (-1, 1) for j in range(16)}, "count": True}, "19.1164756875251"),
        ({"sums": {"x": (0, 2)}, "count": True}, "5.99146454711"),
        ({"sums": {"x": (-0.5, 1.5)}, "count": True}, "4.66994356492"),
        ({"sums": {"x": (0, 2), "y": (0, 2)}, "count": True}, "7.63292061034"),
        ({"sums": {"x": (-0.75, 1.25), "y": (0, 2)}, "count": True}, "5.37847151507"),
        ({"sums": {f"x{j}": (-0.3, 1.7) for j in range(5)}, "count": True}, "10.653708159"),
    ],
)
def test_half_widths_are_the_reference(fields: dict[str, Any], half: str) -> None:
    """A sum is mid · n + (range / 2) · w: one number of the cube, or two of them in this ratio."""
    frame = pl.DataFrame({name: [0.5, 0.25] for name in fields["sums"]})
    made = gm.release(gm.Request(frame, guarantee=PURE, **fields))
    _, high = made.raw_intervals(normal_width(0.95), "fieller")
    assert float(high.ravel()[0]) - made.values[0] == pytest.approx(float(half), rel=1e-9)


def test_least_noise_is_the_smaller_of_both_for_every_number_of_sums() -> None:
    laws = []
    for d in range(1, 129):
        least, own, gaussian = (
            asked(guarantee, sums=sums(d), noise=noise)
            for guarantee, noise in ((BOTH, "least"), (PURE, None), (BOTH, "gaussian"))
        )
        errors = [float(plan.standard_errors[0]) for plan in (least, own, gaussian)]
        assert errors[0] == min(errors[1:])
        assert errors[1] == pytest.approx(math.sqrt((d + 2) * (d + 3) / 6) if d > 1 else math.sqrt(2), rel=3e-12)
        laws.append(least.guarantee.is_pure)
    assert laws.index(False) == 31 and not any(laws[31:])  # 31 sums are the last


@pytest.mark.parametrize(("epsilon", "delta", "last"), [(0.1, 1e-6, 23), (0.5, 1e-6, 29), (3, 1e-6, 38), (1, 1e-9, 53)])
def test_where_both_laws_meet(epsilon: float, delta: float, last: int) -> None:
    stated = gm.Guarantee(epsilon=epsilon, delta=delta)
    laws = [asked(stated, sums=sums(d), noise="least").guarantee.is_pure for d in (last, last + 1)]
    assert laws == [True, False]


# -- shares ------------------------------------------------------------------------------------------------------------


def test_epsilon_is_split_in_cube_roots() -> None:
    shares = pure_noise.shares_of(Fraction(1), [1, 8, 27], [0, 0, 0])
    assert [float(each.pure_epsilon) for each in shares] == pytest.approx([1 / 6, 1 / 3, 1 / 2], rel=1e-12)
    assert sum(each.pure_epsilon for each in shares) <= 1
    assert sum(each.pure_epsilon for each in shares) > 1 - Fraction(1, 10**14)


def test_histograms_split_epsilon_so_that_the_total_is_least() -> None:
    """At equal weights a histogram of k values costs k/ε²: shares are as the cube roots of 5, 4, 3."""
    questions = [{"name": name, "histograms": {name: LETTERS[:k]}} for name, k in (("a", 5), ("b", 4), ("c", 3))]
    plan = asked(questions=questions, weights="equal")
    roots = [5 ** (1 / 3), 4 ** (1 / 3), 3 ** (1 / 3)]
    shares = [float(noise.epsilon) for noise in plan.pure_noises]
    assert shares == pytest.approx([root / sum(roots) for root in roots], rel=1e-9)
    assert 1 - Fraction(1, 10**14) < plan.pure_spent <= 1
    assert plan.shares() == pytest.approx(dict(zip("abc", shares, strict=True)))
    total = sum(k / share**2 for k, share in zip((5, 4, 3), shares, strict=True))
    for move in (0.01, -0.01):
        assert 5 / (shares[0] + move) ** 2 + 4 / (shares[1] - move) ** 2 + 3 / shares[2] ** 2 > total


def test_sums_of_filters_are_drawn_together_and_groups_share_epsilon() -> None:
    plan = asked(questions=[{"name": "a", "sums": sums(2)}, {"name": "b", "sums": {"y": (0, 9)}, "where": "z > 0"}])
    (noise,) = plan.pure_noises
    assert noise.members == (0, 1) and noise.law.numbers == 5 and noise.starts == (0, 3)
    plan = asked(sums=sums(1), by={"r": LETTERS[:3]}, unit="u", groups_per_unit=2)
    (noise,) = plan.pure_noises
    assert noise.copies == 3 and noise.law.epsilon == Fraction(1, 2) and noise.epsilon == 1


# -- the stated guarantee ----------------------------------------------------------------------------------------------


def test_parts_of_different_sensitivity_have_the_largest() -> None:
    """One law for all that is drawn together: its S is that of the part that a person changes the most."""
    questions = [{"name": "a", "count": "rows"}, {"name": "b", "count": True, "where": "z > 0"}]
    plan = asked(questions=questions, unit="u", rows_per_unit=5)
    (noise,) = plan.pure_noises
    own = [
        pure_lattice.certified_sensitivity(block.grid, MAX_NORM, block.domain, block.codes)
        for block in (query.block for query in plan.queries)
    ]
    assert len(set(own)) == 2 and noise.law.sensitivity == max(own)


def test_wide_noise_is_added_in_integers_of_any_size() -> None:
    """At a small ε noise leaves 64 bits: nothing may wrap around."""
    large = 2**62 + 2**61
    for lifted, noise in ((2**61, large), (large, 2**61), (-large, -large), (2**70, 1), (1, -(2**70))):
        kind = object if max(abs(lifted), abs(noise)) >= 2**63 else np.int64
        found = mechanism.add_pure(np.array([[lifted]], kind), np.array([[noise]], kind))
        assert [int(each) for each in found.ravel()] == [lifted + noise]
    plan = asked(gm.Guarantee(epsilon=1e-12), sums=sums(2))
    frame = pl.DataFrame({"x0": [0.5], "x1": [1.0]})
    made = gm.release(gm.Request(frame, guarantee=gm.Guarantee(epsilon=1e-12), sums=sums(2)))
    assert (abs(made.values) < 60 * plan.standard_errors).all() and abs(made.values).max() > 1e6


def test_a_pure_guarantee_has_no_mu() -> None:
    for read in (
        lambda: PURE.mu, lambda: PURE.mu_squared, lambda: PURE.charge(), lambda: PURE.rho,
        lambda: PURE.share(0.5).mu, lambda: (PURE + PURE).mu, lambda: PURE.log_delta_at(0.5),
        PURE.to_dp_event, lambda: gm.Guarantee(epsilon=1, delta=0.0).mu,
    ):  # fmt: skip
        with refused("no-mu-of-pure-epsilon"):
            read()


def test_pure_epsilon_beside_gaussian_noise_counts_as_the_mu_that_covers_it() -> None:
    vectors = {0.1: 0.125309012211608, 0.5: 0.623892592098508, 1: 1.2320353853449, 3: 3.3406837122406}
    for epsilon, mu in vectors.items():
        both = gm.Guarantee(epsilon=epsilon) + gm.Guarantee(mu=1)
        assert both.mu == pytest.approx(math.hypot(mu, 1), rel=1e-13)


@pytest.mark.parametrize(
    ("code", "guarantee", "fields"),
    [
        ("gaussian-noise-under-pure-epsilon", PURE, {"sums": sums(1), "noise": "gaussian"}),
        ("pure-noise-without-epsilon", gm.Guarantee(mu=1), {"sums": sums(1), "noise": "pure"}),
        ("pure-noise-without-epsilon", gm.Guarantee(rho=1), {"sums": sums(1), "noise": "pure"}),
        ("unknown-noise", BOTH, {"sums": sums(1), "noise": "laplace"}),
        ("pure-under-replace-one", PURE, {"sums": sums(1), "neighbours": "replace-one"}),
        ("pure-under-replace-one", BOTH, {"histograms": {"h": LETTERS}, "neighbours": "replace-one", "noise": "pure"}),
        ("found-groups-under-pure-epsilon", PURE, {"by": {"r": "found"}, "count": True, "keys_delta": 1e-7}),
        ("stages-under-pure-epsilon", PURE, {"means": {"x": "private"}}),
        ("stages-under-pure-epsilon", BOTH, {"means": {"x": "private"}, "noise": "pure"}),
        ("stages-under-pure-epsilon", PURE, {"medians": ["x"], "bins": {"x": "private"}}),
    ],
)  # fmt: skip
def test_what_pure_noise_cannot_do_is_refused(code: str, guarantee: gm.Guarantee, fields: dict[str, Any]) -> None:
    with refused(code):
        asked(guarantee, **fields)


def test_least_noise_beside_stages_never_chooses_after_one() -> None:
    """The law is fixed before data is read: stages are Gaussian to the end, whatever is asked."""
    plan = asked(BOTH, means={"x": "private"}, noise="least")
    assert not plan.guarantee.is_pure and plan.staging is not None and not plan.staging.first.guarantee.is_pure


# -- saved -------------------------------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {
        "x0": [0.0, 0.5, 1.0, None],
        "x1": [1.0, 0.25, 0.0, 1.0],
        "h": ["a", "b", "a", None],
        "r": ["a", "b", "c", "a"],
        "u": [1, 2, 2, 3],
        "z": [1, 0, 1, 1],
    }
)
KEPT: dict[str, dict[str, Any]] = {
    "count": {"count": True},
    "sums": {"sums": sums(2), "count": True},
    "groups": {"sums": sums(1), "by": {"r": LETTERS[:3]}, "unit": "u", "groups_per_unit": 2},
    "together": {
        "questions": [{"name": "a", "sums": sums(1)}, {"name": "b", "sums": {"x1": (0, 1)}, "where": "z > 0"}]
    },
    "by one column": {
        "questions": [
            {"name": "a", "sums": sums(2), "by": {"r": ["a", "b"]}},
            {"name": "b", "count": True, "where": "z > 0", "by": {"r": ["a", "b"]}},
        ]
    },
    "histograms": {
        "questions": [{"name": "a", "histograms": {"h": ["a", "b"]}}, {"name": "b", "histograms": {"r": LETTERS[:3]}}]
    },
    "variances": {"variances": sums(2)},
    "tables": {"marginals": [["h", "r"], ["r"]], "values": {"h": ["a", "b"], "r": LETTERS[:3]}},
}


@pytest.mark.parametrize("name", KEPT)
def test_plans_and_releases_are_kept(name: str) -> None:
    request = gm.Request(FRAME, guarantee=PURE, **KEPT[name])
    plan = request.plan
    again = Plan.from_json(plan.to_json())
    assert again.to_json() == plan.to_json() and again.hash == plan.hash
    assert [noise.law for noise in again.pure_noises] == [noise.law for noise in plan.pure_noises]
    assert plan.guarantee.is_pure and again.guarantee.is_pure
    made = gm.release(request)
    back = gm.read(made.to_json())
    assert str(back) == str(made) and back.to_json() == made.to_json()
    assert "δ=0" in str(made)


SAVED = {name: asked(**fields).to_dict() for name, fields in KEPT.items()}
SAVED["gaussian"] = asked(gm.Guarantee(mu=1), sums=sums(1)).to_dict()


def changed(name: str, edits: dict[str, Any]) -> dict[str, Any]:
    """A saved plan with some fields changed, each by its path; `guarantee` alone is that of the whole plan."""
    fields = copy.deepcopy(SAVED[name])
    for path, to in edits.items():
        place, *between, last = fields, *path.split()
        for each in between:
            place = place[int(each) if each.isdigit() else each]
        assert last not in place or place[last] != to, path
        place[last] = to
        if to is None:
            del place[last]
    return fields


FIRST, SECOND = "queries 0", "queries 1"
DRAWN = f"{FIRST} block drawn"
LIFT = f"{FIRST} block shape lift"
MU, ALONE, DELTA = {"mu": 5.0}, {"epsilon": 5.0}, {"epsilon": 0.5, "delta": 1e-6}

DAMAGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a lower sensitivity": ("sums", {f"{DRAWN} sensitivity": 2**40}),
    "a sensitivity of 1": ("sums", {f"{DRAWN} sensitivity": 1}),
    "no sensitivity": ("count", {f"{DRAWN} sensitivity": 0}),
    "a fraction": ("count", {f"{DRAWN} sensitivity": 1.5}),
    "the other norm": ("sums", {f"{DRAWN} norm": "1"}),
    "no norm": ("sums", {f"{DRAWN} norm": "2"}),
    "whole numbers that are not": ("sums", {f"{DRAWN} scale": 1.0}),
    "whole numbers with a wide law": ("sums", {f"{DRAWN} scale": 1.0, f"{DRAWN} sensitivity": 2**44}),
    "half steps on whole numbers": ("count", {f"{LIFT} entries": [0.5]}),
    "another lattice": ("sums", {f"{DRAWN} scale": 2.0**20}),
    "fewer numbers": ("sums", {f"{DRAWN} numbers": 2}),
    "more numbers": ("sums", {f"{DRAWN} numbers": 4}),
    "another start": ("together", {f"{SECOND} block drawn start": 0}),
    "the start of another": ("together", {f"{DRAWN} start": 1}),
    "a start before all": ("together", {f"{DRAWN} start": -1}),
    "another noise": ("together", {f"{SECOND} noise": 1}),
    "noise of another": ("histograms", {f"{SECOND} noise": 0}),
    "groups of another column": (
        "by one column",
        {f"{SECOND} row_rule by": ["z"], f"{SECOND} groups columns": ["z"]},
    ),
    "no noise": ("together", {f"{SECOND} noise": None}),
    "no law": ("together", {f"{SECOND} block drawn": None}),
    "a larger ε in a group": ("groups", {f"{FIRST} block guarantee": {"epsilon": 0.50001}}),
    "all of ε in every group": ("groups", {f"{FIRST} block guarantee": {"epsilon": 1.0}}),
    "ε used twice": (
        "histograms",
        {f"{FIRST} guarantee": {"epsilon": 1.0}, f"{FIRST} block guarantee": {"epsilon": 1.0}},
    ),
    "a larger ε in a block": ("sums", {f"{FIRST} block guarantee": {"epsilon": 2.0}}),
    "μ in a query": ("histograms", {f"{FIRST} guarantee": MU}),
    "μ in a query and its block": ("histograms", {f"{FIRST} guarantee": MU, f"{FIRST} block guarantee": MU}),
    "δ in a query and its block": ("histograms", {f"{FIRST} guarantee": DELTA, f"{FIRST} block guarantee": DELTA}),
    "a larger lift": ("sums", {f"{LIFT} inner": [1.0, 1.0, 1.0000001]}),
    "a lift off its middle": ("sums", {f"{LIFT} border": [0.0, 1e-6, 0.0]}),
    "squares off their middle": ("variances", {f"{LIFT} border": [0.0] * 3}),
    "a table that is not told": ("tables", {f"{LIFT} tables": [[0, 1]]}),
    "replace-one": (
        "sums",
        {f"{FIRST} neighbours": "replace-one", f"{FIRST} block neighbours": "replace-one", "neighbours": "replace-one"},
    ),
    "less ε in all": ("sums", {"guarantee": {"epsilon": 0.999}}),
    "δ for the whole": ("sums", {"guarantee": {"epsilon": 1.0, "delta": 1e-6}}),
    "Gaussian noise, ε alone for the whole": ("gaussian", {"guarantee": ALONE}),
    "Gaussian noise, ε alone for its query": ("gaussian", {"guarantee": ALONE, f"{FIRST} guarantee": ALONE}),
    "Gaussian noise, ε alone everywhere": (
        "gaussian",
        {"guarantee": ALONE, f"{FIRST} guarantee": ALONE, f"{FIRST} block guarantee": ALONE},
    ),
    "Gaussian noise with a number": ("gaussian", {"guarantee": ALONE, f"{FIRST} noise": 0}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_plan_that_was_changed_is_refused(name: str) -> None:
    with pytest.raises(GaussmithError) as caught:
        Plan.from_json(json.dumps(changed(*DAMAGED[name]))).certify()
    assert caught.value.code in ("plan-damaged", "no-mu-of-pure-epsilon"), str(caught.value)


# -- faults ------------------------------------------------------------------------------------------------------------


def misses(check: Callable[[], None]) -> bool:
    """Whether a test above notices what was planted: it fails, or the plan is refused."""
    try:
        check()
    except (AssertionError, GaussmithError, pytest.fail.Exception):
        return True
    return False


def refused_changes() -> None:
    for name in DAMAGED:
        test_a_plan_that_was_changed_is_refused(name)


FAULTS = [
    (pure_lattice.certify_block, "> drawn.sensitivity", "> 2 * drawn.sensitivity", refused_changes),
    (pure_lattice._check_whole, 'raise damaged_plan("counts that are not whole")', "pass", refused_changes),
    (pure_lattice.certified_sensitivity, "math.ceil(largest) + 1", "math.ceil(largest)", refused_changes),
    (pure_noise._lattice, "largest = max(", "largest = min(", test_parts_of_different_sensitivity_have_the_largest),
    (mechanism._fits_words, "< 1 << 62", "> -1", test_wide_noise_is_added_in_integers_of_any_size),
    (
        noise_laws.refuse_stages,
        "if request.guarantee.is_pure or",
        "if",
        lambda: test_what_pure_noise_cannot_do_is_refused(
            "stages-under-pure-epsilon", PURE, {"means": {"x": "private"}}
        ),
    ),
    (pure_noise.certify_query, "held * taken", "taken", refused_changes),
    (pure_noise.certify_pure, "spent += noise.epsilon", "spent = noise.epsilon", refused_changes),
    (pure_noise.PureNoise.certify, "if start != self.law.numbers:", "if start > self.law.numbers:", refused_changes),
    (pure_noise.PureNoise.certify, "if drawn.start != start or ", "if ", refused_changes),
    (pure_noise.shares_of, "cost ** (1 / 3)", "cost ** (1 / 2)", test_epsilon_is_split_in_cube_roots),
    (
        pure_strategies._largest_marks,
        "[n - k :]",
        "[n - 1 :]",
        lambda: test_errors_are_those_of_the_reference(
            THREE_VALUES,
            [math.sqrt(Geometric(PURE.pure_epsilon, 3).variance)] * 10,
        ),
    ),
]


@pytest.mark.parametrize(("function", "right", "wrong", "check"), FAULTS, ids=[each[2] for each in FAULTS])
def test_a_fault_is_noticed(
    function: Any, right: str, wrong: str, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not misses(check)
    plant(monkeypatch, function, right, wrong)
    assert misses(check)


def test_laws_of_whole_numbers_and_of_others() -> None:
    (count,) = asked(count=True).pure_noises
    assert count.law == Cube(Fraction(1), 1, 1)
    (values,) = asked(**THREE_VALUES).pure_noises
    assert values.law == Geometric(Fraction(1), 3, 10)  # S = 1 would be for one value
    (ages,) = asked(sums={"age": (0, 120)}).pure_noises
    assert ages.law.sensitivity == 2**40 + 1  # whole ages are on the fine lattice like any other numbers
