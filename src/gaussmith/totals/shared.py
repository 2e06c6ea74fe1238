"""One scan for several draws: those that read the same rows, but for the columns in which a row must have a value.

A table with many columns that may be missing has a draw for each of their means. They are added up together, in one
pass over the table, with the integers that a pass for each would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaussmith.engines.engine import Progress, Totals
from gaussmith.problem.codes import BoxCodes
from gaussmith.totals.kernels import MaskedCodes
from gaussmith.totals.opened import Opened, total
from gaussmith.totals.records import Records

if TYPE_CHECKING:
    from gaussmith.totals.people import People


def total_all(sources: Sequence[Opened], progress: Progress | None = None) -> list[Sequence[Totals]]:
    """The exact totals of every draw: of each declared group in order, or of all records alone."""
    found: dict[int, Sequence[Totals]] = {}
    for members in scans_of(sources):
        some = [sources[i] for i in members]
        found |= zip(members, _total_some(some, progress), strict=True)
    return [found[i] for i in range(len(sources))]


def scans_of(sources: Sequence[Opened]) -> list[list[int]]:
    """Which draws are added up in one scan: places of the draws, in order of the first of each."""
    if len(sources) == 1:
        return [[0]]
    scans: dict[Any, list[int]] = {}
    for i, opened in enumerate(sources):
        scan = _scan_of(opened) or i
        people = [_people_of(sources[j]) for j in (*scans.get(scan, ()), i)]
        if sum(len(each.added.features) for each in people if each is not None) > opened.source.engine.max_features:
            scans[scan, i] = scans.pop(scan, [])  # that scan is full
        scans.setdefault(scan, []).append(i)
    return sorted(scan for scan in scans.values() if scan)


def _scan_of(opened: Opened) -> Any:
    """What draws of one scan have in common; None where a draw has a scan of its own."""
    own, rule, source = opened.summation, opened.rule, opened.source
    if not source.engine.adds_here or rule.form:
        return None
    read = (rule.where, rule.columns, rule.unit, rule.person_columns, rule.person_where)
    people = _people_of(opened)
    if people is not None:
        coded = {*people.derivation.present} <= {*people.added.columns}
        return (*read, people.keys, people.groups_per_unit) if coded and people.added.unit is not None else None
    coded = isinstance(opened.codes, BoxCodes) or not opened.codes.width
    return read if isinstance(own, Records) and coded and own.columns is not None else None


def _people_of(opened: Opened) -> People | None:
    """What adds up people, where that is how a draw is added up."""
    from gaussmith.totals.people import People, RowsOfPeople

    own = opened.summation
    return own.people if isinstance(own, RowsOfPeople) else own if isinstance(own, People) else None


def _total_some(some: Sequence[Opened], progress: Progress | None) -> list[Sequence[Totals]]:
    if len(some) == 1:
        return [total(some[0], progress)]
    people = [each for each in map(_people_of, some) if each is not None]
    if people:
        from gaussmith.totals.people import RowsOfPeople, rows_as_records, total_together

        found = total_together(some[0].source, people)
        return [
            rows_as_records(totals) if isinstance(each.summation, RowsOfPeople) else totals
            for each, totals in zip(some, found, strict=True)
        ]
    return _total_records(some, progress)


def _total_records(some: Sequence[Opened], progress: Progress | None) -> list[Sequence[Totals]]:
    records = [(each.summation, each.rule, each.codes) for each in some if each.codes.width]
    columns: dict[str, int] = {}
    parts = []
    for own, rule, codes in records:
        assert isinstance(own, Records) and isinstance(codes, BoxCodes)
        names = own.columns or ()
        places = tuple(columns.setdefault(name, len(columns)) for name in names)
        parts.append((codes, places, tuple(names.index(name) for name in rule.present)))
    first = some[0].summation
    assert isinstance(first, Records)
    derivation = first.derivation
    if derivation is not None:
        derivation = replace(derivation, present=())
        if derivation.where is None and not derivation.columns:
            derivation = None
    together = replace(some[0], codes=MaskedCodes(tuple(parts)), summation=Records(tuple(columns), derivation))
    (found,) = total(together, progress)
    sums = list(found.sums)
    answers, at = [], 0
    for k, (codes, _, _) in enumerate(parts):
        answers.append([Totals(sums[at : at + codes.width], sums[k - len(parts)])])
        at += codes.width
    coded = iter(answers)
    return [next(coded) if each.codes.width else [Totals([], found.records)] for each in some]
