"""Linear algebra on one thread while a plan or a report is made, whatever the caller's settings.

The matrices of a plan are small or tall and thin: several threads hardly help them, and on a busy machine they wait for
each other, which took 2 to 270 times as long. On one thread a plan is also the same, to the last bit, on any number of
cores. The caller's setting comes back at the end.

Only OpenBLAS is set, which the wheels of numpy and scipy bring along; other libraries are left as they are.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any

_LIBRARIES = (
    ("numpy._core._multiarray_umath", "scipy_openblas_{}_num_threads64_"),
    ("numpy._core._multiarray_umath", "openblas_{}_num_threads64_"),
    ("numpy._core._multiarray_umath", "openblas_{}_num_threads"),
    ("scipy.linalg._fblas", "scipy_openblas_{}_num_threads"),
    ("scipy.linalg._fblas", "openblas_{}_num_threads"),
)
"""Modules that are linked to a library, and the names of the functions that tell and set its threads."""


class _Threads:
    """How many blocks are in force, and what each library was set to before the first."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.before: list[tuple[Callable[[int], None], int]] = []
        self.known: dict[tuple[str, str], tuple[Callable[[], int], Callable[[int], None]] | None] = {}

    def enter(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth > 1:
                return
            self.before = []
            for tell, set_to in self._libraries():
                number = tell()
                if number > 1:
                    set_to(1)
                    self.before.append((set_to, number))

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                for set_to, number in self.before:
                    set_to(number)

    def _libraries(self) -> list[tuple[Callable[[], int], Callable[[int], None]]]:
        found = []
        for module, name in _LIBRARIES:
            loaded = sys.modules.get(module)  # what is not imported yet is not imported for this
            if loaded is None:
                continue
            if (module, name) not in self.known:
                self.known[module, name] = _functions(loaded, name)
            functions = self.known[module, name]
            if functions is not None:
                found.append(functions)
        return found


def _functions(module: ModuleType, name: str) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells and what sets the threads of the library that a module is linked to; None where there is none."""
    try:
        library = ctypes.CDLL(str(module.__file__))
        tell, set_to = (getattr(library, name.format(verb)) for verb in ("get", "set"))
    except (OSError, AttributeError, TypeError):
        return None
    set_to.argtypes, set_to.restype = [ctypes.c_int], None
    tell.argtypes, tell.restype = [], ctypes.c_int
    return tell, set_to


_THREADS = _Threads()


class single_threaded(ContextDecorator):
    """A block, or a function, in which linear algebra runs on one thread.

    >>> with single_threaded():
    ...     numbers = threads()
    >>> set(numbers) <= {1}
    True
    """

    def __enter__(self) -> None:
        _THREADS.enter()

    def __exit__(self, *_: Any) -> None:
        _THREADS.leave()


def threads() -> list[int]:
    """The number of threads that each known library is set to."""
    return [tell() for tell, _ in _THREADS._libraries()]
