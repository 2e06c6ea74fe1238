"""`dataclass` for frozen values: Python's own, but a class is looked at when it is first used.

Python's own compiles up to six functions for each class while a module is imported, and matches every annotation with
patterns. For the two hundred classes that a small release imports the functions alone took a tenth of a second, more
than all else in their modules; most are never used. Type checkers see Python's own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
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


_PARAMETERS = "__dataclass_params__"
_LOOKED_AT = ("__dataclass_fields__", "__match_args__", _PARAMETERS)
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

    def __get__(self, instance: object, owner: type) -> Any:
        method = _made_init(self.cls) if self.name == "__init__" else _made(self.cls, self.name)
        setattr(self.cls, self.name, method)
        return method.__get__(instance, owner)


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


def _initial(cls: Any) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a class, and what only its `__init__` takes."""
    kept, told = {field.name for field in dataclasses.fields(cls)}, cls.__dataclass_fields__
    return {name: field for name, field in told.items() if name in kept or "InitVar" in str(field.type)}


class _Unsaid:
    """Stands for what a factory makes where nothing is said, and is shown as Python's own shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_UNSAID = _Unsaid()


def _made_init(cls: Any) -> Any:
    """`__init__` with the signature and the steps of Python's own, which would compile two more functions for it."""
    initial, kept = _initial(cls), {field.name for field in dataclasses.fields(cls)}
    known: dict[str, Any] = {"_set": object.__setattr__, "_UNSAID": _UNSAID}
    places, named, steps = ["self"], ["*"], []
    for name, field in initial.items():
        has_factory = field.default_factory is not MISSING
        known[f"_{name}"] = field.default_factory if has_factory else field.default
        value = f"_{name}()" if has_factory else ""
        if field.init:
            usual = "=_UNSAID" if has_factory else "" if field.default is MISSING else f"=_{name}"
            (named if field.kw_only else places).append(name + usual)
            value = f"{value} if {name} is _UNSAID else {name}" if has_factory else name
        if name in kept and value:
            steps.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        steps.append(f"self.__post_init__({', '.join(name for name in initial if name not in kept)})")
    head = ", ".join([*places, *(named if named[1:] else [])])
    exec(f"def __init__({head}):\n " + "\n ".join(steps or ["pass"]), known)
    method = known["__init__"]
    method.__annotations__ = {name: field.type for name, field in initial.items() if field.init} | {"return": None}
    method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    return method


def _made(cls: Any, name: str) -> Any:
    """This method as Python's own makes it, for a class with the same fields."""
    fields = dataclasses.fields(cls)
    body: dict[str, Any] = {field.name: field for field in fields}
    body |= {"__annotations__": {field.name: field.type for field in fields}, "__doc__": cls.__doc__ or cls.__name__}
    body |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    wanted = {"__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash"}[name]
    make = dataclasses.dataclass(**{"init": False, "repr": False, "eq": False, wanted: True})
    twin: type = make(type(cls.__name__, (), body))
    return twin.__dict__[name]
