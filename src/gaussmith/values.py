"""`dataclass` for frozen values: Python's own, but a class is looked at when it is first used.

Python's own compiles up to six functions for each class while a module is imported, and matches every annotation with
patterns. For the two hundred classes that a small release imports the functions alone took a tenth of a second, more
than all else in their modules; most are never used. Type checkers see Python's own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError
from threading import RLock
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
        if init and "__init__" not in cls.__dict__:
            for name in _LOOKED_AT:
                if name not in cls.__dict__:
                    setattr(cls, name, _Unseen(cls, name, kw_only))
        else:  # nothing tells when one of its own is made
            _look_at(cls, kw_only)
        wanted = [name for name, made in (("__init__", init), ("__repr__", repr), ("__eq__", eq)) if made]
        missing = [name for name in wanted if name not in cls.__dict__]
        if eq and cls.__dict__.get("__hash__") is None:
            missing.append("__hash__")
        for name in missing:
            setattr(cls, name, _postponed(cls, name))
        cls.__setattr__ = cls.__delattr__ = _refuse_change
        return cls


_LOOKED_AT = ("__dataclass_fields__", "__match_args__")
_LOCK = RLock()


class _Unseen:
    """What is known of the fields of a class once they were looked at, which the first question for it does."""

    def __init__(self, cls: type, name: str, kw_only: bool) -> None:
        self.cls, self.name, self.kw_only = cls, name, kw_only

    def __get__(self, instance: object, owner: type) -> Any:
        with _LOCK:
            if self.cls.__dict__[self.name] is self:  # nobody was faster
                _look_at(self.cls, self.kw_only)
        return self.cls.__dict__[self.name]


def _look_at(cls: Any, kw_only: bool) -> None:
    """Make a class one with fields, and without methods for them."""
    matched = cls.__dict__.get("__match_args__")
    dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
    if isinstance(matched, _Unseen):  # Python's own leaves alone what is there
        places = tuple(each.name for each in dataclasses.fields(cls) if each.init and not each.kw_only)
        type.__setattr__(cls, "__match_args__", places)


def _refuse_change(self: object, name: str, *_: object) -> Never:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _postponed(cls: type, name: str) -> Any:
    """A method that makes itself as Python would, and then is what was made."""

    def make_and_call(self: Any, *arguments: Any, **named: Any) -> Any:
        method = _made(cls, name)
        setattr(cls, name, method)
        return method(self, *arguments, **named)

    make_and_call.__name__, make_and_call.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return make_and_call


def _made(cls: Any, name: str) -> Any:
    """This method as Python's own makes it, for a class with the same fields."""
    fields = dataclasses.fields(cls)
    body: dict[str, Any] = {field.name: field for field in fields}
    body |= {"__annotations__": {field.name: field.type for field in fields}, "__doc__": cls.__doc__ or cls.__name__}
    body |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    body |= {"__post_init__": None} if hasattr(cls, "__post_init__") else {}
    compares = name in ("__eq__", "__hash__")
    make = dataclasses.dataclass(frozen=True, init=name == "__init__", repr=name == "__repr__", eq=compares)
    twin: type = make(type(cls.__name__, (), body))
    return twin.__dict__[name]
