"""The small safe language of filters and derived columns.

    where = "age >= 18"
    columns = { bmi = "weight / (height * height)" }

Text becomes a tree of `nodes` (`grammar`, with the names in `functions`), the tree a formula whose kinds fit the
columns (`formulas`), the formula a value of one row (`evaluation`) or a narwhals expression (`spelling`). How texts
and dates are read say `readings` and `calendar`; which texts are read as numbers only, `early_numbers`; `writing`
writes trees as text again; `person_columns` puts the rows of a person together. `cuts` are declared cells, `keys`
declared groups, `identity` says which ids are the same. No code is executed, every formula is total, and each row's
value depends on that row alone. See docs/expressions.md.
"""

from gaussmith.expressions.conjunctions import common_filter, same_meaning
from gaussmith.expressions.cuts import Cut, cell_of, check_cut, place_among, value_of
from gaussmith.expressions.early_numbers import other_uses, read_as_numbers, with_numbers
from gaussmith.expressions.formulas import Formula, check, columns_used, evaluate, kind_of
from gaussmith.expressions.grammar import Expression, language, parse
from gaussmith.expressions.identity import CODED_INTEGER, INTEGER, TEXT, as_id, check_ids, object_code
from gaussmith.expressions.keys import (
    GroupKeys,
    Numbers,
    declare_cells,
    declare_groups,
    declare_keys,
    declare_numbers,
    match_keys,
    with_integers,
)
from gaussmith.expressions.person_columns import PersonColumns, combine_people, plan_person_columns
from gaussmith.expressions.readings import read_number
from gaussmith.expressions.spelling import (
    Derivation,
    as_number,
    derive,
    is_present,
    kinds_of,
    plan_derivation,
    to_narwhals,
)
from gaussmith.expressions.writing import split_filter, written

__all__ = [
    "CODED_INTEGER",
    "INTEGER",
    "TEXT",
    "Cut",
    "Derivation",
    "Expression",
    "Formula",
    "GroupKeys",
    "Numbers",
    "PersonColumns",
    "as_id",
    "as_number",
    "cell_of",
    "check",
    "check_cut",
    "check_ids",
    "columns_used",
    "combine_people",
    "common_filter",
    "declare_cells",
    "declare_groups",
    "declare_keys",
    "declare_numbers",
    "derive",
    "evaluate",
    "is_present",
    "kind_of",
    "kinds_of",
    "language",
    "match_keys",
    "object_code",
    "other_uses",
    "parse",
    "place_among",
    "plan_derivation",
    "plan_person_columns",
    "read_as_numbers",
    "read_number",
    "same_meaning",
    "split_filter",
    "to_narwhals",
    "value_of",
    "with_integers",
    "with_numbers",
    "written",
]
