"""Frozen values are what Python's own dataclasses are, whichever of their methods is called first."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, field, replace
from threading import Barrier
from types import FunctionType
from typing import Any, ClassVar

import pytest

from gaussmith import values


def make(dataclass: Any) -> dict[str, Any]:
    @dataclass(frozen=True)
    class Point:
        """Without one, Python's own asks for the signature to write it."""

        x: int
        y: list[int] = field(default_factory=list)
        kind: ClassVar[str] = "point"
        note: str = field(default="", compare=False, repr=False)

    @dataclass(frozen=True, kw_only=True)
    class Further(Point):
        z: int = 3

        def __post_init__(self) -> None:
            if self.z < 0:
                raise ValueError("z")

    @dataclass(frozen=True, eq=False)
    class Named:
        name: str
        length: int = field(init=False, default=7)
        parts: list[str] = field(init=False, default_factory=list)
        spelled: InitVar[str] = ""

        def __post_init__(self, spelled: str) -> None:
            self.parts.append(spelled)

    @dataclass(frozen=True, init=False)
    class Own:
        size: int

        def __init__(self, *sizes: int) -> None:
            object.__setattr__(self, "size", sum(sizes))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

    return {made.__name__: made for made in (Point, Further, Named, Own)}


OURS, PYTHONS = make(values.dataclass), make(dataclasses.dataclass)
COMPILED = make(values.dataclass)
for compiled in COMPILED.values():
    compiled.__init__  # noqa: B018 (asked of the class, it is compiled)

CALLS = {
    "init": lambda kind: vars(kind["Point"](1, note="a")),
    "initial": lambda kind: [vars(kind["Named"]("a")), vars(kind["Named"]("a", spelled="b"))],
    "inherited": lambda kind: vars(kind["Further"](1, [2], z=4)),
    "repr": lambda kind: [repr(kind["Point"](1, [2])), repr(kind["Further"](1)), repr(kind["Own"](1, 2))],
    "equal": lambda kind: [
        kind["Point"](1, note="a") == kind["Point"](1, note="b"),
        kind["Point"](1) == kind["Point"](2),
        kind["Point"](1) == kind["Further"](1),
        kind["Named"]("a") == kind["Named"]("a"),
        kind["Own"](1) == kind["Own"](2),
    ],
    "hash": lambda kind: [hash(kind["Further"](1, (2,))), hash(kind["Own"](1, 2))],
    "replace": lambda kind: vars(replace(kind["Point"](1, [2], "a"), x=3)),
    "fields": lambda kind: [[(f.name, f.kw_only) for f in dataclasses.fields(each)] for each in kind.values()],
    "match": lambda kind: [each.__match_args__ for each in kind.values()],
    "copy": lambda kind: vars(copy.deepcopy(kind["Further"](1))),
    "dict": lambda kind: dataclasses.asdict(kind["Point"](1)),
}


@pytest.mark.parametrize("call", CALLS)
def test_values_are_pythons_dataclasses(call: str) -> None:
    for ours in (make(values.dataclass), OURS, COMPILED):  # as the first call of a class, and as later ones
        assert CALLS[call](ours) == CALLS[call](PYTHONS)


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: kind["Point"](),
        lambda kind: kind["Point"](1, other=2),
        lambda kind: kind["Further"](1, z=-1),
        lambda kind: kind["Further"](1, [], "", 4),
        lambda kind: kind["Further"](1, x=1),
        lambda kind: kind["Named"](),
        lambda kind: kind["Named"]("a", length=1),
        lambda kind: setattr(kind["Point"](1), "x", 2),
        lambda kind: setattr(kind["Point"](1), "new", 2),
        lambda kind: delattr(kind["Point"](1), "x"),
    ],
)
def test_values_refuse_what_pythons_dataclasses_refuse(call: Any) -> None:
    told = []
    for kind in (make(values.dataclass), COMPILED, PYTHONS):
        with pytest.raises((TypeError, ValueError, dataclasses.FrozenInstanceError)) as caught:
            call(kind)
        told.append(type(caught.value))
    assert len(set(told)) == 1


def test_methods_are_made_once_and_only_when_called() -> None:
    made = make(values.dataclass)["Point"]
    names = ("__init__", "__repr__", "__eq__", "__hash__")
    assert all(isinstance(vars(made)[name], values._Postponed) for name in names)
    points = [made(1) for _ in range(values.FEW)]
    assert isinstance(vars(made)["__init__"], values._Postponed)
    points.append(made(1))
    after = vars(made)["__init__"]
    assert after is made.__init__ and isinstance(after, FunctionType)
    assert all(isinstance(vars(made)[name], values._Postponed) for name in names[1:])
    assert len({repr(vars(point)) for point in points}) == 1 and points[0] == points[-1]
    assert made(1) == points[0] and vars(made)["__init__"] is after


def test_help_shows_the_signature_of_a_class_that_was_never_used() -> None:
    for name, pythons in PYTHONS.items():
        ours = make(values.dataclass)[name]
        assert str(inspect.signature(ours)) == str(inspect.signature(pythons))
        assert ours.__init__.__qualname__ == pythons.__init__.__qualname__


def test_pythons_dataclasses_extend_values() -> None:
    for base in (make(values.dataclass)["Further"], OURS["Further"]):

        @dataclasses.dataclass(frozen=True)
        class Furthest(base):  # type: ignore[misc, valid-type]
            w: int = 5

        @values.dataclass(frozen=True)
        class Beyond(Furthest):
            v: int = 6

        found = Beyond(1, [2], "", 7, 8, z=4)
        assert vars(found) == {"x": 1, "y": [2], "note": "", "z": 4, "w": 7, "v": 8}
        assert found == Beyond(1, [2], "", 7, 8, z=4)
        assert all(each.__dataclass_params__.frozen for each in (base, Furthest, Beyond))
        with pytest.raises(TypeError, match="non-frozen"):
            dataclasses.dataclass(type("Open", (base,), {}))


def test_fields_are_looked_at_once_and_only_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    look = values._look_at
    monkeypatch.setattr(values, "_look_at", lambda cls, kw_only: looked.append(cls.__name__) or look(cls, kw_only))
    made = make(values.dataclass)
    assert looked == ["Own"]  # nothing tells when one of its own is made
    assert made["Further"](1).y == [] and not hasattr(made["Point"], "y")
    assert sorted(looked) == ["Further", "Own", "Point"]
    assert made["Point"](1) == made["Point"](1) and made["Point"].note == ""
    assert len(looked) == 3


def test_threads_look_at_one_class_together() -> None:
    def use(_: int) -> list[Any]:
        barrier.wait()
        return [vars(made["Further"](1)), [each.name for each in dataclasses.fields(made["Named"])]]

    for _ in range(50):
        made, barrier = make(values.dataclass), Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            assert (
                list(pool.map(use, range(8)))
                == [[{"x": 1, "y": [], "note": "", "z": 3}, ["name", "length", "parts"]]] * 8
            )


@values.dataclass(frozen=True)
class Stored:
    x: int


def test_values_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Stored(1))) == Stored(1)


def test_other_classes_are_refused() -> None:
    with pytest.raises(TypeError, match="only frozen"):
        values.dataclass(frozen=False)(type("Open", (), {}))
