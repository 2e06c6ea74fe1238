"""What text counts as a number, in CSV and JSON-lines files: one public rule, total, the same on every engine.

    blanks? sign? digits [. digits]? [e sign? digits]? blanks?      also `.5` and `5.`
    blanks? sign? (inf | infinity)  blanks?                         any case: clamps like every infinite value
    blanks? (true | false)          blanks?                         any case: 1 and 0

Blanks are spaces and tabs. Digits are 0–9. The number is the double nearest to the decimal one; beyond the doubles it
is infinite. Everything else is missing: empty text, `nan`, `1_000`, `1,5`, `0x10`, `5 kg`.
No type is inferred from the data, and no text is too odd: an unreadable one takes the public substitute.
"""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    import narwhals as nw

BLANKS = " \t"

NUMBER = r"\A[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii][Nn][Ff](?:[Ii][Nn][Ii][Tt][Yy])?)\z"
"""Read alike by the regular expressions of Rust, RE2 and Java: no classes like \\d, which differ, and no `$`."""

TRUE, FALSE = r"\A[Tt][Rr][Uu][Ee]\z", r"\A[Ff][Aa][Ll][Ss][Ee]\z"


def number_from_text(text: nw.Expr) -> nw.Expr:
    """The Float64 that a text stands for under the rule above, null where it is none; never raises.

    The input of the cast is guarded, not its output: some engines evaluate a cast that `when` then throws away.
    """
    import narwhals as nw

    trimmed = text.str.strip_chars(BLANKS)
    no = nw.when(trimmed.str.contains(FALSE)).then(nw.lit("0"))
    yes = nw.when(trimmed.str.contains(TRUE)).then(nw.lit("1")).otherwise(no)
    return nw.when(trimmed.str.contains(NUMBER)).then(trimmed).otherwise(yes).cast(nw.Float64)
