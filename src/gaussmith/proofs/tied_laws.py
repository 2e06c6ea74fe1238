"""Good laws for the lower bound of a whole request, found without planning it.

The bound is concave in the law. A law on listed people is improved by multiplying every weight by a power of what its
person costs the noise that the law suggests (statement 9). Where a request has few types all are listed; where it has
many, people who cost more than their share are looked for, group by group and question by question, and listed too.
A poor law only makes a poor bound, never a wrong one. Everything is deterministic.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.parts import Body, Family, Part, taken
from gaussmith.numerics.tied.types import count_types, list_types, states_of
from gaussmith.proofs.tied_designs import find_designed_law
from gaussmith.proofs.tied_moves import MAX_ALL_CORNERS, Mover, climb_all, start_evenly
from gaussmith.proofs.tied_people import People, prices_of

ALL = 3000
"""Limit on the types of a request that are all listed."""

MAX_PEOPLE = 3000
"""Limit on the people that a law lists."""

MAX_SEARCHED = 24
"""Columns of a part up to which people are searched for one by one; beyond, under replace-one, designs are tried."""

_STARTS = 600
_ROUNDS = 14
_STEPS = 12


def find_law(body: Body, neighbours: str, gap: float = 1e-3) -> TypesLaw:
    """A law whose lower bound is near the best, within `gap` where all types are listed and usually where not."""
    if check(neighbours) == ADD_REMOVE:
        return _found(body, False, gap)
    # Questions are independent under replace-one: each has a law of its own.
    if body.families:
        return _found_by_family(body, gap)
    laws = [_found(Body((part,)), True, gap) for part in body.parts]
    picks = []
    for law in laws:
        chances = np.bincount(law.picks[0].astype(int), law.weights, minlength=len(law.counts[0]))
        picks.append(chances[None, :] / chances.sum())
    corners, counts = (tuple(each) for each in ([law.corners[0] for law in laws], [law.counts[0] for law in laws]))
    return TypesLaw(corners, counts, tuple(picks), np.ones(1))


def _found_by_family(body: Body, gap: float) -> TypesLaw:
    """A law under replace-one where groups weigh differently: its components are those of the first family.

    In other families a person does what is most likely in theirs: a bound all the same, if not the best.
    """
    fields: dict[int, tuple[Array, Array, Array]] = {}
    weights = np.ones(1)
    for i, family in enumerate(body.families):
        own = Body(tuple(body.parts[q] for q in family.members), families=(_renumbered(family),))
        law = _found(own, True, gap)
        if i == 0:
            weights = law.weights
        heaviest = int(np.argmax(law.weights))
        for at, q in enumerate(family.members):
            picks = law.picks[at] if i == 0 else np.full(len(weights), law.picks[at][heaviest])
            fields[q] = law.corners[at], law.counts[at], picks
    for q, part in enumerate(body.parts):
        if q not in fields:
            law = _found(Body((part,)), True, gap)
            chances = np.bincount(law.picks[0].astype(int), law.weights, minlength=len(law.counts[0]))
            fields[q] = law.corners[0], law.counts[0], np.tile(chances / chances.sum(), (len(weights), 1))
    corners, counts, found = (tuple(fields[q][i] for q in range(len(body.parts))) for i in range(3))
    return TypesLaw(corners, counts, found, weights)


def _renumbered(family: Family) -> Family:
    return Family(tuple(range(len(family.members))), family.most)


def _found(body: Body, replaced: bool, gap: float) -> TypesLaw:
    if replaced and len(body.parts) == 1 and _has_designs(body.parts[0]):
        return find_designed_law(body.parts[0], gap / 4)
    limited = [body.family_of(q) is not None for q in range(len(body.parts))]
    sizes = [count_types(part, replaced, limit) for part, limit in zip(body.parts, limited, strict=True)]
    few = math.prod(sizes) <= ALL and len(sizes) <= 32  # as many axes as arrays have
    if few and max((part.columns for part in body.parts), default=0) <= MAX_ALL_CORNERS:
        lists = [list_types(part, replaced, limit) for part, limit in zip(body.parts, limited, strict=True)]
        index = np.indices(sizes).reshape(len(sizes), -1)
        for family in body.families:
            used = sum(taken(states_of(*lists[q]), replaced)[index[q]] for q in family.members)
            index = index[:, (np.asarray(used) <= family.most).all(axis=1)]
        people = People(body, tuple(corners for corners, _ in lists), _picked([n for _, n in lists], index))
        weights = _reweighed(people, np.full(len(people), 1.0), 1000, gap)
    else:
        people, weights = _generated(body, replaced, gap)
    order = np.argsort(-weights)
    kept = np.sort(order[: 1 + int(np.searchsorted(np.cumsum(weights[order]), (1.0 - gap / 10) * weights.sum()))])
    return people.at(kept).law(weights[kept])  # who hardly matters is left out


def _has_designs(part: Part) -> bool:
    """Whether a part has too many columns to search for people, and designs for its own."""
    return part.columns > MAX_SEARCHED and not (part.counts_rows or part.always)


def _picked(types: list[Array], index: Words) -> tuple[Array, ...]:
    return tuple(each[i] for each, i in zip(types, index, strict=True))


def _reweighed(people: People, weights: Array, rounds: int, gap: float) -> Array:
    """Weights on listed people, each multiplied by a power of its price, until no price is above 1 by more than gap."""
    best, found = 0.0, weights
    for _ in range(rounds):
        prices = prices_of(people, weights)
        price = prices.of(people)
        if prices.root > best:
            best, found = prices.root, weights
        if price.max() <= 1.0 + gap:
            break
        weights = np.maximum(weights / weights.sum(), 1e-15) * np.maximum(price, 0.0) ** 1.5
    return found


# -- many types -------------------------------------------------------------------------------------------------------


def _generated(body: Body, replaced: bool, gap: float) -> tuple[People, Array]:
    """People who matter, found by search, and their weights."""
    people = start_evenly(body, replaced, _STARTS)
    movers = [Mover.of_part(part, corners, replaced) for part, corners in zip(body.parts, people.corners, strict=True)]
    weights, before = np.ones(len(people)), 0.0
    families = [body.family_of(q) for q in range(len(body.parts))]
    leads = [q if family is None else family.members[0] for q, family in enumerate(families)]  # families stay together
    for turn in range(_ROUNDS):
        weights = _reweighed(people, weights, _STEPS, gap)
        prices = prices_of(people, weights)
        if prices.root < before * (1.0 + gap / 4):
            break  # hardly a gain
        before = prices.root
        heavy = np.argsort(-weights)[:_STARTS]
        turned = people.at(heavy[(np.arange(len(heavy)) * 7 + turn) % len(heavy)])
        seeds = replace(people.at(heavy), counts=tuple(
            (turned if (first + turn) % 3 == 0 else people.at(heavy)).counts[q] for q, first in enumerate(leads)
        ))  # fmt: skip
        better = climb_all(seeds, prices, movers)
        price = prices.of(better)
        better = better.at(price > 1.0 + gap / 2)
        kept = weights > 1e-7 * weights.max()
        if not len(better):
            break
        old = people.at(kept)
        people = old.joined(better)
        new = len(people) - len(old)
        mass = weights[kept] / weights[kept].sum()
        weights = np.concatenate([mass * 0.8, np.full(new, 0.2 / max(1, new))])
        if len(people) > MAX_PEOPLE:
            order = np.argsort(-weights * prices.of(people))[:MAX_PEOPLE]
            people, weights = people.at(np.sort(order)), weights[np.sort(order)]
    return people, _reweighed(people, weights, 5 * _STEPS, gap)
