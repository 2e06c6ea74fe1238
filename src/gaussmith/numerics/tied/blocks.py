"""Blocks of a request: parts whose noise was found together, around a centre; joined by one shared constant.

Every block has noise on y_b − c_b · n of least total T_b at μ = 1, n the number of people, c_b its centre. With noise
on n and the blocks' shares of privacy in the right proportion the whole request has the total (theorem C)

    F²,     F = Σ_b √T_b + √E,     E = Σ_b ‖c_b‖² + weight of n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body, Part
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Block:
    """The lift of some parts at μ = 1 (`members` are their places in the body), without a row for the constant.

    `ties` is over the sums of the members, in order; `constant` is what the rows see of n.
    """

    members: tuple[int, ...]
    own: tuple[Array, ...]
    ties: Array
    constant: Array
    root: float
    """√T_b."""
    energy: float
    """‖c_b‖², in answers scaled to the roots of their weights."""
    closed: bool = False
    """Whether it is one part in closed form, whose centre is searched for together with others."""


def unboxed(block: Block, part: Part) -> Block:
    """The block of a part, from that of the part with its rows boxed."""
    if not part.counts_rows:
        return block
    (own,), ties, width = block.own, block.ties, part.width
    there, everywhere = (part.unboxed(np.hstack([each, np.zeros((len(each), 1))])) for each in (own, ties))
    constant = block.constant + there[:, width] + everywhere[:, width]
    return replace(block, own=(there[:, :width],), ties=everywhere[:, :width], constant=constant)


def side_by_side(members: Sequence[int], blocks: Sequence[Block], scales: Array) -> Block:
    """One block of several that are tied to nothing but the constant, each lift times a factor."""
    heights, widths = [len(b.constant) for b in blocks], [b.ties.shape[1] for b in blocks]
    ties = np.zeros((sum(heights), sum(widths)))
    for i, (b, scale) in enumerate(zip(blocks, scales, strict=True)):
        above, left = sum(heights[:i]), sum(widths[:i])
        ties[above : above + heights[i], left : left + widths[i]] = b.ties * scale
    return Block(
        tuple(members),
        tuple(own * scale for b, scale in zip(blocks, scales, strict=True) for own in b.own),
        ties,
        np.concatenate([b.constant * scale for b, scale in zip(blocks, scales, strict=True)]),
        math.sqrt(sum((b.root / scale) ** 2 for b, scale in zip(blocks, scales, strict=True))),
        sum(b.energy for b in blocks),
    )


def root_of_total(blocks: Sequence[Block], people_weight: float) -> float:
    """F: the total of the joined blocks is its square."""
    return sum(b.root for b in blocks) + math.sqrt(sum(b.energy for b in blocks) + people_weight)


def join(body: Body, blocks: Sequence[Block]) -> TiedLift:
    """The lift of the whole request: every block at its share of privacy, and the constant."""
    energy = sum(b.energy for b in blocks) + body.people_weight
    F = root_of_total(blocks, body.people_weight)
    counted = energy > 0 or any(b.constant.any() for b in blocks)
    place = {q: (b, i) for b in blocks for i, q in enumerate(b.members)}
    assert len(place) == len(body.parts) == sum(len(b.members) for b in blocks)
    own: list[Array] = []
    ties = []
    for q in range(len(body.parts)):
        block, i = place[q]
        scale = math.sqrt(block.root / F) if F else 0.0
        own.append(block.own[i] * scale)
        start = sum(len(each) for each in block.own[:i])
        rows = slice(start, start + len(own[-1]))
        line = np.zeros((len(own[-1]), body.width + counted))
        at = 0
        for member, each in zip(block.members, block.own, strict=True):
            width = each.shape[1]
            line[:, body.starts[member] : body.starts[member + 1]] = block.ties[rows, at : at + width] * scale
            at += width
        if counted:
            line[:, -1] = block.constant[rows] * scale
        ties.append(line)
    last = None
    if energy > 0:
        last = np.zeros(body.width + 1)
        last[-1] = math.sqrt(math.sqrt(energy) / F)
    return TiedLift(
        tuple(part.groups for part in body.parts), tuple(own), np.vstack(ties or [np.zeros((0, int(counted)))]), last
    )


def total_of(lift: TiedLift, body: Body, replaced: bool = False) -> float:
    """The weighted total of the variances of all answers, from the covariance of the lift's noise; where `replaced` the
    number of people is public."""
    found = body.people_weight * (lift.people_variance if body.people_weight else 0.0)
    for q, part in enumerate(body.parts):
        same, _ = lift.covariance(q, q)
        asked = part.rows
        if not part.always:
            asked = asked[:, : part.width]
        elif asked[:, -1].any() and not replaced:
            across = lift.people_covariance(q)
            same = np.block([[same, across[:, None]], [across[None, :], np.array([[lift.people_variance]])]])
        else:
            asked = asked[:, : part.width]
        found += part.groups * float(np.einsum("ij,jk,ik->", asked, same, asked))
    return found
