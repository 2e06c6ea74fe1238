"""How little noise all draws of a plan need together, also where they do not share it.

A lower bound for each draw by itself leaves out that one person is in all of them. Draws that could share a noise are
one body (`tied_people`), whatever noise they have: a law on its people bounds every Gaussian noise for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from gaussmith.domains import Cells, Moments
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.tied.ladder import NOBODY, solve
from gaussmith.numerics.tied.parts import Body, Part
from gaussmith.numerics.trace_roots import square_down
from gaussmith.plans.crossed_tie import KIND, CrossedTie
from gaussmith.plans.crossing import bound_tables
from gaussmith.plans.draw import Draw
from gaussmith.plans.lending import Borrower, find_borrowers, find_centres
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.rule_columns import columns_asked
from gaussmith.plans.tie import law_for, types_numbers, types_of
from gaussmith.plans.tied_people import make_body, parts_of, placed
from gaussmith.plans.tying import everybody_of
from gaussmith.problem import Law, Problem
from gaussmith.problem.law import TOGETHER, check_law
from gaussmith.proofs.cells import cells_beside
from gaussmith.proofs.crossed import tables_beside
from gaussmith.proofs.moments import moments_beside
from gaussmith.proofs.tied import Beside, lower_bound

if TYPE_CHECKING:
    from gaussmith.plans.draw import AnyTie
    from gaussmith.plans.plan import Plan


def least_price(plan: Plan) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price: the best bound that is known."""
    mu = plan.guarantee.mu
    least = {id(each): plan.worth_of(each) * each.lower_bound * (each.bound_mu / mu) ** 2 for each in plan.noises}
    if len(least) == 1 or plan.neighbours == ADD_REMOVE:
        alone = sum(least.values())
        return max(alone, bound_together(plan)) if len(least) > 1 and not plan.is_narrowed else alone
    tables = []
    # What changes in tables of the same keys has no signs of its own.
    for members, bound in () if plan.is_narrowed else _loose_tables(plan):
        each = sum(least.pop(id(_noise_of(plan.draws[i]))) for i in members)
        tables.append(max(each, bound / mu**2 * (1.0 - 2.0**-45)))
    families = [sum(least[key] for key in family) for family in _families(plan, least)]
    return square_down(sum(map(math.sqrt, [*tables, *families])) * (1 - 2.0**-45))


def _families(plan: Plan, least: Container[int]) -> list[list[int]]:
    """Noises whose differences are bound together: a value that is replaced changes all that is read from its column.

    Draws of groups and columns are taken as independent, as in every body of theirs.
    """
    found: list[tuple[set[str], list[int]]] = []
    for noise in plan.noises:
        if id(noise) not in least:
            continue
        columns: set[str] = set()
        if isinstance(noise, Draw) and _parts(noise, None, 1.0) is None:
            columns = columns_asked(noise.row_rule or RowRule(()), None)
        joined = [each for each in found if not each[0].isdisjoint(columns)]
        found = [each for each in found if each[0].isdisjoint(columns)]
        members = [key for _, keys in joined for key in keys]
        found.append((set.union(columns, *(names for names, _ in joined)), [*members, id(noise)]))
    return [keys for _, keys in found]


Least = dict[int, float]
"""The least price of noises at μ = 1, by their identity, where it was proven anew."""


def bound_together(plan: Plan, law: Law | None = None, lower: float = 0.0, proven: Least | None = None) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price for all draws; 0 where nothing is known.

    Draws that cannot share a noise have laws of their own beside that of the others where nothing binds them: where a
    person can be anything in each, whatever it is elsewhere. Other draws add their own bounds. So do tables of the same
    keys: nobody is in any cell of each, and as parts of one body they would be bounded by more than they need.
    Guarantee: rounded down. Proof: docs/theory.md, statements 44 and 61. A `law` may be given with what it
    proves, and what was `proven` of each noise.
    """
    if law is None:
        law = plan.together
        lower = 0.0 if law is None else law.lower
    if law is None:
        return 0.0
    held = {plan.ties[k].members for k in _told_tables(law)}
    apart = sum(bound for tables, bound in _keyed(plan, proven) if tables not in held)
    apart += sum(_alone(plan, plan.draws[i], proven) for i in _apart(plan, law))
    return (lower + apart) / plan.guarantee.mu**2 * (1.0 - 2.0**-45)


def law_together(plan: Plan) -> Law | None:
    """A law on what a person is in all draws at once that can be bounded together; None where nothing is known."""
    if plan.neighbours != ADD_REMOVE:
        return None
    scales = _scales(plan)
    keyed = {i for tables, _ in _keyed(plan) for i in tables}
    rest = [i for i in range(len(plan.draws)) if i not in keyed]
    where = _everybody(plan, rest)
    parts = {i: _parts(plan.draws[i], where, scales[i]) for i in rest}
    if any(each is None and plan.draws[i].tie is not None for i, each in parts.items()):
        return None
    found = [(i, each) for i, each in parts.items() if each is not None]
    loose = [(i, plan.draws[i], scales[i]) for i, each in parts.items() if each is None]
    members, places = placed(found, scales)
    borrowers = [each for each in find_borrowers(loose, where) if _is_free(plan, each.place, members, where)]
    beside: list[Borrower] = []
    for each in borrowers:
        if _is_free(plan, each.place, [other.place for other in beside], where):
            beside.append(each)
    others, tables = [*members, *(b.place for b in beside)], {}
    for k, tie in enumerate(plan.ties):
        if isinstance(tie, CrossedTie) and all(_is_free(plan, i, others, where) for i in tie.members):
            tables[f"{TABLES}{k}"] = tie.bounding_law.numbers["weights"]
            others += tie.members
    if not members and len(beside) + len(tables) < 2:
        beside, tables = [], {}  # its own bound is as good
    try:
        with within_doubles():
            body = make_body([plan.draws[i] for i in members], places, where)
            numbers = {"members": np.array(members, float), "beside": np.array([b.place for b in beside], float)}
            numbers |= tables
            raised = body
            if beside:
                lending = find_centres(beside, partial(_raised_total, body))
                raised = replace(body, people_weight=body.people_weight + lending.energy)
                for b, centred in zip(beside, lending.centred, strict=True):
                    numbers |= {f"{b.place} {name}": values for name, values in centred.law.numbers.items()}
            numbers |= types_numbers(law_for(raised, plan.neighbours) if body.parts else NOBODY)
            law = Law(TOGETHER, 0.0, numbers)
            return replace(law, lower=proven_together(plan, law))
    except PlanError:
        return None


def proven_together(plan: Plan, law: Law) -> float:
    """What a law on all that a person is proves at μ = 1 for the draws it is about; rounded down.

    Refuses a law that binds what a person is in one draw to what it is in another.
    """
    check_law(law.kind == TOGETHER and plan.neighbours == ADD_REMOVE)
    scales = _scales(plan)
    members, beside = ([int(i) for i in law.numbers[name]] for name in ("members", "beside"))
    chosen = [*members, *beside]
    check_law(len(set(chosen)) == len(chosen) and all(0 <= i < len(plan.draws) for i in chosen))
    keyed = {i for tables, _ in _keyed(plan) for i in tables}
    check_law(keyed.isdisjoint(chosen))
    where = _everybody(plan, [i for i in range(len(plan.draws)) if i not in keyed])
    found = []
    for i in members:
        parts = _parts(plan.draws[i], where, scales[i])
        check_law(parts is not None)
        found.append((i, parts or ()))
    _, places = placed(found, scales)
    body = make_body([plan.draws[i] for i in members], places, where)
    borrowers = {b.place: b for b in find_borrowers([(i, plan.draws[i], scales[i]) for i in beside], where)}
    check_law(set(borrowers) == set(beside))
    laws = []
    for k, i in enumerate(beside):
        check_law(_is_free(plan, i, [*members, *beside[:k]], where))
        head = f"{i} "
        own = {name[len(head) :]: values for name, values in law.numbers.items() if name.startswith(head)}
        check_law(not borrowers[i].everybody or "present" not in own)
        laws.append(_law_beside(plan.draws[i], Law("together", 0.0, own), scales[i]))
    for k in _told_tables(law):
        tie = plan.ties[k]
        assert isinstance(tie, CrossedTie)
        check_law(all(_is_free(plan, i, chosen, where) for i in tie.members))
        chosen += tie.members
        laws.append(tables_beside(tie.cross.tables, law.numbers[f"{TABLES}{k}"]))
    return lower_bound(body, plan.neighbours, types_of(law, len(body.parts)), laws)


TABLES = "tables "
"""What the names of weights of tables of the same keys begin with; the place of their noise follows."""


def _told_tables(law: Law) -> list[int]:
    """The places of noises of tables of the same keys that a law speaks of."""
    return [int(name[len(TABLES) :]) for name in law.numbers if name.startswith(TABLES)]


def _law_beside(draw: Draw, law: Law, scale: float) -> Beside:
    problem = draw.block.problem
    if isinstance(problem.domain, Moments):
        found = moments_beside(cast("Problem[Moments]", problem), replace(law, kind="moments"))
    else:
        kind = "cells" if problem.features.marginals is None else "even"
        found = cells_beside(cast("Problem[Cells]", problem), replace(law, kind=kind))
    root = math.sqrt(scale) * (1.0 - 2.0**-52)
    return replace(found, points=found.points * root, alone=found.alone * root, root=found.root * root)


def _raised_total(body: Body, worth: float) -> tuple[float, float]:
    """The total of the best noise where the number of everybody is worth more, and the variance of that number."""
    found = solve(replace(body, people_weight=body.people_weight + worth), ADD_REMOVE)
    return found.total, found.lift.people_variance


def _apart(plan: Plan, law: Law) -> list[int]:
    """The draws that a law says nothing about, and that are not tables of the same keys."""
    told = {int(i) for name in ("members", "beside") for i in law.numbers[name]}
    told |= {i for tables, _ in _keyed(plan) for i in tables}
    return [i for i in range(len(plan.draws)) if i not in told]


def _everybody(plan: Plan, rest: Sequence[int]) -> str | None:
    rules = [plan.draws[i].row_rule or RowRule(()) for i in rest]
    return everybody_of(rules, None, plan.neighbours).where if rules else None


def _is_free(plan: Plan, i: int, others: Sequence[int], where: str | None) -> bool:
    """Whether a person can be anything in draw i, whatever it is in others: they are about other columns."""
    rules = [plan.draws[j].row_rule or RowRule(()) for j in (i, *others)]
    common = where if all(rule.where == where for rule in rules) else None  # whom all are about
    own, *rest = (columns_asked(rule, common) for rule in rules)
    return all(own.isdisjoint(each) for each in rest)


def _keyed(plan: Plan, proven: Least | None = None) -> list[tuple[tuple[int, ...], float]]:
    """Tables of the same keys and their least price together at μ = 1."""
    ties = [tie for tie in plan.ties if tie.how == KIND]
    crossed = [(tie.members, (proven or {}).get(id(tie)) or tie.bounding_law.lower) for tie in ties]
    return [*crossed, *_loose_tables(plan, proven)]


def _scales(plan: Plan) -> list[float]:
    return [draw.scale if draw.place is None else draw.place.scale for draw in plan.draws]


def _loose_tables(plan: Plan, proven: Least | None = None) -> Iterator[tuple[tuple[int, ...], float]]:
    """Tables of the same keys that do not share their noise, and their least price together at μ = 1."""
    own = [i for i, draw in enumerate(plan.draws) if draw.tie is None or draw.tie.members == (i,)]
    for members, bound in bound_tables(plan.draws, _scales(plan), plan.neighbours, own):
        yield members, sum(_alone(plan, plan.draws[i], proven) for i in members) if bound is None else bound


def _noise_of(draw: Draw) -> Draw | AnyTie:
    return draw if draw.tie is None else draw.tie


def _alone(plan: Plan, draw: Draw, proven: Least | None = None) -> float:
    """The least price of a draw that does not share its noise, at μ = 1."""
    noise = _noise_of(draw)
    if proven is not None and id(noise) in proven:
        return plan.worth_of(noise) * proven[id(noise)]
    return plan.worth_of(noise) * noise.lower_bound * noise.bound_mu**2


def _parts(draw: Draw, where: str | None, scale: float) -> tuple[Part, ...] | None:
    """What a person adds to a draw; None where it is not one of groups and columns, or has targets."""
    if draw.block.problem.features.targets is not None:
        return None
    try:
        with within_doubles():
            return parts_of(draw, where, scale)
    except PlanError:
        return None
