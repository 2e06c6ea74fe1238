"""`dataclass` for frozen values: Python's own, but a class is looked at when it is first used.

Python's own compiles up to six functions for each class while a module is imported, and matches every annotation with
patterns. For the two hundred classes that a small release imports the functions alone took a tenth of a second, more
than all else in their modules; most are never used. Type checkers see Python's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
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
            setattr(cls, name, _Postponed(cls, name))
        cls.__setattr__ = cls.__delattr__ = _refuse_change
        return cls


FEW = 8
"""So many values of a class are made step by step; then `__init__` is compiled. In a small release few have more."""

_PARAMETERS = "__dataclass_params__"
_LOOKED_AT = ("__dataclass_fields__", "__match_args__", _PARAMETERS)
_OF_CLASS = ("ClassVar", "typing.ClassVar")
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


class _Postponed:
    """A method that is made when it is first asked for."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name
        self.filled = 0

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is not None and self.name == "__init__" and self.filled < FEW:
            self.filled += 1
            return partial(self.fill, instance)
        return self.method.__get__(instance, owner)

    @property
    def method(self) -> Any:
        """The method itself, which the class has from now on."""
        made = _METHODS[self.name](self.cls)
        setattr(self.cls, self.name, made)
        return made

    def fill(self, instance: Any, /, *given: Any, **named: Any) -> None:
        """Make a value step by step, as `__init__` would; what does not fit is left to that, and refused there."""
        initial, kept, later = _initial(self.cls), vars(instance), []
        places = [name for name, field in initial.items() if field.init and not field.kw_only]
        said = dict(zip(places, given, strict=False))
        fits = len(given) <= len(places) and said.keys().isdisjoint(named)
        said |= named
        for name, field in initial.items():
            if field.init and name in said:
                value = said.pop(name)
            elif field.default_factory is not MISSING:
                value = field.default_factory()
            elif not field.init:
                continue  # the class has its default
            else:
                fits, value = fits and field.default is not MISSING, field.default
            if "InitVar" in str(field.type):
                later.append(value)
            else:
                kept[name] = value
        if said or not fits:
            self.method(instance, *given, **named)
        elif hasattr(instance, "__post_init__"):
            instance.__post_init__(*later)


def _look_at(cls: Any, kw_only: bool) -> None:
    """Make a class one with fields, and without methods for them."""
    for base in cls.__mro__[:0:-1]:
        getattr(base, "__dataclass_fields__", None)  # looks at it, where nobody did yet
    frozen = [vars(base)[_PARAMETERS] for base in cls.__mro__[1:] if _PARAMETERS in vars(base)]
    for parameters in frozen:
        parameters.frozen = False  # Python's own makes no open class of a frozen one; what refuses changes is there
    matched = cls.__dict__.get("__match_args__")
    dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
    if isinstance(matched, _Unseen):  # Python's own leaves alone what is there
        places = tuple(name for name, field in _initial(cls).items() if field.init and not field.kw_only)
        type.__setattr__(cls, "__match_args__", places)
    for parameters in (*frozen, cls.__dataclass_params__):
        parameters.frozen = True


def _refuse_change(self: object, name: str, *_: object) -> Never:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _initial(cls: Any) -> dict[str, Field[Any]]:
    """What `__init__` takes or sets, by name: the fields, and what is only handed on."""
    told: dict[str, Field[Any]] = cls.__dataclass_fields__
    return {name: field for name, field in told.items() if not str(field.type).startswith(_OF_CLASS)}


class _Unsaid:
    """Stands for what a factory makes where nothing is said, and is shown as Python's own shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_UNSAID = _Unsaid()


def _init_of(cls: Any) -> Any:
    """`__init__` with the signature and the steps of Python's own, which would compile two more functions for it."""
    initial = _initial(cls)
    known: dict[str, Any] = {"_set": object.__setattr__, "_UNSAID": _UNSAID}
    places, named, steps, later = ["self"], ["*"], [], []
    for name, field in initial.items():
        has_factory = field.default_factory is not MISSING
        known[f"_{name}"] = field.default_factory if has_factory else field.default
        value = f"_{name}()" if has_factory else ""
        if field.init:
            usual = "=_UNSAID" if has_factory else "" if field.default is MISSING else f"=_{name}"
            (named if field.kw_only else places).append(name + usual)
            value = f"{value} if {name} is _UNSAID else {name}" if has_factory else name
        if "InitVar" in str(field.type):
            later.append(name)
        elif value:
            steps.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        steps.append(f"self.__post_init__({', '.join(later)})")
    head = ", ".join([*places, *(named if named[1:] else [])])
    exec(f"def __init__({head}):\n " + "\n ".join(steps or ["pass"]), known)
    method = known["__init__"]
    method.__annotations__ = {name: field.type for name, field in initial.items() if field.init} | {"return": None}
    method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    return method


def _repr_of(cls: Any) -> Any:
    names = [field.name for field in fields(cls) if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _eq_of(cls: Any) -> Any:
    compared = _getter([field.name for field in fields(cls) if field.compare])

    def __eq__(self: object, other: object) -> bool:
        return bool(compared(self) == compared(other)) if type(other) is type(self) else NotImplemented

    return __eq__


def _hash_of(cls: Any) -> Any:
    hashed = _getter([field.name for field in fields(cls) if (field.compare if field.hash is None else field.hash)])

    def __hash__(self: object) -> int:
        return hash(hashed(self))

    return __hash__


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """What gets these fields of a value, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    get = attrgetter(*names) if names else None
    return lambda value: () if get is None else (get(value),)


_METHODS = {"__init__": _init_of, "__repr__": _repr_of, "__eq__": _eq_of, "__hash__": _hash_of}
