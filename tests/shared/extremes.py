"""Random domains and questions with scales from 1e-300 to 1e300, most of them just inside what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

import gaussmith as gm

KINDS = ("box", "box", "box", "ball", "counts", "votes", "cells", "sparse", "points", "gaussian", "people", "groups")
COUNTED = ("counts", "votes", "cells", "sparse", "points")


def plan_extreme(seed: int) -> Any:
    """The plan of what a seed draws: a domain, a guarantee, and a question. Many are refused."""
    rng = np.random.default_rng(seed)
    widest = float(rng.choice([3, 20, 60, 99, 99, 99, 150, 300]))
    kind = str(rng.choice(KINDS))
    d = int(rng.integers(1, 6))
    if kind == "people":
        return _plan_people(rng, d, widest)
    domain = _domain(rng, kind, d, widest)
    size = domain.domain.dimension if kind == "groups" else domain.dimension
    options: dict[str, Any] = {
        "neighbours": str(rng.choice(["add-remove", "replace-one"])),
        "count": bool(rng.random() < 0.4),
        "answers": "sums" if kind in COUNTED else str(rng.choice(["sums", "means"])),
    }
    if rng.random() < 0.2:
        options["answers"] = [[_size(rng, float(rng.choice([2, 99]))) for _ in range(size)] for _ in range(d)]
    chosen = rng.random()
    if chosen < 0.4:
        options["weights"] = "relative"
    elif chosen < 0.6 and isinstance(options["answers"], str):
        options["weights"] = [_size(rng, float(rng.choice([5, 50, 99]))) for _ in range(size)]
    if rng.random() < 0.2:
        options["shape"] = str(rng.choice(["isotropic", "elliptical", "lifted", "solved"]))
    guarantee = gm.Guarantee(mu=_size(rng, 2)) if rng.random() < 0.5 else gm.Guarantee(epsilon=1, delta=1e-6)
    return gm.plan(domain, guarantee, **options)


def _size(rng: np.random.Generator, widest: float) -> float:
    return float((1.0 if rng.random() < 0.7 else rng.random() + 0.1) * 10.0 ** rng.uniform(-widest, widest))


def _box(rng: np.random.Generator, d: int, widest: float, prefix: str = "") -> gm.Box:
    bounds = {}
    for j in range(d):
        a, b = _size(rng, widest), _size(rng, widest)
        ways = [(0.0, a), (-a, a), (-b, a), (a, a * (1.1 + rng.random())), tuple(sorted((a, b)))]
        bounds[f"{prefix}{j}"] = ways[int(rng.integers(5))]
    return gm.Box(bounds)


def _plan_people(rng: np.random.Generator, d: int, widest: float) -> Any:
    """Several rows per person are planned by a request, which is read without its table."""
    box = _box(rng, d, widest, "c")
    bounds = {f"c{j}": (float(box.lower[j]), float(box.upper[j])) for j in range(d)}
    names = sorted(bounds)
    asked = int(rng.integers(d + 1))
    return gm.Request(
        "data",
        sums={name: bounds[name] for name in names[:asked]},
        means={name: bounds[name] for name in names[asked:]},
        count=bool(rng.random() < 0.5),
        unit="person",
        rows_per_unit=int(rng.integers(2, 20)),
        mean_of=str(rng.choice(["rows", "units"])),
        weights=str(rng.choice(["relative", "equal"])),
        guarantee=gm.Guarantee(mu=_size(rng, 2)),
        neighbours=str(rng.choice(["add-remove", "replace-one"])),
    ).plan


def _domain(rng: np.random.Generator, kind: str, d: int, widest: float) -> Any:
    few = int(rng.integers(1, d + 2))
    if kind == "box":
        return _box(rng, d, widest)
    if kind == "ball":
        centre = [_size(rng, widest) * rng.choice([-1, 0, 1]) for _ in range(d)]
        return gm.domains.Ball(d, _size(rng, widest), centre=centre)
    if kind == "counts":
        return gm.Counts(d + 1, at_most=few)
    if kind == "votes":
        return gm.domains.Votes(min(d + 1, 4))
    if kind == "cells":
        return gm.Cells(d + 1)
    if kind == "sparse":
        return gm.domains.SparseSum(d + 1, at_most=few, bound=_size(rng, widest))
    if kind == "points":
        return gm.domains.Points([[_size(rng, widest) for _ in range(d)] for _ in range(4)])
    if kind == "gaussian":
        return gm.domains.GaussianData([_size(rng, widest) for _ in range(d)], [_size(rng, widest) for _ in range(d)])
    return gm.Groups({"g": ["a", "b", "c"]}, _box(rng, d, widest))
