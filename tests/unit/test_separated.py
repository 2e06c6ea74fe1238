"""CSV and TSV files: a total reader, in which no record decides what becomes of others."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from summing import total_records

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.csv_files import header_of, look_at, scan_line_by_line, scan_lines, splitter
from gaussmith.engines.files import find_files, scan_files
from gaussmith.engines.registry import open_source
from gaussmith.engines.text_files import names_of

ONE = BoxEncoding.for_bounds([0], [8], [0])

texts = st.text(st.sampled_from('ab,"\t \n5é'), max_size=6)
lines = st.text(st.sampled_from('ab,"\t 5é'), max_size=8)


def values(path: Path, line_per_record: bool = False) -> list[tuple[str | None, ...]]:
    files = replace(find_files(path), line_per_record=line_per_record)
    return scan_files(files, names_of(files)).collect().rows()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=6), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_what_a_good_writer_wrote_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], style: int
) -> None:
    """RFC 4180: any text comes back, with its separators, quotes and line breaks; one record for each row."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    file = io.StringIO()
    writer = csv.writer(file, quoting=style, lineterminator="\n")
    writer.writerows([("x", "y"), *rows])
    path.write_text(file.getvalue(), newline="")
    assert look_at(scan_lines([str(path)], False), ",").well_formed
    read = [tuple("" if value is None else value for value in row) for row in values(path)]
    assert read == rows


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, max_size=6))
def test_both_readings_agree_on_files_without_quoted_line_breaks(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    """So that a stray quote, which changes the reading of the file, changes no other record."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text("\n".join(["x,y", *rows, ""]), newline="")
    look = look_at(scan_lines([str(path)], False), ",")
    one_by_one = scan_line_by_line(str(path), ",", False, header_of(str(path), ",", False), ["x", "y"]).collect().rows()
    assert len(one_by_one) == len(rows)
    if look.well_formed and not look.spans_lines:
        assert values(path) == one_by_one


@settings(max_examples=200, deadline=None)
@given(st.lists(lines, max_size=5), lines, st.integers(0, 5))
def test_one_line_more_is_one_record_more_where_each_line_is_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], added: str, at: int
) -> None:
    """Whatever stands in the lines: nothing is assumed of what wrote the file."""
    folder = tmp_path_factory.mktemp("csv")
    at = min(at, len(rows))
    (folder / "a.csv").write_text("\n".join(["x,y", *rows, ""]), newline="")
    (folder / "b.csv").write_text("\n".join(["x,y", *rows[:at], added, *rows[at:], ""]), newline="")
    before, after = (values(folder / name, line_per_record=True) for name in ("a.csv", "b.csv"))
    assert after[:at] + after[at + 1 :] == before


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_every_line_can_be_split(line: str) -> None:
    fields = splitter(",")(line.replace("\n", " "))
    assert 1 <= len(fields) <= line.count(",") + 1


def test_a_line_is_split_as_the_csv_module_splits_it() -> None:
    for line in ('a,"b,c",d', '"",,"x""y"', '1,"2"', "a", "", ",", '"a",', ',"a"'):
        expected = next(csv.reader([line])) or [""]
        assert [value or "" for value in splitter(",")(line)] == expected


@pytest.mark.parametrize("added", ['2,"open', 'open",2', '"2', "2,5'10\"", '2,"4"5', '"', '"""'])
@pytest.mark.parametrize("at", [0, 5, 12])
def test_a_stray_quote_costs_its_own_record_alone(added: str, at: int, tmp_path: Path) -> None:
    """Every other record counts as before, and the release takes place."""
    rows = ["1,x" if j % 3 else '1,"x, ""y"""' for j in range(12)]
    for name, text in (("a.csv", rows), ("b.csv", [*rows[:at], added, *rows[at:]])):
        (tmp_path / name).write_text("\n".join(["a,b", *text, ""]))
    found = [total_records(open_source(tmp_path / name), ONE, ["a"]) for name in ("a.csv", "b.csv")]
    assert found[1].records - found[0].records == 1
    assert 0 <= found[1].sums[0] - found[0].sums[0] <= ONE.steps[0]


def test_names_that_are_not_utf8_are_missing_and_never_one_person(tmp_path: Path) -> None:
    """Müller and Möller in Latin-1 would both be read as M�ller."""
    for suffix, text in {
        "csv": "person,age\nM\xfcller,30\nM\xf6ller,40\nAda,5\n\ufffd,1\n",
        "tsv": "person\tage\nM\xfcller\t30\nM\xf6ller\t40\nAda\t5\n",
        "jsonl": '{"person":"M\xfcller","age":30}\n{"person":"M\xf6ller","age":40}\n{"person":"Ada","age":5}\n'
        '{"person":"\\ud800","age":7}\n',
    }.items():
        path = tmp_path / f"people.{suffix}"
        path.write_bytes(text.replace("\ufffd", "").encode("latin-1"))
        source = open_source(path, columns=["person", "age"])
        assert source.native(["person"]).collect()["person"].to_list()[:3] == [None, None, "Ada"]
        request = gm.Request(str(path), unit="person", sums={"age": (0, 100)}, guarantee=gm.Guarantee(mu=1e6))
        assert gm.release(request)["age_sum"].value == pytest.approx(5, abs=0.1)


def test_files_that_are_read_differently_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text('a,b\n1,"two\nlines"\n')
    (tmp_path / "2.csv").write_text('b,a\n5\'10",1\n"x,1\n')
    (tmp_path / "3.csv").write_text("a\n1\n")
    found = total_records(open_source(str(tmp_path / "*.csv")), ONE, ["a"])
    assert (found.records, found.sums[0] / ONE.scale[0]) == (4, 4.0)
    assert total_records(open_source(str(tmp_path / "*.csv")), BoxEncoding.for_bounds([], [], []), []).records == 4


def test_a_header_may_span_lines_and_hold_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,"b\nb"\n1,"x\n2,y\n')
    assert names_of(find_files(path)) == ("a", "b\nb")
    assert values(path) == [("1", '"x'), ("2", "y")]
    path.write_text("a,5'10\"\n1,x\n2,y\n")
    assert names_of(find_files(path)) == ("a", "5'10\"")
    assert values(path) == [("1", "x"), ("2", "y")]


def test_columns_of_json_lines_come_from_the_request(tmp_path: Path) -> None:
    """The first record lacks a key: nothing is refused, and no key of a record is shown."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"secret": 42}\n{"a": 1, "region": "north"}\n{"a": 2, "region": "south"}\n')
    guarantee = gm.Guarantee(mu=1e6)
    request = gm.Request(
        str(path),
        sums={"a": (0, 8)},
        by={"region": ["north", "south"]},
        where="a >= 0",
        count=True,
        guarantee=guarantee,
    )
    release = gm.release(request)
    assert release["north"]["a_sum"].value == pytest.approx(1, abs=0.1)
    absent = gm.release(gm.Request(str(path), sums={"nowhere": (0, 8)}, count=True, guarantee=guarantee))
    assert absent["count"].value == pytest.approx(3, abs=0.1)
    plan = gm.plan(gm.Box([0], [8]), guarantee)
    with refused("json-columns-not-named"):
        plan.release(path)
    assert plan.release(path, columns=["a"]).values[0] == pytest.approx(3, abs=0.1)


def test_polars_still_reads_the_lines_as_we_think() -> None:
    """A blank line is a record, a return before a line break is none of it: both readings rest on that."""
    data = b"a,b\r\n1,2\r\n\r\n3,\r\n"
    frame = pl.read_csv(io.BytesIO(data), infer_schema=False)
    assert frame.rows() == [("1", "2"), (None, None), ("3", None)]


def test_a_source_may_say_that_each_line_is_a_record(tmp_path: Path) -> None:
    """Then quoted line breaks end records too: whoever says so knows that there are none."""
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"two\nlines"\n2,x\n')
    guarantee = gm.Guarantee(mu=1e6)
    for source, records in ((str(path), 2), ({"path": str(path), "line_per_record": True}, 3)):
        assert round(gm.release(gm.Request(source, count=True, guarantee=guarantee))["count"].value) == records
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "a.parquet")
    request = gm.Request(
        {"path": str(tmp_path / "a.parquet"), "line_per_record": True}, count=True, guarantee=guarantee
    )
    with refused("line-per-record-of-other-format", format="Parquet"):
        gm.release(request)


def test_limits_are_stated_in_the_same_words() -> None:
    """What a reader cannot do is said once, in SECURITY.md, and word for word where files are explained."""
    root = Path(__file__).parents[2]
    for sentence in (
        "The program that wrote a CSV file follows RFC 4180, or puts each record on one line; where it does neither, "
        "one record can hide others.",
        "A Parquet or Arrow IPC file with invalid UTF-8 in a text column that is used cannot be read to its end, and "
        "nothing is released: there one record decides whether there is a release",
    ):
        for page in ("SECURITY.md", "docs/files.md"):
            assert sentence in " ".join((root / page).read_text("utf-8").split()), page
