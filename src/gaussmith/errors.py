"""All errors that Gaussmith raises, as a tree.

    GaussmithError
    ├── RequestError        the request is wrong; no data value was read, nothing was spent      exit 2
    │   ├── GuaranteeError      invalid ε, δ, μ or ρ
    │   ├── DomainError         invalid bounds, radii or labels
    │   ├── PlanError           a plan that cannot be made, read or carried out
    │   ├── SourceError         a source that does not exist, or has no such column
    │   ├── ExpressionError     a filter or derived column outside the small language
    │   └── LedgerError         a ledger that is missing, locked, damaged or not for this data
    ├── BudgetError         the ledger refuses: nothing was read, nothing was spent              exit 3
    ├── DataError           the engine or the data failed after the data was opened: generic     exit 4
    └── InternalError       an internal call failed: a fault of Gaussmith or its packages        exit 4

A message has three parts, joined by ` · `: what is wrong (name=value), the rule, what to do. Control characters in them
are escaped. What to do is written as the request was: in Python, TOML or flags (`notations.py`).
Programs and tests read `code` and `fields`, people the message: its words may change in any version. A code is a name
for one kind of mistake, in small letters and hyphens (`no-such-column`); it stays when the words change.
`fields` holds the values that the message speaks of, by name. `tests/sentences/errors.md` lists all codes.
Once data is open neither message nor fields may carry anything that depends on it; `DataError` takes no free text from
the engine.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from numbers import Number
from types import MappingProxyType

from gaussmith.notations import setting

# Escaping of external text (names, keys, ids, notes) for places where it could have side effects.
#
# - `printable`: a terminal, a table, an error, a page. Control characters are escaped. - `printable_json`: a JSON
# document on a terminal. - `spreadsheet_text`: a cell of a CSV file, which spreadsheets may treat as a formula.


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the singular where it is 1 as it is shown; a very large one as a power of ten.

    >>> counted(1, "group"), counted(1200, "group"), counted(0.8, "person", "people")
    ('1 group', '1,200 groups', '1 person')
    """
    shown = f"{number:,.0f}" if number < 1e15 else f"{number:.6g}"
    return f"{shown} {noun if shown == '1' else plural or noun + 's'}"


def printable(text: str) -> str:
    r"""Text with control characters escaped, so that a name cannot move the cursor or hide or reverse nearby text.

    Control characters of ASCII (escape, line breaks, delete) and of Latin-1, marks that change the direction of text,
    invisible marks and blanks, lone surrogates: as \x1b, \n, \u202e.

    >>> print(printable("age\x1b[2J"), printable("na\u202eme"))
    age\x1b[2J na\u202eme
    """
    return text if text.isprintable() else "".join(map(_spelled, text))


def printable_lines(text: str) -> str:
    r"""Like `printable`, but keeps line breaks: for text of several lines.

    >>> printable_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""An equivalent JSON document that is safe on a terminal: escapes are JSON escapes.

    >>> print(printable_json('{"na\u202eme": "\x9b"}'))
    {"na\u202eme": "\u009b"}
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _spelled(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")


_FORMULA = r"'*\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""Characters that start a formula in spreadsheets: = + - @, also full-width, a tab, a line break, after any blanks."""


def spreadsheet_text(text: str) -> str:
    """A text cell that no spreadsheet evaluates: `printable`, with an apostrophe before anything like a formula.

    Removing one apostrophe from cells that begin with apostrophes and one of = + - @ restores the text.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5"), spreadsheet_text("north"), spreadsheet_text("'t Veld")
    ("'=1+1", "'-5", 'north', "'t Veld")
    >>> spreadsheet_text("'=1+1")
    "''=1+1"
    """
    return printable(f"'{text}" if re.match(_FORMULA, text) else text)


MAX_SHOWN = 100
"""Limit on the characters of a field that is kept as text, and on the members of a list that is kept."""


class GaussmithError(Exception):
    """What went wrong, the rule it broke, and what to do about it; `code` and `fields` say the same to programs.

    >>> error = PlanError("answer 'agee'", "there is none", "did you mean 'age'?", code="no-such-answer", answer="agee")
    >>> str(error), error.code, error.fields["answer"]
    ("answer 'agee' · there is none · did you mean 'age'?", 'no-such-answer', 'agee')
    """

    exit_code = 1
    fields: Mapping[str, object]

    def __init__(self, what: str, rule: str = "", remedy: str = "", *, code: str, **fields: object) -> None:
        what, rule, remedy = map(printable_lines, (what, rule, remedy))
        self.what, self.rule, self.remedy, self.code = what, rule, remedy, code
        self.fields = MappingProxyType({name: _plain(value) for name, value in fields.items()})
        super().__init__(" · ".join(part for part in (what, rule, remedy) if part))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors are copied and cross processes with their parts, code and fields."""
        made = partial(type(self), self.what, self.rule, self.remedy, code=self.code, **self.fields)
        return made, (), {name: value for name, value in self.__dict__.items() if name != "fields"}


class RequestError(GaussmithError, ValueError):
    """The request is wrong; no data value was read and nothing was spent."""

    exit_code = 2


class GuaranteeError(RequestError):
    """A guarantee with invalid numbers."""


class DomainError(RequestError):
    """A domain with invalid bounds, radii or labels."""


class PlanError(RequestError):
    """A plan that cannot be made, read or carried out."""


class SourceError(RequestError):
    """A source that does not exist, cannot be opened, or lacks a column."""


class ExpressionError(RequestError):
    """A filter or derived column outside the small language."""


class LedgerError(RequestError):
    """A ledger that is missing, locked, damaged or meant for other data."""


class BudgetError(GaussmithError):
    """The ledger refuses: the request exceeds what is left (`requested`, `remaining`)."""

    exit_code = 3

    @property
    def requested(self) -> object:
        """What was asked for: a guarantee, or a δ for found keys."""
        return self.fields["requested"]

    @property
    def remaining(self) -> object:
        """What is left of it."""
        return self.fields["remaining"]


class DataError(GaussmithError):
    """The engine or the data failed after the data was opened; reveals nothing about the data."""

    exit_code = 4


class InternalError(GaussmithError):
    """An internal call failed: a fault of Gaussmith, or of an unsupported version of a package.

    Its details could contain data and are not kept, unless the environment has GAUSSMITH_DEBUG=1.
    """

    exit_code = 4


def internal_error(charged: str) -> InternalError:
    """The message of every internal error: always the same."""
    return InternalError(
        "an error in Gaussmith or one of its dependencies, not in the data",
        f"{charged}; details are hidden because they could contain data",
        "install supported versions (docs/files.md) or report it; GAUSSMITH_DEBUG=1 shows details that are not private",
        code="internal-error",
    )


def damaged_plan(part: str) -> PlanError:
    """The one error of every part of a plan that is not as Gaussmith makes it: `part` says which.

    >>> damaged_plan("a tie of other queries").fields["part"]
    'a tie of other queries'
    """
    what, rule = f"a damaged plan: {part}", "every part must fit the others, as it was made and saved"
    return PlanError(what, rule, "plan again", code="plan-damaged", part=part)


def wrong_value(field: str, value: object, rule: str, example: object, *, code: str) -> RequestError:
    """The error of a field whose value breaks a rule, with an example of what to write.

    >>> print(wrong_value("share", 0, "a share must be a number above 0", 2, code="share-not-positive"))
    share=0 · a share must be a number above 0 · write share=2
    """
    what, remedy = f"{field}={value!r}"[:120], f"write {setting(field, example)}"
    return RequestError(what, rule, remedy, code=code, **{field: value})


def _plain(value: object) -> object:
    """A field as it is kept: numbers, texts, dates, dataclasses and short lists of these; all else as its text.

    So an error never holds on to a user's object, and can cross processes.
    """
    if value is None or isinstance(value, str | Number | datetime.date):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return value
    if isinstance(value, list | tuple) and len(value) <= MAX_SHOWN:
        return tuple(map(_plain, value))
    try:
        return repr(value)[:MAX_SHOWN]
    except Exception:
        return f"(a {type(value).__name__})"


def nearest(name: str, choices: Iterable[str], most: int = 12) -> str:
    """A hint such as `did you mean 'age'?` if one choice is close to `name`, else up to `most` choices.

    >>> nearest("agee", ["age", "income"])
    "did you mean 'age'?"
    >>> nearest("zzz", ["age", "income"])
    'choose one of: age, income'
    >>> nearest("age", ["age_mean", "page"])
    "did you mean 'age_mean'?"
    >>> nearest("age", ["age", "income"])
    'choose one of: income'
    """
    from difflib import get_close_matches

    choices = [choice for choice in choices if choice != name]  # never suggest what was written
    close = get_close_matches(name, choices, n=1)
    begun = [choice for choice in choices if name and choice.startswith(f"{name}_")]
    if len(begun) == 1:
        return f"did you mean {begun[0]!r}?"
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(choices[:most]) + (", …" if len(choices) > most else "")
    return f"choose one of: {shown}" if choices else "there are none to choose from"


_SOME_ANSWER = "agg aggregate aggregates aggregation aggregations measure measures metric metrics statistic statistics"

OTHER_WORDS = {
    "by": "group_by groupby group groups grouped grouping key keys key_column key_columns keyset partition partitions "
    "partition_by partition_key partition_keys strata",
    "unit": "contributor entity id_column identifier individual participant people person person_id privacy_id "
    "privacy_id_column privacy_key privacy_unit protected_entity subject unit_of_privacy user user_id userid users",
    "rows_per_unit": "contribution_bound contributions max_contributions max_contributions_per_partition max_rows "
    "max_rows_per_person rows_per_person rows_per_user",
    "groups_per_unit": "groups_per_person groups_per_user max_groups max_groups_per_person max_partitions "
    "max_partitions_contributed partitions_per_user",
    "values_per_unit": "max_values_per_person values_per_person values_per_user",
    "sums": f"sum total totals {_SOME_ANSWER}",
    "means": f"average averages avg avgs mean {_SOME_ANSWER}",
    "medians": f"median {_SOME_ANSWER}",
    "quantiles": "decile deciles extremes max maximum min minimum percentile percentiles quantile quartile quartiles "
    f"{_SOME_ANSWER}",
    "variances": "deviation sd standard_deviation std stddev stdev var variance",
    "covariance": "corr correlation correlations cov covariances",
    "regression": "linear_model linear_regression ols regressions",
    "count": f"counts length n n_rows nrows size {_SOME_ANSWER}",
    "histograms": f"distribution frequencies hist histogram value_counts {_SOME_ANSWER}",
    "proportions": "fractions percentages proportion",
    "marginals": "contingency contingency_table cross_tab crosstab crosstabs marginal pivot pivot_table",
    "bounds": "bound bounding clamp clamping clip clipping limits lower max_value min_value range ranges upper",
    "where": "condition filter filters having predicate query subset where_",
    "columns": "assign derived derive mutate new_columns with_columns",
    "values": "categories domain domains levels",
    "bins": "breaks bin binned buckets cut cuts edges",
    "missing": "fill_null fillna impute na nan null nulls",
    "keys_at_least": "min_count min_group_size threshold",
    "top": "head limit nlargest",
    "error_at_most": "accuracy max_error",
    "questions": "queries question",
    "question": "queries questions",
    "source": "csv data dataframe dataset df file frame input path table",
    "guarantee": "dp privacy privacy_budget privacy_loss privacy_parameters",
    "neighbours": "adjacency neighborhood neighbouring neighboring",
    "epsilon": "ep eps epsilons epsilon_budget ε",
    "delta": "deltas δ",
    "rho": "zcdp ρ",
    "mu": "gdp μ",
    "confidence": "alpha ci confidence_level level",
    "simultaneous": "joint together",
    "sensitivity": "l2_sensitivity sensitivities",
    "dimension": "d dim dimensions ndim",
    "rows": "n n_rows nrows records size",
    "out": "format output save to",
    "json": "format",
}
"""What other tools, pandas and SQL call a field, an argument or a flag of ours."""


def meant_names(name: str, names: Iterable[str]) -> list[str]:
    """Which of these fields, arguments or flags may be meant by a name that is none of them; empty where none is.

    What other tools say comes first; then one that is spelled almost alike.

    >>> meant_names("group_by", ["by", "group_weights"]), meant_names("--avg", ["sum", "mean"])
    (['by'], ['mean'])
    >>> meant_names("maens", ["sums", "means"]), meant_names("extremes", ["sums", "values_per_unit"])
    (['means'], [])
    """
    from difflib import get_close_matches

    names, said = list(names), _fields_called(name)
    if said:  # a word that is known, and stands for nothing here, is no misspelling
        return [each for each in names if any(each in (field, field.removesuffix("s")) for field in said)]
    begun = [each for each in names if each.startswith(f"{_plain_word(name)}_")]
    return begun if len(begun) == 1 else get_close_matches(_plain_word(name), names, n=1, cutoff=0.75)


def _fields_called(name: str) -> list[str]:
    return [field for field, words in OTHER_WORDS.items() if _plain_word(name) in words.split()]


def _plain_word(name: str) -> str:
    return name.lower().strip("-").replace("-", "_")


def nearest_name(name: str, names: Iterable[str]) -> str:
    """As `nearest`, for the name of a field or an argument.

    >>> nearest_name("eps", ["epsilon", "delta"]), nearest_name("aggregate", ["sums", "means", "where"])
    ('write epsilon=…', 'choose one of: sums, means')
    """
    names = list(names)
    meant = meant_names(name, names)
    if len(meant) == 1:
        return f"write {setting(meant[0])}" if _fields_called(name) else f"did you mean {meant[0]!r}?"
    return nearest("", meant or names, most=len(names))


def nearest_column(name: str, columns: Iterable[str]) -> str:
    """As `nearest`; where the columns show that a text file is written in another way than it is read, says so.

    >>> nearest_column("age", ["person;age"])
    'columns are separated by commas, in a .tsv file by tabs: convert the file, or open it and pass the frame'
    """
    from difflib import get_close_matches

    columns = list(columns)
    readable = [column for column in columns if "\ufffd" not in column and "\0" not in column]
    if len(readable) < len(columns) and not get_close_matches(name, readable):
        return "text files are read as UTF-8, and the names of these columns are not: save the file as UTF-8"
    if len(columns) == 1 and any(sign in columns[0] for sign in ";|,\t"):
        separators = "columns are separated by commas, in a .tsv file by tabs"
        return f"{separators}: convert the file, or open it and pass the frame"
    return nearest(name, columns)
