"""Which columns a suggestion is about: decided by their names and types, or said by the analyst. Never by data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gaussmith.domains.groups import RESERVED
from gaussmith.errors import RequestError, nearest_column
from gaussmith.notations import PYTHON, notation

NUMBERS = ("number", "long number")
GROUPS = ("text", "object")


@dataclass(frozen=True)
class Columns:
    """The columns that are asked about, and those that are not.

    numbers:  their bounds are learned
    groups:   their keys are learned
    truths:   their keys are known from the type: false and true
    others:   neither numbers nor text, such as dates; or with a name that no column of keys may have
    """

    numbers: tuple[str, ...]
    groups: tuple[str, ...]
    truths: tuple[str, ...]
    others: tuple[str, ...]


def choose_columns(
    kinds: Mapping[str, str],
    written: frozenset[str],
    unit: str | None,
    numbers: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> Columns:
    """The columns of a source by their kinds; `written` are those of text formats, whose types nobody knows.

    >>> choose_columns({"age": "number", "place": "text", "when": "date"}, frozenset(), None, None, None)
    Columns(numbers=('age',), groups=('place',), truths=(), others=('when',))
    """
    for name in (*((unit,) if unit else ()), *(numbers or ()), *(groups or ())):
        if name not in kinds:
            what, rule = f"column {name!r}", "the source has no such column"
            raise RequestError(what, rule, nearest_column(name, kinds), code="no-such-column-to-suggest", column=name)
    said = numbers is not None or groups is not None
    chosen = dict.fromkeys(numbers or (), NUMBERS[0]) | dict.fromkeys(groups or (), GROUPS[0])
    twice = set(numbers or ()) & set(groups or ()) or {unit} & set(chosen)
    if twice:
        raise RequestError(
            f"column {min(map(str, twice))!r} named twice",
            "a column has numbers, or the keys of groups, or the ids of people",
            "name it once",
            code="suggested-column-twice",
            column=min(map(str, twice)),
        )
    known = chosen if said else {name: kind for name, kind in kinds.items() if name not in written and name != unit}
    known = {name: "other" if _is_unfit(name, kind) and not said else kind for name, kind in known.items()}
    found = Columns(
        tuple(name for name, kind in known.items() if kind in NUMBERS),
        tuple(name for name, kind in known.items() if kind in GROUPS),
        tuple(name for name, kind in known.items() if kind == "truth"),
        tuple(name for name, kind in known.items() if kind not in (*NUMBERS, *GROUPS, "truth")),
    )
    untyped = [name for name in kinds if name in written and name != unit]
    if found.numbers or found.groups or found.truths or (unit is not None and (said or not untyped)):
        return found
    if untyped:
        form = 'numbers=[…] and groups=["…"]' if notation() == PYTHON else "--numbers …,… --groups …"
        shown = ", ".join(untyped[:12]) + (", …" if untyped[12:] else "")
        raise RequestError(
            "a source whose columns have no types",
            "in a text file every column is text, and only names and types decide what is asked; nothing was spent",
            f"say which hold numbers and which the keys of groups, of {shown}: {form}; or use a Parquet file",
            code="suggestion-of-untyped-columns",
        )
    raise RequestError(
        "a source without a column of numbers, of text, or of true and false",
        "bounds are learned for numbers, and keys for text",
        "write the request yourself: docs/requests.md has examples",
        code="nothing-to-suggest",
    )


def _is_unfit(name: str, kind: str) -> bool:
    """Whether a table of answers could not show these keys."""
    return name in RESERVED and kind not in NUMBERS
