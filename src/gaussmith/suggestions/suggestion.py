"""What was learned for a request: bounds, keys, rows and groups of a person. Noisy, public, and ready to be written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.releases import Release
from gaussmith.suggestions.columns import Columns
from gaussmith.suggestions.questions import LEVEL, are_countable
from gaussmith.texts import printable
from gaussmith.words.releases import key_text

FEW_VALUES = "too few people with values other than 0 to be seen"
"""Why no bounds were found."""


class Outside(NamedTuple):
    """The part of people beyond bounds, with the ends of an interval of 95 %."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low <= 0:
            return f"no sign of people outside, at most about {_percent(max(self.high, 0.0))}"
        told = f"about {_percent(self.share)} of people lie outside, {_percent(self.low)} to {_percent(self.high)}"
        return told + (": make them wider" if self.low > 0.05 else "")


class Limit(NamedTuple):
    """How many rows or groups nearly all people have at most, with the ends of an interval; None: no end was seen."""

    most: int
    low: int
    high: int | None

    def told(self, what: str) -> str:
        high = "or more" if self.high is None else f"to {self.high:,}"
        sure = "" if self.low == self.high else f" (this may be {self.low:,} {high})"
        return f"{100 * LEVEL:.0f} of 100 people have at most about {self.most:,} {what}{sure}"


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A suggested request. `toml()` is its file, `str()` says what was learned, `releases` are the records.

    bounds:           by column; None where none were found
    outside:          the part of people beyond them
    keys:             by column, those that were shown; None where keys were not looked for
    rows_per_unit:    None without a unit, and where it was not found
    groups_per_unit:  by column, where it was found
    """

    source: Any = field(repr=False)
    unit: str | None
    guarantee: Guarantee
    spent: Guarantee
    keys_delta: float
    columns: Columns = field(repr=False)
    bounds: Mapping[str, tuple[float, float] | None]
    outside: Mapping[str, Outside] = field(repr=False)
    keys: Mapping[str, tuple[Any, ...] | None]
    rows_per_unit: Limit | None
    groups_per_unit: Mapping[str, Limit]
    why_no_keys: str = ""
    charged_to: str = ""
    releases: Mapping[str, Release] = field(default_factory=dict, repr=False)

    def toml(self, beside: str | os.PathLike[str] | None = None) -> str:
        """The request as a commented TOML file; `beside` is the folder that it will be in."""
        from gaussmith.suggestions.request_file import request_text

        return request_text(self, None if beside is None else Path(beside))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the request file; refuses to overwrite one."""
        file = Path(path)
        check_file(file)
        try:
            file.write_text(self.toml(file.absolute().parent), encoding="utf-8")
        except OSError as error:
            raise _unwritten(file, f"it cannot be written: {error.strerror}") from None

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON: all noisy and public."""
        return {
            "bounds": {name: pair and list(pair) for name, pair in self.bounds.items()},
            "outside": {name: each._asdict() for name, each in self.outside.items()},
            "keys": {name: keys and [_plain(key) for key in keys] for name, keys in self.keys.items()},
            "rows_per_unit": self.rows_per_unit and self.rows_per_unit.most,
            "groups_per_unit": {name: limit.most for name, limit in self.groups_per_unit.items()},
            "spent": {**self.guarantee.to_dict(), "keys_delta": self.keys_delta},
        }

    def __str__(self) -> str:
        lines = [told for name in self.bounds for told in [self.told_bounds(name)]]
        if self.unit is not None:
            lines.append("rows of a person: " + told_limit(self.rows_per_unit, "rows"))
        for name, keys in self.keys.items():
            lines.append(f"{name}: {self.told_keys(keys)}")
            if self.unit is not None and keys and are_countable(keys):
                lines.append(f"{name}: " + told_limit(self.groups_per_unit.get(name), "of these keys"))
        lines.append(f"spent: {self.told_spent}")
        return "\n".join(map(printable, lines))

    def told_bounds(self, name: str) -> str:
        """The bounds of a column, and who is beyond them."""
        pair = self.bounds[name]
        if pair is None:
            return f"{name}: no bounds found, {FEW_VALUES}"
        outside = f"; {self.outside[name]}" if name in self.outside else ""
        return f"{name}: [{pair[0]:,.12g}, {pair[1]:,.12g}]{outside}"

    def told_keys(self, keys: tuple[Any, ...] | None) -> str:
        if keys is None:
            return f"keys were not looked for: {self.why_no_keys}"
        if not keys:
            return "no keys found"
        shown = ", ".join(map(key_text, keys[:8]))
        return f"{len(keys)} {'key' if len(keys) == 1 else 'keys'} found: {shown}{', …' if keys[8:] else ''}"

    @property
    def told_spent(self) -> str:
        """What was spent, in the words of the guarantee, and where it was charged."""
        stated = self.guarantee.to_dict()
        signs = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}
        told = ", ".join(f"{signs[name]} = {plain_number(value)}" for name, value in stated.items())
        if self.keys_delta:
            told += (
                f" ({plain_number(self.keys_delta)} of δ for keys)"
                if "delta" in stated
                else (f" and δ = {plain_number(self.keys_delta)} for keys")
            )
        return told + (f", charged to {self.charged_to}" if self.charged_to else "")


def told_limit(limit: Limit | None, what: str) -> str:
    """A limit in words."""
    return f"how many {what} people have is not known, too few to tell" if limit is None else limit.told(what)


def check_file(file: Path) -> None:
    """Refuse a file that is there, or that cannot be written: before anything is charged."""
    if file.exists():
        raise _unwritten(file, "it exists, and is not overwritten")
    if not os.access(file.absolute().parent, os.W_OK):
        raise _unwritten(file, "there is no such folder, or you cannot write to it")


def _unwritten(file: Path, rule: str) -> RequestError:
    said = without_secrets(file)
    what, remedy = f"suggested request {said!r}", "choose another name"
    return RequestError(what, rule, remedy, code="suggestion-not-written", file=said)


def _percent(share: float) -> str:
    return f"{100 * max(share, 0.001):.2g} %" if share < 0.995 else "100 %"


def _plain(key: Any) -> Any:
    return key if isinstance(key, str | bool | int) else str(key)


def plain_number(number: float) -> str:
    """A number as people write it.

    >>> plain_number(1e-07), plain_number(0.1)
    ('1e-7', '0.1')
    """
    return f"{number:.6g}".replace("e-0", "e-")
