"""The small language: what it parses and what it refuses and how. Its page is docs/expressions.md."""

from __future__ import annotations

import datetime

import pytest
from refusals import Expected, refusal, refused

from gaussmith.errors import ExpressionError
from gaussmith.expressions.formulas import check, columns_used, evaluate
from gaussmith.expressions.grammar import parse
from gaussmith.expressions.identity import read_number
from gaussmith.expressions.spelling import kinds_of, plan_derivation

KINDS = {
    "x": "number",
    "y": "number",
    "word": "text",
    "yes": "truth",
    "born": "date",
    "body mass": "number",
    "tags": "other",
}


def value(text: str, **row: object) -> object:
    row = {name: row.get(name.replace(" ", "_")) for name in KINDS}
    return evaluate(check(parse(text), KINDS), row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-2 * -3", 6.0),
        ("- x * 2", -6.0),
        ("2 - 3 - 4", -5.0),
        ("16 / 4 / 2", 2.0),
        ("(1 + 2) * 3", 9.0),
        ("x == 3 or x == 4 and false", True),
        ("(x == 3 or x == 4) and false", False),
        ("not x == 4", True),
        ("not x == 3 or true", True),
        ("not not x == 3", True),
        ("x in (1, 2, 3)", True),
        ("x not in [1, 2, 3]", False),
        ("x in (-3, 3)", True),
        ("word == 'it''s'", True),
        ('word != "it\'s"', False),
        ("word in ('a', 'it''s')", True),
        ("year(born) + month(born) / 100 + day(born) / 10000", 1999 + 12 / 100 + 31 / 10000),
        ("born == '1999-12-31'", True),
        ("born in ('1999-12-30', '1999-12-31')", True),
        ("born > '1999-12-31'", False),
        ("yes + yes", 2.0),
        ("yes == true", True),
        ("yes in (false, true)", True),
        ("`body mass` / 2", 40.0),
        ("floor(-2.5) + abs(-2.5)", -0.5),
        ("floor(x / 2) * 1e300", 1e300),
        ("min(x, 2, 7) + max(x, 2)", 5.0),
        ("(x > 2) * 10", 10.0),
        ("NOT (x > 2) OR TRUE", True),
        (".5 + 5.", 5.5),
        ("x\n  +\t1", 4.0),
    ],
)
def test_value(text: str, expected: object) -> None:
    row = {"x": 3, "word": "it's", "yes": True, "born": datetime.datetime(1999, 12, 31, 23, 59), "body_mass": 80}
    assert value(text, **row) == expected


@pytest.mark.parametrize("missing", [None, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "text", ["x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y", "x in (1, 2)", "x not in (1, 2)"]
)
def test_comparisons_with_something_missing_are_false(text: str, missing: object) -> None:
    assert value(text, x=missing, y=1.0) is False
    assert value(f"not ({text})", x=missing, y=1.0) is True
    assert value("is_null(x)", x=missing) is True


@pytest.mark.parametrize(
    "text", ["x / y", "1e308 * x", "x * 1e300 * 1e300", "min(x, y / y)", "floor(x / y)", "abs(-x * x)"]
)
def test_what_is_not_finite_is_missing(text: str) -> None:
    assert value(text, x=1e300, y=0.0) is None


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("word >= '2024-06-01'", "2024-06-01", True),
        ("word >= '2024-06-01'", "2024-05-31T23:59", False),
        ("word <= '2024-06-01'", "2024-06-01 23:59", True),
        ("'2024-06-01' < word", "2024-06-02", True),
        ("word < '2024-06-01'", "1.6.2024", False),
        ("word < '2024-06-01'", None, False),
        ("word == '2024-06-01'", "2024-06-01 23:59", False),  # texts are equal as texts
        ("x - 2024 - 10 - 12", None, -2046.0),
    ],
)
def test_texts_are_ordered_as_dates(text: str, word: str | None, expected: object) -> None:
    assert value(text, word=word, x=0) == expected


def test_infinity_does_not_come_back_through_a_quotient() -> None:
    assert value("1 / (x * 10)", x=1e308) is None
    assert value("1 / x", x=float("inf")) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" 2\t", 2.0),
        ("+.5", 0.5),
        ("-5.", -5.0),
        ("1e299", 1e299),
        ("tRue", 1.0),
        ("false", 0.0),
        ("1e999", float("inf")),
        ("-Infinity", float("-inf")),
        ("2.5E-07", 2.5e-7),
        ("9" * 40, 1e40),
    ],
)
def test_texts_that_read(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize(
    "text", [None, "", " ", ".", "1_000", "1,5", "infi", "nan", "0x1", "1e", "truetrue", "t", "12\n", "١٢", "1d", "1 2"]
)
def test_texts_that_do_not_read(text: str | None) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "at", "part"),
    [
        ("", 0, "expression-incomplete"),
        ("x +", 3, "expression-incomplete"),
        ("x y", 2, refusal("token-out-of-place", token="y")),
        ("x not y", 2, refusal("token-out-of-place", token="not")),
        ("(x + 1", 6, refusal("bracket-missing", sign=")")),
        ("x + 1)", 5, refusal("token-out-of-place", token=")")),
        ("x = 1", 2, refusal("word-not-in-language", says="write == to compare", word="=")),
        ("x && y", 2, refusal("word-not-in-language", says="write and")),
        ("x | y", 2, refusal("word-not-in-language", says="write or")),
        ("!yes", 0, refusal("word-not-in-language", says="write not")),
        ("x ** 2", 2, refusal("word-not-in-language", says="write x * x")),
        ("x % 2", 2, refusal("word-not-in-language", says="write x - y * floor(x / y)")),
        ("x // 2", 2, refusal("word-not-in-language", says="write floor(x / y)")),
        ("x; y", 1, "word-not-in-language"),
        ("x § y", 2, "sign-not-in-language"),
        ("word == 'a", 8, "quote-not-closed"),
        ("1.2.3", 3, "number-runs-into-name"),
        ("2x", 1, "number-runs-into-name"),
        ("1e999", 0, "number-too-large"),
        ("1 < x < 3", 6, "comparisons-chained"),
        ("x in (1) in (2)", 9, "comparisons-chained"),
        ("x in 3", 5, "in-without-list"),
        ("x in (1, y)", 9, "list-member-not-constant"),
        ("x in ()", 6, "token-out-of-place"),
        ("x in (1, 'a')", 6, "list-of-several-kinds"),
        ("x in ('a', 'b')", 6, refusal("number-needed", kind="text")),
        ("x in (true, false)", 6, refusal("list-of-another-kind", kind="number")),
        ("x == null", 5, refusal("null-as-a-value", token="null")),
        ("sin(x)", 0, refusal("unknown-function", function="sin")),
        ("min(x)", 0, refusal("wrong-number-of-arguments", function="min")),
        ("year(x)", 5, refusal("not-a-date-column", function="year")),
        ("year('2020-01-01')", 5, refusal("not-a-date-column", function="year")),
        ("z + 1", 0, refusal("unknown-column-in-expression", column="z")),
        ("wrod == 'a'", 0, refusal("unknown-column-in-expression", says="did you mean 'word'")),
        ("tags == 1", 0, "column-kind-not-usable"),
        ("word < 'b'", 5, "texts-ordered"),
        ("born + 1", 0, refusal("number-needed", kind="date")),
        ("'a' + 1", 0, refusal("number-needed", kind="text")),
        ("born > 'yesterday'", 7, "date-needed"),
        ("born > 5", 7, "date-needed"),
        ("x and yes", 0, refusal("boolean-needed", kind="number")),
        ("not word", 4, refusal("boolean-needed", kind="text")),
        ("1 / 0", 2, "constant-without-value"),
        ("x + 1e308 * 10", 10, "constant-without-value"),
        ("x / (3 - 3)", 2, "division-by-zero"),
        ("born > '1999-12-31T10:00'", 7, refusal("date-with-time", says="write '1999-12-31'", day="1999-12-31")),
        ("born in ('1999-12-31 03:00')", 9, "date-with-time"),
        ("word >= '2024-06-01 12:00'", 8, "date-with-time"),
        ("x >= '2024-06-01'", 0, refusal("date-needed", kind="number")),
        ("word >= word", 5, "texts-ordered"),
        ("word >= 2024-06-01", 8, refusal("date-without-quotes", says="did you mean the date '2024-06-01'")),
        ("word >= 2024-10-12", 8, refusal("date-without-quotes", says="did you mean the date '2024-10-12'")),
        ("word >= 2024-6-1", 8, refusal("date-without-quotes", says="did you mean the date '2024-06-01'")),
        ("word >= 2024 - 06 - 01", 15, "number-with-leading-zero"),
        ("word == 01234", 8, "number-with-leading-zero"),
        ("word == north", 8, refusal("text-without-quotes", column="north")),
        ("wrod != word", 0, refusal("text-without-quotes", says="did you mean 'word'")),
        ("word in (north, south)", 9, refusal("list-member-not-constant", says="text is written in quotes: 'north'")),
        ("x in (1, y + 1)", 9, refusal("list-member-not-constant", says="text is written in quotes: 'y'")),
        ("body mass > 10", 5, refusal("token-out-of-place", says="written in backticks: `body mass`", token="mass")),
        ("a:b > 1", 1, refusal("word-not-in-language", says="written in backticks: `a:b`")),
        ("x § y", 2, "sign-not-in-language"),
        ("2nd > 1", 1, "number-runs-into-name"),
        ("word is null", 5, refusal("token-out-of-place", says="write is_null(word)")),
        ("word IS NOT NULL", 5, refusal("token-out-of-place", says="write not (is_null(word))")),
        ("`body mass` is null", 12, refusal("token-out-of-place", says="write is_null(`body mass`)")),
        ("x between 1 and 3", 2, refusal("token-out-of-place", says="write 18 <= x and x <= 65")),
        (
            "x not between 1 and 3",
            2,
            refusal("token-out-of-place", says="write not (18 <= x and x <= 65)", token="not"),
        ),
        ("word like 'a%'", 5, refusal("token-out-of-place", says="write contains(word, 'north')")),
        ("(" * 50 + "x" + ")" * 50, 41, "expression-too-deep"),
        ("+".join(["x"] * 200), 201, "too-many-operators"),
        ("1/(" * 6 + "x" + ")" * 6, 0, "too-many-terms"),
    ],
)
def test_refusals(text: str, at: int, part: Expected) -> None:
    with refused(part) as caught:
        check(parse(text), KINDS)
    assert caught.value.fields["position"] == at
    lines = str(caught.value).split("\n")
    if len(text) < 60:
        assert lines[2] == " " * (4 + at) + "^" and lines[1].strip() == text.strip()


def test_refuses_what_is_not_text_and_what_is_long() -> None:
    with refused("expression-not-text"):
        parse(3)  # type: ignore[arg-type]
    with refused("expression-too-many-characters"):
        parse("x" * 4001)


def test_no_code_runs() -> None:
    for text in ("__import__('os')", "x.real", "x[0]", "lambda: 1", "(x := 1)", "x if yes else y", "f'{x}'"):
        with pytest.raises(ExpressionError):
            check(parse(text), KINDS)


def test_columns_used_and_derivations() -> None:
    assert columns_used(parse("y + min(x, `body mass`) * y")) == ("y", "x", "body mass")
    derivation = plan_derivation({"z": "x + 1", "big": "z > y"}, "big and word == 'a'", KINDS)
    assert derivation.columns_used == ("x", "y", "word")
    assert (derivation.kinds["z"], derivation.kinds["big"]) == ("number", "truth")
    assert plan_derivation({}, None, KINDS).columns_used == ()


@pytest.mark.parametrize(
    ("columns", "where", "part"),
    [
        ({"x": "y + 1"}, None, "derived-name-taken"),
        ({"z": "word"}, None, "derived-column-not-a-number"),
        ({"z": "born"}, None, "derived-column-not-a-number"),
        ({"a": "b + 1", "b": "x"}, None, refusal("unknown-column-in-expression", column="b")),
        ({}, "x + 1", "filter-not-boolean"),
        ({}, "word", "filter-not-boolean"),
    ],
)
def test_derivations_refused(columns: dict[str, str], where: str | None, part: Expected) -> None:
    with refused(part):
        plan_derivation(columns, where, KINDS)


def test_kinds() -> None:
    import narwhals as nw

    schema = {
        "a": nw.Int8(),
        "b": nw.Decimal(),
        "c": nw.String(),
        "d": nw.Boolean(),
        "e": nw.Date(),
        "f": nw.Datetime("us"),
        "g": nw.Datetime("us", "UTC"),
        "h": nw.List(nw.Int8()),
        "i": nw.Categorical(),
        "j": nw.Duration(),
    }
    kinds = ["number", "long number", "text", "truth", "date", "date", "date", "other", "text", "other"]
    assert list(kinds_of(schema).values()) == kinds
    with refused("no-such-column-for-expression", says="choose one of: a, b"):
        kinds_of(schema, ["zz"])
