"""From text to a tree: the tokens and the grammar of the small language. Nothing is ever executed.

    expression = "not" expression | expression OPERATOR expression | "-" expression | value
    value      = number | "text" | 'text' | true | false | name | `any name` | function(expression, …) | (expression)
    OPERATOR   = or   and   == != < <= > >= in "not in"   + -   * /        (weakest first; comparisons do not chain)
    list       = (constant, …) or [constant, …], only after `in`

A quote inside a text is written twice. The tree is made of `nodes`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from gaussmith.errors import ExpressionError, RequestError
from gaussmith.notations import setting

# The three kinds of node in the tree of an expression.
#
# Every node says what it is: its `constant` (a literal), its `column` (a column), or None; only an operation has
# `arguments`.


@dataclass(frozen=True)
class Literal:
    """A number, a text or a truth written in the expression."""

    value: float | str | bool
    at: int = field(default=0, compare=False)

    column: ClassVar[None] = None
    arguments: ClassVar[tuple[Node, ...]] = ()
    columns_used: ClassVar[tuple[str, ...]] = ()

    @property
    def constant(self) -> float | str | bool:
        return self.value

    @property
    def conditions(self) -> tuple[Node, ...]:
        return (self,)


@dataclass(frozen=True)
class Column:
    """A column of the source, or a derived one."""

    name: str
    at: int = field(default=0, compare=False)

    constant: ClassVar[None] = None
    arguments: ClassVar[tuple[Node, ...]] = ()

    @property
    def column(self) -> str:
        return self.name

    @property
    def columns_used(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def conditions(self) -> tuple[Node, ...]:
        return (self,)


@dataclass(frozen=True)
class Operation:
    """An operator or a function, and what it is applied to."""

    name: str
    arguments: tuple[Node, ...]
    at: int = field(default=0, compare=False)

    constant: ClassVar[None] = None
    column: ClassVar[None] = None

    @property
    def columns_used(self) -> tuple[str, ...]:
        """The names of the columns below, in order of first use."""
        return tuple(dict.fromkeys(name for argument in self.arguments for name in argument.columns_used))

    @property
    def conditions(self) -> tuple[Node, ...]:
        """The conditions that must all hold, where this is a filter."""
        if self.name != "and":
            return (self,)
        return tuple(each for argument in self.arguments for each in argument.conditions)


Node = Literal | Column | Operation


def described(kind: str) -> str:
    """A kind as messages name it.

    >>> described("truth"), described("text"), described("number")
    ('a boolean', 'text', 'a number')
    """
    return {"truth": "a boolean", "text": "text"}.get(kind, f"a {kind}")


# The functions of the language: their names and numbers of arguments; and those that people look for in vain.

DATE_FUNCTIONS = ("year", "quarter", "month", "week", "day", "weekday", "hour")
"""Functions of one column of dates."""

TEXT_TESTS = ("contains", "starts_with", "ends_with")
"""Conditions on text: the text, then what is looked for in it."""

FUNCTIONS = {
    "if": (3, 3),
    "coalesce": (2, 8),
    "is_null": (1, 1),
    **dict.fromkeys(DATE_FUNCTIONS, (1, 1)),
    "days_between": (2, 2),
    **dict.fromkeys(TEXT_TESTS, (2, 2)),
    "abs": (1, 1),
    "sqrt": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "min": (2, 8),
    "max": (2, 8),
    "number": (1, 1),
}
"""The functions of the language, with their smallest and largest number of arguments."""

AGGREGATES = {
    "count": (0, 1),
    "sum": (1, 2),
    "mean": (1, 2),
    "min": (1, 8),
    "max": (1, 8),
    "any": (1, 1),
    "all": (1, 1),
    "only": (1, 1),
}
"""Functions of all rows of a person, for `person_columns`; min and max are such functions of one value."""

_DIFFERS = "engines differ in its last bit for some numbers, so that answers would depend on the engine"
_LOGARITHM = (_DIFFERS, "bin the column itself, with edges that grow by a factor such as 1, 10, 100, 1000")
_LETTERS = ("engines differ in the case of some letters", "list the spellings: x in ('North', 'north')")
CHOICE = ("a choice is written as a function", "write if(age < 18, 'child', 'adult')")
_OF_PEOPLE = "an expression looks at one row; the rows of a person are put together in person_columns"
ABSENT = {
    **dict.fromkeys(("log", "ln", "log2", "log10", "log1p"), _LOGARITHM),
    "exp": (_DIFFERS, "bin or filter the column itself"),
    **dict.fromkeys(("pow", "power"), (_DIFFERS, "write x * x, or sqrt(x)")),
    **dict.fromkeys(("sum", "mean", "avg", "count", "any", "all", "only"), (_OF_PEOPLE, "")),
    "round": ("engines round halves differently", "write floor(x + 0.5)"),
    **dict.fromkeys(("lower", "upper"), _LETTERS),
    **dict.fromkeys(("case", "iff", "ifelse", "where"), CHOICE),
    **dict.fromkeys(("ceiling",), ("its name is ceil", "write ceil(x)")),
    **dict.fromkeys(("datediff", "date_diff"), ("its name is days_between", "write days_between(start, end)")),
    **dict.fromkeys(("isnull", "isna"), ("its name is is_null", "write is_null(x)")),
}
"""Functions that people look for, with why they are not there and what to write."""


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

LONGEST = 4000
"""Limit on the length of an expression."""

DEEPEST = 40
"""Limit on nested brackets, signs and negations."""

MOST_OPERATIONS = 100
"""Limit on operators: the depth of the tree grows with their number."""

POWERS = {"or": 10, "and": 20, **dict.fromkeys((*COMPARISONS, "in", "not"), 40), "+": 50, "-": 50, "*": 60, "/": 60}
NOT, MINUS = 30, 70
"""How tightly operators bind; comparisons do not chain."""
WORDS = ("and", "or", "not", "in", "true", "false")
_TOKEN = r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')
    |(?P<quoted>`(?:[^`]|``)+`)
    |(?P<name>[^\W\d]\w*)
    |(?P<foreign>\*\*|//|&&|\|\||<>|<<|>>|===|[&|!^%~=?:;{}$@\\](?!=))
    |(?P<sign>==|!=|<=|>=|[-+*/<>()\[\],])"""
"""Compiled when an expression is read: most requests have none."""
_INSTEAD = {
    "=": "write == to compare",
    "===": "write == to compare",
    "<>": "write != for “not equal”",
    "&": "write and",
    "&&": "write and",
    "|": "write or",
    "||": "write or",
    "!": "write not",
    "~": "write not",
    "**": "write x * x",
    "^": "write x * x",
    "//": "write floor(x / y)",
    "%": "write x - y * floor(x / y)",
}


_TAKE_OUT = "remove it; column names with such characters are written in backticks: `a:b`"
_DATE = r"([0-9]{4})-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])(?![0-9.])"
_ELSEWHERE = {
    "is": "is_null({name})",
    "between": "18 <= {name} and {name} <= 65",
    "like": "contains({name}, 'north')",
}
"""SQL words that this language writes differently."""


@dataclass(frozen=True)
class Expression:
    """An expression as written, and its tree."""

    text: str
    tree: Node


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def refuse(text: str, at: int, problem: str, rule: str, remedy: str, *, code: str, **fields: object) -> NoReturn:
    """Raise an `ExpressionError` that shows the expression and a caret under the character where it goes wrong."""
    shown = "".join(" " if letter.isspace() else letter for letter in text)
    first = max(0, at - 60)
    line = f"    {shown[first : first + 100]}\n    {' ' * (at - first)}^"
    raise ExpressionError(f"in the expression\n{line}\n{problem}", rule, remedy, code=code, position=at, **fields)


def language() -> str:
    """The whole language in one line, for messages.

    >>> language()
    'the language has + - * / == != < <= > >= in, and or not, if coalesce is_null year quarter month week day weekday hour days_between contains starts_with ends_with abs sqrt floor ceil min max number'
    """  # noqa: E501
    return f"the language has + - * / {' '.join(COMPARISONS)} in, and or not, {' '.join(FUNCTIONS)}"


def parse(text: str, of_people: bool = False) -> Expression:
    """The tree of an expression; refuses invalid text and shows where. Those `of_people` may have AGGREGATES.

    >>> parse("age >= 18").tree
    Operation(name='>=', arguments=(Column(name='age', at=0), Literal(value=18.0, at=7)), at=4)
    >>> parse("age >= ")
    Traceback (most recent call last):
    gaussmith.errors.ExpressionError: in the expression
        age >=
               ^
    something is missing at the end · an operator needs a value on each side · complete the expression
    """
    if not isinstance(text, str):
        what, rule = f"expression={text!r}", "an expression must be a string"
        raise ExpressionError(what, rule, "put it in quotes", code="expression-not-text", expression=text)
    if len(text) > LONGEST:
        what, rule = f"an expression of {len(text)} characters", f"at most {LONGEST} are allowed"
        remedy = "split it into derived columns"
        raise ExpressionError(what, rule, remedy, code="expression-too-many-characters", characters=len(text))
    parser = _Parser(text, tuple(_tokens(text)), {**FUNCTIONS, **(AGGREGATES if of_people else {})})
    tree = parser.expression(0, 0)
    if parser.here.kind != "end":
        parser.refuse_here()
    return Expression(text, tree)


def _tokens(text: str) -> Iterator[_Token]:
    at, token = 0, re.compile(_TOKEN, re.VERBOSE)
    while at < len(text):
        match = token.match(text, at)
        if match is None or match.lastgroup is None:
            _refuse_sign(text, at)
        kind, word = match.lastgroup, match.group()
        if kind == "foreign":
            problem = f"{word!r} is not in the language"
            refuse(text, at, problem, language(), _INSTEAD.get(word, _TAKE_OUT), code="word-not-in-language", word=word)
        after = match.end()
        if kind == "number":
            _check_date(text, at)
            if re.match(r"[\w.]", text[after:]):
                remedy = "separate the two, or write the name in backticks: `2nd visit`"
                problem = "a number runs into a name"
                refuse(text, after, problem, "names start with a letter", remedy, code="number-runs-into-name")
        if kind == "name" and word.lower() in WORDS:
            kind, word = "word", word.lower()
        if kind != "space":
            yield _Token(kind, word, at)
        at = after
    yield _Token("end", "", len(text))


def _refuse_sign(text: str, at: int) -> NoReturn:
    if text[at] in "\"'`":
        rule = "text ends with the same quote it starts with"
        refuse(text, at, "a quote that is not closed", rule, "close it", code="quote-not-closed")
    problem = f"{text[at]!r} is not in the language"
    refuse(text, at, problem, language(), _TAKE_OUT, code="sign-not-in-language", token=text[at])


def _check_date(text: str, at: int) -> None:
    """Refuse a date that lost its quotes, which would be a subtraction, and numbers such as 06."""
    date = re.compile(_DATE).match(text, at)
    if date is not None:
        meant = f"{date[1]}-{int(date[2]):02}-{int(date[3]):02}"
        remedy = f"did you mean the date {meant!r}? to subtract, put spaces around the minus"
        refuse(text, at, "a date without quotes", "dates are written in quotes", remedy, code="date-without-quotes")
    if re.match("0[0-9]", text[at:]):
        remedy = "leave the 0 out, or write text or a date in quotes: '06', '2024-06-01'"
        problem = "a number that begins with 0"
        refuse(text, at, problem, "numbers are written without it", remedy, code="number-with-leading-zero")


def _unquote(quoted: str) -> str:
    quote = quoted[0]
    return quoted[1:-1].replace(quote * 2, quote)


class _Parser:
    """Precedence climbing over the tokens; `place` and the number of operators so far are its state."""

    def __init__(self, text: str, tokens: tuple[_Token, ...], functions: dict[str, tuple[int, int]]) -> None:
        self.text, self.tokens, self.functions, self.place, self.operations = text, tokens, functions, 0, 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.place]

    @property
    def binding(self) -> int:
        """How tightly the operator here binds; 0 if there is none."""
        return POWERS.get(self.here.text, 0) if self.here.kind in ("sign", "word") else 0

    def take(self) -> _Token:
        token = self.here
        self.place += 1
        return token

    def meets(self, sign: str) -> bool:
        """Whether this sign is here."""
        return self.here.kind == "sign" and self.here.text == sign

    def want(self, sign: str) -> None:
        if self.meets(sign):
            self.place += 1
            return
        problem, rule = f"{sign!r} is missing", "every bracket must be closed"
        refuse(self.text, self.here.at, problem, rule, f"write {sign!r} here", code="bracket-missing", sign=sign)

    def refuse_here(self) -> NoReturn:
        token = self.here
        if token.kind == "end":
            problem, rule = "something is missing at the end", "an operator needs a value on each side"
            refuse(self.text, token.at, problem, rule, "complete the expression", code="expression-incomplete")
        if self.binding == POWERS["=="] and token.text != "not":
            problem, rule = f"a second comparison, {token.text!r}", "comparisons cannot be chained"
            remedy = "join two comparisons with and"
            refuse(self.text, token.at, problem, rule, remedy, code="comparisons-chained", token=token.text)
        problem, rule = f"{token.text!r} is not allowed here", "an operator needs a value on each side"
        refuse(self.text, token.at, problem, rule, self.remedy_here(), code="token-out-of-place", token=token.text)

    def remedy_here(self) -> str:
        """What to do about the token here: of words after a name, what is meant can be guessed."""
        before, words = self.tokens[max(0, self.place - 1)], [t.text.lower() for t in self.tokens[self.place :][:2]]
        if before.text.lower() == "case" and words[:1] == ["when"]:
            return CHOICE[1]
        if self.place and before.kind in ("name", "quoted"):
            for word in filter(_ELSEWHERE.__contains__, words):
                said = _ELSEWHERE[word].format(name=before.text)
                return f"write not ({said})" if "not" in words else f"write {said}"
            if self.here.kind == "name" and before.kind == "name":
                return f"a name of several words is written in backticks: `{before.text} {self.here.text}`"
        return "take it out, or add what is missing"

    def expression(self, power: int, depth: int) -> Node:
        """The longest expression from here whose operators bind more tightly than `power`."""
        if depth > DEEPEST:
            problem, rule = "too deeply nested", f"at most {DEEPEST} brackets, signs and negations can be nested"
            refuse(self.text, self.here.at, problem, rule, "split it into derived columns", code="expression-too-deep")
        left = self.value(depth)
        while True:
            token = self.here
            binding = self.binding
            if binding <= power:
                return left
            if token.text == "not":
                after = self.tokens[self.place + 1]
                if (after.kind, after.text) != ("word", "in"):
                    return left
            self.take()
            if token.text == "not":
                self.take()
                left = Operation("not in", (left, *self.constants(depth)), token.at)
            elif token.text == "in":
                left = Operation("in", (left, *self.constants(depth)), token.at)
            else:
                left = Operation(token.text, (left, self.expression(binding, depth + 1)), token.at)
            self.operations += 1
            if self.operations > MOST_OPERATIONS:
                problem, rule = "too long", f"at most {MOST_OPERATIONS} operators"
                refuse(self.text, token.at, problem, rule, "split it into derived columns", code="too-many-operators")
            if binding == self.binding == POWERS["=="]:
                self.refuse_here()

    def value(self, depth: int) -> Node:
        token = self.take()
        match token.kind, token.text:
            case "number", word:
                return self.number(token)
            case "text", word:
                return Literal(_unquote(word), token.at)
            case "quoted", word:
                return Column(_unquote(word), token.at)
            case "word", ("true" | "false") as word:
                return Literal(word == "true", token.at)
            case "word", "not":
                return Operation("not", (self.expression(NOT, depth + 1),), token.at)
            case "sign", "-":
                inner = self.expression(MINUS, depth + 1)
                if type(number := inner.constant) is float:
                    return Literal(-number, token.at)
                return Operation("negative", (inner,), token.at)
            case "sign", "(":
                inner = self.expression(0, depth + 1)
                self.want(")")
                return inner
            case "name", word:
                if self.meets("("):
                    return self.call(token, depth)
                if word.lower() in ("null", "none", "nan"):
                    problem, rule = f"{word!r} is not a value", "a comparison with a missing value is false"
                    refuse(self.text, token.at, problem, rule, "write is_null(x)", code="null-as-a-value", token=word)
                return Column(word, token.at)
        self.place -= 1
        self.refuse_here()

    def number(self, token: _Token) -> Node:
        if float(token.text) == float("inf"):
            problem, rule = "a number too large for a double", "numbers must be below 1.8e308"
            refuse(self.text, token.at, problem, rule, "write a smaller one", code="number-too-large")
        return Literal(float(token.text), token.at)

    def call(self, name: _Token, depth: int) -> Node:
        if name.text not in self.functions:
            rule, remedy = ABSENT.get(name.text.lower(), (language(), "use one of these"))
            if rule == _OF_PEOPLE:
                remedy = f"write {setting('person_columns', {'visits': 'count()', 'spent_total': 'sum(spent)'})}"
            problem = f"there is no function {name.text!r}"
            refuse(self.text, name.at, problem, rule, remedy, code="unknown-function", function=name.text)
        self.want("(")
        least, most = self.functions[name.text]
        arguments = [] if self.meets(")") and not least else [self.expression(0, depth + 1)]
        while arguments and self.meets(","):
            self.take()
            arguments.append(self.expression(0, depth + 1))
        self.want(")")
        if not least <= len(arguments) <= most:
            wants = f"{name.text} takes {least if least == most else f'{least} to {most}'}"
            refuse(
                self.text,
                name.at,
                f"{name.text} with {len(arguments)} arguments",
                wants,
                "add or remove some",
                code="wrong-number-of-arguments",
                function=name.text,
                arguments=len(arguments),
            )
        return Operation(name.text, tuple(arguments), name.at)

    def constants(self, depth: int) -> list[Node]:
        """The list after `in`: constants in round or square brackets."""
        opening = self.take()
        if opening.kind != "sign" or opening.text not in "([":
            problem, rule = "in without a list", "in must be followed by a list of constants"
            remedy = 'write it in brackets, such as in ("a", "b")'
            refuse(self.text, opening.at, problem, rule, remedy, code="in-without-list")
        members: list[Node] = []
        while not members or self.here.text == ",":
            if members:
                self.take()
            at = self.here.at
            member = self.value(depth)
            if member.constant is None:
                rule = "a list holds numbers, text or booleans"
                remedy = "compare with == and join with or"
                if member.column is not None:
                    remedy = f"text is written in quotes: {member.column!r}; for a column, {remedy}"
                refuse(self.text, at, "not a constant", rule, remedy, code="list-member-not-constant")
            members.append(member)
        self.want(")" if opening.text == "(" else "]")
        return members


# Trees written as text again, which parses to the same tree; and filters split between rows and people.

_ATOM = 100
_AND = POWERS["and"]


def written(tree: Node) -> str:
    """A tree as text, with as few brackets as it needs.

    >>> written(parse("(a + b) * -c >= 2 and not (x in ['it''s', 'b'] or `y z`)").tree)
    "(a + b) * -c >= 2 and not (x in ('it''s', 'b') or `y z`)"
    """
    if tree.constant is not None:
        return _constant(tree)
    if tree.column is not None:
        plain = re.fullmatch(r"[^\W\d]\w*", tree.column) and tree.column.lower() not in (*WORDS, "null", "none", "nan")
        return tree.column if plain else "`" + tree.column.replace("`", "``") + "`"
    name, arguments = tree.name, tree.arguments
    if name == "not":
        return f"not {_within(arguments[0], NOT)}"
    if name == "negative":
        return f"-{_within(arguments[0], MINUS - 1)}"
    if name in ("in", "not in"):
        return f"{_within(arguments[0], POWERS['in'])} {name} ({', '.join(map(written, arguments[1:]))})"
    if name in POWERS:
        power = POWERS[name]
        left = power if power == POWERS["=="] else power - 1  # others are read from the left
        return f"{_within(arguments[0], left)} {name} {_within(arguments[1], power)}"
    return f"{name}({', '.join(map(written, arguments))})"


def _constant(tree: Literal) -> str:
    value = tree.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0" else repr(value)


def _within(tree: Node, power: int) -> str:
    """A part of a tree, in brackets unless it binds more tightly than this."""
    binds = _ATOM
    if isinstance(tree, Operation):
        own = {"not": NOT, "negative": MINUS, "not in": POWERS["in"]}
        binds = own.get(tree.name, POWERS.get(tree.name, _ATOM))
    return written(tree) if binds > power else f"({written(tree)})"


def split_filter(where: str | None, people: Container[str]) -> tuple[str | None, str | None]:
    """A filter as one of rows and one of people: its conditions joined by "and", by the columns that they use.

    >>> split_filter("age >= 18 and visits >= 3", {"visits"}), split_filter("age >= 18", {"visits"})
    (('age >= 18', 'visits >= 3'), ('age >= 18', None))
    """
    if where is None:
        return None, None
    parts: dict[bool, list[Node]] = {False: [], True: []}
    for condition in parse(where).tree.conditions:
        used = {name in people for name in condition.columns_used}
        if len(used) > 1:
            what = f"where: the condition {written(condition)}"
            rule = "it compares numbers of rows with numbers of people, and rows are filtered first"
            remedy = "use either columns of rows or person_columns in each condition, joined by and"
            raise RequestError(what, rule, remedy, code="filter-of-rows-and-people")
        parts[True in used].append(condition)
    rows, persons = parts[False], parts[True]
    if not (rows and persons):
        return (where, None) if rows else (None, where)
    return _joined(rows), _joined(persons)


def _joined(conditions: list[Node]) -> str:
    return " and ".join(_within(condition, _AND) for condition in conditions)
