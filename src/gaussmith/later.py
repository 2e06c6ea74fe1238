"""Names that a package finds when they are asked for: importing it imports none of their modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def found_later(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, which has these names in these modules of its own.

    >>> find = found_later("gaussmith", {"neighbours": ["ADD_REMOVE"]})
    >>> find("ADD_REMOVE")
    'add-remove'
    """
    modules = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        setattr(import_module(package), name, found)
        return found

    return find
