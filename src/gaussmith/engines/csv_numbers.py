"""Columns of CSV and TSV files as doubles: Polars parses the numbers, our own rule reads what Polars does not.

    block of lines ──Polars parses doubles──▶ doubles, null where it failed ──the strict rule, there alone──▶ doubles

Polars parses no text that `gaussmith.expressions.read_number` does not read, but NaN, which is missing by both; and it
gives the same double. It fails on some texts that the rule reads: booleans and blanks after a number. Hence
the result is that of the rule for every text. tests/unit/test_text_numbers.py compares both on all short texts.

Blocks begin at any line break, so that files with line breaks in quotes are not read here.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence

from gaussmith.engines.csv_files import Header, select_fields, splitter
from gaussmith.engines.text_blocks import read_blocks
from gaussmith.expressions import as_number

if typing.TYPE_CHECKING:
    import polars as pl


def read_csv_numbers(path: str, separator: str, header: Header, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some columns of a well-formed file without quoted line breaks, as doubles, in batches.

    Columns that the header does not have are missing everywhere.
    """
    places = [header.names.index(name) if name in header.names else None for name in names]
    # A header of ours comes first: without one, the first line of a block would say how many fields there are.
    head = separator.join(f"c{place}" for place in range(len(header.names))).encode() + b"\n"
    for block, lines in read_blocks(path, header.lines, len(header.names), head):
        yield parse_block(block, separator, lines, places)


def parse_block(block: bytes, separator: str, lines: int, places: Sequence[int | None]) -> pl.DataFrame:
    """The fields at these places of each line as doubles x0, x1 …; null where there is no number.

    Requires: a first line of the names c0, c1 … and this many other lines.

    >>> parse_block(b"c0,c1\\n1,TRUE\\n2e0,no\\n\\n", ",", 3, [0, 1]).rows()
    [(1.0, 1.0), (2.0, None), (None, None)]
    """
    import polars as pl

    wanted = sorted({place for place in places if place is not None})
    if not wanted:
        nothing = pl.repeat(None, lines, dtype=pl.Float64, eager=True)
        return pl.DataFrame({f"x{j}": nothing for j in range(len(places))})
    found = parse_fields(block, separator, wanted, pl.Float64)
    if found.height != lines:  # lines are counted by us, whatever the engine makes of them
        found = _read_lines(block, separator, lines, wanted)
    else:
        odd = [place for place in wanted if found[f"c{place}"].null_count()]
        texts = parse_fields(block, separator, odd, pl.String)
        read = [read_failed(found[name], texts[name]) for name in texts.columns]
        found = found.with_columns(*read) if read else found
    columns = (pl.lit(None, pl.Float64) if place is None else pl.col(f"c{place}") for place in places)
    return found.select(column.alias(f"x{j}") for j, column in enumerate(columns))


def read_quickly(texts: pl.Series) -> pl.Series:
    """Texts as doubles: cast by Polars, those that it does not cast read by the strict rule.

    As a parser of fields does, a cast reads no text that the rule does not read, but NaN.

    >>> import polars as pl
    >>> read_quickly(pl.Series(["1", "true", None, "x", " 2 "])).to_list()
    [1.0, 1.0, None, None, 2.0]
    """
    import polars as pl

    return read_failed(texts.cast(pl.Float64, strict=False), texts)


def read_failed(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    """Numbers that were parsed from texts, those that were not read by the strict rule."""
    failed = numbers.is_null() & texts.is_not_null()
    if not failed.any():
        return numbers
    return numbers.scatter(failed.arg_true(), read_texts(texts.filter(failed)))


def read_texts(texts: pl.Series) -> pl.Series:
    """Texts as doubles, by the strict rule."""
    import narwhals as nw

    frame = nw.from_native(texts.alias("x").to_frame().lazy()).select(as_number("x", "text").alias("x"))
    found: pl.Series = frame.collect("polars").to_native()["x"]
    return found


def parse_fields(
    block: bytes, separator: str, places: Sequence[int], kind: typing.Any, quote: str | None = '"'
) -> pl.DataFrame:
    """The fields at these places as values of one type, null where one cannot be parsed. The first line names c0 …"""
    import polars as pl

    if not places:
        return pl.DataFrame()
    names = [f"c{place}" for place in places]
    return pl.read_csv(
        block,
        separator=separator,
        quote_char=quote,
        columns=names,
        schema_overrides=dict.fromkeys(names, kind),
        infer_schema=False,
        ignore_errors=True,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )


def _read_lines(block: bytes, separator: str, count: int, places: Sequence[int]) -> pl.DataFrame:
    """The same by our own reader of lines."""
    lines = block.decode("utf-8", "replace").split("\n")[1 : count + 1]
    split, names = splitter(separator), [f"c{place}" for place in places]
    texts = select_fields((split(line.removesuffix("\r")) for line in lines), names, places, None)
    return texts.select(read_texts(column).alias(column.name) for column in texts)
