"""Draws over keys that are found in the data, and what their keys cost: κ, beside μ.

A question about found keys has one draw that decides which groups are shown: its last lifted coordinate counts people,
and carries at least half of the squared norm. Other draws of the question (answers that leave out rows with missing
values, say) tell more about the groups that are shown. Under add-remove the release of all questions is

    δ(ε) = max over sets N of questions of  1 − Q_N + Q_N δ(ε − ln Q_N; √(μ² − Σ_N μ_i²))

(`numerics.found_keys`), which is checked here for a stated (ε, δ). A stated μ or ρ says nothing of keys: the release is
then κ-approximately μ-GDP, and its κ must be stated too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gaussmith.domains import FoundGroups
from gaussmith.errors import GuaranteeError, PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import fraction_down, smaller_reading, sqrt_downward, sqrt_upward
from gaussmith.numerics.found_keys import Found, keeps, largest_kappa, mu_beside
from gaussmith.plans.choice import plan_problem
from gaussmith.plans.draw import Draw
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.threshold import LARGEST_KAPPA, Threshold
from gaussmith.problem import Problem
from gaussmith.shapes.people_first import people_first
from gaussmith.statistics import Answers

NO_KEYS = Fraction(0)

ROUNDED = 1 - Fraction(1, 2**40)
"""What is left free where shares are rounded several times."""


def draw_found(
    groups: FoundGroups, guarantee: Guarantee, answers: Answers, missing: Mapping[str, float] | None = None
) -> Draw:
    """The draw of every found group; with a kappa it decides which groups are shown."""
    problem = Problem(groups.domain, answers.features, ADD_REMOVE)
    share = Guarantee(mu=fraction_down(Fraction(guarantee.mu) / Fraction(sqrt_upward(float(groups.at_most)))))
    block = plan_problem(problem, answers, share, missing)
    if groups.kappa is not None:
        block = replace(block, shape=people_first(problem, block.shape), alternatives=())
    return Draw(block, guarantee, ADD_REMOVE, groups)


def threshold_of(draw: Draw) -> Threshold | None:
    """What shows the groups of a draw; None where it does not decide."""
    groups = draw.groups
    if not isinstance(groups, FoundGroups) or groups.kappa is None:
        return None
    return Threshold(draw.block, groups.at_most, groups.kappa, groups.at_least)


def check_threshold(draw: Draw) -> None:
    """Refuse a draw of found keys whose threshold could be passed by less than stated; with all rounding upward."""
    threshold = threshold_of(draw)
    if threshold is None:
        return
    if not 0 < threshold.kappa <= LARGEST_KAPPA:
        raise PlanError(
            "found keys that are shown too easily",
            f"the probability spent on keys is above 0 and at most {float(LARGEST_KAPPA):g}",
            "plan again",
            code="kappa-out-of-range",
        )
    lift = draw.block.grid.lift
    last = lift.row(lift.shape[0] - 1)
    counts_people = lift.shape[1] > draw.block.codes.width and last[-1] > 0 and not last[:-1].any()
    if not (counts_people and threshold.holds() and threshold.people(1) > 0):
        raise PlanError(
            "found keys whose threshold does not hold",
            "the last lifted number counts people and nothing else, and spare numbers stay within the guarantee",
            "plan again",
            code="threshold-does-not-hold",
        )


def found_of(draws: Sequence[Draw]) -> list[Found]:
    """Each question about found keys: μ of all its draws together, and κ. Refuses a question that none decides."""
    squares: dict[int, Fraction] = {}
    kappas: dict[int, list[Fraction]] = {}
    for draw in draws:
        if isinstance(draw.groups, FoundGroups):
            which = draw.groups.which
            squares[which] = squares.get(which, Fraction(0)) + Fraction(draw.guarantee.mu) ** 2
            kappas.setdefault(which, []).extend([] if draw.groups.kappa is None else [draw.groups.kappa])
    if any(len(each) != 1 for each in kappas.values()):
        raise PlanError(
            "found keys that no draw decides, or several do",
            "one draw of a question decides which keys are shown",
            "plan again",
            code="found-keys-not-decided",
        )
    return [Found(sqrt_upward(square), kappas[which][0]) for which, square in squares.items()]


def check_alike(draws: Sequence[Draw]) -> None:
    """Refuse draws of one question about found keys that do not count the same people in the same groups.

    The person who makes a key must be, in every draw, in no other groups than those that were decided about. Only rows
    with missing values may be left out, and not by the draw that decides. No such draw shares its noise with others.
    """
    found = [(draw, draw.groups) for draw in draws if isinstance(draw.groups, FoundGroups)]
    deciding = {groups.which: (groups, draw.row_rule) for draw, groups in found if groups.kappa is not None}
    for draw, groups in found:
        rule = draw.row_rule
        leaves_out = groups.kappa is not None and rule is not None and bool(rule.present)
        alike = _counted(groups, rule) == _counted(*deciding[groups.which])
        if draw.tie is not None or leaves_out or not alike:
            raise PlanError(
                "draws of found keys that count other people than the one that decides",
                "all of them read the same rows and keep the same groups of a person",
                "plan again",
                code="found-draws-differ",
            )


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
        raise PlanError(
            "keys that a stage has found beside keys that are found later, or at no probability",
            f"all keys are found in the first stage, with probabilities above 0 and at most {float(LARGEST_KAPPA):g}",
            "plan again",
            code="keys-found-twice",
        )
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


def spent_by(draws: Sequence[Draw]) -> Guarantee:
    """The μ of all draws together, rounded up: what a ledger is charged for noise."""
    return Guarantee(mu=sqrt_upward(_square(draws)))


def _square(draws: Sequence[Draw]) -> Fraction:
    ties = {id(draw.tie): draw.tie.guarantee for draw in draws if draw.tie is not None}
    own = [draw.guarantee for draw in draws if draw.tie is None and not draw.is_public]
    return sum((Fraction(each.mu) ** 2 for each in (*ties.values(), *own)), Fraction(0))


def check_keys(draws: Sequence[Draw], guarantee: Guarantee) -> None:
    """Refuse found keys that do not fit into a stated (ε, δ) together with all noise."""
    found = found_of(draws)
    if not found:
        return
    check_alike(draws)
    if any(draw.neighbours != ADD_REMOVE for draw in draws):
        raise PlanError(
            "found keys under replace-one",
            "a replaced person may both show a key and hide one, and the number of people is public",
            "use add-remove",
            code="found-keys-under-replace-one",
        )
    others = _square([draw for draw in draws if not isinstance(draw.groups, FoundGroups)])
    if guarantee.epsilon is None or guarantee.delta is None:
        return
    epsilon, delta = smaller_reading(guarantee.epsilon), smaller_reading(guarantee.delta)
    if not keeps(delta, epsilon, found, sqrt_upward(others) if others else 0.0):
        raise _spends_too_much()


def _spends_too_much() -> PlanError:
    return PlanError(
        "found keys that spend too much",
        "noise and keys together must stay within (ε, δ)",
        "plan again",
        code="found-keys-spend-too-much",
    )


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
                "add keys_delta = 1e-7, or state epsilon and delta",
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
