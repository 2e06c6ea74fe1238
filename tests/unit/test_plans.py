"""Plans as values: saved, hashed, explained; what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import damaged, refusal, refused

import gaussmith as gm
from gaussmith.errors import DomainError, PlanError, RequestError
from gaussmith.planning.certificate import verify
from gaussmith.planning.certified_grid import NOISE_BITS, Grid

G = gm.Guarantee(epsilon=1, delta=1e-6)
BOX = gm.Box({"age": (0, 100), "income": (0, 2e5)})


def block_of(fields):
    """The fields of a saved plan's only block."""
    (query,) = fields["queries"]
    return query["block"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"count": True, "weights": "relative"},
        {"answers": "means", "count": True},
        {"neighbours": "replace-one", "answers": "means"},
        {"answers": [[1, 1], [1, -1]], "weights": [1, 2]},
        {"shape": "isotropic"},
    ],
)
def test_a_plan_survives_json_with_its_hash_and_errors(options):
    plan = gm.plan(BOX, G, **options)
    again = gm.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.hash == plan.hash
    assert again.to_json() == plan.to_json()
    assert (again.standard_errors == plan.standard_errors).all()
    assert again.lower_bound == plan.lower_bound


def test_different_plans_have_different_hashes():
    plans = [gm.plan(BOX, G), gm.plan(BOX, G, count=True), gm.plan(BOX, gm.Guarantee(epsilon=1, delta=1e-7))]
    assert len({p.hash for p in plans}) == 3


@pytest.mark.parametrize("factor", [3.0, 1e6, 0.5, 1e-6])
def test_noise_is_made_for_the_lift_that_a_file_holds(factor):
    """No field says how large the noise is: a lift changed by hand gets the noise that it needs."""
    honest = gm.plan(BOX, G, shape="lifted")
    fields = honest.to_dict()
    lift = fields["queries"][0]["block"]["shape"]["lift"]
    lift["entries"] = [factor * x for x in lift["entries"]]
    tampered = gm.Plan.from_json(json.dumps(fields)).block
    assert tampered.noise_scale == pytest.approx(factor * honest.block.noise_scale, rel=1e-9)
    largest = tampered.grid.reach(tampered.domain, tampered.codes, tampered.neighbours)
    assert largest <= G.mu * 2.0**NOISE_BITS
    assert largest == pytest.approx(G.mu * 2.0**NOISE_BITS, rel=1e-9)


@pytest.mark.parametrize("excess", [1e-12, 1e-3, 2.0])
def test_a_plan_with_less_noise_than_its_guarantee_needs_is_refused(excess):
    """Where files do state a share of the guarantee they are refused when read; a grid by whoever verifies the plan."""
    plan = gm.plan(BOX, G)
    block = plan.queries[0].block
    lift, scale = block.grid.lift, block.grid.scale * (1 + excess)
    block.__dict__["grid"] = Grid(lift.scaled(np.full(lift.shape[1], 1 + excess)), scale)
    found = verify(plan, plan.certificate)
    assert found.reach > 1
    assert found.problems[0].startswith("the guarantee does not hold: neighbours are further apart")
    honest = gm.plan(BOX, G)
    assert verify(honest, honest.certificate).problems == ()

    for by in (gm.Groups({"k": [1, 2]}, BOX), gm.Groups({"k": [1, 2]}, BOX, at_most=2)):
        for neighbours in ("add-remove", "replace-one"):
            fields = gm.plan(by, G, neighbours=neighbours).to_dict()
            gm.Plan.from_json(json.dumps(fields))
            block_fields = fields["queries"][0]["block"]
            stated = gm.Guarantee.from_dict(block_fields["guarantee"]).mu
            block_fields["guarantee"] = {"mu": stated * (1 + excess)}
            with refused(damaged("a query that does not fit its tie") if fields["ties"] else damaged("is too large")):
                gm.Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.update(format=99), refusal("unknown-plan-format", format=99)),
        (lambda f: f.update(extra=1), damaged("that are missing or not known")),
        (lambda f: f.pop("neighbours"), damaged("that are missing or not known")),
        (lambda f: f.update(neighbours="friends"), refusal("unknown-neighbours", neighbours="friends")),
        (lambda f: f.update(neighbours="replace-one"), damaged("queries whose neighbours differ from the plan's")),
        (lambda f: f.update(queries=[]), damaged("whose answers are not in the plan")),
        (lambda f: f.update(queries=None), damaged("cannot be read")),
        (lambda f: f["queries"].append(f["queries"][0]), damaged("queries that spend too much")),
        (lambda f: f["queries"][0].update(extra=1), damaged("a query that cannot be read")),
        (lambda f: f["queries"][0].update(neighbours="replace-one"), damaged("is too large")),
        (lambda f: f["queries"][0].update(guarantee={"mu": 0.01}), damaged("is too large")),
        (lambda f: block_of(f).pop("shape"), damaged("that are missing or not known")),
        (lambda f: block_of(f)["domain"].update(kind="torus"), refusal("unknown-domain-kind", kind="torus")),
        (lambda f: block_of(f).update(neighbours="friends"), refusal("unknown-neighbours", neighbours="friends")),
        (lambda f: block_of(f)["shape"]["lift"].update(kind="magic"), refusal("unknown-matrix-kind", kind="magic")),
        (lambda f: block_of(f)["shape"].pop("counted"), damaged("cannot be read")),
        (
            lambda f: block_of(f)["shape"].update(counted=not block_of(f)["shape"]["counted"]),
            damaged("features for other answers"),
        ),
        (lambda f: f.update(questions=[]), damaged("questions with the same name, or no questions")),
        (lambda f: f["questions"].append(f["questions"][0]), damaged("questions with the same name, or no questions")),
        (lambda f: f["questions"][0]["pieces"][0].update(query=1), damaged("whose answers are not in the plan")),
        (lambda f: f["questions"][0]["pieces"][0].update(query=-1), damaged("whose answers are not in the plan")),
        (lambda f: f["questions"][0]["pieces"][0].update(answers=[0, 3]), damaged("whose answers are not in the plan")),
        (lambda f: f["questions"][0]["pieces"][0].update(answers=[-1]), damaged("whose answers are not in the plan")),
    ],
)
def test_plans_that_are_not_understood_are_refused(change, words):
    fields = gm.plan(BOX, G, count=True).to_dict()
    change(fields)
    with refused(words):
        gm.Plan.from_json(json.dumps(fields))


def test_a_lift_that_is_not_finite_is_refused():
    for entry in (float("inf"), float("nan")):
        fields = gm.plan(BOX, G, shape="lifted").to_dict()
        block_of(fields)["shape"]["lift"]["entries"][0] = entry
        with pytest.raises(RequestError):
            gm.Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize("options", [{}, {"weights": "relative", "count": True}, {"answers": "means"}])
def test_scales_however_far_apart_are_planned_and_read_back(options):
    """Where solving would lose digits the closed form is used; a record is read back to far less than its noise."""
    rng = np.random.default_rng()
    for _ in range(12):
        d = int(rng.integers(2, 7))
        lower = rng.normal(size=d) * 10.0 ** rng.integers(-9, 9, d)
        upper = lower + np.maximum(rng.random(d) * 10.0 ** rng.integers(-9, 9, d), np.abs(lower) * 1e-9)
        plan = gm.plan(gm.Box(lower, upper), G, **options)
        centre, radius = plan.domain.coded
        through = plan.block.shape.features.dense() @ plan.block.shape.lift.dense()
        wanted = np.column_stack([np.diag(radius), np.zeros(d) if plan.answers.any_divided else centre])
        lost = np.abs(through[:d] - wanted).sum(axis=1) / plan.standard_errors[:d]
        assert lost.max() < 1e-12


def test_a_plan_that_is_not_json_is_refused():
    with refused("plan-not-json"):
        gm.Plan.from_json("age: 100")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda: gm.Box([1], [0]), DomainError, refusal("bounds-reversed", column="0", lower=1.0, upper=0.0)),
        (lambda: gm.Box([1], [1]), DomainError, "bounds-equal"),
        (lambda: gm.Box([float("nan")], [1]), DomainError, "bounds-not-finite"),
        (lambda: gm.Box([0], [float("inf")]), DomainError, "bounds-not-finite"),
        (lambda: gm.Box([0]), DomainError, "upper-missing"),
        (lambda: gm.Box([0, 0], [1]), DomainError, refusal("lower-and-upper-differ-in-number", lower=2, upper=1)),
        (lambda: gm.Box([], []), DomainError, "box-without-coordinates"),
        (lambda: gm.Box({"age": (0,)}), DomainError, refusal("bounds-not-two-numbers", column="age", bounds=(0,))),
        (lambda: gm.Box({"age": (0, 1)}, [1]), DomainError, "upper-beside-mapping"),
        (lambda: gm.Box("ab", "cd"), DomainError, "bounds-not-numbers"),
        (lambda: gm.Box([[0]], [[1]]), DomainError, refusal("bounds-not-one-list", dimensions=2)),
        (lambda: gm.Box([0, 0], [1, 1], ["a", "a"]), DomainError, refusal("coordinate-name-twice", name="a")),
        (lambda: gm.Box([-1e308], [1e308]), DomainError, "bounds-out-of-scale"),
        (lambda: gm.Box([0], [1e-310]), DomainError, "bounds-out-of-scale"),
        (lambda: gm.domains.Ball(0, 1), DomainError, refusal("whole-number-out-of-range", name="dimension", value=0)),
        (lambda: gm.domains.Ball(3, 0), DomainError, refusal("number-out-of-range", name="radius", value=0)),
        (lambda: gm.domains.Ball(3, float("nan")), DomainError, refusal("number-out-of-range", name="radius")),
        (lambda: gm.domains.Ball(3, 1e-200), DomainError, "radius-too-small"),
        (lambda: gm.domains.Ball(3, 1, [0, 0]), DomainError, refusal("centre-does-not-match-dimension", shape=(2,))),
        (
            lambda: gm.domains.Ball(2, 1, names=["a"]),
            DomainError,
            refusal("names-do-not-match-coordinates", names=1, coordinates=2),
        ),
        (lambda: gm.plan(BOX, G, neighbours="replace"), PlanError, refusal("unknown-neighbours", neighbours="replace")),
        (
            lambda: gm.plan(BOX, G, answers="mean"),
            PlanError,
            refusal("unknown-answers", says="did you mean 'means'", answers="mean"),
        ),
        (lambda: gm.plan(BOX, G, answers=[[1, 2, 3]]), PlanError, refusal("answers-malformed", dimension=2)),
        (lambda: gm.plan(BOX, G, answers=[[0, 0]]), PlanError, "answer-always-zero"),
        (
            lambda: gm.plan(BOX, G, weights="relativ"),
            PlanError,
            refusal("unknown-weights", says="did you mean 'relative'", weights="relativ"),
        ),
        (lambda: gm.plan(BOX, G, weights=[1, 0]), PlanError, refusal("weights-malformed", size=2)),
        (
            lambda: gm.plan(BOX, G, shape="eliptical"),
            PlanError,
            refusal("unknown-shape", says="did you mean 'elliptical'"),
        ),
        (lambda: gm.plan("age", G), PlanError, refusal("plan-without-domain", type="str")),
        (lambda: gm.plan(BOX, 1.0), PlanError, refusal("plan-without-guarantee", type="float")),
        (
            lambda: gm.plan(BOX, G, missing={"agee": 1}),
            PlanError,
            refusal("missing-names-no-column", says="did you mean 'age'"),
        ),
        (
            lambda: gm.plan(BOX, G, missing={"age": 200}),
            PlanError,
            refusal("missing-outside-bounds", column="age", low=0, high=100),
        ),
        (lambda: gm.plan(gm.domains.Ball(2, 1), G, missing={"0": 1}), PlanError, "missing-not-for-this-domain"),
        (lambda: gm.plan(gm.Records(), G), PlanError, "no-answers"),
        (lambda: gm.plan(BOX, gm.Guarantee(mu=1e-16)).certify(), PlanError, "guarantee-too-small-for-rounding"),
        (lambda: gm.plan(BOX, G, answers="means").errors(), PlanError, refusal("number-out-of-range", name="rows")),
        (
            lambda: gm.plan(gm.Box(np.zeros(20_001), np.ones(20_001)), G).covariance(),
            PlanError,
            refusal("covariance-too-large", answers=20001),
        ),
    ],
)
def test_wrong_plans_are_refused_in_words(arguments, error, words):
    with refused(words, error):
        arguments()


def test_covariance_has_the_standard_errors_on_its_diagonal():
    for options in ({"count": True}, {"answers": "means", "count": True}, {"neighbours": "replace-one", "count": True}):
        plan = gm.plan(BOX, G, **options)
        diagonal = np.sqrt(np.diag(plan.covariance()))
        assert diagonal == pytest.approx(plan.standard_errors)
        assert plan.standard_errors[-1] == plan.block.count_standard_error


def test_total_is_the_weighted_sum_of_squared_errors():
    plan = gm.plan(BOX, G, count=True, weights=[2.0, 1e-6])
    assert plan.total_variance == pytest.approx(np.array([2.0, 1e-6, 1.0]) @ plan.standard_errors**2)


def test_errors_are_in_the_units_of_the_answers():
    plan = gm.plan(BOX, G, answers="means", count=True)
    errors = plan.errors(rows=1000)
    assert errors["age"] == pytest.approx(plan.standard_errors[0] / 1000)
    assert errors["count"] == plan.block.count_standard_error


def test_replace_one_gives_the_count_exactly_and_free():
    plan = gm.plan(BOX, G, neighbours="replace-one", count=True)
    assert plan.block.count_standard_error == 0
    assert plan.total_variance == pytest.approx(gm.plan(BOX, G, neighbours="replace-one").total_variance)


def test_the_explanation_names_the_choice_the_alternatives_and_the_limit():
    text = gm.plan(gm.Box(np.zeros(16), np.ones(16)), G).explain()
    for words in ("lifted box", "2.56 × the total squared error", "no Gaussian noise", "never the data", "secret"):
        assert words in text


def test_printing_a_plan_reads_as_a_table():
    text = str(gm.plan(BOX, G, count=True, weights="relative"))
    assert text.splitlines()[0].split() == ["answer", "±", "error", "standard", "Gaussian", "ratio"]
    assert "adding or removing one person; the number of people is secret" in text
    assert "<table>" in gm.plan(BOX, G)._repr_html_()


def test_names_of_columns_are_escaped_in_html():
    page = gm.plan(gm.Box({"<script>": (0, 1)}), G)._repr_html_()
    assert "<script>" not in page


def test_groups_by_their_worst_answer_have_a_bound_of_the_same_kind():
    groups = gm.Groups({"g": ["a", "b", "c"]}, gm.Cells(4), at_most=2)
    plan = gm.plan(groups, gm.Guarantee(mu=1), objective="worst", targets=[0.1] * 4)
    assert plan.price == plan.block.price
    assert plan.lower_bound == pytest.approx(plan.block.lower_bound / 2)
    assert plan.optimality == pytest.approx(plan.price / plan.lower_bound)
    assert f"is {plan.price:.6g}, and no" in plan.explain()


@pytest.mark.parametrize("weights", ["equal", "relative", [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("work", [gm.workloads.prefix(3), gm.workloads.marginals([3, 2, 2], 1)])
def test_the_weights_of_a_workload_are_read_back(work, weights):
    cells = gm.Cells(shape=(3, 2, 2)) if isinstance(work, gm.workloads.Marginals) else gm.Cells(3)
    plan = gm.plan(cells, gm.Guarantee(mu=1), answers=work, weights=weights)
    again = gm.Plan.from_json(plan.to_json())
    assert again.hash == plan.hash and again.answers.weighting == plan.answers.weighting
    assert (again.answers.weights == plan.answers.weights).all()


def test_a_plan_and_a_request_have_the_same_default_weights() -> None:
    bounds = {"age": (0.0, 100.0), "income": (0.0, 200_000.0)}
    unit = gm.Guarantee(mu=1)
    plan = gm.plan(gm.Box(bounds), unit, count=True)
    request = gm.Request("people.parquet", sums=bounds, count=True, guarantee=unit)
    assert plan.standard_errors == pytest.approx(request.plan.standard_errors, rel=1e-12)
    assert plan.hash == gm.plan(gm.Box(bounds), unit, count=True, weights="relative").hash
    assert plan.hash != gm.plan(gm.Box(bounds), unit, count=True, weights="equal").hash


def test_targets_take_the_place_of_weights() -> None:
    unit, prefix = gm.Guarantee(mu=1), gm.workloads.prefix(4)
    worst = gm.plan(gm.Cells(4), unit, answers=prefix, objective="worst")
    assert worst.block.answers.weighting == "equal" and worst.block.problem.features.targets is not None
    for weights in ("equal", [1, 2, 3, 4]):
        with pytest.raises(PlanError, match="give targets= instead") as caught:
            gm.plan(gm.Cells(4), unit, answers=prefix, objective="worst", weights=weights)
        assert caught.value.code == "weights-with-objective-worst"
