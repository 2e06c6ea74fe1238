"""CSV, TSV and JSON lines: read as text by our own rule; no record decides what becomes of others."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from adding import PAIR, STEP, add
from summing import total_records

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source


def test_csv_is_text_and_read_by_our_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b,c\n1, 2 ,x\n"3",4e0\n5,6,7,8\nnan,oops,\n1_000,1e400,\xff\n\n+.5,TRUE,\n"1,5",-inf,\n')
    source = open_source(path)
    assert source.types == {"a": "String", "b": "String", "c": "String"}
    found = total_records(source, PAIR, ["a", "b"])
    assert ([s / STEP for s in found.sums], found.records) == ([9.5, 113.0], 8)


@pytest.mark.parametrize("row", [b"2,5'10\"", b'2,"4"5', b'"2', b'"2"0,x', b'2,x\n"'])
@pytest.mark.parametrize("header", [b"a,b", b'"a","b"', b"\n\na,b", b'a,"b\nb"', b"\xef\xbb\xbfa,b"])
def test_no_row_of_a_csv_file_decides_whether_it_is_opened(header: bytes, row: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(header + b"\n1,x\n" + row + b"\n3,y\n")
    source = open_source(path)
    assert source.names == ("a", "b\nb" if b"bb" in header.replace(b"\n", b"") else "b")
    (tmp_path / "b.csv").write_bytes(header + b"\n1,x\n")
    assert open_source(str(tmp_path / "*.csv")).names == source.names


@pytest.mark.parametrize(
    "note",
    [
        "{}",
        '"{}, ""{}"""',
        '"two\nlines, {}"',
        'she said "{}" twice',
        'a "{}","b"',
        '{}"',
        '{}","',
        '"{}" or" not',
        '"{}',
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv"])
def test_no_record_of_a_csv_file_swallows_others(note: str, suffix: str, tmp_path: Path) -> None:
    """Two records have such notes: Polars takes all between them for one, without a word."""
    rows = [f"1,{note.replace('{}', str(j)) if j in (3, 8) else 'x'}\n" for j in range(12)]
    text = "a,b\n" + "".join(rows)
    data = (text.replace(",", "\t") if suffix == "tsv" else text).encode()
    (tmp_path / f"a.{suffix}").write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    source = open_source(tmp_path / f"a.{suffix}")
    for columns in ([], ["a"]):
        codes = BoxEncoding.for_bounds([0] * len(columns), [8] * len(columns), [0] * len(columns))
        found = total_records(source, codes, columns)
        assert (found.records, [s / codes.scale[0] for s in found.sums]) == (12, [12.0] * len(columns))


def test_json_lines_are_read_line_by_line(tmp_path: Path) -> None:
    lines = [
        '{"b": 1, "a": 2, "c": {"a": 9}}',
        '{"a": "3", "b": true}',
        "not json",
        "",
        '{"a": 1e400, "b": -1e400}',
        '{"a": [1], "b": {"x": 1}}',
        "[1, 2]",
        '{"a": 1, "a": 4}',
        '{"a": null}',
        '{"a": 1,}',
        "[" * 5000,
        '{"a": "\\u0035", "b": 0.5}',
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode() + b'\n{"a": "\xff"}\n')
    found = total_records(open_source(path, columns=["a", "b"]), PAIR, ["a", "b"])
    assert ([s / STEP for s in found.sums], found.records) == ([2 + 3 + 100 + 4 + 5, 1 + 1 + 0.5], 12)


@pytest.mark.parametrize(
    "empty",
    ["0.jsonl", "9.jsonl", "0.jsonl.gz", "9.jsonl.zst"],
)
def test_empty_files_of_json_lines_hold_no_records(empty: str, tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('\n{"a": 1, "b": 2}\n')
    (tmp_path / "2.jsonl").write_text("\n")
    if empty.endswith("l"):
        (tmp_path / empty).touch()
    else:
        with pa.CompressedOutputStream(str(tmp_path / empty), "gzip" if empty.endswith("gz") else "zstd") as file:
            file.write(b"")
    assert add(str(tmp_path / "*.jsonl*"), ["a", "b"]) == [1.0, 2.0]


def test_odd_column_names_in_json(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text('{"it\'s \\"a\\".b": 5, "": 6}\n')
    assert add(path, ['it\'s "a".b', ""]) == [5.0, 6.0]


def test_tsv_and_compressed_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n1\t2\n")
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n")
    with gzip.open(tmp_path / "a.ndjson.gz", "wt") as file:
        file.write('{"a":1,"b":2}\n')
    for name in ("a.tsv", "a.csv.gz", "a.ndjson.gz"):
        assert add(tmp_path / name) == [1.0, 2.0]


def test_files_of_a_pattern_are_matched_by_name(tmp_path: Path) -> None:
    for i in range(13):
        (tmp_path / f"{i:02}.csv").write_text("a,b\n1,2\n" if i % 2 else "b,c,a\n2,9,1\n")
    assert add(str(tmp_path / "*.csv"), ["a", "b"]) == [13.0, 26.0]
    for i in range(3):
        frame = pl.DataFrame({"a": [1.0], "b": [2.0], f"more{i}": ["x"]})
        frame.select(frame.columns[:: -1 if i else 1]).write_parquet(tmp_path / f"{i}.parquet")
    assert add(str(tmp_path / "*.parquet"), ["a", "b"]) == [3.0, 6.0]
