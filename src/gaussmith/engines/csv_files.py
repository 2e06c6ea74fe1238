"""CSV and TSV files. No line decides whether there is a release, or what another line means.

    well-formed     every quote of the file is where RFC 4180 allows one: it opens a field, closes it, or is doubled
                    inside it. Quoted fields may hold separators and line breaks. Polars reads such a file.
    line by line    any other file, and every file of a source that says `line_per_record`: each line after the header
                    is one record. A quote that does not open and close its field is an ordinary character.

Both readings agree on every line that is well-formed by itself, so that one record with a stray quote changes the
reading of no other record, unless the file holds quoted line breaks too. Hence the promise rests on what wrote the
file: it follows RFC 4180, or it puts each record on one line. docs/files.md says so in the same words.

A value that is not valid UTF-8 is missing: Polars would replace its bytes by U+FFFD, and two names would become one.
"""

from __future__ import annotations

import codecs
import re
import typing
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gaussmith.engines.text_blocks import PACKED, odd_places
from gaussmith.engines.versions import collect_batches, scan_csv
from gaussmith.values import dataclass

if typing.TYPE_CHECKING:
    import polars as pl

QUOTE, BREAK, RETURN = 0x22, 0x0A, 0x0D

REPLACEMENT = "\ufffd"
"""Polars' replacement for bytes that are not UTF-8. A value that contains it is missing."""

LOOK_BYTES = 1 << 20
"""Bytes looked at a time."""

MAX_HEADER_LINES = 64
"""Limit on the lines of a header: names of columns may hold line breaks in quotes."""


@dataclass(frozen=True)
class Look:
    """The result of one pass over the lines of a file: how to read it."""

    well_formed: bool
    spans_lines: bool
    replaced: bool


def scan_lines(paths: Sequence[str], remote: bool) -> pl.LazyFrame:
    """All lines of text files, one column named `line`: null where a line is empty."""
    import polars as pl

    return scan_csv(
        paths,
        separator="\n",  # no separator splits a line: there is no line break in it
        has_header=False,
        quote_char=None,
        schema={"line": pl.String},
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=remote,
    )


def look_at_file(path: str, separator: str, remote: bool) -> Look:
    """How one file is to be read. Reads the whole file, as bytes alone if every quote is in its place."""
    here = not (remote or path.lower().endswith(PACKED))
    found = _look_at_bytes(path, separator) if here else None
    return found or look_at(scan_lines([path], remote), separator)


def _look_at_bytes(path: str, separator: str) -> Look | None:
    """How a file is to be read; None where a quote is out of its place, or bytes alone do not tell."""
    decoder, replaced = codecs.getincrementaldecoder("utf-8")(), False
    quoted, inside, spans, held = False, 0, False, b"\n"  # a line break before the first line
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(LOOK_BYTES):
            if not replaced and (not piece.isascii() or decoder.getstate()[0]):
                replaced = _is_replaced(decoder, piece)
            text = held + piece
            if inside or b'"' in text:
                text, quoted = text.replace(b"\r\n", b"\n") if b"\r" in text else text, True
                fits, across, inside = _follow(text.removesuffix(b"\r"), inside, separator)
                spans = spans or across
                if not fits:
                    return None
            held = text[-3:] if text.endswith(b"\r") else text[-2:]  # looked at, not yet, and half a line break
    if quoted:
        fits, across, inside = _follow(held + b"\n", inside, separator)
        if not fits or inside or held.endswith(b"\r"):  # whether a return at the very end counts, the engine says
            return None
        spans = spans or across
    return Look(True, spans, replaced or _is_replaced(decoder, b""))


def _is_replaced(decoder: codecs.IncrementalDecoder, piece: bytes) -> bool:
    """Whether the next piece of a file, or its end if there is none, holds what is not UTF-8."""
    try:
        return REPLACEMENT in decoder.decode(piece, final=not piece)
    except UnicodeDecodeError:
        return True


def look_at(lines: pl.LazyFrame, separator: str) -> Look:
    """How the lines of one file are to be read. Reads the whole file.

    >>> import polars as pl
    >>> look_at(pl.LazyFrame({"line": ["name,height", '"Smith, B.",5', "Jones,6"]}), ",")
    Look(well_formed=True, spans_lines=False, replaced=False)
    >>> look_at(pl.LazyFrame({"line": ["name,height", 'Smith,5\\'10"', "Jones,6"]}), ",").well_formed
    False
    """
    import polars as pl

    line = pl.col("line")
    odd = lines.filter(line.str.contains('"', literal=True) | line.str.contains(REPLACEMENT, literal=True))
    inside, fits, spans, replaced = 0, True, False, False
    for batch in collect_batches(odd, ordered=True):
        found = batch["line"]
        replaced = replaced or bool(found.str.contains(REPLACEMENT, literal=True).any())
        if fits:
            fits, across, inside = _follow(_enclosed(found.to_list()), inside, separator)
            spans = spans or across or bool(inside)
    return Look(fits and not inside, spans, replaced)


def _follow(text: bytes, inside: int, separator: str) -> tuple[bool, bool, int]:
    """Whether all quotes are in their places, whether a field goes on after a line, and whether the text ends in one.

    Quotes open and close in turn: one that opens stands at the beginning of a field, one that closes at its end, and a
    doubled one closes and opens at once. `inside` says whether the text begins inside a field. The first and the last
    letter are not looked at but for what they stand beside.
    """
    letters = np.frombuffer(text, np.uint8)
    fits, spans = True, False
    for start in range(1, len(letters) - 1, LOOK_BYTES):
        around = letters[start - 1 : start + LOOK_BYTES + 1]  # with a letter before and after
        quotes, breaks = around == QUOTE, around == BREAK
        beside, here = quotes | breaks | (around == ord(separator)), quotes[1:-1]
        within = ~odd_places(here) if inside else odd_places(here)  # from a quote that opens up to the one that closes
        opening = here & within
        fits = fits and not ((opening > beside[:-2]).any() or ((here ^ opening) > beside[2:]).any())
        spans = spans or bool((breaks[1:-1] & within).any())
        inside = (inside + int(np.count_nonzero(here))) % 2
    return fits, spans, inside


def _enclosed(lines: list[str]) -> bytes:
    """Lines with a line break before and after each."""
    return "\n".join(["", *lines, ""]).encode("utf-8", "surrogatepass")


def scan_well_formed(
    paths: Sequence[str], separator: str, remote: bool, replaced: bool, numbers: Sequence[str] = ()
) -> pl.LazyFrame:
    """Files in which every quote is in its place, read by Polars; columns are matched by name.

    The columns `numbers` are doubles: null where Polars cannot parse one.
    """
    import polars as pl

    parsed = {"schema_overrides": dict.fromkeys(numbers, pl.Float64), "ignore_errors": True} if numbers else {}
    lazy = scan_csv(
        paths,
        separator=separator,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=remote,
        **parsed,
    )
    if not replaced:
        return lazy
    value = pl.col(pl.String)
    return lazy.with_columns(pl.when(~value.str.contains(REPLACEMENT, literal=True)).then(value))


def scan_line_by_line(path: str, separator: str, remote: bool, header: Header, names: Sequence[str]) -> pl.LazyFrame:
    """Some columns of one file, each line after the header a record, whatever quotes it holds."""
    import polars as pl
    from polars.io.plugins import register_io_source

    split = splitter(separator)

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(names) if columns is None else columns
        places = [header.names.index(name) if name in header.names else None for name in wanted]
        above = header.lines
        for batch in collect_batches(scan_lines([path], remote), ordered=True):
            lines = batch["line"].fill_null("").to_list()
            yield select_fields(map(split, lines[above:]), wanted, places, predicate)
            above = max(0, above - len(lines))

    return register_io_source(batches, schema=dict.fromkeys(names, pl.String))


def select_fields(
    records: Iterable[list[str | None]], names: Sequence[str], places: Sequence[int | None], predicate: pl.Expr | None
) -> pl.DataFrame:
    """The fields at these places of each record, under these names: null where a record has no such field."""
    import polars as pl

    columns: list[list[str | None]] = [[] for _ in names]
    for fields in records:
        for column, place in zip(columns, places, strict=True):
            value = fields[place] if place is not None and place < len(fields) else None
            column.append(None if value is not None and REPLACEMENT in value else value)
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    return frame if predicate is None else frame.filter(predicate)


def splitter(separator: str) -> typing.Callable[[str], list[str | None]]:
    """A function from a line to its fields, total: None for an empty field, which is missing.

    >>> splitter(",")('7,"a, ""b"" c",,"",5 ft 10",x"y",z"left open')
    ['7', 'a, "b" c', None, '', '5 ft 10"', 'x"y"', 'z"left open']
    >>> splitter(",")('"left open, too,1')
    ['"left open', ' too', '1']
    """
    s = re.escape(separator)
    field = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{s}]*))(?:{s}|\Z)')

    def split(line: str) -> list[str | None]:
        if '"' not in line:
            return [text or None for text in line.split(separator)]
        fields: list[str | None] = []
        at = 0
        while True:
            found = field.match(line, at)
            assert found is not None  # the second branch takes anything up to a separator or the end
            quoted, plain = found.groups()
            fields.append(quoted.replace('""', '"') if quoted is not None else plain or None)
            if found.end() == len(line) and not (found.end() > found.start() and line[found.end() - 1] == separator):
                return fields
            if found.end() == len(line):  # a separator at the end: an empty field follows it
                return [*fields, None]
            at = found.end()

    return split


@dataclass(frozen=True)
class Header:
    """The names of the columns of a file, and the number of lines up to the end of the header."""

    names: tuple[str, ...]
    lines: int


def header_of(path: str, separator: str, remote: bool, line_per_record: bool = False) -> Header:
    """The first line that is not empty. A quoted name may go on in further lines, unless each line is a record.

    No line after the header is looked at: no record can make this fail.
    """
    empty, header = 0, ""
    for count in range(1, MAX_HEADER_LINES + 1):
        lines = scan_lines([path], remote).head(count).collect()["line"].fill_null("").to_list()
        empty = next((j for j, line in enumerate(lines) if line), len(lines))
        header = "\n".join(lines[empty:])
        fits, _, inside = _follow(_enclosed(lines[empty:]), 0, separator)
        if header and (line_per_record or not (fits and inside)):
            return Header(tuple(name or "" for name in splitter(separator)(header)), len(lines))
    raise ValueError("a header without an end")
