"""Numbers of JSON lines: lines that are read together give what each gives when it is decoded alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaussmith.engines import csv_files as text_blocks
from gaussmith.engines import text_files as json_lines
from gaussmith.engines.csv_files import scan_lines
from gaussmith.engines.files import find_files
from gaussmith.engines.text_files import form_of, parse_objects, parse_texts, read_objects, scan_numbers
from gaussmith.expressions.identity import read_number

SHORT = ["".join(letters) for k in (1, 2, 3, 4) for letters in itertools.product('01.e+-" ', repeat=k)]
WORDS = (
    "true",
    "false",
    "null",
    "True",
    "nan",
    "NaN",
    "inf",
    "Infinity",
    "1e400",
    "-1e400",
    "01",
    "[1]",
    "{}",
    '{"a":1}',
)
STRINGS = (
    '"1"',
    '" 1 "',
    '"TRUE"',
    '"null"',
    '"a,b"',
    '"a:b"',
    '"{1}"',
    '"\\u0031"',
    '"\\n"',
    '"é"',
    '"\ufffd"',
    '"\x01"',
)
VALUES = [*SHORT, *WORDS, *STRINGS, '"1', '1"', "", "1,2", '1,"a":2', '1,"c":2', "1}", "1 ", " 1", "1\t", "1\r"]

values = st.sampled_from([*WORDS, *STRINGS, "1", "-2.5", "3e2"]) | st.floats(allow_nan=False, allow_infinity=False).map(
    repr
)
keys = st.lists(st.sampled_from(["a", "b", "c", 'd"', "é", "x y", "a:b", ""]), max_size=4)
styles = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@st.composite
def objects(draw: st.DrawFn) -> str:
    comma, colon = draw(styles)
    members = [f"{json.dumps(key, ensure_ascii=draw(st.booleans()))}{colon}{draw(values)}" for key in draw(keys)]
    return "{" + comma.join(members) + "}"


lines = objects() | st.text(st.sampled_from('{}":,1ab \\[]'), max_size=10) | st.sampled_from(["", " ", "\t", "null"])


def expected(data: bytes, names: list[str], folder: Path) -> list[tuple[float | None, ...]]:
    """Every line decoded alone."""
    (folder / "a.jsonl").write_bytes(data)
    found = scan_lines([str(folder / "a.jsonl")], False).collect()["line"]
    texts = json_lines._decode(found.filter(found.str.contains(r"[^ \t\r]")), names)
    return in_order([tuple(map(read_number, row)) for row in texts.rows()])


def found(data: bytes, names: list[str], folder: Path) -> list[tuple[float | None, ...]]:
    (folder / "a.jsonl").write_bytes(data)
    return in_order([row for batch in read_objects([str(folder / "a.jsonl")], names) for row in batch.rows()])


def in_order(rows: list[tuple[float | None, ...]]) -> list[tuple[float | None, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("form", ['{{"a":{}}}', '{{"b":1,"a": {} ,"c":2}}', '{{"b":"x, y","a":{}}}'])
def test_every_short_value_is_read_as_if_alone(form: str, tmp_path: Path) -> None:
    """Also those that are no JSON: there the whole line is missing."""
    data = ("\n".join([form.format("1"), *map(form.format, VALUES)]) + "\n").encode()
    alone = expected(data, ["a", "b"], tmp_path)
    assert found(data, ["a", "b"], tmp_path) == alone
    assert 50 < sum(row[0] is not None for row in alone) < len(alone) - 1000


@settings(max_examples=120, deadline=None)
@given(st.lists(lines, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from([3, 40, 1 << 20]))
def test_every_file_is_read_as_if_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], line_break: str, ends: bool, size: int
) -> None:
    folder = tmp_path_factory.mktemp("json")
    data = (line_break.join(rows) + (line_break if ends else "")).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
        for names in (["a"], ["b", "é", "a"], ["nowhere"]):
            assert found(data, names, folder) == expected(data, names, folder)


@settings(max_examples=120, deadline=None)
@given(st.lists(lines, max_size=12), st.sampled_from([3, 40, 1 << 20]), st.sampled_from([(), ("a",), ("a", "b", "é")]))
def test_members_that_are_numbers_stand_beside_texts(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], size: int, numbers: tuple[str, ...]
) -> None:
    path, names = tmp_path_factory.mktemp("json") / "a.jsonl", ["b", "é", "a"]
    path.write_bytes("\n".join([*rows, '{"a":"x, {y:z}","b":2}', ""]).encode())
    whole = scan_lines([str(path)], False).collect()["line"]
    alone = json_lines._decode(whole.filter(whole.str.contains(r"[^ \t\r]")), names).rows(named=True)
    expected = [tuple(read_number(v) if k in numbers else v for k, v in row.items()) for row in alone]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
        read = scan_numbers(find_files(path), names, numbers).collect()
    assert in_order(read.rows()) == in_order(expected)
    assert read.schema == {name: pl.Float64 if name in numbers else pl.String for name in names}


ODD_BYTES = (
    b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf{"a":2}\n',
    b'{"a":"\xff"}\n{"a":1}\n{"\xff":1,"a":3}',
    b"",
    b"\n\n",
    b'\n\n{"a":1}',
    b'{"a":1}\r\n\r\n',
)


@pytest.mark.parametrize("data", ODD_BYTES)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_odd_bytes_are_read_as_if_line_by_line(
    data: bytes, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", size)
    monkeypatch.setattr(text_blocks, "BYTES_PER_COLUMN", 0)
    assert found(data, ["a"], tmp_path) == expected(data, ["a"], tmp_path)


@pytest.mark.parametrize(
    "row", [{"a": 1.5, "b": None}, {"a": True, "n": "Smith", "b": 2}, {"a": 1, "at": "10:00, {x}"}]
)
@pytest.mark.parametrize("style", [(",", ":"), (", ", ": ")])
def test_lines_that_look_alike_are_never_decoded_one_by_one(
    row: dict[str, Any], style: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_decode", None)
    block = b"-\n" + (json.dumps(row, separators=style) + "\n").encode() * 5
    number = None if row.get("b") is None else float(row["b"])
    assert parse_objects(block, 5, ["a", "b"]).rows() == [(float(row["a"]), number)] * 5


def test_a_few_forms_of_one_file_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    alone = json_lines._decode
    monkeypatch.setattr(json_lines, "_decode", lambda some, names: decoded.append(len(some)) or alone(some, names))
    rows = ['{"a":1}', '{"a":1,"b":2}', '{"b":2,"a":1}', "no"] * 4
    found = parse_objects(b"-\n" + "\n".join(rows).encode(), 16, ["a", "b"])
    assert in_order(found.rows()) == in_order([(1.0, None), (1.0, 2.0), (1.0, 2.0), (None, None)] * 4)
    assert decoded == [4]


def test_lines_that_the_engine_counts_otherwise_are_split_by_us(monkeypatch: pytest.MonkeyPatch) -> None:
    read = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *data, **options: read(*data, **options).head(2))
    assert json_lines._lines(b"-\na\n\nb", 3).to_list() == ["a", "", "b"]


def test_a_member_may_be_asked_twice() -> None:
    assert parse_objects(b'-\n{"a":1}\nno', 2, ["a", "b", "a"]).rows() == [(1.0, None, 1.0), (None, None, None)]


def test_no_line_is_too_long(tmp_path: Path) -> None:
    """A key of a million letters, and thousands of members: an engine limits the length of patterns."""
    for members in (
        {"k" * 1_000_000: 1, "a": 2},
        {**{f"é{j}" * 50: 1 for j in range(300)}, "a": 2},
        dict.fromkeys(range(5000), 1),
    ):
        data = (json.dumps(members, ensure_ascii=False) + '\n{"a":1}\n').encode()
        assert found(data, ["a"], tmp_path) == expected(data, ["a"], tmp_path)


def test_forms() -> None:
    assert form_of('{"a b": 1}') is not None and form_of('{"a": "x"}') is not None
    for line in ("", "{}", "1", '{"a": {"b": 1}}', '{"a:b": 1}', '{"a": "\\u0031"}', '{"a": 1} {"a": 1}'):
        assert form_of(line) is None, line


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_every_short_value_is_the_text_that_it_is_alone(size: int) -> None:
    lines = [f'{{"a":{value},"b":"x"}}' for value in VALUES[:: 1 if size == 10_000 else 40]]
    for at in range(0, len(lines), size):
        some = pl.Series(lines[at : at + size])
        assert parse_texts(some, ["b", "a", "c"], []).rows() == json_lines._decode(some, ["b", "a", "c"]).rows()


@settings(max_examples=300, deadline=None)
@given(st.lists(lines, max_size=30), st.lists(lines, max_size=5))
def test_texts_of_lines_read_together_are_those_of_each_alone(rows: list[str], before: list[str]) -> None:
    """In the order of the lines, whatever forms were met before."""
    names, forms = ["a", "x y", "b", "c", "é", ""], list[json_lines.Form]()
    parse_texts(pl.Series("line", before, dtype=pl.String), names, forms)
    some = pl.Series("line", [row for row in rows if row] or [None], dtype=pl.String)
    found = parse_texts(some, names, forms)
    assert found.rows() == json_lines._decode(some.fill_null(""), names).rows()
    assert found.schema == dict.fromkeys(names, pl.String)
