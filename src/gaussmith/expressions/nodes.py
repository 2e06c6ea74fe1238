"""The three kinds of node in the tree of an expression.

Every node says what it is: its `constant` (a literal), its `column` (a column), or None; only an operation has
`arguments`.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from gaussmith.values import dataclass


@dataclass(frozen=True)
class Literal:
    """A number, a text or a truth written in the expression."""

    value: float | str | bool
    at: int = field(default=0, compare=False)

    column: ClassVar[None] = None
    arguments: ClassVar[tuple[Node, ...]] = ()
    columns_used: ClassVar[tuple[str, ...]] = ()

    @property
    def constant(self) -> float | str | bool:
        return self.value

    @property
    def conditions(self) -> tuple[Node, ...]:
        return (self,)


@dataclass(frozen=True)
class Column:
    """A column of the source, or a derived one."""

    name: str
    at: int = field(default=0, compare=False)

    constant: ClassVar[None] = None
    arguments: ClassVar[tuple[Node, ...]] = ()

    @property
    def column(self) -> str:
        return self.name

    @property
    def columns_used(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def conditions(self) -> tuple[Node, ...]:
        return (self,)


@dataclass(frozen=True)
class Operation:
    """An operator or a function, and what it is applied to."""

    name: str
    arguments: tuple[Node, ...]
    at: int = field(default=0, compare=False)

    constant: ClassVar[None] = None
    column: ClassVar[None] = None

    @property
    def columns_used(self) -> tuple[str, ...]:
        """The names of the columns below, in order of first use."""
        return tuple(dict.fromkeys(name for argument in self.arguments for name in argument.columns_used))

    @property
    def conditions(self) -> tuple[Node, ...]:
        """The conditions that must all hold, where this is a filter."""
        if self.name != "and":
            return (self,)
        return tuple(each for argument in self.arguments for each in argument.conditions)


Node = Literal | Column | Operation


def described(kind: str) -> str:
    """A kind as messages name it.

    >>> described("truth"), described("text"), described("number")
    ('a boolean', 'text', 'a number')
    """
    return {"truth": "a boolean", "text": "text"}.get(kind, f"a {kind}")
