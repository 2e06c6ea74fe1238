"""CSV, TSV and JSON lines: which reader takes which file, and columns as text or, where that is quicker, as doubles.

    scan_texts       every column as text, as a lazy frame
    scan_numbers     the same, but doubles in columns that are read as numbers and nothing else
    number_batches   doubles in all columns, in batches for the kernels

Files on this machine are read in blocks of lines, by `csv_numbers` and `json_lines`. Compressed ones, those of a store
and those with quoted line breaks are scanned by Polars; those with quotes in odd places are split line by line.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby, product

import numpy as np

from gaussmith.engines.csv_files import (
    PACKED,
    QUOTE,
    REPLACEMENT,
    FilePart,
    FileStart,
    Headers,
    header_of,
    look_at_file,
    odd_places,
    parse_fields,
    read_blocks,
    read_csv_columns,
    read_failed,
    read_quickly,
    read_texts,
    scan_line_by_line,
    scan_lines,
    scan_well_formed,
)
from gaussmith.engines.versions import collect_batches

# JSON lines: named members of objects, one object per line, as text or as doubles. No line decides about another.
#
# **As text** strings lose their quotes, everything else stays as written. A line that is no object has no members. No
# reader of an engine does this: they raise on odd lines, round some numbers twice, or print them.
#
# Lines that look alike are read together, as text or as doubles. A line gives a form: its keys in their order. One
# regular expression says which other lines are objects of exactly this form, with numbers, booleans, nulls and plain
# strings as values. In these the marks of JSON are made separators, and Polars parses them as fields:
#
#     {"a":1,"b":"x, y"}    ──▶    ·"a"·1·"b"·"x, y"·    ──▶    fields 2 and 4
#
# Polars parses no text as a double that the strict rule does not read (see `csv_numbers`); that rule reads what
# Polars could not. Lines of no common form are decoded one by one.

if typing.TYPE_CHECKING:
    import msgspec
    import polars as pl

MAX_FORMS, MAX_MEMBERS, TRIED_LINES = 8, 400, 16
"""Limits on the forms of one block, on the members of a form, and on the lines from which a form is taken."""

SEPARATOR = "\x1f"
"""What stands for a mark of JSON between fields: no string holds it."""
SEPARATORS = bytes.maketrans(b"{}:,", 4 * SEPARATOR.encode())
HEAD = b"-\n"

BLANK = r"[ \t]*"
STYLES = (("", ",", ":"), ("", ", ", ": "), (BLANK, f"{BLANK},{BLANK}", f"{BLANK}:{BLANK}"))
"""How objects are written: what stands at both ends, between members, and after a key. The first are matched faster."""
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
PLAIN = r'"[^"\\{}:,\x00-\x1f\x{fffd}]*"'
"""A string that holds no mark of JSON and no escape."""
MARKED = r'"[^"\\\x00-\x1f\x{fffd}]*"'
"""A string without an escape."""


# ---- one by one ------------------------------------------------------------------------------------------------------


def scan_objects(lines: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Named members of the objects in a column `line`, as text. Blank lines are no records."""
    import polars as pl

    forms = list[Form]()

    def parse(found: pl.Series) -> pl.Series:
        return parse_texts(found, names, forms).to_struct(found.name)

    kind = pl.Struct(dict.fromkeys(names, pl.String))
    objects = pl.col("line").map_batches(parse, return_dtype=kind, is_elementwise=True)
    records = lines.filter(pl.col("line").str.contains(r"[^ \t\r]"))
    return records.select(objects).unnest("line") if names else records


def _decode(lines: pl.Series, names: Sequence[str]) -> pl.DataFrame:
    """Named members of the object in each line, as text."""
    import polars as pl

    rows = [_members(line) for line in lines]
    return pl.DataFrame({name: pl.Series([_text(row.get(name)) for row in rows], dtype=pl.String) for name in names})


@cache
def _decoder() -> msgspec.json.Decoder[dict[str, msgspec.Raw]]:
    import msgspec

    return msgspec.json.Decoder(dict[str, msgspec.Raw])


def _members(line: str) -> dict[str, msgspec.Raw]:
    import msgspec

    try:
        return _decoder().decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _text(token: msgspec.Raw | None) -> str | None:
    """A JSON token as text: strings lose their quotes, everything else stays as written.

    Missing: null, and what is not valid Unicode (bytes that are not UTF-8, half a pair of surrogates).
    """
    import msgspec

    raw = b"null" if token is None else bytes(token)
    try:
        text = str(msgspec.json.decode(raw)) if raw[0] == QUOTE else raw.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return None if raw == b"null" or REPLACEMENT in text else text


# ---- many at once ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """The keys of an object in their order, and the pattern of all lines that have them."""

    keys: tuple[str, ...]
    pattern: str
    marked: bool
    """Whether strings may hold marks of JSON."""


def form_of(line: str) -> Form | None:
    """The form of a line; None for a line that is no object, or not one that can be read as fields.

    >>> form_of('{"a": 1, "b": "x"}').keys, form_of('{"a": [1]}'), form_of("[1]"), form_of('{"a": 1, "a": 2}')
    (('a', 'b'), None, None, None)
    """
    import polars as pl

    keys = tuple(_members(line))
    plain = all(not set(key) & set('"\\{}:,' + REPLACEMENT) and key.isprintable() for key in keys)
    if not keys or len(keys) > MAX_MEMBERS or not plain:
        return None
    text = pl.Series([line])
    for marked, (end, comma, colon) in product((False, True), STYLES):
        value = f"(?:{NUMBER}|true|false|null|{MARKED if marked else PLAIN})"
        members = comma.join(f'"{_escaped(key)}"{colon}{value}' for key in keys)
        pattern = rf"\A{end}\{{{end}{members}{end}\}}{end}\z"
        try:
            if text.str.contains(pattern).item():  # not if a key occurs twice
                return Form(keys, pattern, marked)
        except pl.exceptions.PolarsError:  # the pattern is too long
            return None
    return None


def _escaped(key: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in key)


def read_objects(paths: Iterable[str], names: Sequence[str], texts: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """Named members of the objects in files as doubles x0, x1 …, those of `texts` as text.

    In batches; in any order within one.
    """
    forms = list[Form]()
    for block, count in read_blocks(((path, 0) for path in paths), columns=len(names), head=HEAD):
        yield parse_objects(block, count, names, forms, texts)


def parse_objects(
    block: bytes, count: int, names: Sequence[str], forms: list[Form] | None = None, texts: Collection[str] = ()
) -> pl.DataFrame:
    """The same of one block of lines. Requires: HEAD and then this many lines.

    `forms` are those of earlier blocks, which are tried first; new ones are added.

    >>> parse_objects(b'-\\n{"a":1,"b":true}\\n{"a":"2"}\\nno\\n\\n', 4, ["a", "b"]).sort("x0", nulls_last=True).rows()
    [(1.0, 1.0), (2.0, None), (None, None)]
    """
    import polars as pl

    lines = _lines(block, count)
    forms, found = [] if forms is None else forms, list[pl.DataFrame]()
    for turn in range(MAX_FORMS):
        if (form := _form_at(turn, forms, lines)) is None:
            break
        fits = lines.str.contains(form.pattern)
        whole = len(lines) == count and bool(fits.all())
        text = memoryview(block)[len(HEAD) :] if whole else "\n".join(lines.filter(fits).to_list()).encode()
        if fits.any():
            found.append(_parse_alike(text, form, int(fits.sum()), names, texts))
        lines = lines.clear() if whole else lines.filter(~fits)
    others = lines.filter(lines.str.contains(r"[^ \t\r]"))
    if len(others) or not found:
        decoded = _decode(others, list(dict.fromkeys(names)))
        columns = (decoded[name] if name in texts else read_texts(decoded[name]) for name in names)
        found.append(pl.DataFrame({f"x{j}": column for j, column in enumerate(columns)}))
    return pl.concat(found)


def parse_texts(lines: pl.Series, names: Sequence[str], forms: list[Form]) -> pl.DataFrame:
    """Named members of the objects in lines as text, in the order of the lines.

    `forms` are those of earlier lines; new ones are added.

    >>> import polars as pl
    >>> parse_texts(pl.Series(['{"a":1.0}', '{"a": "x"}', "no", '{"a":"null"}', '{"a":null}']), ["a"], []).rows()
    [('1.0',), ('x',), (None,), ('null',), (None,)]
    """
    import polars as pl

    lines, left = lines.fill_null(""), pl.int_range(len(lines), eager=True)
    found, places = list[pl.DataFrame](), list[pl.Series]()
    for turn in range(MAX_FORMS):
        if (form := _form_at(turn, forms, lines)) is None:
            break
        fits = lines.str.contains(form.pattern)
        if fits.any():
            text = "\n".join(lines.filter(fits).to_list()).encode()
            alike = _parse_alike(text, form, int(fits.sum()), names, names)
            found.append(alike.rename({f"x{j}": name for j, name in enumerate(names)}))
            places.append(left.filter(fits))
        lines, left = lines.filter(~fits), left.filter(~fits)
    if len(lines) or not found:
        found.append(_decode(lines, names))
        places.append(left)
    whole = pl.concat(found)
    return whole if len(found) == 1 else whole[pl.concat(places).arg_sort()]


def _form_at(turn: int, forms: list[Form], lines: pl.Series) -> Form | None:
    """The form to try next: one of earlier lines, or after these one of the lines that are left, which is added."""
    if turn == len(forms):
        forms += [form for form in map(form_of, lines.head(TRIED_LINES)) if form is not None][:1]
    return forms[turn] if turn < len(forms) and len(lines) else None


def _lines(block: bytes, count: int) -> pl.Series:
    """The lines of a block."""
    import polars as pl

    frame = pl.read_csv(
        block,
        separator="\n",
        has_header=False,
        quote_char=None,
        schema={"column_1": pl.String},
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
    lines = frame.to_series()[1:]
    if len(lines) == count:
        return lines.fill_null("")
    return pl.Series("column_1", block.decode("utf-8", "replace").split("\n")[1 : count + 1], dtype=pl.String)


def _parse_alike(
    text: bytes | memoryview, form: Form, count: int, names: Sequence[str], texts: Collection[str]
) -> pl.DataFrame:
    """Named members of lines of one form, as doubles x0, x1 … or as text."""
    import polars as pl

    data, places = _fields(text, form)
    kinds = {places[name]: pl.String if name in texts else pl.Float64 for name in names if name in places}
    found = parse_fields(data, SEPARATOR, dict(sorted(kinds.items())), quote=None)
    odd = [place for place, kind in kinds.items() if kind == pl.Float64 and found[f"c{place}"].null_count()]
    written = parse_fields(data, SEPARATOR, dict.fromkeys(sorted(odd), pl.String), quote=None)
    read = [read_failed(found[name], _unquoted(written[name])) for name in written.columns]
    read += [_told(found[f"c{place}"]) for place, kind in kinds.items() if kind == pl.String]
    found = found.with_columns(*read) if read else found
    return pl.DataFrame(
        {
            f"x{j}": found[f"c{places[name]}"]
            if name in places
            else pl.repeat(None, count, dtype=pl.String if name in texts else pl.Float64, eager=True)
            for j, name in enumerate(names)
        }
    )


def _told(written: pl.Series) -> pl.Series:
    """Values as text; null where `null` is written."""
    import polars as pl

    stripped = written.str.strip_chars(" \t")
    nothing = pl.repeat(None, len(written), dtype=pl.String, eager=True)
    return _unquoted(stripped).zip_with(stripped != "null", nothing)


def _fields(text: bytes | memoryview, form: Form) -> tuple[bytes, dict[str, int]]:
    """Lines of one form as fields below a line of the names c0, c1 …, and the place of the value of each key."""
    head = ",".join(f"c{place}" for place in range(2 * len(form.keys) + 2)).encode() + b"\n"
    data = b"".join([head, text])
    places = {key: 2 + 2 * j for j, key in enumerate(form.keys)}
    return _separated(data) if form.marked else data.translate(SEPARATORS), places


def _separated(data: bytes) -> bytes:
    """Marks as separators, but those inside strings as they are."""
    letters, fields = np.frombuffer(data, np.uint8), np.frombuffer(data.translate(SEPARATORS), np.uint8).copy()
    at = np.flatnonzero((fields != letters) & odd_places(letters == QUOTE))
    fields[at] = letters[at]
    return fields.tobytes()


def _unquoted(texts: pl.Series) -> pl.Series:
    """Values as text: without the blanks around them, strings without their quotes."""
    return texts.str.strip_chars(" \t").str.strip_prefix('"').str.strip_suffix('"')


if typing.TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.files import Files

Reader = Callable[[Sequence[str], Collection[str]], Iterator["pl.DataFrame"]]
"""What reads columns in batches, as doubles x0, x1 … or as text."""

Alike = tuple[str, ...] | str
"""What files that are read together have in common: the names in their headers. One for the engine has its path."""


def scan_texts(files: Files, names: Sequence[str] | None) -> pl.LazyFrame:
    """A lazy frame over the files, every column as text."""
    if files.format == "JSON lines":
        return scan_objects(scan_lines(files.paths, files.remote), names or ())
    return _scan_separated(files, names if names is not None else names_of(files))


def _is_native(files: Files, look: FileStart) -> bool:
    """Whether Polars reads a file of these."""
    return look.well_formed and not (files.line_per_record and look.spans_lines)


def _scan_separated(files: Files, names: Sequence[str], looks: Mapping[str, FileStart] | None = None) -> pl.LazyFrame:
    """CSV or TSV files: those in which every quote is in its place together, each of the others line by line."""
    import polars as pl

    separator = _separator(files)
    looks = looks or {path: look_at_file(path, separator, files.remote) for path in files.paths}

    def scan(paths: Sequence[str]) -> pl.LazyFrame:
        if _is_native(files, looks[paths[0]]):
            return scan_well_formed(paths, separator, files.remote, any(looks[path].replaced for path in paths))
        header = header_of(paths[0], separator, files.remote, files.line_per_record)
        return scan_line_by_line(paths[0], separator, files.remote, header, names or header.names)

    alone = [path for path in files.paths if not names or not _is_native(files, looks[path])]
    together = [path for path in files.paths if path not in set(alone)]
    scans = [scan(paths) for paths in ([together] if together else []) + [[path] for path in alone]]
    # Without names only the number of records is read.
    chosen = [each.select(*names) if names else each.select(pl.first().is_null().alias("")) for each in scans]
    return chosen[0] if len(chosen) == 1 else pl.concat(chosen)


def number_batches(files: Files, names: Sequence[str]) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    """Columns of text files: as doubles where they can be parsed at once, else scanned as text, file by file."""
    for header, parts in _alike(files):
        if not isinstance(header, str):
            yield from _read_blocks_of(files, header, parts, names, ())
        elif header.lower().endswith(PACKED) and files.format != "JSON lines" and not files.remote:
            yield from _packed_batches(replace(files, paths=(header,)), names)
        else:
            yield scan_texts(replace(files, paths=(header,)), names)


def _packed_batches(files: Files, names: Sequence[str]) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    """Columns of one compressed file: as doubles up to the first batch in which Polars could not parse a number.

    From there on as text. Both scans have the same rows in the same order: they differ in types alone.
    """
    import polars as pl

    separator, wanted = _separator(files), list(dict.fromkeys(names))
    (path,) = files.paths
    look = look_at_file(path, separator, remote=False)
    texts = _scan_separated(files, wanted, {path: look})
    if not _is_native(files, look):
        yield texts
        return
    numbers = scan_well_formed([path], separator, False, look.replaced, wanted)
    chosen = numbers.select(pl.col(name).alias(f"x{j}") for j, name in enumerate(names))
    done = 0
    for batch in collect_batches(chosen, ordered=True):
        if any(column.null_count() for column in batch):
            yield texts.slice(done)
            return
        done += batch.height
        yield batch


def scan_numbers(files: Files, names: Sequence[str], numbers: Collection[str]) -> pl.LazyFrame:
    """A lazy frame over text files as `scan_texts` gives it, but with doubles in some columns."""
    import polars as pl

    scans = []
    for header, parts in _alike(files):
        if not isinstance(header, str):
            scans.append(_scan_blocks(partial(_read_blocks_of, files, header, list(parts)), names, numbers))
            continue
        texts = (pl.col(name) for name in names if name in numbers)
        made = (text.map_batches(read_quickly, return_dtype=pl.Float64, is_elementwise=True) for text in texts)
        scans.append(scan_texts(replace(files, paths=(header,)), names).with_columns(*made))
    return scans[0] if len(scans) == 1 else pl.concat(scans)


def _alike(files: Files) -> Iterator[tuple[Alike, Iterator[FilePart]]]:
    """The files in their order, neighbours that are read together."""
    for header, parts in groupby(_parts(files), lambda part: part[0]):
        yield header, (part for _, part in parts)


def _parts(files: Files) -> Iterator[tuple[Alike, FilePart]]:
    """Each file without its header."""
    separator, headers = _separator(files), headers_of(files)
    for path in files.paths:
        if files.remote or path.lower().endswith(PACKED):
            yield path, (path, 0)
            continue
        if files.format == "JSON lines":
            yield (), (path, 0)
            continue
        look = look_at_file(path, separator, remote=False)
        if not look.well_formed or look.spans_lines:
            yield path, (path, 0)
            continue
        header = headers.of(path)
        yield header.names, (path, header.lines)


def _read_blocks_of(
    files: Files, header: Sequence[str], parts: Iterable[FilePart], names: Sequence[str], texts: Collection[str]
) -> Iterator[pl.DataFrame]:
    """Columns of files that are read together, as doubles x0, x1 … or as text, in batches."""
    if files.format == "JSON lines":
        return read_objects((path for path, _ in parts), names, texts)
    return read_csv_columns(parts, _separator(files), header, names, texts)


def _scan_blocks(read: Reader, names: Sequence[str], numbers: Collection[str]) -> pl.LazyFrame:
    """A lazy frame over the blocks of files."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(names) if columns is None else columns
        for batch in read(wanted, [name for name in wanted if name not in numbers]):
            batch.columns = wanted
            yield batch if predicate is None else batch.filter(predicate)

    schema = {name: pl.Float64 if name in numbers else pl.String for name in names}
    return register_io_source(batches, schema=schema)


def headers_of(files: Files) -> Headers:
    """What reads the headers of CSV or TSV files, names as written."""
    return Headers(_separator(files), files.remote, files.line_per_record)


def names_of(files: Files) -> tuple[str, ...]:
    """The names in the header of the first CSV or TSV file, as written."""
    return headers_of(files).of(files.paths[0]).names


def _separator(files: Files) -> str:
    return "\t" if files.format == "TSV" else ","
