"""`dataclass` for frozen values: Python's own, but the methods of a class are made when the first of them is called.

Python's own compiles up to six functions for each class while a module is imported. For the two hundred classes that a
small release imports this took a tenth of a second, more than all else in their modules; most are never called. Type
checkers see Python's own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen, init=True, repr=True, eq=True, kw_only=False):
        """Make a class a frozen value, as `dataclasses.dataclass(frozen=True, …)` does.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), hash(Point(2)) == hash(Point(2))
        (Point(x=1, y=0), True, True)
        """
        if not frozen:
            raise TypeError("only frozen classes are values: use dataclasses.dataclass for others")
        if cls is None:
            return lambda made: dataclass(made, frozen=frozen, init=init, repr=repr, eq=eq, kw_only=kw_only)
        dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
        wanted = [name for name, made in (("__init__", init), ("__repr__", repr), ("__eq__", eq)) if made]
        missing = [name for name in wanted if name not in cls.__dict__]
        if eq and cls.__dict__.get("__hash__") is None:
            missing.append("__hash__")
        for name in missing:
            setattr(cls, name, _postponed(cls, name, missing))
        cls.__setattr__ = cls.__delattr__ = _refuse_change
        return cls


def _refuse_change(self: object, name: str, *_: object) -> Never:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _postponed(cls: type, name: str, missing: list[str]) -> Any:
    """A method that makes what is missing of a class, itself included, and then is what was made."""

    def make_and_call(self: Any, *arguments: Any, **named: Any) -> Any:
        for each, method in _made(cls, missing).items():
            setattr(cls, each, method)
        return getattr(cls, name)(self, *arguments, **named)

    make_and_call.__name__, make_and_call.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return make_and_call


def _made(cls: Any, names: list[str]) -> dict[str, Any]:
    """These methods as Python's own makes them, for a class with the same fields."""
    fields = dataclasses.fields(cls)
    body: dict[str, Any] = {field.name: field for field in fields}
    body |= {"__annotations__": {field.name: field.type for field in fields}, "__doc__": cls.__doc__ or cls.__name__}
    body |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    body |= {"__post_init__": None} if hasattr(cls, "__post_init__") else {}
    twin: type = dataclasses.dataclass(frozen=True)(type(cls.__name__, (), body))
    return {name: twin.__dict__[name] for name in names}
