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
