"""An opened table: its engine, and the names and types of its columns, checked before anything is charged."""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gaussmith.engines.engine import Engine
from gaussmith.engines.files import Files, narrow_files
from gaussmith.errors import SourceError, counted, nearest_column
from gaussmith.expressions.formulas import kind_of
from gaussmith.expressions.identity import check_ids
from gaussmith.expressions.spelling import Derivation, kinds_of, other_uses, read_as_numbers, with_numbers

if typing.TYPE_CHECKING:
    import narwhals as nw


SUPPORTED = "pass a numpy array, a list of rows, a path, or a frame of Polars, pandas, PyArrow, DuckDB or Spark"


@dataclass(frozen=True, eq=False)
class Source:
    """Data that can be summed: its engine, and the names and types of its columns. Holds no value of its own.

    `native` is what the engine reads: an array, a function that scans some columns with Polars, a relation of DuckDB,
    a frame of Spark. `names` is None for an array, which has only a width.
    """

    engine: Engine = field(repr=False)
    native: Any = field(repr=False)
    width: int
    names: tuple[str, ...] | None = None
    schema: Mapping[str, nw.dtypes.DType] = field(default_factory=dict, repr=False)
    """Types of narwhals; or of Polars, where they are all plain: these go by the same names and answer the same."""
    files: Files | None = None
    uneven: frozenset[str] = frozenset()
    """Columns that are not the same in all files; they are not among `names`."""
    texts: frozenset[str] = frozenset()
    """Columns whose numbers arrive as text and are read by our own rule: those of text formats, and partitions."""
    reopen: Callable[[Files], Any] | None = field(default=None, repr=False)
    """What makes a `native` of fewer files."""
    numbered: Callable[[Collection[str]], Any] | None = field(default=None, repr=False)
    """What makes a `native` in which some columns of text are numbers already, as our own rule reads them."""
    once: bool = False
    """Whether it can be read once only, as a stream of record batches."""
    ids: str | None = None
    """What the ids of people are said to be, "text" or "integer"; None: as the type of their column says."""
    objects: frozenset[str] = frozenset()
    """Columns of Python objects, held as the texts of `object_code`."""
    of_query: bool = False
    """Whether its rows are the result of a query, a view or a lazy frame, so that a row may hold more than one row."""
    row_per_row: bool = False
    """Whether it was promised that each of its rows depends on the rows of one person only."""
    name: str | None = None
    """What a release may call it: the file's own name, without folders and secrets; None for what has no name."""

    @property
    def is_text(self) -> bool:
        """Whether all its numbers arrive as text, as in CSV and JSON lines."""
        return bool(self.names) and self.texts.issuperset(self.names or ())

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column, as expressions, keys and ids see it."""
        return {**kinds_of(self.schema), **dict.fromkeys(self.objects, "object")}

    @cached_property
    def all_types(self) -> frozenset[object]:
        """Names and types of all columns, in DuckDB's own words too, for it has more; hashed once."""
        own = map(str, self.native.types) if self.engine.name == "duckdb" else ()
        return frozenset([*self.schema.items(), *zip(self.names or (), own, strict=False)])

    def told_ids(self, unit: str | None) -> str:
        """How ids are compared, where that is not in the schema: as said, or "as text" in files of text; else ""."""
        if unit is None or self.ids is not None:
            return "" if unit is None else str(self.ids)
        return "as text" if self.is_text or (self.files is not None and unit in self.files.keys) else ""

    @property
    def told_query(self) -> str:
        """Whether its rows come from a query: "", "rows" (the promise is about them), or "promised" (row by row)."""
        return "" if not self.of_query else "promised" if self.row_per_row else "rows"

    def without(self, uneven: frozenset[str]) -> Source:
        """The source without the columns that are not the same in all its files."""
        if not uneven:
            return self
        schema = {name: dtype for name, dtype in self.schema.items() if name not in uneven}
        return replace(self, width=len(schema), names=tuple(schema), schema=schema, uneven=uneven)

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, in words such as Float64, String, Date."""
        return {name: str(dtype) for name, dtype in self.schema.items()}


def check_columns(source: Source, columns: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    """The names of the columns to be summed, in order (none for an array); refuses those that cannot be.

    Without `columns` all of the source's are meant. Requires nothing of the data: only names and types are looked at.
    """
    if source.names is None:
        if columns is not None:
            what, rule = f"columns={list(columns)!r} for an array", "an array's columns have no names"
            raise SourceError(what, rule, "leave columns out", code="columns-of-array", columns=list(columns))
        empty = source.native.shape == (0, 0)  # no rows at all, as in an empty list, fit any dimension
        if dimension and not empty:
            _check_dimension("the array", source.width, dimension)
        return ()
    columns = (columns,) if isinstance(columns, str) else columns  # a name is one column, not its letters
    chosen = source.names if columns is None else tuple(columns)
    known = set(source.names)
    for name in chosen:
        if name in source.uneven:
            raise SourceError(
                f"column={name!r}",
                f"it is missing or has another type in some files of {_said(source)}",
                "give it one type everywhere, or narrow the pattern",
                code="column-differs-between-files",
                column=name,
            )
        if name not in known:
            what, rule = f"column={name!r}", f"{_said(source)} has no such column"
            raise SourceError(what, rule, nearest_column(str(name), source.names), code="no-such-column", column=name)
    _check_dimension(_said(source) if columns is None else "columns", len(chosen), dimension)
    for name in chosen:
        if name not in source.texts:
            _check_type(name, source.schema[name], name in source.objects)
    return chosen


def check_names(names: Sequence[str], said: str) -> None:
    """Refuse names that occur twice, and those that Polars takes for a pattern; `said` is what holds them."""
    seen: set[str] = set()
    for name in names:
        if name == "*" or (name[:1] == "^" and name[-1:] == "$"):
            what, rule = f"column={name!r} in {said}", "Polars reads such a name as a pattern"
            raise SourceError(what, rule, "rename it", code="column-name-is-a-pattern", column=name)
        if name in seen:
            what = f"column={name!r} occurs twice in {said}"
            raise SourceError(what, "column names must be distinct", "rename one", code="column-twice", column=name)
        seen.add(name)


def unknown_source(source: object) -> SourceError:
    """What is said of data that no engine opens."""
    what, rule = f"source of type {type(source).__qualname__}", "this type of data is not known"
    return SourceError(what, rule, SUPPORTED, code="unknown-source-type", type=type(source).__qualname__)


def unreadable_source(source: object) -> SourceError:
    """What is said of data whose schema an engine cannot tell."""
    return SourceError(
        f"source of type {type(source).__qualname__} whose columns cannot be determined",
        "the names and types of the columns must be known before any data is read",
        "check that the frame can be collected",
        code="columns-not-told",
        type=type(source).__qualname__,
    )


def check_once(source: Source, queries: int) -> None:
    """Refuse a source that can be read once where more queries are needed."""
    if source.once and queries > 1:
        raise SourceError(
            "a reader of record batches",
            f"it can be read only once, and {queries} queries are needed",
            "pass a table, such as reader.read_all(), or a dataset",
            code="reader-read-several-times",
            queries=queries,
        )


def narrowed(source: Source, derivation: Derivation) -> tuple[Source, Derivation]:
    """The source without the partitions that the filter turns down, and the derivation with the rest of that filter.

    Names of folders alone are looked at.
    """
    if source.files is None or source.reopen is None:
        return source, derivation
    files, rest = narrow_files(source.files, derivation)
    same = files.paths == source.files.paths
    return source if same else replace(source, native=source.reopen(files), files=files), rest


def read_early(
    source: Source, derivation: Derivation, numbers: Collection[str], others: Collection[str] = ()
) -> tuple[Source, Derivation]:
    """The source with numbers in place of texts that are read as nothing else, and the derivation of it.

    `numbers` are further columns that are read as numbers, `others` those that are not.
    """
    import narwhals as nw

    if source.numbered is None:
        return source, derivation
    chosen = {*numbers, *read_as_numbers(derivation)} - {*others, *other_uses(derivation)}
    found = [name for name in source.names or () if name in chosen]
    if not found:
        return source, derivation
    schema = {**source.schema, **dict.fromkeys(found, nw.Float64())}
    return replace(source, native=source.numbered(found), schema=schema), with_numbers(derivation, found)


def check_identity(source: Source, unit: str | None, kinds: Mapping[str, str]) -> None:
    """Refuse ids of a type that what is said of them does not fit. Looks at names and types alone."""
    kind = "other" if unit is None else kinds[unit]
    check_ids(source.ids, unit, kind, None if unit is None else source.schema.get(unit))


def derived(source: Source, derivation: Derivation) -> Source:
    """The source with its derived columns, and without the rows that the filter turns down. Nothing is read yet."""
    import narwhals as nw

    kinds = {"number": nw.Float64(), "truth": nw.Boolean(), "text": nw.String()}
    schema = {**source.schema, **{name: kinds[formula.kind] for name, formula in derivation.columns}}
    native = source.engine.derive(source, derivation)
    return replace(source, native=native, width=len(schema), names=tuple(schema), schema=schema, files=None)


def _check_dimension(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SourceError(
            f"{what} has {counted(found, 'column')}" if what != "columns" else f"{counted(found, 'column')} named",
            f"the domain has {counted(wanted, 'coordinate')}",
            "name as many columns as the domain has coordinates, in the same order",
            code="columns-do-not-match-domain",
            columns=found,
            coordinates=wanted,
        )


def _check_type(name: str, dtype: nw.dtypes.DType, is_object: bool) -> None:
    kind, named = kind_of(dtype), type(dtype).__name__
    if not is_object and kind in ("truth", "number", "long number") and named != "UInt128":
        return
    if not is_object and kind == "text":
        what = f"column={name!r} is text"
        raise SourceError(what, "numbers are needed", "cast it to a number first", code="column-of-text", column=name)
    if is_object or named == "Object":
        raise SourceError(
            f"column={name!r} holds Python objects",
            "its type must be known without looking at the data",
            "convert it first, for example with astype('Float64') or astype('boolean')",
            code="column-of-objects",
            column=name,
        )
    said = "an unknown type" if named == "Unknown" else f"type {dtype}"
    raise SourceError(
        f"column={name!r} is of {said}",
        "numbers are needed: integers, floats, decimals or booleans",
        "derive a number from it first",
        code="column-not-numbers",
        column=name,
        type=said,
    )


def _said(source: Source) -> str:
    return repr(source.files.said) if source.files is not None else "the frame"
