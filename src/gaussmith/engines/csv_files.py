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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.engines.versions import collect_batches, scan_csv
from gaussmith.expressions.spelling import as_number

# Text files in blocks of whole lines, so that each block can be read twice: quickly, and by the strict rule.

BLOCK_BYTES, MAX_BLOCK_BYTES, BYTES_PER_COLUMN = 1 << 22, 1 << 26, 1 << 15
"""Bytes read at a time: more of tables with thousands of columns, where each block costs time for every column."""

MAX_BATCH_NUMBERS = 1 << 26
"""Limit on the numbers in a block: half a gigabyte."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PACKED = (".gz", ".zst")
"""Suffixes of compressed files, which are read by the engine."""


FilePart = tuple[str, int]
"""A file without so many lines at its beginning."""


def read_blocks(parts: Iterable[FilePart], columns: int = 1, head: bytes = b"") -> Iterator[tuple[bytes, int]]:
    """The lines of files in blocks, and how many each has; every block begins with `head`.

    No block holds more lines than fit into a batch of this many columns: a file may be all line breaks.
    """
    most = max(1, MAX_BATCH_NUMBERS // max(1, columns))
    held: list[bytes] = []
    for piece in _read_pieces(parts, min(max(BLOCK_BYTES, columns * BYTES_PER_COLUMN), MAX_BLOCK_BYTES)):
        for start, end, lines in _cut(piece, most):
            yield b"".join([head, *held, memoryview(piece)[start:end]]), lines
            held = []
        rest = piece[piece.rfind(b"\n") + 1 :]
        held += [rest] if rest else []


def _read_pieces(parts: Iterable[FilePart], size: int) -> Iterator[bytes]:
    """The bytes of files one after the other, about so many at a time; each file ends with a line break."""
    held, length = list[bytes](), 0
    for path, skip in parts:
        end = b"\n"
        with open(path, "rb", buffering=0) as file:
            file.seek(len(BYTE_ORDER_MARK) if not skip and file.read(3) == BYTE_ORDER_MARK else 0)
            while piece := file.read(size):
                while skip and piece:
                    at = piece.find(b"\n") + 1
                    skip, piece = (skip - 1, piece[at:]) if at else (skip, b"")
                held.append(piece)
                end, length = piece[-1:] or end, length + len(piece)
                if length >= size:
                    yield b"".join(held)
                    held, length = [], 0
        if end != b"\n":
            held.append(b"\n")
    yield b"".join(held)


def _cut(piece: bytes, most: int) -> Iterator[tuple[int, int, int]]:
    """Where parts of whole lines begin and end, and how many lines each has, at most this many."""
    start, last = 0, piece.rfind(b"\n") + 1
    while start < last:
        end, lines = last, _count_lines(piece, start, last)
        while lines > most:
            end = piece.rfind(b"\n", start, start + (end - start) // 2) + 1 or piece.find(b"\n", start) + 1
            lines = _count_lines(piece, start, end)
        yield start, end, lines
        start = end


def _count_lines(piece: bytes, start: int, end: int) -> int:
    """How many line breaks are in a part of a piece; five times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(piece, np.uint8, end - start, start) == ord("\n")))


def odd_places(marks: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Where the number of marks so far, this place among them, is odd: from the first up to the second, and so on.

    As `np.logical_xor.accumulate`, in words of 64 bits: ten times as fast.

    >>> odd_places(np.array([False, True, False, True, True])).tolist()
    [False, True, True, False, True]
    """
    packed = np.packbits(marks, bitorder="little")
    words = np.zeros(-(-len(packed) // 8), "<u8")
    words.view(np.uint8)[: len(packed)] = packed
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    odd = np.bitwise_xor.accumulate(words >> np.uint64(63))  # of all words up to each
    words[1:] ^= np.negative(odd[:-1])
    return np.unpackbits(words.view(np.uint8), count=len(marks), bitorder="little").view(np.bool_)


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
class FileStart:
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


def look_at_file(path: str, separator: str, remote: bool) -> FileStart:
    """How one file is to be read. Reads the whole file, as bytes alone if every quote is in its place."""
    here = not (remote or path.lower().endswith(PACKED))
    found = _look_at_bytes(path, separator) if here else None
    return found or look_at(scan_lines([path], remote), separator)


def _look_at_bytes(path: str, separator: str) -> FileStart | None:
    """How a file is to be read; None where a quote is out of its place, or bytes alone do not tell."""
    decoder, replaced = codecs.getincrementaldecoder("utf-8")(), False
    quoted, inside, spans, held = False, 0, False, b"\n"  # a line break before the first line
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(LOOK_BYTES):
            while piece.endswith(b"\r") and (more := file.read(1)):  # a line break is not cut
                piece += more
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
    return FileStart(True, spans, replaced or _is_replaced(decoder, b""))


def _is_replaced(decoder: codecs.IncrementalDecoder, piece: bytes) -> bool:
    """Whether the next piece of a file, or its end if there is none, holds what is not UTF-8."""
    try:
        return REPLACEMENT in decoder.decode(piece, final=not piece)
    except UnicodeDecodeError:
        return True


def look_at(lines: pl.LazyFrame, separator: str) -> FileStart:
    """How the lines of one file are to be read. Reads the whole file.

    >>> import polars as pl
    >>> look_at(pl.LazyFrame({"line": ["name,height", '"Smith, B.",5', "Jones,6"]}), ",")
    FileStart(well_formed=True, spans_lines=False, replaced=False)
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
    return FileStart(fits and not inside, spans, replaced)


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


class Headers:
    """The headers of files. One that begins with the header of another has the same: it is not parsed again."""

    def __init__(self, separator: str, remote: bool, line_per_record: bool) -> None:
        self._how = separator, remote, line_per_record
        self._last = b"", Header((), 0)

    def of(self, path: str) -> Header:
        start, header = self._last
        if start and _begins_with(path, start):
            return header
        header = header_of(path, *self._how)
        _, remote, _ = self._how
        if not (remote or path.lower().endswith(PACKED)):
            self._last = _first_lines(path, header.lines), header
        return header


def _first_lines(path: str, count: int) -> bytes:
    """So many lines at the beginning of a file; nothing if it ends with them."""
    with open(path, "rb") as file:
        lines = b"".join(file.readline() for _ in range(count))
    return lines if lines.endswith(b"\n") else b""


def _begins_with(path: str, lines: bytes) -> bool:
    with open(path, "rb", buffering=0) as file:
        return file.read(len(lines)) == lines


# Columns of CSV and TSV files as doubles: Polars parses the numbers, our own rule reads what Polars does not.
#
#     block of lines ──Polars parses doubles──▶ doubles, null where it failed ──the strict rule, there alone──▶ doubles
#
# As long as Polars has parsed all fields of the files, or found them empty, it is told to fail where it cannot parse
# one: then what is null is missing, and nothing is parsed again. From the first block that fails on, both rules read
# each.
#
# Polars parses no text that `gaussmith.expressions.read_number` does not read, but NaN, which is missing by both; and
# it gives the same double. It fails on some texts that the rule reads: booleans and blanks after a number. Hence the
# result is that of the rule for every text. tests/unit/test_text_numbers.py compares both on all short texts.
#
# Blocks begin at any line break, so that files with line breaks in quotes are not read here.

if typing.TYPE_CHECKING:
    import polars as pl


def read_csv_columns(
    parts: Iterable[FilePart], separator: str, header: Sequence[str], names: Sequence[str], texts: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """Some columns of well-formed files without quoted line breaks, as doubles x0, x1 …, those of `texts` as text.

    In batches. The files have the same names in their headers, which are left out of the parts. Columns that the header
    does not have are missing everywhere.
    """
    places = [header.index(name) if name in header else None for name in names]
    written = {place for name, place in zip(names, places, strict=True) if place is not None and name in texts}
    # A header of ours comes first: without one, the first line of a block would say how many fields there are.
    head = separator.join(f"c{place}" for place in range(len(header))).encode() + b"\n"
    complete = True
    for block, lines in read_blocks(parts, len(header), head):
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
