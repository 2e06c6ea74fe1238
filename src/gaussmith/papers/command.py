"""Compare published mechanisms with ours: errors, and whether claims are true.

examples:
  gaussmith compare --box 0:1 --dimension 16 --epsilon 1 --delta 1e-6
  gaussmith compare --box 0:1 --dimension 16 --epsilon 1 --delta 1e-6 \\
                    --over dimension=2,4,8,16,32,64 --out errors.png
  gaussmith compare --sd 1,0.5,0.25 --rows 1e6 --epsilon 1 --delta 1e-5
  gaussmith compare --counts 3 --dimension 10 --epsilon 1 --delta 1e-6 --csv
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.cli.parser import Parser, bold, number, struck, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest, printable

if TYPE_CHECKING:
    from gaussmith.papers.comparison import Comparison
    from gaussmith.papers.sweeps import Sweep

KINDS = ("box", "ball", "sd", "counts", "sparse", "votes")
SWEPT = ("dimension", "epsilon", "delta", "at_most", "rows", "radius")
MAX_VALUES = 40
"""Limit on the number of values in a sweep."""


def add_flags(parser: Parser) -> None:
    group = parser.add_argument_group("what one record can be (one of these)")
    group.add_argument(
        "--box", action="append", metavar="LOW:HIGH", help="bounds for all coordinates; repeat for one each"
    )
    group.add_argument("--ball", metavar="RADIUS", help="vectors of at most this length")
    group.add_argument("--sd", metavar="S,S,…", help="Gaussian data: standard deviations, or power:A for j^-A")
    group.add_argument("--counts", metavar="K", help="0/1 vectors with at most K ones")
    group.add_argument("--sparse", metavar="K:BOUND", help="at most K non-zeros, each up to BOUND")
    group.add_argument("--votes", action="store_true", help="rankings of the candidates")
    parser.add_argument("--dimension", metavar="D", help="the number of coordinates")
    parser.add_argument("--rows", metavar="N", help="Gaussian data: an estimate of the number of records")
    parser.add_argument("--epsilon", metavar="E", help="with --delta: the guarantee")
    parser.add_argument("--delta", metavar="D", help="such as 1e-6")
    parser.add_argument("--neighbours", "--neighbors", metavar="N", help="add-remove (the default) or replace-one")
    parser.add_argument("--over", metavar="NAME=V,V,…", help=f"compare over a range of one of: {', '.join(SWEPT)}")
    parser.add_argument(
        "--out", action="append", metavar="FILE", help="write .png, .svg, .html, .csv or .json; repeatable"
    )
    parser.add_argument("--csv", action="store_true", help="print CSV instead of text")


def run(arguments: Namespace) -> int:
    if arguments.csv and arguments.json:
        what = "--csv together with --json"
        raise RequestError(
            what, "only one format can be printed", "leave one out, or use --out", code="csv-beside-json"
        )
    numbers = _numbers(arguments)
    compare = _comparer(arguments)
    found: Comparison | Sweep
    if arguments.over:
        from gaussmith.papers.sweeps import sweep

        over, values = _over(arguments.over)
        found = sweep(over, values, lambda value: compare({**numbers, over: value}))
    else:
        found = compare(numbers)
    written = [str(found.save(path)) for path in arguments.out or ()]
    if arguments.json:
        print(found.to_json())
    elif arguments.csv:
        print(found.to_csv(), end="")
    else:
        _print(found)
        for path in written:
            print(f"\nSaved to {printable(without_secrets(path))}")
    return 0


def _print(found: Comparison | Sweep) -> None:
    from gaussmith.papers.comparison import HEADER, Comparison

    if not isinstance(found, Comparison):
        print(found)
        return
    from gaussmith.report.tables import text_table

    print(bold(found.title) + "\n")
    head, *lines = text_table(HEADER, [found.cells(row) for row in found.applied]).splitlines()
    told = zip(found.applied, lines, strict=True)
    print("\n".join([head, *(struck(line) if row.sound == "no" else line for row, line in told)]))
    remarks = found.remarks
    if remarks:
        print("\n" + wrapped("\n".join(remarks)))


def _numbers(arguments: Namespace) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("dimension", "epsilon", "delta", "rows"):
        text = getattr(arguments, name)
        if text is not None:
            found[name] = number(f"--{name}", text)
    if arguments.counts is not None:
        found["at_most"] = number("--counts", arguments.counts)
    if arguments.sparse is not None:
        found["at_most"] = number("--sparse", arguments.sparse.partition(":")[0])
    if arguments.ball is not None:
        found["radius"] = number("--ball", arguments.ball)
    return found


def _over(text: str) -> tuple[str, list[float]]:
    name, equals, values = text.partition("=")
    name = {"d": "dimension", "k": "at_most", "n": "rows"}.get(name, name.replace("-", "_"))
    if name not in SWEPT or not equals:
        rule = f"it names a number and its values: {', '.join(SWEPT)}"
        raise RequestError(f"--over {text}", rule, nearest(name, SWEPT), code="unknown-sweep", over=text)
    found = [number("--over", value) for value in values.split(",") if value]
    if not 1 <= len(found) <= MAX_VALUES:
        what, rule = f"--over {text}", f"it takes 1 to {MAX_VALUES} values"
        raise RequestError(what, rule, "write --over dimension=2,4,8", code="sweep-length-out-of-range", over=text)
    return name, found


def _comparer(arguments: Namespace) -> Callable[[dict[str, float]], Comparison]:
    chosen = [kind for kind in KINDS if getattr(arguments, kind)]
    if len(chosen) != 1:
        what, rule = " ".join(f"--{kind}" for kind in chosen) or "no domain", "a comparison is about one kind of record"
        raise RequestError(what, rule, "write for example --box 0:1 --dimension 16", code="not-one-domain-compared")
    make = {"box": _box, "ball": _ball, "sd": _gaussian, "counts": _counts, "sparse": _sparse, "votes": _votes}

    def compare(numbers: dict[str, float]) -> Comparison:
        from gaussmith.papers.comparison import compare

        for name in ("epsilon", "delta"):
            if name not in numbers:
                rule, remedy = "a comparison needs ε and δ", "add --epsilon 1 --delta 1e-6"
                raise RequestError(f"no {name}", rule, remedy, code="comparison-guarantee-missing", name=name)
        domain = make[chosen[0]](arguments, numbers)
        return compare(
            domain,
            epsilon=numbers["epsilon"],
            delta=numbers["delta"],
            neighbours=arguments.neighbours or "add-remove",
        )

    return compare


def _whole(numbers: dict[str, float], name: str) -> int:
    flag = {"at_most": "--counts or --sparse"}.get(name, f"--{name}")
    if name not in numbers:
        raise RequestError(
            f"no {flag}", "this kind of record needs it", f"add {flag} 16", code="size-flag-missing", flag=flag
        )
    value = numbers[name]
    if value != int(value) or not 1 <= value <= 1e7:
        what, rule = f"{flag} {value:g}", "it must be a whole number from 1 to 1e7"
        raise RequestError(what, rule, f"write {flag} 16", code="size-flag-out-of-range", flag=flag, value=value)
    return int(value)


def _box(arguments: Namespace, numbers: dict[str, float]) -> Any:
    from gaussmith.domains.box import Box

    pairs = []
    for text in arguments.box:
        low, colon, high = text.partition(":")
        if not colon:
            raise RequestError(
                f"--box {text}", "it takes two bounds", "write --box 0:1", code="box-flag-without-two-bounds", box=text
            )
        pairs.append((number("--box", low), number("--box", high)))
    if len(pairs) == 1:
        pairs = pairs * _whole(numbers, "dimension")
    elif numbers.get("dimension", len(pairs)) != len(pairs):
        what, rule = f"--dimension together with {len(pairs)} boxes", "several --box flags give one box per coordinate"
        raise RequestError(what, rule, "leave out --dimension", code="dimension-beside-boxes", boxes=len(pairs))
    return Box([low for low, _ in pairs], [high for _, high in pairs])


def _ball(arguments: Namespace, numbers: dict[str, float]) -> Any:
    from gaussmith.papers.ball import Ball

    return Ball(_whole(numbers, "dimension"), numbers["radius"])


def _gaussian(arguments: Namespace, numbers: dict[str, float]) -> Any:
    from gaussmith.papers.gaussian import GaussianData

    text = arguments.sd
    if text.startswith("power:"):
        power = number("--sd power:", text.removeprefix("power:"))
        sd: Sequence[float] = [j**-power for j in range(1, _whole(numbers, "dimension") + 1)]
    else:
        sd = [number("--sd", part) for part in text.split(",")]
    return GaussianData(0.0, sd, rows=numbers.get("rows", 10_000))


def _counts(arguments: Namespace, numbers: dict[str, float]) -> Any:
    fields = {"items": _whole(numbers, "dimension"), "at_most": _whole(numbers, "at_most")}
    return _counted("counts", fields)


def _sparse(arguments: Namespace, numbers: dict[str, float]) -> Any:
    bound = arguments.sparse.partition(":")[2] or "1"
    fields = {"coordinates": _whole(numbers, "dimension"), "at_most": _whole(numbers, "at_most")}
    return _counted("sparse", {**fields, "bounds": number("--sparse", bound)})


def _votes(arguments: Namespace, numbers: dict[str, float]) -> Any:
    return _counted("votes", {"candidates": _whole(numbers, "dimension")})


def _counted(kind: str, fields: dict[str, Any]) -> Any:
    """A domain by the words of a saved plan."""
    from gaussmith.domains.registry import domain_from_dict

    return domain_from_dict({"kind": kind, **fields})
