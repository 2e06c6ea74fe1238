"""One release with its noise recorded, replayed or set to zero, and all that can be seen of it.

The mechanism has no way to repeat noise, and gets none: here its two functions that draw and add are replaced while an
audit looks, in the audit's own context alone. A release in another thread at the same time has its own fresh noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np

from gaussmith import mechanism as _mechanism
from gaussmith.numerics.linear import Array, Words
from gaussmith.releases import Release

VALUES = frozenset({"value", "standard_error", "lower", "upper", "features", "status", "note"})
"""The fields of a record that depend on data, through noisy integers alone."""

mechanism: Any = _mechanism
"""As anything: two of its functions are replaced while an audit looks."""

_LOCK = RLock()
_SCRIPT: ContextVar[_Script | None] = ContextVar("script", default=None)


@dataclass
class _Script:
    """What is to be drawn next, and what was added to what."""

    given: list[Words] | None
    zero: bool
    drawn: list[Words] = field(default_factory=list)
    lifted: list[tuple[int, ...]] = field(default_factory=list)
    noise: list[tuple[int, ...]] = field(default_factory=list)
    strayed: bool = False


@dataclass(frozen=True, eq=False)
class Seen:
    """One release: its noise, the exact integers below it, what reached them, and the record that is written."""

    release: Release
    drawn: tuple[Words, ...]
    lifted: tuple[tuple[int, ...], ...]
    added: tuple[tuple[int, ...], ...]
    strayed: bool
    """Whether other amounts of noise were asked for than were recorded."""

    @property
    def features(self) -> tuple[Array, ...]:
        """The noisy features of each draw, groups × features."""
        return tuple(np.asarray(each, float) for each in self.release.noisy)

    @property
    def record(self) -> str:
        """The bytes that are written, without the released values."""
        return json.dumps(_blank(json.loads(self.release.to_json())), sort_keys=True, ensure_ascii=False)


def watch(make: Callable[[], Release], given: Sequence[Words] | None = None, zero: bool = False) -> Seen:
    """Run a release and write down its noise; with `given` that noise is used again, with `zero` there is none."""
    script = _Script(None if given is None else list(given), zero)
    with _watched(script):
        made = make()
    return Seen(made, tuple(script.drawn), tuple(script.lifted), tuple(script.noise), script.strayed)


@contextmanager
def _watched(script: _Script) -> Iterator[None]:
    with _LOCK:
        draw, add = mechanism.normal_integers, mechanism.add

        def drawing(size: int, bits: int = 52) -> Any:
            own = _SCRIPT.get()
            if own is None:
                return draw(size, bits)
            noise = _next(own, size, lambda: draw(size, bits))
            own.drawn.append(noise)
            return noise.copy()

        def adding(lifted: Any, noise: Any) -> Any:
            noisy, own = add(lifted, noise), _SCRIPT.get()
            if own is not None:
                exact = tuple(int(y) for y in lifted)
                own.lifted.append(exact)
                own.noise.append(tuple(int(z) - y for z, y in zip(noisy, exact, strict=True)))
            return noisy

        token = _SCRIPT.set(script)
        mechanism.normal_integers, mechanism.add = drawing, adding
        try:
            yield
        finally:
            mechanism.normal_integers, mechanism.add = draw, add
            _SCRIPT.reset(token)


def _next(script: _Script, size: int, draw: Callable[[], Words]) -> Words:
    if script.zero:
        return np.zeros(size, np.int64)
    if script.given is None:
        return draw()
    if script.given and len(script.given[0]) == size:
        return script.given.pop(0)
    script.strayed = True
    return draw()


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "·" if k in VALUES else v if k == "plan" else _blank(v) for k, v in value.items()}
    return [_blank(each) for each in value] if isinstance(value, list) else value
