"""Addresses of data elsewhere: object stores, which an engine opens by itself, and databases of DuckDB.

    s3://bucket/visits/**/*.parquet     gs://…  az://…  https://…      passed on to the engine, with its own credentials
    duckdb://study.db?table=visits      duckdb:///data/study.db?query=SELECT …      opened for reading only

A message never shows what may be secret in an address: users, passwords, tokens, signatures.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gaussmith.errors import SourceError, nearest

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


def without_secrets(address: str) -> str:
    """An address as messages and ledgers may show it.

    >>> without_secrets("s3://ada:lovelace@bucket/a.parquet?X-Amz-Signature=42")
    's3://bucket/a.parquet'
    >>> without_secrets("duckdb://study.db?table=visits")
    'duckdb://study.db?table=visits'
    >>> without_secrets("duckdb://study.db?query=FROM 'https://ada:lovelace@host/a.parquet'")
    "duckdb://study.db?query=FROM 'https://host/a.parquet'"
    """
    scheme = scheme_of(address)
    if scheme is None:
        return address
    head, rest = address.split("://", 1)
    if scheme == "duckdb":
        path, question, query = rest.partition("?")
        return f"{head}://{path}{question}" + re.sub(r"//[^\s'\"]*@", "//", query)
    is_host = re.match(r"[^/?#:@]*(:\d+)?([/?#]|$)", rest)  # else users and passwords, which may hold strokes
    user = (re.split("[?#]", rest, maxsplit=1)[0] if is_host else rest).rpartition("@")[0]
    if ":" in user:
        rest = rest[len(user) + 1 :]
    place, slash, path = rest.partition("/")
    shown = f"{head}://{place.rpartition('@')[2]}{slash}{path}"
    if scheme in ("http", "https") or "=" in shown.partition("?")[2]:  # elsewhere a lone ? is a wildcard
        shown = re.split("[?#]", shown, maxsplit=1)[0]
    return shown


def without_password(address: str) -> str:
    """An address as it is hashed: all that says which data it names, but not the password of who comes.

    >>> without_password("https://ada:lovelace@host/export.csv?table=visits")
    'https://host/export.csv?table=visits'
    >>> without_password("abfss://visits@account/a.parquet")
    'abfss://visits@account/a.parquet'
    """
    if scheme_of(address) == "duckdb":
        return address
    return re.sub(r"\A([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*:[^/?#]*@", r"\1", address)


def short_name(source: object) -> str | None:
    """What a page may call a source: the last part of its path, without folders and secrets; None for a frame.

    >>> short_name("/data/visits.parquet"), short_name("s3://bucket/a/b.csv?token=42"), short_name([1.0])
    ('visits.parquet', 'b.csv', None)
    >>> short_name("duckdb:///data/study.db?table=visits"), short_name("visits/*.csv")
    ('study.db', '*.csv')
    """
    if not isinstance(source, str | os.PathLike):
        return None
    address = without_secrets(os.fspath(source))
    path = re.split(r"\?", address, maxsplit=1)[0] if scheme_of(address) == "duckdb" else address
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or None


def fixed_part(pattern: str) -> str:
    """The directories of a path or an address that hold no wildcards: below them partitions begin."""
    parts = pattern.split("/")
    wild = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return "/".join(parts[:wild]) or ("/" if pattern.startswith("/") else "")


@dataclass(frozen=True)
class Database:
    """A table or a query of a DuckDB file."""

    said: str
    path: str
    table: str | None = None
    query: str | None = None


def parse_database(address: str) -> Database:
    """What a duckdb:// address names: nothing in it is decoded, so that a query is written as it is.

    >>> parse_database("duckdb:///data/study.db?table=visits")
    Database(said='duckdb:///data/study.db?table=visits', path='/data/study.db', table='visits', query=None)
    """
    path, question, rest = address.split("://", 1)[1].partition("?")
    key, _, value = rest.partition("=")
    said = without_secrets(address)
    rule = "it names a file, and a table or a query in it"
    if question and key not in ("table", "query"):
        raise SourceError(f"{key!r} in source={said!r}", rule, nearest(key, ("table", "query")))
    if not path or not value.strip():
        raise SourceError(f"source={said!r}", rule, "write duckdb://study.db?table=visits, or ?query=SELECT …")
    return Database(said, path, **{key: value})
