"""How the answers of one piece of a question are read: of one group, of several added up, or of all side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains import FoundGroups
from gaussmith.numerics.linear import Array
from gaussmith.plans.draw import tied_sum
from gaussmith.releases.readout import Readout, ReadoutByWeight

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


def read_piece(release: Release) -> Readout | ReadoutByWeight:
    """The answers of a question of one draw, read from its noisy features: of all groups, or of those in view."""
    plan, chosen = release.plan, release.view.groups
    draw, at = plan.draw, plan.slot.draw
    shown = plan.slot.piece_of(at).chosen(draw.block.answers)
    features, kept = release.noisy[at], draw.block.narrowed(*shown)[1]
    if kept != range(features.shape[1]):
        features = features[:, kept]
    if chosen is not None:
        features = features[list(chosen)].sum(axis=0)
    elif draw.groups is None:
        features = features[0]
    parts = len(chosen) if chosen is not None and release.view.summed else 1
    block = plan.block
    if chosen is not None and draw.tie is not None and parts > 1:  # the noise of tied groups is not independent
        block, parts = tied_sum(draw, chosen).narrowed(*shown)[0], 1
    elif chosen is not None and draw.by_weight:
        block = draw.block_of(chosen[0]).narrowed(*shown)[0]
    elif draw.by_weight and draw.groups is not None:
        blocks = [each.narrowed(*shown)[0] for each in draw.by_weight]
        return ReadoutByWeight.of(blocks, features, [places for _, places in draw.groups.classes])
    bars, least = _bars(release, at)
    return Readout(block, features, release.records[at], parts, bars, least)


def _bars(release: Release, at: int) -> tuple[Array | None, int]:
    """What the counts of found groups in view had to reach, and the fewest people in one, where a draw decided."""
    groups, shown = release.plan.draws[at].groups, release.shown[at] if release.shown else None
    if shown is None or not isinstance(groups, FoundGroups) or groups.kappa is None:
        return None, 1
    chosen = shown.bars if release.view.groups is None else shown.bars[release.view.groups[0]]
    return np.asarray(chosen), groups.at_least
