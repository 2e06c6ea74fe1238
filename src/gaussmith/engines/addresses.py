"""Addresses of data: object stores, which an engine opens itself, and DuckDB databases.

    s3://bucket/visits/**/*.parquet     gs://…  az://…  https://…      passed on to the engine, with its own credentials
    duckdb://study.db?table=visits      duckdb:///data/study.db?query=SELECT …      opened for reading only

Messages never show the parts of an address that may be secret: users, passwords, tokens, signatures. `without_secrets`
is the only rule for this; every address that is printed, stored or raised goes through it.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from gaussmith.errors import SourceError, nearest
from gaussmith.notations import setting

STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "hf", "http", "https")
"""Schemes that are passed on to the engine."""


def scheme_of(address: str) -> str | None:
    """The scheme of an address such as s3://…, or None for a path."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", address)
    return found[1].lower() if found else None


def is_here(address: str) -> bool:
    """Whether a path, a pattern or a file of DuckDB is there, on this machine; of a store it is not known.

    >>> is_here("s3://bucket/a.parquet"), is_here("no/such/*.csv"), is_here(".")
    (False, False, True)
    """
    scheme = scheme_of(address)
    if scheme == "duckdb":
        return os.path.exists(os.path.expanduser(parse_database(address).path))
    if scheme not in (None, "file"):
        return False
    path = os.path.expanduser(unquote(urlsplit(address).path) if scheme else address)
    return os.path.exists(path) or bool(glob.glob(path, recursive=True))


def nearest_file(path: str) -> str:
    """A hint with the file of the same folder whose name is close to that of a path, or "". Nothing is opened."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        others = [other for other in os.listdir(os.path.expanduser(folder) or ".") if not other.startswith(".")]
    except (OSError, ValueError):
        return ""
    close = [] if glob.has_magic(path) else get_close_matches(name, sorted(others), n=1, cutoff=0.8)
    return f"did you mean {without_secrets(os.path.join(folder, close[0]))!r}?" if close else ""


def without_secrets(address: str | bytes | os.PathLike[Any]) -> str:
    """An address as messages, records and ledgers may show it; total, and what cannot be told to be safe is hidden.

    Of an address with a scheme: scheme, host, port and path. Users, passwords, queries and fragments are dropped. Where
    it cannot be told where they end (an @ behind the host, a percent-encoded @, one slash instead of two) only the
    scheme is left. A path without a scheme is shown as it is, unless it could be an address or a connection string.
    Not known to be secret, and shown: the path itself, host names, the names of tables.

    >>> without_secrets("s3://ada:lovelace@bucket/a.parquet?X-Amz-Signature=42")
    's3://bucket/a.parquet'
    >>> without_secrets("https:/ada:lovelace@host/a.parquet"), without_secrets("host=db password=lovelace")
    ('https:…', '…')
    >>> without_secrets("visits/year=2024/a@home.csv")
    'visits/year=2024/a@home.csv'
    >>> without_secrets("duckdb://study.db?table=visits")
    'duckdb://study.db?table=visits'
    >>> without_secrets("duckdb://study.db?query=FROM 'https://ada:lovelace@host/a.parquet'")
    'duckdb://study.db?query=…'
    """
    text = os.fsdecode(address)
    bare = text.lstrip(_BLANKS)
    blanks = text[: len(text) - len(bare)]
    scheme = scheme_of(bare)
    if scheme is None:
        return blanks + _shown_path(bare)
    head, rest = bare.split("://", 1)
    if scheme == "duckdb":
        return f"{blanks}{head}://{_shown_database(rest)}"
    if scheme in ("k8s", "mesos") and scheme_of(rest):  # k8s://https://host:443
        return f"{blanks}{head}://{without_secrets(rest)}"
    if scheme == "file":
        return f"{blanks}{head}://{_shown_path(rest) if rest[:1] == '/' else HIDDEN}"
    return f"{blanks}{head}://{_shown_place(rest, scheme)}"


HIDDEN = "…"
"""The replacement for hidden parts."""

_BLANKS = "".join(map(chr, range(33))) + "\x7f\x85\xa0\u200b\u2028\u2029\u3000\ufeff"

# Patterns are texts, compiled when an address is there to match: most sources are plain paths.

_HOSTS = r"(?:[\w.*-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?(?:,[\w.*-]+(?::\d{1,5})?)*"

_SECRET_NAME = r"""(?ix) (?: pass(?:word|wd|phrase|code)? | pwd | secret | token | signature | credentials? | bearer
          | (?<![a-z])(?:sig|pw|sas|auth|authorization)
          | (?:account|access|api|shared|private|secret|storage|encryption)[ _-]?key )
        [ _-]?\w{0,4} (?: \s* [=:] | \s+ ['"] | %3[ad] )"""
"""Names of settings that hold a secret, before the sign that gives them a value."""

_SETTINGS = r"(?s)[\w ]+=[^;\s]*(?:\s+|\s*;\s*)[\w ]+=|[?&;#][^/]*="
"""Two settings NAME=VALUE in a row, or one behind a path."""

_ENCODED = r"(?i)%(?:40|3f|23|26|25)"
"""An @, ?, #, & or % that was percent-encoded."""

_NOT_PATHS = ("jdbc", "odbc", "postgresql", "postgres", "mysql", "mariadb", "mssql", "sqlserver", "oracle", "mongodb",
              "redis", "snowflake", "ftp", "sftp", "ssh", "hdfs", "file", "duckdb", "spark", "sc", *STORES)  # fmt: skip
"""Words that begin an address when followed by a colon."""


def _shown_path(path: str) -> str:
    """A path, unless it could be an address whose scheme is missing or misspelt, or a list of settings."""
    if not any(sign in path for sign in "@:=%'\""):  # each of what is doubtful has one of them
        return path
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", path)
    if scheme and scheme[1].lower() in _NOT_PATHS:
        return f"{scheme[0]}{HIDDEN}"
    of_this_machine = path.startswith(("/", "./", "../", "~")) and not path.startswith("//")
    parts = re.split(r"[/\\]", path)
    doubtful = (
        re.match(r"[:/\\]*[/\\]{2}[^/\\]*@", path)
        or "://" in path
        or re.search(r":.*@", path, re.DOTALL)
        or (not of_this_machine and "@" in "".join(parts[:-1]))
        or ("@" in parts[-1] and len(parts) == 1 and "." not in parts[-1].rpartition("@")[2])
        or re.search(_ENCODED, path)
        or re.search(_SETTINGS, path)
        or re.search(_SECRET_NAME, path)
    )
    return HIDDEN if doubtful else path


def _shown_place(rest: str, scheme: str) -> str:
    """Host and path of what follows scheme://."""
    place, path = re.match(r"([^/\\?#;]*)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]  # matches all
    host = place.rpartition("@")[2]
    if "@" in path or re.search(_ENCODED, rest) or not (re.fullmatch(_HOSTS, host) or (host == "" and place == "")):
        return HIDDEN
    path = re.split("[#;]" if scheme not in ("http", "https") and _is_pattern(path) else "[?#;]", path, maxsplit=1)[0]
    return host + (f"/{HIDDEN}" if re.search(_SECRET_NAME, path) or "://" in path else path)


def _is_pattern(path: str) -> bool:
    """Whether each ? in a path is a wildcard: no setting follows, nor does one end the name of a file."""
    before, mark, after = path.partition("?")
    plain = re.fullmatch(r"[\w.*?/\[\]-]*(?:/|\*|\.[a-z]{2,8}(?:\.(?:gz|zst))?)", after)
    return not mark or (plain is not None and not re.search(r"\.[A-Za-z]\w*$", before))


def _shown_database(rest: str) -> str:
    """A file of DuckDB with its table or query; a query that could hold an address or a password is hidden."""
    path, mark, asked = rest.partition("?")
    shown, (key, _, value) = _shown_path(path), asked.partition("=")
    if not mark or shown == HIDDEN:
        return shown
    if ":" in path and "@" in asked:  # the ? may stand in a password
        return HIDDEN
    if key == "table" and not re.search(r"[&;#=@%]", value):
        return f"{shown}?{asked}"
    if key == "query" and not re.search(r"//|@|%40|:\\", value) and not re.search(_SECRET_NAME, value):
        return f"{shown}?{asked}"
    return f"{shown}?{key}={HIDDEN}" if key in ("table", "query") else f"{shown}?{HIDDEN}"


def location_of(address: str) -> str:
    """The location of data, for checks and not for display: an address without user, password, query and fragment.

    >>> location_of("s3://ada:love/lace@bucket/a.parquet?X-Amz-Signature=42")
    's3://bucket/a.parquet'
    """
    scheme = scheme_of(address)
    if scheme is None:
        return address
    head, rest = address.split("://", 1)
    is_host = re.match(r"[^/?#:@]*(:\d+)?([/?#]|$)", rest)  # else users and passwords, which may hold strokes
    user = (re.split("[?#]", rest, maxsplit=1)[0] if is_host else rest).rpartition("@")[0]
    if ":" in user:
        rest = rest[len(user) + 1 :]
    place, slash, path = rest.partition("/")
    found = f"{head}://{place.rpartition('@')[2]}{slash}{path}"
    if scheme in ("http", "https") or "=" in found.partition("?")[2]:  # elsewhere a lone ? is a wildcard
        found = re.split("[?#]", found, maxsplit=1)[0]
    return found


def without_password(address: str) -> str:
    """An address as it is hashed: everything that identifies the data, without the user's password.

    >>> without_password("https://ada:lovelace@host/export.csv?table=visits")
    'https://host/export.csv?table=visits'
    >>> without_password("abfss://visits@account/a.parquet")
    'abfss://visits@account/a.parquet'
    """
    if scheme_of(address) == "duckdb":
        return address
    return re.sub(r"\A([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*:[^/?#]*@", r"\1", address)


def short_name(source: object) -> str | None:
    """The name of a source on a page: the last part of its path, without folders and secrets; None for a frame.

    >>> short_name("/data/visits.parquet"), short_name("s3://bucket/a/b.csv?token=42"), short_name([1.0])
    ('visits.parquet', 'b.csv', None)
    >>> short_name("duckdb:///data/study.db?table=visits"), short_name("visits/*.csv")
    ('study.db', '*.csv')
    """
    if not isinstance(source, str | os.PathLike):
        return None
    address = without_secrets(os.fspath(source))
    path = re.split(r"\?", address, maxsplit=1)[0] if scheme_of(address) == "duckdb" else address
    last = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
    return None if HIDDEN in last else last or None


def fixed_part(pattern: str) -> str:
    """The leading directories of a path or an address without wildcards: partitions begin below them."""
    parts = pattern.split("/")
    wild = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return "/".join(parts[:wild]) or ("/" if pattern.startswith("/") else "")


@dataclass(frozen=True)
class Database:
    """A table or a query of a DuckDB file."""

    said: str
    path: str = field(repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=False)


def parse_database(address: str) -> Database:
    """The parts of a duckdb:// address; nothing in it is decoded, so a query is written as it is.

    >>> parse_database("duckdb:///data/study.db?table=visits")
    Database(said='duckdb:///data/study.db?table=visits', table='visits')
    """
    path, question, rest = address.split("://", 1)[1].partition("?")
    key, _, value = rest.partition("=")
    said = without_secrets(address)
    rule = "an address names a file, and a table or a query in it"
    if question and key not in ("table", "query"):
        is_name = re.fullmatch("[a-z]{1,12}=", rest[: len(key) + 1])  # else it could be a secret
        named = f"{key!r} in " if is_name else ""
        what = f"{named}source={said!r}"
        raise SourceError(what, rule, nearest(key, ("table", "query")), code="unknown-database-parameter", source=said)
    if not path or not value.strip():
        remedy = "write duckdb://study.db?table=visits, or ?query=SELECT …"
        raise SourceError(f"source={said!r}", rule, remedy, code="database-address-incomplete", source=said)
    return Database(said, path, **{key: value})


# Declarations about a source in addition to its path: `{ path = "…", ids = "integer", row_per_row = true }`.

KEYS = ("path", "ids", "row_per_row", "line_per_record")
IDS = ("text", "integer")


@dataclass(frozen=True, eq=False)
class SourceDescription:
    """A source and what was said of it.

    data:            a path, an address or a frame
    ids:             what the ids of people are, "text" or "integer"; None: as the type of their column says
    row_per_row:     the promise that each row of a query depends on the rows of one person only
    line_per_record: whether each line of a CSV file is one record, whatever quotes it holds
    """

    data: Any = field(repr=False)
    ids: str | None = None
    row_per_row: bool = False
    line_per_record: bool = False

    @property
    def said(self) -> dict[str, Any]:
        """The declarations about the data; empty if there are none."""
        told = {"ids": self.ids, "row_per_row": self.row_per_row, "line_per_record": self.line_per_record}
        return {name: value for name, value in told.items() if value}


def read_source(source: Any) -> SourceDescription:
    """The source that a path, a frame or a table with a path (in Python also with a frame) names.

    >>> read_source({"path": "visits.csv", "ids": "integer"}).said, read_source("visits.csv").said
    ({'ids': 'integer'}, {})
    """
    _refuse_dicts(source)
    if not isinstance(source, Mapping):
        return source if isinstance(source, SourceDescription) else SourceDescription(source)
    for key in source:
        if key not in KEYS:
            what, rule = f"unknown key {key!r} in source", "a source has no such key"
            raise SourceError(what, rule, nearest(str(key), KEYS), code="unknown-source-key", key=key)
    if "path" not in source or isinstance(source["path"], Mapping):
        rule = "it must say where the data is"
        raise SourceError(
            "source without a path", rule, f"write {setting('', {'path': 'visits.csv'})}", code="source-without-path"
        )
    ids = source.get("ids")
    if ids is not None and ids not in IDS:
        raise SourceError(
            f"ids={ids!r} in source",
            'ids must be "text" or "integer"',
            nearest(str(ids), IDS),
            code="unknown-ids",
            ids=ids,
        )
    promises = [source.get(name, False) for name in KEYS[2:]]
    for name, promise in zip(KEYS[2:], promises, strict=True):
        if not isinstance(promise, bool):
            what, rule, remedy = (
                f"{name}={promise!r} in source",
                "it must be true or false",
                f"write {setting(name, True)}",
            )
            raise SourceError(what, rule, remedy, code="source-promise-not-boolean", name=name, value=promise)
    return SourceDescription(source["path"], ids, *promises)


def _refuse_dicts(source: Any) -> None:
    """Refuse rows or columns in dicts of Python, which name their columns and not their types. Says nothing of them."""
    what = ""
    if isinstance(source, Mapping):
        columns = [value for key, value in source.items() if key != "path"]
        if any(isinstance(value, list | tuple) or hasattr(value, "__array__") for value in columns):
            what = "source is a dict of columns"
    elif isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        what = "source is a list of dicts"
    if what:
        rule = "columns with names come from a frame, which knows their types, or from a file"
        remedy = "wrap it in polars.DataFrame(…) or pandas.DataFrame(…)"
        raise SourceError(what, rule, remedy, code="source-of-dicts")


def with_path(source: Any, path: str | os.PathLike[str]) -> Any:
    """The same source at another path."""
    return {**source, "path": path} if isinstance(source, Mapping) else path
