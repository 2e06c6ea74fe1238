"""Numbers of text files: what the engine parses quickly is what the strict rule reads, for every text and file."""

from __future__ import annotations

import gzip
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gaussmith.engines import csv_files, text_files
from gaussmith.engines import csv_files as csv_numbers
from gaussmith.engines import csv_files as text_blocks
from gaussmith.engines.csv_files import (
    look_at,
    look_at_file,
    odd_places,
    parse_block,
    read_blocks,
    read_csv_columns,
    read_failed,
    read_quickly,
    read_texts,
    scan_lines,
)
from gaussmith.engines.files import find_files, scan_files
from gaussmith.engines.text_files import number_batches, scan_numbers
from gaussmith.expressions.identity import read_number

WORDS = ("inf", "Infinity", "+INF", "-inf", "infinit", "nan", "-NaN", "TRUE", "false", "truee", "t", "1e400", "-1e400")
ODD = ("0x10", "0b1", "1e-400", "1d5", "1f", "１", "1\u00a0", "\u20281", "1'000", "1e5.0", "infinity1", "++1", "1e+-1")
SHORT = ["".join(letters) for k in (1, 2, 3, 4) for letters in itertools.product("01.e+- ", repeat=k)]
SHORT += ["".join(letters) for k in (2, 3) for letters in itertools.product("1E_\tnaif%", repeat=k)]
TEXTS = [*SHORT, *(left + word + right for word in (*WORDS, *ODD) for left in ("", " ", "\t") for right in ("", " "))]

numbers = (
    st.floats().map(repr)
    | st.integers().map(str)
    | st.from_regex(r"\A[-+]?[0-9]{0,40}\.?[0-9]{0,40}(e-?[0-9]{1,3})?\Z")
)
letters = st.text(st.sampled_from("0159.eE+-_ \tnaifTRUE"), max_size=12)
lines = st.text(st.sampled_from('15,.e- "\r\té'), max_size=8)


def without_nan(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else value for value in values]


def through_csv(texts: Sequence[str], quoted: bool) -> list[float | None]:
    mark = '"' if quoted else ""
    block = "c0,c1\n" + "".join(f"{mark}{text}{mark},{mark}{text}{mark}\n" for text in texts)
    frame = parse_block(block.encode(), ",", len(texts), [1, 0])
    assert without_nan(frame["x0"].to_list()) == without_nan(frame["x1"].to_list())
    return without_nan(frame["x0"].to_list())


@pytest.mark.parametrize("quoted", [False, True])
def test_every_short_text_is_the_number_that_the_rule_reads(quoted: bool) -> None:
    """Also where the engine alone would fail: a number followed by a blank, a boolean."""
    expected = [read_number(text) for text in TEXTS]
    assert through_csv(TEXTS, quoted) == expected
    assert without_nan(read_texts(pl.Series(TEXTS)).to_list()) == expected
    assert sum(value is not None for value in expected) > 300


def test_the_engine_parses_no_text_that_the_rule_does_not_read() -> None:
    """Else the quick way would be more lenient than the rule, and nothing would be read again."""
    block = "c0\n" + "".join(f"{text}\n" for text in TEXTS)
    parsed = csv_numbers.parse_fields(block.encode(), ",", {0: pl.Float64})["c0"].to_list()
    for text, value in zip(TEXTS, without_nan(parsed), strict=True):
        assert value is None or value == read_number(text), text
    again = [text for text, value in zip(TEXTS, parsed, strict=True) if value is None and read_number(text) is not None]
    assert again and all(text.endswith((" ", "\t")) or text.strip().lower() in ("true", "false") for text in again)


def test_a_cast_reads_no_text_that_the_rule_does_not_read() -> None:
    cast = pl.Series(TEXTS).cast(pl.Float64, strict=False).to_list()
    for text, value in zip(TEXTS, without_nan(cast), strict=True):
        assert value is None or value == read_number(text), text
    assert without_nan(read_quickly(pl.Series(TEXTS)).to_list()) == [read_number(text) for text in TEXTS]


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers | letters.filter(lambda text: text != ""), min_size=1, max_size=20))
def test_longer_texts_are_read_and_rounded_alike(texts: list[str]) -> None:
    assert through_csv(texts, quoted=False) == [read_number(text) for text in texts]
    assert without_nan(read_quickly(pl.Series(texts)).to_list()) == [read_number(text) for text in texts]


def test_what_failed_is_read_again() -> None:
    texts = pl.Series(["1", "true", None, "x", "2 "])
    assert read_failed(pl.Series([1.0, None, None, None, None]), texts).to_list() == [1.0, 1.0, None, None, 2.0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(lines, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["x", "x,y", "x,y,z"])
)
def test_files_are_the_same_either_way(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], line_break: str, ends: bool, header: str
) -> None:
    """The quick way gives the records and numbers of the text columns, whatever the lines hold."""
    assume(rows or ends)  # Polars 1.36 scans no file that ends with the letters of its header
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes((line_break.join([header, *rows]) + (line_break if ends else "")).encode())
    names = header.split(",")
    texts = scan_files(find_files(path), names).collect()
    expected = [tuple(map(read_number, row)) for row in texts.rows()]
    found = []
    for batch in number_batches(find_files(path), names):
        if isinstance(batch, pl.LazyFrame):
            return  # quotes in odd places: read as text
        found += [tuple(without_nan(row)) for row in batch.rows()]
    assert found == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(lines, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_compressed_files_are_the_same_either_way(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], line_break: str, begins: bool, odd: bool
) -> None:
    """Numbers up to the first that Polars does not parse, then texts: every record once, in its place."""
    path = tmp_path_factory.mktemp("csv") / "a.csv.gz"
    data = line_break.join(["x,y", *(["1,2.5", "-3,4"] * 3 if begins else []), *rows, ""]).encode()
    path.write_bytes(gzip.compress(data + (b"\xff,5\n" if odd else b"")))
    files, names = find_files(path), ["y", "x", "y"]
    expected = [tuple(map(read_number, (y, x, y))) for y, x in scan_files(files, ["y", "x"]).collect().rows()]
    found: list[tuple[float | None, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        batches = text_files.collect_batches
        patch.setattr(text_files, "collect_batches", lambda lazy, ordered: batches(lazy, 2, ordered))
        for batch in number_batches(files, names):
            if isinstance(batch, pl.DataFrame):
                found += [tuple(without_nan(row)) for row in batch.rows()]
            else:
                texts = batch.select("y", "x").collect().rows()
                found += [tuple(map(read_number, (y, x, y))) for y, x in texts]
    assert found == expected


def test_numbers_of_compressed_files_are_not_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1000))
    batches = list(number_batches(find_files(path), ["y", "x"]))
    assert all(isinstance(batch, pl.DataFrame) for batch in batches)
    assert [row for batch in batches for row in batch.rows()] == [(2.0, 1.0)] * 1000  # type: ignore[union-attr]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(lines, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([3, 1 << 20]),
    st.sets(st.sampled_from("xyz"), min_size=1),
    st.booleans(),
)
def test_columns_of_numbers_stand_beside_columns_of_text(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], line_break: str, size: int, numbers: set[str], odd: bool
) -> None:
    """Each is what it is alone, whatever the lines hold: quotes, blanks, letters that are not UTF-8."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    data = line_break.join(["x,y,z", *rows, "1,é,2", ""]).encode()
    path.write_bytes(data + (b"\xff,a\xc3,5\n" if odd else b""))
    files, names = find_files(path), ["z", "x", "y"]
    texts = scan_files(files, names).collect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
        found = scan_numbers(files, names, numbers).collect()
        some = scan_numbers(files, names, numbers).filter(pl.col("z").is_not_null()).select("z", "y").collect()
    assert found.schema == {name: pl.Float64 if name in numbers else pl.String for name in names}
    for name in names:
        if name in numbers:
            assert without_nan(found[name].to_list()) == list(map(read_number, texts[name]))
        else:
            assert found[name].to_list() == texts[name].to_list()
    assert some.equals(found.filter(pl.col("z").is_not_null()).select("z", "y"))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.sampled_from("15,\r"), max_size=6), max_size=12), st.integers(1, 9), st.booleans())
def test_blocks_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], size: int, ends: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    data = "\n".join(["x,y", *rows]) + ("\n" if ends else "")
    path.write_bytes(data.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
        patch.setattr(text_blocks, "MAX_BATCH_NUMBERS", 4)
        blocks = list(read_blocks([(str(path), 1)], 2, b"#"))
        numbers = [row for batch in read_csv_columns([(str(path), 1)], ",", "xy", ["x"]) for row in batch.rows()]
    ended = data[4:] + ("\n" if data[4:] and not data.endswith("\n") else "")
    assert "".join(block[1:].decode() for block, _ in blocks) == ended
    assert all(block[:1] == b"#" and count <= 2 for block, count in blocks)
    whole = data[4:].split("\n")
    assert sum(count for _, count in blocks) == len(whole) - (whole[-1] == "") == len(numbers)


HEADERS = ["x,y", "x,y\r", "\nx,y", "y,x", '"x",y', "x,z,y"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(HEADERS), st.lists(lines, max_size=4), st.booleans()), min_size=1, max_size=6),
    st.sampled_from([1, 20, 1 << 20]),
)
def test_many_files_are_read_as_each_alone(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, list[str], bool]], size: int
) -> None:
    """Whether they share a header or not, and whether the last line of one is ended or not."""
    folder, names = tmp_path_factory.mktemp("csv"), ["y", "x"]
    for i, (header, rows, ends) in enumerate(written):
        assume(rows or ends)
        (folder / f"{i}.csv").write_bytes(("\n".join([header, *rows]) + ("\n" if ends else "")).encode())

    def numbers(path: Path) -> list[list[float | None]]:
        found: list[list[float | None]] = []
        for batch in number_batches(find_files(path), names):
            if isinstance(batch, pl.DataFrame):
                found += [without_nan(row) for row in batch.rows()]
            else:
                found += [list(map(read_number, row)) for row in batch.select(names).collect().rows()]
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
        alone = [row for i in range(len(written)) for row in numbers(folder / f"{i}.csv")]
        assert numbers(folder / "*.csv") == alone


def test_small_files_are_read_together(tmp_path: Path) -> None:
    """A block for many of them: else each would cost as much as a block of a large one."""
    for i in range(50):
        (tmp_path / f"{i:02}.csv").write_text(f"x,y\n{i},1\n")
        (tmp_path / f"{i:02}.ndjson").write_text(f'{{"x": {i}, "y": 1}}')
    for pattern in ("*.csv", "*.ndjson"):
        (batch,) = number_batches(find_files(tmp_path / pattern), ["x", "y"])
        assert isinstance(batch, pl.DataFrame)
        assert batch.rows() == [(float(i), 1.0) for i in range(50)]


def test_lines_that_the_engine_counts_otherwise_are_split_by_us(monkeypatch: pytest.MonkeyPatch) -> None:
    block = b"c0,c1\n1,TRUE\r\n\n3,4"
    expected = parse_block(block, ",", 3, [0, 1])
    monkeypatch.setattr(csv_numbers, "parse_fields", lambda *_: pl.DataFrame({"c0": [1.0], "c1": [1.0]}))
    assert parse_block(block, ",", 3, [0, 1]).rows() == expected.rows() == [(1.0, 1.0), (None, None), (3.0, 4.0)]


def test_a_column_that_no_header_has_is_missing_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    for names, expected in ((["z"], [(None,)] * 2), (["y", "z", "y"], [(2.0, None, 2.0), (4.0, None, 4.0)])):
        (batch,) = read_csv_columns([(str(path), 1)], ",", "xy", names)
        assert batch.rows() == expected


@pytest.mark.parametrize(
    "text", [b"", b"a\n", b"\xff\n", b"a\xc3", b"\xc3\xbc\n", b"\xef\xbf\xbd\n", b'"a"\n', b'a"\n', b'"\n"\n']
)
@pytest.mark.parametrize("size", [1, 2, 64])
def test_bytes_are_looked_at_as_lines_are(
    text: bytes, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever pieces they come in: a letter of several bytes may be cut."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n" + text + b"y\n")
    monkeypatch.setattr("gaussmith.engines.csv_files.LOOK_BYTES", size)
    assert look_at_file(str(path), ",", False) == look_at(scan_lines([str(path)], False), ",")


def follow_quotes(text: str) -> tuple[bool, bool]:
    """Whether each quote is in its place, and whether one holds a line break: letter by letter."""
    inside, spans, fits = False, False, True
    letters = "\n" + text.replace("\r\n", "\n") + "\n"
    for before, letter, after in zip(letters, letters[1:], letters[2:], strict=False):
        if letter == '"':
            fits = fits and (after if inside else before) in ',"\n'
            inside = not inside
        spans = spans or (inside and letter == "\n")
    return fits and not inside, spans


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('a,"""\n\r\t é'), max_size=16), st.sampled_from([1, 2, 3, 4, 7, 1 << 20]))
def test_quotes_are_found_in_bytes_as_in_lines(tmp_path_factory: pytest.TempPathFactory, text: str, size: int) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.encode())
    lines = look_at(scan_lines([str(path)], False), ",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "LOOK_BYTES", size)
        assert look_at_file(str(path), ",", False) == lines
    if not text.endswith("\r"):
        well_formed, spans = follow_quotes(text)
        assert lines.well_formed == well_formed
        assert not well_formed or lines.spans_lines == spans


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(['"a"', '""', '"a,b"', '"a""b"', "a", "", '"a\n"', '"']), max_size=60), st.integers(1, 9)
)
def test_fields_are_looked_at_in_pieces_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, fields: list[str], size: int
) -> None:
    """Most of them well-formed, as files are: a quote at the end of a piece is judged by what comes after it."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    text = "".join(field + ("\r\n" if j % 3 == 2 else ",") for j, field in enumerate(fields))
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "LOOK_BYTES", size)
        found = look_at_file(str(path), ",", False)
    well_formed, spans = follow_quotes(text)
    assert found.well_formed == well_formed
    assert not well_formed or found.spans_lines == spans


@settings(max_examples=200, deadline=None)
@given(st.lists(st.booleans(), max_size=300))
def test_odd_places_are_those_with_an_odd_number_of_marks_so_far(marks: list[bool]) -> None:
    flags = np.array(marks, bool)
    assert odd_places(flags).tolist() == np.logical_xor.accumulate(flags).tolist()


def test_where_nothing_fails_null_is_what_the_rule_finds_missing() -> None:
    """The first way to read a block: if every field is parsed or empty, nothing is read again."""
    failed = 0
    for text in [*TEXTS, "", " ", "\t", " \t", '""', '" "', '"1"', "\x00", "\xa0"]:
        block = f"c0,c1\n{text},0\n".encode()
        try:
            (value,) = csv_numbers.parse_fields(block, ",", {0: pl.Float64}, fails=True)["c0"].to_list()
        except pl.exceptions.PolarsError:
            failed += 1
        else:
            assert without_nan([value]) == [read_number(text.strip('"'))], repr(text)
    assert failed > 1000


def test_a_file_is_read_by_both_rules_from_the_first_field_that_fails_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,a\n,b\n2,c\n" * 10 + "n/a,d\n3 ,e\nTRUE,f\n" + ",g\n4,h\n" * 10)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 32)
    monkeypatch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
    tried = []
    parse = csv_numbers.parse_fields
    monkeypatch.setattr(csv_numbers, "parse_fields", lambda *of, **how: tried.append(how) or parse(*of, **how))
    batches = list(read_csv_columns([(str(path), 1)], ",", "xy", ["x", "y"], {"y"}))
    numbers = [row[0] for batch in batches for row in batch.rows()]
    assert numbers == [1.0, None, 2.0] * 10 + [None, 3.0, 1.0] + [None, 4.0] * 10
    ways = [how.get("fails", False) for how in tried]
    assert ways.index(False) == ways.count(True) > 2  # strictly up to the block that fails, and never again
