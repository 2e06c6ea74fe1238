"""Columns of CSV and TSV files as doubles: Polars parses the numbers, our own rule reads what Polars does not.

    block of lines ──Polars parses doubles──▶ doubles, null where it failed ──the strict rule, there alone──▶ doubles

As long as Polars has parsed all fields of a file, or found them empty, it is told to fail where it cannot parse one:
then what is null is missing, and nothing is parsed again. From the first block that fails on, both rules read each.

Polars parses no text that `gaussmith.expressions.read_number` does not read, but NaN, which is missing by both; and it
gives the same double. It fails on some texts that the rule reads: booleans and blanks after a number. Hence
the result is that of the rule for every text. tests/unit/test_text_numbers.py compares both on all short texts.

Blocks begin at any line break, so that files with line breaks in quotes are not read here.
"""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterator, Mapping, Sequence

from gaussmith.engines.csv_files import REPLACEMENT, Header, select_fields, splitter
from gaussmith.engines.text_blocks import read_blocks
from gaussmith.expressions import as_number

if typing.TYPE_CHECKING:
    import polars as pl


def read_csv_columns(
    path: str, separator: str, header: Header, names: Sequence[str], texts: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """Some columns of a well-formed file without quoted line breaks, as doubles x0, x1 …, those of `texts` as text.

    In batches. Columns that the header does not have are missing everywhere.
    """
    places = [header.names.index(name) if name in header.names else None for name in names]
    written = {place for name, place in zip(names, places, strict=True) if place is not None and name in texts}
    # A header of ours comes first: without one, the first line of a block would say how many fields there are.
    head = separator.join(f"c{place}" for place in range(len(header.names))).encode() + b"\n"
    complete = True
    for block, lines in read_blocks(path, header.lines, len(header.names), head):
        batch = _parse_complete(block, separator, lines, places, written) if complete else None
        complete = batch is not None
        yield parse_block(block, separator, lines, places, written) if batch is None else batch


def _parse_complete(
    block: bytes, separator: str, lines: int, places: Sequence[int | None], texts: Collection[int]
) -> pl.DataFrame | None:
    """As `parse_block` if Polars parses every field or finds it empty; else None."""
    import polars as pl

    kinds = _kinds(places, texts)
    try:
        found = parse_fields(block, separator, kinds, fails=True)
    except pl.exceptions.PolarsError:  # it says which text it could not parse; nobody reads it
        return None
    return _chosen(found, block, places, texts) if kinds and found.height == lines else None


def parse_block(
    block: bytes, separator: str, lines: int, places: Sequence[int | None], texts: Collection[int] = ()
) -> pl.DataFrame:
    """The fields at these places of each line as doubles x0, x1 …; null where there is no number. As text at `texts`.

    Requires: a first line of the names c0, c1 … and this many other lines.

    >>> parse_block(b"c0,c1\\n1,TRUE\\n2e0,no\\n\\n", ",", 3, [0, 1]).rows()
    [(1.0, 1.0), (2.0, None), (None, None)]
    """
    import polars as pl

    kinds = _kinds(places, texts)
    if not kinds:
        nothing = pl.repeat(None, lines, dtype=pl.Float64, eager=True)
        return pl.DataFrame({f"x{j}": nothing for j in range(len(places))})
    found = parse_fields(block, separator, kinds)
    if found.height != lines:  # lines are counted by us, whatever the engine makes of them
        return _chosen(_read_lines(block, separator, lines, list(kinds), texts), b"", places, texts)
    odd = [place for place in kinds if place not in texts and found[f"c{place}"].null_count()]
    written = parse_fields(block, separator, dict.fromkeys(odd, pl.String))
    read = [read_failed(found[name], written[name]) for name in written.columns]
    return _chosen(found.with_columns(*read) if read else found, block, places, texts)


def _kinds(places: Sequence[int | None], texts: Collection[int]) -> dict[int, typing.Any]:
    """The types of the fields at these places, in their order."""
    import polars as pl

    wanted = sorted({place for place in places if place is not None})
    return {place: pl.String if place in texts else pl.Float64 for place in wanted}


def _chosen(found: pl.DataFrame, block: bytes, places: Sequence[int | None], texts: Collection[int]) -> pl.DataFrame:
    """The fields of a block as x0, x1 …; texts that are not UTF-8 are missing."""
    import polars as pl

    if texts and not block.isascii():
        value = pl.col(*(f"c{place}" for place in texts))
        found = found.with_columns(pl.when(~value.str.contains(REPLACEMENT, literal=True)).then(value))
    nothing = pl.repeat(None, found.height, dtype=pl.Float64, eager=True)
    columns = (nothing if place is None else found[f"c{place}"] for place in places)
    return pl.DataFrame([column.alias(f"x{j}") for j, column in enumerate(columns)])


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
    block: bytes, separator: str, kinds: Mapping[int, typing.Any], quote: str | None = '"', fails: bool = False
) -> pl.DataFrame:
    """The fields at these places as values of their types, null where they are none. The first line names c0, c1 …

    Or it `fails` where there is a field that is neither empty nor a value of its type.
    """
    import polars as pl

    if not kinds:
        return pl.DataFrame()
    types = {f"c{place}": kind for place, kind in kinds.items()}
    return pl.read_csv(
        block,
        separator=separator,
        quote_char=quote,
        columns=list(types),
        schema_overrides=types,
        infer_schema=False,
        ignore_errors=not fails,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )


def _read_lines(
    block: bytes, separator: str, count: int, places: Sequence[int], texts: Collection[int]
) -> pl.DataFrame:
    """The same by our own reader of lines."""
    lines = block.decode("utf-8", "replace").split("\n")[1 : count + 1]
    split, names = splitter(separator), [f"c{place}" for place in places]
    found = select_fields((split(line.removesuffix("\r")) for line in lines), names, places, None)
    written = {f"c{place}" for place in texts}
    return found.select(each if each.name in written else read_texts(each).alias(each.name) for each in found)
