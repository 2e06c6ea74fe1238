"""The charges of a ledger as rows, for tables and charts."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.ledger.chain import Entry
from gaussmith.numerics.exact import fraction_up

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee


def charge_rows(entries: Iterable[Entry], whole: Guarantee, budget: int) -> list[dict[str, Any]]:
    """One row per charge, oldest first, against the `budget` of a ledger for `whole`; ε is rounded up."""
    from gaussmith.guarantee import Guarantee

    entries = list(entries)
    done = {entry.release_id: entry.charge for entry in entries if entry.kind == "store"}  # 0, or what was given back
    delta = whole.delta

    @functools.cache
    def epsilon(mu: float) -> float | None:
        return None if delta is None else Guarantee(mu=mu).epsilon_at(delta=delta)

    rows = []
    for entry in entries:
        if entry.kind == "reserve":
            body = json.loads(entry.body)
            stated = body["guarantee"]
            rows.append(
                {
                    "time": entry.time,
                    "id": entry.release_id,
                    "state": _state(body, entry.release_id in done),
                    "mu": body["mu"],
                    "epsilon": stated["epsilon"] if stated.get("delta") == delta is not None else epsilon(body["mu"]),
                    "share": (entry.charge + done.get(entry.release_id, 0)) / budget,
                    "spent": entry.spent / budget,
                    "keys_delta": fraction_up(Fraction(body["keys_delta"])),
                    "unit": body.get("unit"),
                    "software": entry.software,
                    "receipt": str(entry.receipt),
                }
            )
    return rows


def _state(body: dict[str, Any], is_done: bool) -> str:
    if body.get("note", {}).get("made by") is not None:
        return "other tool"
    return "done" if is_done else "pending"
