"""The only file where data meets noise: code → sum → lift → noise → decode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import check_plain, free_marks
from gaussmith.domains.groups import FoundGroups
from gaussmith.engines.addresses import read_source, short_name
from gaussmith.engines.engine import GroupTotals, PlacedTotals, Progress, Totals
from gaussmith.engines.registry import name_columns, open_source
from gaussmith.engines.source import Source, check_once
from gaussmith.engines.versions import data_error
from gaussmith.errors import PlanError, SourceError
from gaussmith.expressions.keys import GroupKeys
from gaussmith.noise.gaussian import normal_integers
from gaussmith.noise.keystream import Keystream, pure_integers
from gaussmith.numerics.exact import Array, Integers, Words, python
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.joint_people import counts_everybody
from gaussmith.planning.lending import number_unit
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import AnyTie, Query
from gaussmith.planning.row_rule import PAIRS, RowRule
from gaussmith.releases.readout import ShownGroups
from gaussmith.releases.release import Release
from gaussmith.totals.opened import (
    Opened,
    RepeatedTotals,
    check_sums,
    in_words,
    lift_groups,
    open_data,
    plain_rule,
    records_of,
    rehearse,
    repeat_lifted,
    scans_of,
    total_all,
)

if TYPE_CHECKING:
    from gaussmith.domains.chosen_cells import ChosenCells
    from gaussmith.noise.reals import Words as Random
    from gaussmith.noise.selection import Occupied, Selection
    from gaussmith.planning.discovered_groups import Threshold
    from gaussmith.planning.joint_noise import JointNoise
    from gaussmith.totals.cell_counts import FoundCells
    from gaussmith.totals.people import FoundPeople


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan and the opened source of each of its queries; no data value has been read."""

    plan: Plan
    sources: tuple[Opened, ...]


def prepare(plan: Plan, data: Any, columns: Sequence[str] | None = None, form: str | None = None) -> Prepared:
    """Open plain data for a plan of one query; refuses what does not fit. No data value is read.

    `columns` names the columns of the domain's coordinates where they differ from its own names; `form` says how items
    and ballots are written.
    """
    refuse_stages(plan)
    plan.certified()  # before anything is opened
    query = plan.query
    if len(plan.slots) != 1:
        raise PlanError(
            f"a plan of {len(plan.slots)} questions, with one chosen",
            "its questions are released together",
            "release the request it came from: gaussmith.release(request)",
            code="question-released-alone",
            questions=len(plan.slots),
        )
    block = query.block
    check_plain(block.domain)
    if form == PAIRS and block.public_count:
        raise PlanError(
            'form="pairs" under replace-one',
            "the number of people is public, and in pairs a person without items has no row",
            'plan with neighbours="add-remove", or pass one row per person and one column per item',
            code="pairs-under-replace-one",
        )
    rules = (
        plain_rule(query, columns, form),
        *(RowRule(()) for _ in plan.queries[1:]),
    )  # others count people for a tie
    return Prepared(plan, tuple(_open(data, replace(d, row_rule=r)) for d, r in zip(plan.queries, rules, strict=True)))


def open_table(
    plans: Sequence[Plan], data: Any, engine: str | None = None, master: str | None = None, is_made_up: bool = False
) -> Source:
    """The table of a request, opened once for the queries of all its stages. No data value is read.

    Files are read by `engine`, with Spark at `master`. Columns whose types a plan relied on must still have them,
    unless the data `is_made_up` for the plans.
    """
    queries = [query for plan in plans for query in plan.certified().queries]  # before anything is opened
    rules = [query.row_rule for query in queries if query.row_rule is not None]
    relied_on = [name for rule in rules for name in rule.complete_by_type]
    if relied_on and not is_made_up:
        from gaussmith.engines.complete_columns import check_never_missing

        check_never_missing(data, relied_on)
    columns = dict.fromkeys(name for rule in rules for name in rule.columns_read)
    source = open_source(data, engine, master, tuple(columns))
    if source.names is None and any(rule.present for rule in rules):
        source = name_columns(source, tuple(columns))
    return replace(source, name=short_name(read_source(data).data))


def prepare_request(plan: Plan, data: Any, is_made_up: bool = False) -> Prepared:
    """Fit the table of a request to every query of a plan; refuses what does not fit. No data value is read.

    A table that `open_table` has opened is taken as it is.
    """
    plan.certified()
    table = data if isinstance(data, Source) else open_table([plan], data, is_made_up=is_made_up)
    opened = tuple(_open(table, query) for query in plan.queries)
    check_once(table, len(scans_of(opened)))
    return Prepared(plan, opened)


def read_kinds(
    data: Any, engine: str | None = None, master: str | None = None
) -> tuple[dict[str, str], frozenset[str]]:
    """The kind of each column of a table, and which arrive as text whatever they hold. No data value is read."""
    source = open_source(data, engine, master)
    if source.names is None:
        raise SourceError(
            "an array, whose columns have no names",
            "only names and types decide what is asked",
            "pass a frame or a file",
            code="suggestion-from-array",
        )
    return source.kinds, source.texts


def kinds_of_keys(prepared: Prepared) -> list[tuple[str, ...]]:
    """Of each query the kinds of the columns in which keys are found; nothing for queries that find none."""
    from gaussmith.totals.people import FoundPeople

    each = (opened.summation for opened in prepared.sources)
    return [summation.keys.kinds if isinstance(summation, FoundPeople) else () for summation in each]


def check_stages(first: Prepared, last: Prepared) -> None:
    """Refuse a source that can be read once: every stage reads it again."""
    check_once(first.sources[0].source, len(scans_of(first.sources)) + len(scans_of(last.sources)))


def _open(data: Any, query: Query) -> Opened:
    opened = open_data(data, query)
    rehearse(opened)
    return opened


def release(prepared: Prepared, progress: Progress | None = None) -> Release:
    """The planned answers with exact noise. Reads the data once for each query, or for several that share a scan.

    Guarantee: exactly μ-GDP for the plan's neighbours, μ the plan's guarantee; or ε-DP, where that is pure.
    """
    plan = prepared.plan
    refuse_stages(plan)
    totals = add_up(prepared, progress)
    release = _release_with_keys(prepared, totals) if plan.finds_keys else release_totals(plan, totals)
    return replace(release, row_rules=told_rules(prepared))


def add_up(prepared: Prepared, progress: Progress | None = None) -> list[Sequence[Totals]]:
    """The exact totals of every query, of each group in order; none where groups are found."""
    sources = prepared.sources
    plain = [i for i, query in enumerate(prepared.plan.queries) if query.groups is None or not query.groups.is_found]
    added = dict(zip(plain, total_all([sources[i] for i in plain], progress), strict=True))
    return [added.get(i, []) for i in range(len(sources))]


def refuse_stages(plan: Plan) -> None:
    """Refuse a plan with stages before it: its queries are guessed."""
    if plan.staging is not None:
        raise PlanError(
            "the plan of a request in stages",
            "its noise is planned when the stages before were released",
            "release the request it came from: gaussmith.release(request)",
            code="staged-plan-released-alone",
        )


def told_rules(prepared: Prepared) -> tuple[RowRule | None, ...]:
    """The row rule of each query with what its source's schema says; None where nothing is to be said."""
    queries = prepared.plan.queries
    return tuple(
        opened.told_rule(query.block.substitutes) for query, opened in zip(queries, prepared.sources, strict=True)
    )


def release_totals(plan: Plan, totals: Sequence[Sequence[Totals]]) -> Release:
    """Noise meets the exact sums, here and nowhere else: of each query those of every group, in order."""
    for query, each in zip(plan.queries, totals, strict=True):
        if not query.block.domain.chosen:
            check_sums(query, each)
    if plan.guarantee.is_pure:
        found = _release_pure(plan, totals)
    else:
        own = {i: query for i, query in enumerate(plan.queries) if query.tie is None}
        found = {i: _release_query(query, totals[i]) for i, query in own.items() if query.block.lender is None}
        found |= _release_ties(plan, totals)
    noisy, records = zip(*(found[i] for i in range(len(plan.queries))), strict=True)
    return Release(plan, noisy, records, (None,) * len(found))


def _release_with_keys(prepared: Prepared, totals: Sequence[Sequence[Totals]]) -> Release:
    """As `release_totals`, where some groups are found: one query of each such question decides which are shown."""
    from gaussmith.planning.discovered_groups import threshold_of

    plan, sources = prepared.plan, prepared.sources
    noisy: dict[int, tuple[Array, int | None]] = {}
    shown: dict[int, ShownGroups] = {}
    for i, query in enumerate(plan.queries):
        if query.groups is None or not query.groups.is_found:
            if query.tie is None and query.block.lender is None:
                if not query.block.domain.chosen:
                    check_sums(query, totals[i])
                noisy[i] = _release_query(query, totals[i])
        elif (threshold := threshold_of(query)) is not None:
            passed = _pass(query, threshold, sources[i])
            others = [j for j, other in enumerate(plan.queries) if _finds_alike(query, other) and j != i]
            shown |= dict.fromkeys([i, *others], passed.groups)
            noisy[i] = _release_shown(query, sources[i], passed, passed.noisy), None
            noisy |= {j: (_release_shown(plan.queries[j], sources[j], passed, None), None) for j in others}
    for i, query in enumerate(plan.queries):
        if query.tie is not None or query.block.lender is not None:
            check_sums(query, totals[i])
    noisy |= _release_ties(plan, totals)
    features, records = zip(*(noisy[i] for i in range(len(plan.queries))), strict=True)
    found = tuple(shown.get(i) for i in range(len(plan.queries)))
    return Release(plan, features, records, (None,) * len(features), shown=found)


def _finds_alike(query: Query, other: Query) -> bool:
    return other.groups is not None and other.groups.is_found and _which(other) == _which(query)


def _which(query: Query) -> int:
    assert isinstance(query.groups, FoundGroups)
    return query.groups.which


@dataclass(frozen=True, eq=False)
class _Passed:
    """The groups that passed a threshold, in the order of their keys, or of noisy counts where they are the largest
    few: as they are told, as they are compared, and the noisy integers of their people."""

    groups: ShownGroups
    keys: GroupKeys
    people: Words = field(repr=False)
    noisy: list[int] = field(repr=False)


def _pass(query: Query, threshold: Threshold, opened: Opened) -> _Passed:
    """Every key that somebody has meets its noise; those that pass are kept. Nothing else of them is."""
    import polars as pl

    from gaussmith.totals.found_keys import codes_of, keys_of

    assert isinstance(query.groups, FoundGroups)
    summation = cast("FoundPeople", opened.summation)
    keys, kept = summation.keys, []
    for batch in summation.stream(opened.source, threshold.spares, threshold.at_least):
        people, spare = batch["n"].to_numpy(), batch["s"].to_numpy()
        looked_at = 2 if threshold.has_spare else 1
        drawn = normal_integers(looked_at * len(people), NOISE_BITS).reshape(looked_at, len(people))
        noise, spare_noise = drawn[0], drawn[-1]  # without a spare number nothing looks at the second
        shows = threshold.shows(people, noise, spare, spare_noise)
        bars = threshold.bars(spare[shows], spare_noise[shows])
        passed = batch.filter(pl.Series(shows, dtype=pl.Boolean))
        kept.append(passed.with_columns(pl.Series("z", noise[shows]), pl.Series("b", bars)))
    if not kept:
        return _Passed(ShownGroups((), np.zeros(0)), GroupKeys(keys.names, (), (), ()), np.zeros(0, np.int64), [])
    found = pl.concat(kept)
    labels = keys_of(found, keys)
    noisy = [threshold.people(int(n)) + int(z) for n, z in zip(found["n"], found["z"], strict=True)]
    bars = found["b"].to_numpy()
    order = sorted(range(len(labels)), key=lambda i: tuple(map(_sorted_as, labels[i])))
    if query.groups.top is not None:  # of equal counts those with the first keys
        ranked = sorted(order, key=lambda i: -noisy[i])
        order = ranked[: query.groups.top]
        if len(ranked) > len(order):
            bars = np.maximum(bars, noisy[ranked[len(order)]] / threshold.people(1))
    found = found[order]
    told = ShownGroups(tuple(labels[i] for i in order), bars[order])
    return _Passed(told, codes_of(found, keys), found["n"].to_numpy(), [noisy[i] for i in order])


def _sorted_as(key: str | int | bool) -> tuple[int, Any]:
    """Numbers before texts, texts by their bytes: never the order of an engine, which hidden keys may change."""
    return (1, key.encode()) if isinstance(key, str) else (0, key)


def _release_shown(query: Query, opened: Opened, passed: _Passed, counts: list[int] | None) -> Array:
    """The noisy features of the groups that were shown; `counts` are the noisy integers by which this query decided."""
    summation = cast("FoundPeople | FoundCells", opened.summation)
    block, size = query.block, len(passed.groups.labels)
    if counts is not None and not block.codes.width:
        totals: Sequence[Totals] = [Totals([], int(n)) for n in passed.people]
    else:
        totals = summation.shown(opened.source, opened.codes, passed.keys)
    if counts is not None and [each.records for each in totals] != passed.people.tolist():
        raise data_error()  # the table has changed while it was read
    rows = block.grid.lift.shape[0]
    fresh = normal_integers(size * rows, NOISE_BITS).reshape(size, rows)
    found = []
    for i, each in enumerate(totals):
        noisy = add(block.grid.lifted(block.codes, each.sums, each.records), fresh[i])
        if counts is not None:
            noisy = np.array([*noisy.tolist()[:-1], counts[i]], dtype=object)
        found.append(block.shape.features.times(noisy.astype(float) / block.grid.scale))
    return np.array(found, float).reshape(size, block.shape.features.shape[0])


def _release_choice(query: Query, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """A chosen cell of every group, noisy numbers of people between edges around it, and the public number of records.

    The cell is chosen first. Given it the edges are fixed, and the people between them are counted and get noise.
    """
    from gaussmith.noise.selection import RankSelection

    domain = cast("ChosenCells", query.block.domain)
    selection = RankSelection(domain.level, domain.epsilon, domain.sensitivity_of_ranks(query.neighbours))
    words = Keystream().words
    chosen = [choose(selection, _occupied(query, each), words) for each in totals]
    around = [total_around(query, each, place) for each, place in zip(totals, chosen, strict=True)]
    check_sums(query, around)
    noisy, public = _release_noise(query, around)
    return np.column_stack([noisy, np.array(chosen, float)]), public


def choose(selection: Selection, table: Occupied, words: Random) -> int:
    """One choice of a cell."""
    (place,) = selection.sample(table, 1, words).tolist()
    return int(place)


def total_around(query: Query, totals: Totals, place: int) -> Totals:
    """How many people are between the edges around a cell."""
    from gaussmith.domains.chosen_cells import edges_around

    table = _occupied(query, totals)
    below = table.below(np.append(edges_around(place, table.cells), table.cells))
    return Totals(np.diff(below, prepend=0), totals.records)


def total_in_the_middle(query: Query, totals: Totals) -> Totals:
    """The totals of a group; where a cell is chosen, those around the one in the middle: for audits."""
    if not query.block.domain.chosen:
        return totals
    return total_around(query, totals, cast("ChosenCells", query.block.domain).fine.cells // 2)


def _occupied(query: Query, totals: Totals) -> Occupied:
    from gaussmith.noise.selection import Occupied

    assert isinstance(totals, PlacedTotals)
    return Occupied(totals.places, totals.counts, cast("ChosenCells", query.block.domain).fine.cells)


def _release_query(query: Query, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """The released numbers of one query in every group, empty or not; and the public number of records."""
    return (_release_choice if query.block.domain.chosen else _release_noise)(query, totals)


def _release_noise(query: Query, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """The noisy features of one query, fresh noise for every group, empty or not; and the public number of records."""
    block = query.block
    lifted = lift_groups(query, totals)
    m = block.grid.lift.shape[0]
    noise = normal_integers(len(totals) * m, NOISE_BITS).reshape(len(totals), m)
    if isinstance(lifted, np.ndarray):
        together = add(lifted.ravel(), noise.ravel()).reshape(noise.shape)
        features = block.shape.features.times_rows(together.astype(float) / block.grid.scale)
    else:
        noisy = (add(y, z).astype(float) / block.grid.scale for y, z in zip(lifted, noise, strict=True))
        features = np.array([block.shape.features.times(y) for y in noisy])
    public = totals[0].records if block.public_count and not query.hides_membership else None
    if public is not None and block.shape.public is not None:
        features = features + public * block.shape.public
    return features, public


def _release_pure(plan: Plan, totals: Sequence[Sequence[Totals]]) -> dict[int, tuple[Array, int | None]]:
    """The noisy features of all queries under pure ε: each noise is drawn once, or anew in every group."""
    found: dict[int, tuple[Array, int | None]] = {}
    for noise in plan.pure_noises:
        drawn = pure_integers(noise.law, noise.copies)
        for i, query, start in zip(noise.members, noise.queries, noise.starts, strict=True):
            own = drawn[:, start : start + query.block.grid.lift.shape[0]]
            found[i] = _read_pure(query, lift_groups(query, totals[i]), own), None
    return found


def _read_pure(query: Query, lifted: Words | list[Integers], noise: npt.NDArray[Any]) -> Array:
    """The features of the lifted integers of every group with noise."""
    block = query.block
    return block.shape.features.times_rows(add_pure(lifted, noise).astype(float) / block.grid.scale)


def add_pure(lifted: Words | list[Integers], noise: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Exact integers with pure noise, one group each: of any size, as noise of a small ε has wide tails."""
    if not (isinstance(lifted, np.ndarray) and noise.dtype != object and _fits_words(lifted) and _fits_words(noise)):
        lifted = np.array([[int(y) for y in each] for each in lifted], dtype=object).reshape(noise.shape)
    return np.asarray(lifted + noise)


def _fits_words(numbers: npt.NDArray[Any]) -> bool:
    """Whether the sum of two such numbers is a word."""
    return not numbers.size or max(-int(numbers.min()), int(numbers.max())) < 1 << 62


def sample_query(query: Query, totals: Totals, times: int) -> Array:
    """The noisy features of so many releases of the same totals of one group: for audits, never for a release.

    The totals are lifted once; noise is drawn, added and read as in a release.
    """
    repeated = RepeatedTotals(totals, times)
    if query.block.noise_law is not None and query.block.drawn is not None:
        start, rows = query.block.drawn.start, query.block.grid.lift.shape[0]
        drawn = np.asarray(pure_integers(query.block.noise_law, times))[:, start : start + rows]
        return _read_pure(query, lift_groups(query, repeated), drawn)
    return _release_noise(query, repeated)[0]


def sample_lifted(lifted: Integers, scale: float, times: int) -> Array:
    """Lifted integers with noise, so many times, in lifted units: for audits of shared noise, never for a release."""
    together = repeat_lifted(lifted, times)
    noisy = add(together.ravel(), normal_integers(together.size, NOISE_BITS))
    return np.asarray(noisy.astype(float).reshape(together.shape) / scale)


def _release_ties(plan: Plan, totals: Sequence[Sequence[Totals]]) -> dict[int, tuple[Array, int | None]]:
    """The noisy features of queries that share their noise, and of those that take the number of everybody from it."""
    found: dict[int, tuple[Array, int | None]] = {}
    for tie in plan.ties:
        seen = {i: tie.seen(plan.queries[i]) for i in (*tie.members, *tie.lent_to)}
        for i, features in _release_tie(tie, seen, totals_seen(plan, tie, totals)).items():
            is_histogram = tie.groups is not None and plan.queries[i].groups is None  # of which every value is a group
            found[i] = (features.reshape(1, -1) if is_histogram else features), None
    return found


def totals_seen(plan: Plan, tie: AnyTie, totals: Sequence[Sequence[Totals]]) -> dict[int, Sequence[Totals]]:
    """What a noise is added to: the totals of all queries; where it is drawn anew in each group, one of each group."""
    found = {i: totals[i] for i in (*tie.members, *tie.lent_to)}
    for i in found if tie.groups is not None else ():
        if plan.queries[i].groups is None:
            counts = np.array(found[i][0].sums, np.int64)
            found[i] = GroupTotals(np.zeros((len(counts), 0), np.int64), counts)
    return found


def totals_in(plan: Plan, tie: AnyTie, totals: Sequence[Sequence[Totals]], k: int) -> dict[int, Sequence[Totals]]:
    """The same of one copy."""
    seen = totals_seen(plan, tie, totals)
    return seen if tie.groups is None else {i: [each[k]] for i, each in seen.items()}


def _release_tie(tie: AnyTie, seen: Mapping[int, Query], totals: Mapping[int, Sequence[Totals]]) -> dict[int, Array]:
    """The noisy features of all queries of a noise, which is drawn once, or anew in every group."""
    queries = [seen[i] for i in tie.members]
    each = [lift_copies(tie, [(seen[i], totals[i]) for i in tie.members])]
    each += [lift_lent(tie, seen[i], totals[i], totals) for i in tie.lent_to]
    lifted = np.hstack(each)
    noise = normal_integers(lifted.size, NOISE_BITS)
    noisy = add(lifted.ravel(), noise).astype(float).reshape(lifted.shape)
    shared, *own = np.split(noisy, np.cumsum([part.shape[1] for part in each[:-1]]), axis=1)
    shared = shared / tie.grid[1]
    made = tie.features(queries, shared[0] if tie.groups is None else shared)
    found = {i: part if tie.groups is None else part[:, 0] for i, part in zip(tie.members, made, strict=True)}
    for i, rows in zip(tie.lent_to, own, strict=True):
        block, lender = seen[i].block, cast("JointNoise", tie)
        number = lender.number(shared) * number_unit(block)
        found[i] = block.shape.features.times_rows(np.column_stack([rows / block.grid.scale, number]))
    return found


def lift_copies(tie: AnyTie, members: Sequence[tuple[Query, Sequence[Totals]]]) -> npt.NDArray[Any]:
    """The integers to which the noise of a tie is added, a row for each copy: words, or Python's where these overflow.

    `members` has the queries as the noise sees them, with the totals of all copies.
    """
    cores = [_core_rows(query, tie, totals) for query, totals in members]
    known = [core for core in cores if core is not None]
    people = np.zeros(tie.copies, np.int64) if tie.people is None else records_of(members[tie.people][1])
    words = tie.lifted_rows([query for query, _ in members], known, people) if len(known) == len(cores) else None
    if words is not None:
        return words
    if tie.groups is None:
        return np.array([lift_members(tie, members)], object)
    copies = ([(query, [totals[k]]) for query, totals in members] for k in range(tie.copies))
    return np.array([lift_members(tie, copy) for copy in copies], object)


def lift_lent(
    tie: AnyTie, query: Query, totals: Sequence[Totals], others: Mapping[int, Sequence[Totals]]
) -> npt.NDArray[Any]:
    """As `lift_copies`, of a query around a centre that takes the number of everybody from a tie of others."""
    lender, grid, codes = cast("JointNoise", tie), query.block.grid, query.block.codes
    assert lender.people is not None
    everybody = records_of(others[lender.members[lender.people]])
    absent = everybody - records_of(totals)
    is_steady = query.block.shape.absent is None or not (absent < 0).any()
    words = in_words(totals) if is_steady else None
    lifted = None if words is None else grid.lifted_rows(codes, words.sums, words.records, absent)
    if lifted is not None:
        return lifted
    each = zip(totals, everybody.tolist(), strict=True)
    return np.array([[*map(int, lift_centred(query, found, people))] for found, people in each], object)


def lift_centred(query: Query, totals: Totals, everybody: int) -> Integers:
    """The integers to which the noise of a query around a centre is added: everybody who is counted adds the centre."""
    block = query.block
    absent = 0 if block.shape.absent is None else everybody - totals.records
    if absent < 0:  # the table has changed while it was read
        raise data_error()
    return block.grid.lifted(block.codes, totals.sums, totals.records, absent)


def lift_members(tie: AnyTie, members: Sequence[tuple[Query, Sequence[Totals]]]) -> list[int]:
    """The integers to which the noise of a tie is added."""
    queries = [query for query, _ in members]
    cores = [_cores(query, tie, totals) for query, totals in members]
    people = 0 if tie.people is None else members[tie.people][1][0].records
    if not tie.is_steady(cores, people):
        raise data_error()
    return tie.lifted(queries, cores, people)


def _cores(query: Query, tie: AnyTie, totals: Sequence[Totals]) -> list[Sequence[int]]:
    """The summed cores of the groups of a tied query, in integers: columns, then the number of people in the group."""
    codes = query.block.codes
    found = [python(codes.centred(each.sums, each.records)) for each in totals]
    if free_marks(query.block.domain) is not None:
        return [[count] for count in found[0]]
    if counts_everybody(query, tie.where):
        return list(found)
    return [[*core, each.records] for core, each in zip(found, totals, strict=True)]


def _core_rows(query: Query, tie: AnyTie, totals: Sequence[Totals]) -> Words | None:
    """The same of all copies, copies × groups × numbers, in words; None where these might not hold them."""
    words = in_words(totals)
    core = None if words is None else query.block.codes.centred_rows(words.sums, words.records)
    if words is None or core is None:
        return None
    if free_marks(query.block.domain) is not None:
        return core[:, :, None]
    if not counts_everybody(query, tie.where):
        core = np.column_stack([core, words.records])
    return core.reshape(tie.copies, len(core) // tie.copies, core.shape[1])


def add(lifted: Integers, noise: Words) -> npt.NDArray[Any]:
    """Exact integers plus exact integers: lifted words stay below 2^61, noise below 2^60, so words cannot overflow."""
    if isinstance(lifted, np.ndarray):
        return lifted + noise
    return np.array([y + z for y, z in zip(lifted, noise.tolist(), strict=True)], dtype=object)
