"""What was asked by flags, as a request file: `--save-request FILE`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import asked_fields
from gaussmith.cli.parser import Parser
from gaussmith.engines.addresses import without_password, without_secrets
from gaussmith.errors import RequestError

if TYPE_CHECKING:
    from gaussmith.requests.request import Request


def add_save_flag(parser: Parser) -> None:
    """Add `--save-request`."""
    parser.add_argument("--save-request", metavar="FILE", help="write what these flags ask for as a .toml request")


def save_request(arguments: Namespace, sources: Sequence[str], request: Request) -> None:
    """Write the request file, if one is wished for; refuses what exists. Nothing in it is from data."""
    if not arguments.save_request:
        return
    from gaussmith.requests.toml_text import write_toml
    from gaussmith.suggestions.request_file import schema_address

    file = Path(arguments.save_request)
    if sources and sources[0].endswith(".toml"):
        raise _refused(file, "the request is a file already", "copy it, or leave --save-request out")
    if file.suffix != ".toml":
        raise _refused(file, "a request is a .toml file", f"write --save-request {without_secrets(f'{file}.toml')}")
    fields = _written(asked_fields(arguments, sources), file.parent)
    fields["guarantee"] = {name: _plain(value) for name, value in request.guarantee.to_dict().items()}
    text = f"#:schema {schema_address()}\n{write_toml(fields)}"
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise _refused(file, "there is such a file, which stays as it is", "choose another name") from None
    except OSError as error:
        raise _refused(file, f"it cannot be written: {error.strerror}", "choose a path you can write to") from None


def _refused(file: Path, rule: str, remedy: str) -> RequestError:
    name = without_secrets(file)
    return RequestError(f"--save-request {name}", rule, remedy, code="request-not-saved", file=name)


def _written(asked: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The fields as a file states them: what is as usual is left out, and names without bounds are a list."""
    from dataclasses import MISSING, fields

    from gaussmith.requests.request import Request

    usual = {each.name: each.default for each in fields(Request) if each.default is not MISSING}
    written: dict[str, Any] = {"source": _source(asked["source"], folder)}
    for name, value in asked.items():
        empty = value is None or (isinstance(value, Mapping | list | tuple) and not value)
        if name == "source" or empty or (not isinstance(value, Mapping | list | tuple) and value == usual.get(name)):
            continue
        written[name] = _plain(_named(name, value) if isinstance(value, Mapping) else value)
    return written


def _source(source: Any, folder: Path) -> Any:
    said = dict(source) if isinstance(source, Mapping) else {"path": source}
    path = without_password(str(said["path"]))
    if "://" not in path and not os.path.isabs(os.path.expanduser(path)):
        path = os.path.relpath(path, folder)
    kept = {key: value for key, value in said.items() if key != "path" and value}
    return {"path": path, **kept} if kept else path


def _named(field: str, value: Mapping[str, Any]) -> Any:
    """A table of columns; where all are named alone, a list of them."""
    if not any(each is None for each in value.values()):
        return value
    if all(each is None for each in value.values()):
        return list(value)
    alone = next(name for name, each in value.items() if each is None)
    raise RequestError(
        f"{alone!r} in {field} beside columns with more than their name",
        "in a request file either all of a table state it, or none",
        f"state it for {alone!r} too, or for none",
        code="request-not-written",
        field=field,
        column=alone,
    )


def _plain(value: Any) -> Any:
    """Whole numbers without a point; what is inside of tables and lists too."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
