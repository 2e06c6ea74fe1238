"""Argument checks shared by all modules, with one form of message.

    check_whole              a whole number within limits                  → int
    check_number             a finite number within limits                 → float
    check_probability        a number strictly between 0 and 1             → float
    check_coordinate_names   one name per coordinate, no name twice        → tuple, or None
    is_whole, is_number      what counts as a number, for callers that write their own message
    is_list, repeated        what counts as a list; what is in it twice
    checks_arguments         a public function whose arguments have other names, or are too few or too many

True and False are not numbers here: Python treats them as 1 and 0, but as an argument they are a mistake. Numpy
numbers are accepted and returned as Python numbers, so callers keep the returned value.
A message reads `name=value · the rule · what to do`. `rule` and `remedy` replace the usual sentences if a caller can
be more specific.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeGuard, TypeVar

from gaussmith.errors import DomainError, GaussmithError, RequestError, meant_names, nearest_name

P = ParamSpec("P")
T = TypeVar("T")

CONFIDENCE = 0.95
"""The confidence of intervals, and of all that is said to be nearly sure, where no other is asked for."""

PERCENT = f"{100 * CONFIDENCE:g} %"
"""The same as it is printed."""

MAX_SHOWN = 100
"""Limit on the length of a value in a message."""


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is a Python or numpy integer; True and False are not.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number that a double can hold, infinities included; NaN, True and False are not.

    >>> is_number(3), is_number(math.inf), is_number(math.nan), is_number(True), is_number(10**400)
    (True, True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether this is a list, a tuple or another sequence, but no text.

    >>> is_list(["a"]), is_list(("a",)), is_list("a"), is_list({"a"})
    (True, True, False, False)
    """
    return isinstance(value, Sequence) and not isinstance(value, str)


def repeated(values: Iterable[T]) -> T | None:
    """The first value that was there before; None where all differ.

    >>> repeated(["a", "b", "a"]), repeated(["a", "b"])
    ('a', None)
    """
    seen: set[T] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def meant(value: object, low: int, high: int | None = None) -> int:
    """The whole number within limits that a text or a float says; else the lowest one.

    >>> meant("20", 1), meant(20.0, 1), meant("many", 1), meant("0", 1)
    (20, 20, 1, 1)
    """
    number = low
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < MAX_SHOWN:
        number = int(value)
    return number if low <= number and (high is None or number <= high) else low


def check_whole(
    name: str,
    value: object,
    low: int,
    high: int | None = None,
    *,
    rule: str = "",
    remedy: str | Callable[[int], str] = "",
    error: type[GaussmithError] = RequestError,
) -> int:
    """The value as an int; refuses anything but an integer from `low` to `high`, inclusive.

    `remedy` may be a function of the number that was probably meant.

    >>> check_whole("rows_per_unit", 0, 1)
    Traceback (most recent call last):
    gaussmith.errors.RequestError: rows_per_unit=0 · it must be a whole number of at least 1 · write rows_per_unit=1
    """
    if is_whole(value) and low <= value and (high is None or value <= high):
        return int(value)
    usual = f"of at least {low}" if high is None else f"from {low} to {high}"
    rule, near = rule or f"it must be a whole number {usual}", meant(value, low, high)
    remedy = (remedy(near) if callable(remedy) else remedy) or f"write {name}={near}"
    what = f"{name}={_text(value)}"
    raise error(what, rule, remedy, code="whole-number-out-of-range", name=name, value=value, low=low, high=high)


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    low: float | None = None,
    below: float | None = None,
    high: float | None = None,
    rule: str = "",
    remedy: str = "",
    error: type[GaussmithError] = RequestError,
    code: str = "number-out-of-range",
) -> float:
    """The value as a float; refuses anything but a finite number between the limits.

    `above` and `below` are excluded, `low` and `high` included. The limits apply to the returned float.

    >>> check_number("error", float("nan"), above=0, remedy="write error=0.01")
    Traceback (most recent call last):
    gaussmith.errors.RequestError: error=nan · it must be a finite number above 0 · write error=0.01
    """
    limits = [(fits, word, limit) for fits, word, limit in (
        (operator.gt, "above", above), (operator.ge, "of at least", low),
        (operator.lt, "below", below), (operator.le, "of at most", high)) if limit is not None]  # fmt: skip
    if is_number(value) and math.isfinite(number := float(value)):
        if all(fits(number, limit) for fits, _, limit in limits):
            return number
    usual = " and ".join(f"{word} {limit:g}" for _, word, limit in limits)
    rule = rule or f"it must be a finite number {usual}".rstrip()
    remedy = remedy or "give a number in this range"
    raise error(f"{name}={_text(value)}", rule, remedy, code=code, name=name, value=value)


def check_probability(
    name: str, value: object, *, rule: str = "", remedy: str = "", error: type[GaussmithError] = RequestError
) -> float:
    """The value as a float; refuses anything but a number strictly between 0 and 1.

    >>> check_probability("confidence", 95)
    Traceback (most recent call last):
    gaussmith.errors.RequestError: confidence=95 · a confidence must lie strictly between 0 and 1 · write 0.95
    """
    rule = rule or f"a {name} must lie strictly between 0 and 1"
    remedy, code = remedy or f"write {CONFIDENCE:g}", "probability-out-of-range"
    return check_number(name, value, above=0, below=1, rule=rule, remedy=remedy, error=error, code=code)


def check_coordinate_names(
    names: Sequence[Any] | None, size: int, *, error: type[GaussmithError] = DomainError
) -> tuple[Any, ...] | None:
    """The names as a tuple, or None if there are none; refuses a wrong number of names and duplicate names.

    >>> check_coordinate_names(["a", "b", "a"], 3)
    Traceback (most recent call last):
    gaussmith.errors.DomainError: name 'a' occurs twice · every coordinate needs its own name · rename one
    """
    if names is None:
        return None
    rule = "every coordinate needs its own name"
    if len(names) != size:
        what = f"{len(names)} name{'' if len(names) == 1 else 's'} for {size} coordinate{'' if size == 1 else 's'}"
        remedy = "give one name per coordinate"
        raise error(what, rule, remedy, code="names-do-not-match-coordinates", names=len(names), coordinates=size)
    if (name := repeated(names)) is not None:
        raise error(f"name {_text(name)} occurs twice", rule, "rename one", code="coordinate-name-twice", name=name)
    return tuple(names)


_OF_A_GUARANTEE = ("epsilon", "delta", "mu", "rho")


def checks_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """A public function that refuses wrong arguments in the form of all errors, with what may have been meant.

    >>> @checks_arguments
    ... def guess(*, epsilon): ...
    >>> guess(eps=1)
    Traceback (most recent call last):
    gaussmith.errors.RequestError: eps given to guess · it has no such argument · write epsilon=…
    """

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except TypeError:
            wrong = _wrong_arguments(function, given, named)
            if wrong is None:  # it was raised inside
                raise
            raise wrong from None

    return checked


def _wrong_arguments(function: Callable[..., Any], given: Sequence[Any], named: Iterable[str]) -> RequestError | None:
    """Why a call does not fit the arguments of a function; None where it does."""
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **dict.fromkeys(named))
    except TypeError as problem:
        called = function.__qualname__.removesuffix(".__init__")
        unknown = next((name for name in named if name not in signature.parameters), None)
        known = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
        if unknown is not None:
            names = [each.name for each in known if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
            what, rule = f"{unknown} given to {called}", "it has no such argument"
            return RequestError(what, rule, _meant_argument(unknown, names), code="no-such-argument", argument=unknown)
        plain = [each.replace(annotation=each.empty) for each in known]
        remedy = f"write {called}{signature.replace(parameters=plain, return_annotation=signature.empty)}"
        return RequestError(f"{called}(…)", str(problem), remedy, code="arguments-do-not-fit", function=called)
    return None


def _meant_argument(name: str, names: Sequence[str]) -> str:
    """What to write in place of an argument that a function does not have; a guarantee is one argument."""
    stated = [name] if name in _OF_A_GUARANTEE else meant_names(name, _OF_A_GUARANTEE)
    if stated and "guarantee" in names and not meant_names(name, names):
        return f"write guarantee=gaussmith.Guarantee({stated[0]}=…)"
    return nearest_name(name, names)


def _text(value: object) -> str:
    """A value as Python writes it; long ones are truncated."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write out integers of several thousand digits
        return "(a number of too many digits to show)"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def check_text(what: str, label: object) -> None:
    """Refuse text that no engine can hold: lone surrogates."""
    if isinstance(label, str) and not label.isascii() and any("\ud800" <= letter <= "\udfff" for letter in label):
        raise DomainError(
            f"{what} {label!r}"[:120],
            "text must consist of valid characters",
            "fix the text",
            code="label-with-broken-characters",
            label=label,
            kind=what,
        )
