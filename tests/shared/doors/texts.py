"""Text formats: CSV with quotes and without, TSV, compressed CSV, JSON lines."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doors.tables import Table
from doors.values import BOOLEAN, DECIMAL, FLOAT, INTEGER, TEXTS, UNSIGNED, as_bytes, spelt

Columns = Sequence[str]

FORBIDDEN_IN_RAW_LINES = "\r\n,"
"""What a writer that never quotes cannot put into a field."""


def separated(table: Table, separator: str) -> bytes:
    """Lines as RFC 4180 has them: a field is quoted where it must be. A missing value is an empty field."""

    def field(kind: str, value: Any) -> str:
        text = spelt(kind, value)
        if text is None:
            return ""
        quoted = not text or text != text.strip() or any(sign in text for sign in f'"\r\n{separator}')
        return '"' + text.replace('"', '""') + '"' if quoted else text

    lines = [separator.join(table.types)]
    lines += [separator.join(field(kind, row[name]) for name, kind in table.types.items()) for row in table.rows]
    return as_bytes("".join(line + "\n" for line in lines))


def write_csv(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "data.csv"
    path.write_bytes(separated(table, ","))
    return str(path)


def write_tsv(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "data.tsv"
    path.write_bytes(separated(table, "\t"))
    return str(path)


def write_packed_csv(table: Table, folder: Path, columns: Columns = ()) -> str:
    path = folder / "data.csv.gz"
    path.write_bytes(gzip.compress(separated(table, ","), mtime=0))
    return str(path)


def write_raw_csv(table: Table, folder: Path, columns: Columns = ()) -> dict[str, Any]:
    """Lines of a writer that never quotes, read line by line."""
    path = folder / "data.csv"
    lines = [",".join(table.types)]
    lines += [",".join(spelt(kind, row[name]) or "" for name, kind in table.types.items()) for row in table.rows]
    path.write_bytes(as_bytes("".join(line + "\n" for line in lines)))
    return {"path": str(path), "line_per_record": True}


def plain_fields(table: Table) -> Table:
    """What fits into lines that are not quoted."""
    for name in table.types:
        table = table.mapped(name, lambda value: _plain(value) if isinstance(value, str) else value)
    return table


def _plain(text: str) -> str:
    """A field that is one field in a raw line, and that does not begin like a quoted one."""
    for sign in FORBIDDEN_IN_RAW_LINES:
        text = text.replace(sign, "_")
    return "q" + text if text.startswith('"') else text


def raw_identity(kind: str, value: Any) -> Any:
    """Every id is text, as it stands in its line."""
    text = spelt(kind, value)
    return None if text is None else _plain(text)


def text_identity(kind: str, value: Any) -> Any:
    """In text formats every id is text, as it is spelt."""
    return spelt(kind, value)


def write_json_lines(table: Table, folder: Path, columns: Columns = ()) -> str:
    """Numbers as numbers where JSON has them; a missing value as null or as no key at all."""
    path = folder / "data.jsonl"
    lines = []
    for place, row in enumerate(table.rows):
        kept = {name: value for name, value in row.items() if value is not None or place % 2}
        lines.append("{" + ", ".join(f'"{name}": {_token(table.types[name], v)}' for name, v in kept.items()) + "}")
    path.write_bytes(b"".join(as_bytes(line) + b"\n" for line in lines))
    return str(path)


def _token(kind: str, value: Any) -> str:
    if value is None:
        return "null"
    if kind == BOOLEAN:
        return "true" if value else "false"
    is_number = not isinstance(value, str) and kind in (INTEGER, UNSIGNED, FLOAT, DECIMAL)
    if is_number and (kind != FLOAT or math.isfinite(value)):
        return str(spelt(kind, value))
    text = str(spelt(kind, value))
    # Bytes that are not UTF-8 stand as they are; all other lone surrogates are escaped.
    signs = (sign if "\udc80" <= sign <= "\udcff" else json.dumps(sign)[1:-1] for sign in text)
    return '"' + "".join(signs if kind in TEXTS or isinstance(value, str) else [json.dumps(text)[1:-1]]) + '"'
