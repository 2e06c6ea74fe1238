"""One release, and everything about it that can be seen from outside."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doors.asks import Ask
from doors.noise import FoundDraw, Query, known_noise
from gaussmith.cli import main
from gaussmith.errors import DataError, GaussmithError

RELEASED, REFUSED, FAILED, CRASHED = "released", "refused", "failed", "crashed"
"""Refused: before data is read. Failed: after, with an error of ours. Crashed: with any other."""

VALUES = frozenset({"value", "standard_error", "lower", "upper", "features", "status", "note"})
"""What is released: the fields of a record that depend on data, through the noisy integers alone."""


@dataclass(frozen=True)
class Outcome:
    """What can be seen of one release. `said` is the record without released values, or the words of the error."""

    status: str
    said: str
    exit_code: int
    printed: str = ""
    warned: tuple[str, ...] = ()
    queries: tuple[Query | FoundDraw, ...] = field(default=(), repr=False)


def run(ask: Ask, source: Any, folder: Path, engine: str | None = None, by_command: bool = False) -> Outcome:
    """Release once, with known noise: in Python, or by the command line for what a TOML file can name."""
    with known_noise() as queries, watched() as seen:
        if by_command:
            status, said, code = _command(ask, source, folder, engine)
        else:
            status, said, code = _call(lambda: ask.release(source, engine))
    here = str(folder)
    printed = seen.printed
    if by_command:
        said, printed = _record_of(printed) if status == RELEASED else ("", printed)
    words = tuple(text.replace(here, "…") for text in seen.warned)
    return Outcome(status, said.replace(here, "…"), code, printed.replace(here, "…"), words, tuple(queries))


def _call(release: Callable[[], Any]) -> tuple[str, str, int]:
    try:
        return RELEASED, blank(json.loads(release().to_json())), 0
    except GaussmithError as error:
        status = FAILED if isinstance(error, DataError) else REFUSED
        return status, f"{type(error).__name__}: {error}", error.exit_code
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of an engine are no Exception
        return CRASHED, f"{type(error).__name__}: {error}", 1


def _command(ask: Ask, source: Any, folder: Path, engine: str | None) -> tuple[str, str, int]:
    path = folder / "request.toml"
    ask.write(source, path)
    chosen = [] if engine is None else ["--engine", engine]
    try:
        code = main(["release", str(path), "--json", *chosen])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return CRASHED, f"{type(error).__name__}: {error}", 1
    return {0: RELEASED, 2: REFUSED, 4: FAILED}.get(code, CRASHED), "", code


def _record_of(printed: str) -> tuple[str, str]:
    """The record in what the command printed, and all else."""
    record, _, rest = printed.partition("\n")
    return blank(json.loads(record)), rest


def blank(record: Any) -> str:
    """A record without its released values."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: "·" if k in VALUES else v if k == "plan" else walk(v) for k, v in value.items()}
        return [walk(each) for each in value] if isinstance(value, list) else value

    return json.dumps(walk(record), sort_keys=True, ensure_ascii=False)


@dataclass
class Seen:
    """What was printed, also by engines that write to the terminal themselves, and warned of."""

    printed: str = ""
    warned: tuple[str, ...] = ()


@contextmanager
def watched() -> Iterator[Seen]:
    """Within it nothing is printed or warned; it is kept instead."""
    seen = Seen()
    streams = (sys.stdout, sys.stderr)
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = [(number, os.dup(number)) for number in (1, 2)]
        for stream in streams:
            stream.flush()
        writer = os.fdopen(os.dup(file.fileno()), "w", encoding="utf-8", errors="backslashreplace")
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            sys.stdout = sys.stderr = writer
            yield seen
        finally:
            sys.stdout, sys.stderr = streams
            writer.close()
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            seen.printed = file.read().decode("utf-8", "backslashreplace")
            seen.warned = tuple(f"{each.category.__name__}: {each.message}" for each in caught)
