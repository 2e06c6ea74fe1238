"""The one table of a release for other programs: as CSV for R and spreadsheets, as Parquet and Arrow with metadata."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from gaussmith.releases.saved import versions_of
from gaussmith.texts import spreadsheet_text

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases.release import Release
    from gaussmith.releases.tabled import Tabled


def csv_table(tabled: Tabled, confidence: float = 0.95) -> pl.DataFrame:
    """The table for a .csv file: a number that is not known is an empty cell, and no text is a formula.

    An empty cell is read as NA in R and is blank in a spreadsheet; `status` and `note` say why it is empty. Text that
    a spreadsheet would evaluate has an apostrophe before it.
    """
    import polars as pl

    table = tabled.to_polars(confidence)
    numbers = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    known = [pl.Series(name, [_known(value) for value in table[name].to_list()], dtype=pl.Float64) for name in numbers]
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    cells = [table[name].map_elements(spreadsheet_text, return_dtype=pl.String) for name in texts]
    return table.with_columns(known + cells).rename({name: spreadsheet_text(name) for name in table.columns})


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def metadata_of(release: Release) -> dict[str, str]:
    """What a reader of the table must know, as texts: guarantee, neighbours, unit, plan, versions, id and receipt.

    Tables and lists are JSON. The unit is empty where each row is one person.
    """
    from gaussmith import __version__

    plan = release.plan
    units = sorted({rule.unit for rule in release.row_rules if rule is not None and rule.unit is not None})
    stated = plan.guarantee.to_dict() | {"mu": plan.spends.mu}
    if plan.pays_for_keys:
        stated["keys_delta"] = float(plan.keys_delta)
    found: dict[str, Any] = {
        "guarantee": stated,
        "neighbours": plan.neighbours,
        "protects": plan.protects,
        "unit": ", ".join(units),
        "plan_hash": plan.hash,
        "confidence": "0.95",
        "version": release.software or __version__,
        "versions": versions_of(release) or {},
        "id": release.id or "",
        "receipt": release.receipt or "",
        "about": plan.about.to_dict() if plan.about is not None else {},
        **({"made_up": "true"} if release.made_up else {}),
    }
    return {
        f"gaussmith.{name}": value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        for name, value in found.items()
    }
