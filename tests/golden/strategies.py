"""Stored strategies: the numbers of every golden plan, put in place of what a solver finds on this processor.

Kernels of linear algebra differ in last digits, and a solver may turn those into other noise that is as good. Golden
releases are compared bit by bit, so they start from stored numbers. What a solver finds is compared by what matters, in
`test_golden.py`: its total, its certificate, its guarantee.

    strategies.npz    "<plan> #<i>": array i of a plan, plain doubles

This file alone knows where the numbers are in a plan: in its saved form, in the order of sorted names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import gaussmith as gm
from gaussmith.planning.certified_grid import grid_at

FILE = Path(__file__).with_name("strategies.npz")

CLOSE = 1e-6
"""How far domains and shares of the guarantee may be from the stored ones, relative; strategies may be anything."""

Numbers = list[np.ndarray]


def numbers_of(plan: Any) -> Numbers:
    """The numbers of a plan: strategies, shares of the guarantee, bounds of the domains, and the scales of the grid."""
    numbers = [np.array(place[key], float) for place, key, _ in _places(plan.to_dict())]
    return [*numbers, np.array([_scale(noise) for noise in plan.provable])]


def with_numbers(plan: Any, numbers: Numbers) -> Any:
    """The plan with these numbers; refuses them where domains or shares of the guarantee would be others."""
    saved = plan.to_dict()
    places = _places(saved)
    *numbers, scales = numbers
    assert len(places) == len(numbers), "the plan has other parts than the stored one"
    for (place, key, is_strategy), stored in zip(places, numbers, strict=True):
        assert is_strategy or np.allclose(place[key], stored, CLOSE, 0), f"{key}: {place[key]} is not {stored}"
        place[key] = stored.tolist()
    made = gm.Plan.from_dict(saved)
    for noise, scale in zip(made.provable, scales.tolist(), strict=True):
        _put_on_grid(noise, scale)
    made.certify()
    return made


def read_again(plan: Any) -> Any:
    """The plan as it is read from its saved form, on the same grid."""
    made = gm.Plan.from_json(plan.to_json())
    for noise, kept in zip(made.provable, plan.provable, strict=True):
        _put_on_grid(noise, _scale(kept))
    return made


def _scale(noise: Any) -> float:
    """How many grid steps one unit of the noise is."""
    return float(noise.grid.scale if hasattr(noise, "codes") else noise.grid[1])


def _put_on_grid(noise: Any, scale: float) -> None:
    """Give the noise the stored scale: the certified one follows from products that kernels round differently."""
    assert abs(_scale(noise) - scale) <= 1e-9 * scale, f"a grid of {_scale(noise)}, not {scale}"
    if hasattr(noise, "codes"):  # noise of one draw
        grid = (
            noise.grid
            if noise.grid.scale == scale
            else grid_at(scale, noise.shape.lift, noise.codes, noise.shape.absent)
        )
        noise.__dict__["grid"] = grid
    else:
        noise.__dict__["grid"] = noise.lift_at(scale), scale
    assert noise.reach <= 1.0 + 1e-12


def _places(saved: dict[str, Any]) -> list[tuple[dict[str, Any], str, bool]]:
    """Where doubles are in a saved plan, and whether they are of a strategy."""
    found: list[tuple[dict[str, Any], str, bool]] = []
    for draw in saved["queries"]:
        found += [(*at, False) for at in _doubles([draw["guarantee"], draw["block"]["guarantee"]])]
        found += [(*at, False) for at in _doubles(draw["block"]["domain"])]
        found += [(*at, True) for at in _doubles(draw["block"]["shape"])]
    for tie in saved["ties"]:
        found += [(*at, False) for at in _doubles(tie["guarantee"])]
        found += [(*at, True) for at in _doubles(tie["lift"])]
    return found


def _doubles(saved: Any) -> Iterator[tuple[Any, Any]]:
    """The containers and keys of all doubles and lists of doubles."""
    items = sorted(saved.items()) if isinstance(saved, dict) else enumerate(saved) if isinstance(saved, list) else ()
    for key, value in items:
        if _is_double(value):
            yield saved, key
        else:
            yield from _doubles(value)


def _is_double(value: Any) -> bool:
    """Whether it is a double, a list of doubles, or equally long lists of them: a matrix."""
    if not isinstance(value, list) or not value:
        return isinstance(value, float)
    rows = [value] if not isinstance(value[0], list) else value
    return all(isinstance(row, list) and len(row) == len(rows[0]) > 0 for row in rows) and all(
        isinstance(each, float) for row in rows for each in row
    )


# -- in place of the solver -------------------------------------------------------------------------------------------


@cache
def stored() -> dict[str, Numbers]:
    """The numbers of every plan."""
    found: dict[str, Numbers] = {}
    with np.load(FILE, allow_pickle=False) as file:
        for key in file.files:  # in the order in which they were written
            found.setdefault(key.rpartition(" #")[0], []).append(file[key])
    return found


def store(strategies: dict[str, Numbers]) -> None:
    """Write the file, and forget the one before."""
    arrays = {f"{name} #{i}": each for name in sorted(strategies) for i, each in enumerate(strategies[name])}
    np.savez_compressed(FILE, allow_pickle=False, **arrays)
    stored.cache_clear()


def stored_plan(name: str, plan: Any) -> Any:
    """The plan with the stored numbers of that name."""
    return with_numbers(plan, stored()[name])


@contextmanager
def stored_requests(name: str) -> Iterator[None]:
    """Within it every request is planned with the stored numbers of that name, however it is written."""
    plan_request = gm.Request.__post_init__

    def plan_stored(self: Any, *given: Any) -> None:
        plan_request(self, *given)
        object.__setattr__(self, "plan", stored_plan(name, self.plan))

    with mock.patch.object(gm.Request, "__post_init__", plan_stored):
        yield


# -- what a solver finds ----------------------------------------------------------------------------------------------


def certificate_problems(plan: Any) -> tuple[str, ...]:
    """What is wrong with the certificate of a plan; under pure ε there is none."""
    if plan.guarantee.is_pure:
        return ()
    from gaussmith.planning.certificate import verify

    problems: tuple[str, ...] = verify(plan, plan.certificate).problems
    return problems


# -- another processor ------------------------------------------------------------------------------------------------


def shaken(plan: Any) -> Any:
    """The plan as another processor might find it: every number of its strategies differs in the last digits."""
    saved = plan.to_dict()
    for place, key, is_strategy in _places(saved):
        if is_strategy:
            place[key] = (np.array(place[key]) * (1.0 + 2.0**-44)).tolist()
    return gm.Plan.from_dict(saved)


@contextmanager
def shaken_requests() -> Iterator[None]:
    """Within it requests are planned as another processor might plan them."""
    plan_request = gm.Request.__post_init__

    def plan_shaken(self: Any, *given: Any) -> None:
        plan_request(self, *given)
        if self.plan.staging is None:
            object.__setattr__(self, "plan", shaken(self.plan))

    with mock.patch.object(gm.Request, "__post_init__", plan_shaken):
        yield
