"""A release: the noisy answers, their error bars, and everything needed to publish them. A value; it holds no data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gaussmith.checks import CONFIDENCE, check_probability, checks_arguments, is_whole
from gaussmith.domains.features import Places
from gaussmith.domains.groups import FoundGroups, Groups
from gaussmith.errors import PlanError, nearest
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array
from gaussmith.planning.answer_notes import notes_on, told_of
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import width_together
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import tied_sum
from gaussmith.planning.row_rule import RowRule
from gaussmith.planning.staging import NOTHING
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.releases.path import Path
from gaussmith.releases.readout import CellReadings, Readout, ReadoutByWeight, ShownGroups, block_diagonal, side_by_side
from gaussmith.releases.table import (
    answer_columns,
    limit_notes,
    marginal,
    selection_notes,
    share_in_view,
    share_names,
    share_notes,
)
from gaussmith.releases.tables import Tabled
from gaussmith.statistics.mean import check_method

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases.contrasts import Contrasts
    from gaussmith.releases.presentation import Presentation


# What is read from a release: tables, contrasts, shares and views. It spends nothing.


class Readings(Tabled):
    """The doors of a release to what can be read from it."""

    def __sub__(self, other: object) -> Contrasts:
        """`release["north"] - release["south"]`: the same as `difference` of two parts of one release."""
        from gaussmith.releases.contrasts import differences

        if not isinstance(other, Readings):
            return NotImplemented
        return differences(cast("Release", self).whole, self, other, None)

    def __truediv__(self, other: object) -> Contrasts:
        """`release["a_sum"] / release["b_sum"]`: the same as `ratio` of two parts of one release."""
        from gaussmith.releases.contrasts import ratios

        if not isinstance(other, Readings):
            return NotImplemented
        return ratios(cast("Release", self).whole, self, other, None)

    @checks_arguments
    def difference(self, first: Any, second: Any, answer: str | None = None) -> Contrasts:
        """first − second, with intervals by the known covariance of the noise: groups, answers or questions.

        Of groups and questions: for each answer that both have, or for `answer`. Of answers: in each group. A part can
        also be given as a narrowed release, `release["north"]["age_mean"]`.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.Box({"a": (0, 1), "b": (0, 1)}), gm.Guarantee(mu=1))
        >>> round(plan.release([[1.0, 0.0]] * 50).difference("a", "b").standard_error, 2)
        1.15
        """
        from gaussmith.releases.contrasts import differences

        return differences(cast("Release", self), first, second, answer)

    @checks_arguments
    def contrast(self, weights: Mapping[Any, float], answer: str | None = None) -> Contrasts:
        """Σ weight · part: `release.contrast({"north": 1, "south": -0.5, "east": -0.5})`; parts as in `difference`."""
        from gaussmith.releases.contrasts import weighted_contrast

        return weighted_contrast(cast("Release", self), weights, answer)

    def diagnosis(self) -> list[str]:
        """What the diagnosis tells about the answers, in sentences; empty without `diagnose`."""
        from gaussmith.releases.diagnosis import diagnosis_sentences

        return diagnosis_sentences(cast("Release", self))

    @checks_arguments
    def ratio(self, first: Any, second: Any, answer: str | None = None) -> Contrasts:
        """first / second, parts as in `difference`. Unknown where the noise does not tell the second from 0."""
        from gaussmith.releases.contrasts import ratios

        return ratios(cast("Release", self), first, second, answer)

    @checks_arguments
    def shares(self, answer: str | None = None) -> Contrasts:
        """Each group's share of a count or a sum, or each value's share of a histogram; Fieller's intervals."""
        from gaussmith.releases.contrasts import shares

        return shares(cast("Release", self), answer)

    @checks_arguments
    def share(self, key: Any, answer: str | None = None) -> Contrasts:
        """One of `shares`."""
        return self.shares(answer)[key]

    @checks_arguments
    def contrasts(self, against: Any = None, answer: str | None = None) -> Contrasts:
        """Every group less one of them, or less the mean of all groups; the intervals hold for all at once."""
        from gaussmith.releases.contrasts import against as compared

        return compared(cast("Release", self), against, answer)

    def sampling(self) -> dict[str, str]:
        """What `population=True` rests on, by answer in view; why it cannot be had, where it cannot."""
        from gaussmith.releases.sampling import describe_sampling

        return describe_sampling(cast("Release", self))

    @checks_arguments
    def columns(self, confidence: float = CONFIDENCE) -> dict[str, list[Any]]:
        """The one table of a release by columns: question · keys · answer · value · standard_error · lower · upper.

        Then `status` ("noisy", "exact" if the number is public, "unknown" if the noise is too large to tell) and
        `note`. There is a question column where there are several, key columns where there are groups; as text, None
        for a question without such keys, where there are several questions.
        """
        confidence = check_probability("confidence", confidence, error=PlanError)
        if confidence not in self._tables:
            self._tables[confidence] = answer_columns(cast("Release", self), confidence)
        return {name: list(values) for name, values in self._tables[confidence].items()}

    @cached_property
    def _tables(self) -> dict[float, dict[str, list[Any]]]:
        """The tables that were asked for, by confidence: a release cannot change."""
        return {}

    def table_metadata(self) -> dict[str, str]:
        """What the Parquet file and the Arrow table say about the release: `gaussmith.guarantee` and others.

        >>> import gaussmith as gm
        >>> release = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1)).release([[30.0], [50.0]])
        >>> release.table_metadata()["gaussmith.guarantee"], release.table_metadata()["gaussmith.neighbours"]
        ('{"mu": 1.0}', 'add-remove')
        """
        from gaussmith.releases.saved import metadata_of

        return metadata_of(cast("Release", self))

    @checks_arguments
    def marginal(self, *attributes: str | int) -> Array:
        """The table of one released marginal, an axis per attribute (by name or number), in the order given.

        >>> import gaussmith as gm
        >>> cells = gm.Cells({"age": 3, "sex": ["f", "m"]})
        >>> plan = gm.plan(cells, gm.Guarantee(mu=1), answers=gm.workloads.marginals([3, 2], 2))
        >>> release = plan.release([[0, "f"], [2, "m"]])
        >>> release.marginal("sex", "age").shape, release.marginal(1, 0).shape
        ((2, 3), (2, 3))
        """
        release = cast("Release", self)
        return marginal(release.block, release.values, attributes)

    @checks_arguments
    def wide(self, errors: bool = False) -> pl.DataFrame:
        """One row per group, one column per answer; with `errors` a column of standard errors beside each.

        Several questions side by side must have the same groups. `.to_pandas()` makes it a pandas frame.
        """
        from gaussmith.releases.tables import wide_frame

        return wide_frame(cast("Release", self), errors)

    @checks_arguments
    def presented(self, suppress_above: float | None = 0.3) -> Presentation:
        """A view for publication: inside what is public, rounded to what the noise supports, unreliable cells left out.

        It is a view and says so: `value` stays the unbiased released number. `suppress_above` is the largest standard
        error that is shown, relative to the value (of a mean: to half the width of its bounds); None shows all.
        """
        from gaussmith.releases.presentation import present

        return present(cast("Release", self), suppress_above)


# How the answers of one piece of a question are read: of one group, of several added up, or of all side by side.


def read_piece(release: Release) -> Readout | ReadoutByWeight:
    """The answers of a question of one query, read from its noisy features: of all groups, or of those in view."""
    plan, chosen = release.plan, release.view.groups
    query, at = plan.query, plan.slot.query
    shown = plan.slot.piece_of(at).chosen(query.block.answers)
    features, kept = release.noisy[at], query.block.narrowed(*shown)[1]
    if kept != range(features.shape[1]):
        features = features[:, kept]
    if chosen is not None:
        features = features[list(chosen)].sum(axis=0)
    elif query.groups is None:
        features = features[0]
    parts = len(chosen) if chosen is not None and release.view.summed else 1
    block = plan.block
    if chosen is not None and query.tie is not None and parts > 1:  # the noise of tied groups is not independent
        block, parts = tied_sum(query, chosen).narrowed(*shown)[0], 1
    elif chosen is not None and query.by_weight:
        block = query.block_of(chosen[0]).narrowed(*shown)[0]
    elif query.by_weight and query.groups is not None:
        blocks = [each.narrowed(*shown)[0] for each in query.by_weight]
        return ReadoutByWeight.of(blocks, features, [places for _, places in query.groups.classes])
    bars, least = _bars(release, at)
    return Readout(block, features, release.records[at], parts, bars, least)


def _bars(release: Release, at: int) -> tuple[Array | None, int]:
    """What the counts of found groups in view had to reach, and the fewest people in one, where a query decided."""
    groups, shown = release.plan.queries[at].groups, release.shown[at] if release.shown else None
    if shown is None or not isinstance(groups, FoundGroups) or groups.kappa is None:
        return None, 1
    chosen = shown.bars if release.view.groups is None else shown.bars[release.view.groups[0]]
    return np.asarray(chosen), groups.at_least


# Keys of groups as Python writes them, and which group was meant by a key that no group has.

Label = tuple[Any, ...]


def in_brackets(label: Label) -> str:
    """What stands between the brackets of `release[…]` for a group.

    >>> in_brackets(("Central", "crime")), in_brackets((2024,))
    ('"Central", "crime"', '2024')
    """
    return ", ".join(f'"{key}"' if isinstance(key, str) and '"' not in key else repr(key) for key in label)


def shown_labels(labels: Sequence[Label]) -> list[str]:
    """Groups in a list: the key itself, or all keys in round brackets."""
    return [str(label[0]) if len(label) == 1 else f"({in_brackets(label)})" for label in labels]


def nearest_group(wanted: Label, labels: Sequence[Label]) -> str:
    """As `nearest`, with several keys as they are written.

    >>> nearest_group(("north", "g"), [("north", "f"), ("south", "m")])
    'did you mean ("north", "f")?'
    >>> nearest_group(("nort",), [("north",), ("south",)])
    "did you mean 'north'?"
    """
    shown = shown_labels(labels)
    if not labels or len(labels[0]) == 1:
        return nearest(" · ".join(map(str, wanted)), shown)
    import difflib  # which is left out of start-up

    joined = {" · ".join(map(str, label)): text for label, text in zip(labels, shown, strict=True)}
    close = difflib.get_close_matches(" · ".join(map(str, wanted)), joined, n=1)
    return f"did you mean {joined[close[0]]}?" if close else nearest("", shown)


def unknown_group(release: Release, key: Any) -> PlanError:
    """The reason for refusing a key that no group in view has, and the one to write."""
    wanted, labels, groups = key if isinstance(key, tuple) else (key,), release.labels, release.groups
    assert groups is not None
    columns = groups.columns
    if len(wanted) != len(columns) and len(columns) > 1:
        having = [label for label in labels if all(each in label for each in wanted)]
        joined = [label for label in labels if " · ".join(map(str, label)) == key]
        remedy = f"write release[{in_brackets([*joined, *having, *labels][0])}]"
        if having and len(wanted) == 1 and not release.shows_found_keys:
            column = columns[having[0].index(key)]
            remedy += f", or release.total({column}={in_brackets(wanted)}) for all of them together"
        return PlanError(
            f"group {key!r}",
            f"each group has {len(columns)} keys: {', '.join(columns)}",
            remedy,
            code="group-with-too-few-keys",
            group=key,
            columns=columns,
        )
    if release.shows_found_keys:
        remedy = nearest_group(wanted, labels)
        return PlanError(f"group {key!r}", "it was not shown", remedy, code="group-not-shown", group=key)
    remedy = nearest_group(wanted, labels)
    return PlanError(f"group {key!r}", "it was not declared", remedy, code="no-such-group", group=key)


# The saved form of a release, its words and its page: everything by which it leaves the program.


class Recorded:
    """The part of a release that writes it down."""

    @property
    def _release(self) -> Release:
        return cast("Release", self)

    def to_dict(self) -> dict[str, Any]:
        from gaussmith.releases.saved import release_to_dict

        return release_to_dict(self._release)

    @checks_arguments
    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else depends on the data."""
        from gaussmith.releases.saved import write_json

        return write_json(self.to_dict())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recorded) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """The release written by `to_json`."""
        from gaussmith.releases.saved import read_release

        return read_release(text)

    def __str__(self) -> str:
        from gaussmith.report.releases import release_text

        return release_text(self._release)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.report.releases import release_html

        return release_html(self._release)

    @checks_arguments
    def report(self, path: str | os.PathLike[str]) -> FilePath:
        """Write one self-contained page about this release."""
        from gaussmith.report.page import write_page

        return write_page(self._release, path)

    @checks_arguments
    def registry(self, draft: bool = False) -> dict[str, Any]:
        """An entry for the registry of deployments of differential privacy, in the tier that `[about]` completes.

        Refuses, with what is missing, where the first tier is not complete; a `draft` says so in its place. JSON is
        YAML, which the registry keeps.
        """
        from gaussmith.report.reviewers import registry_entry

        return registry_entry(self._release, draft)


@dataclass(frozen=True)
class View:
    """The part of a release in view: some groups (added up, or one of them), one answer; everything by default."""

    groups: tuple[int, ...] | None = None
    summed: bool = False
    answer: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Release(Recorded, Readings, CellReadings):
    """The result of `plan.release` and `gaussmith.release`. Values are not clipped: a small count can be below 0.
    Intervals are cut to what is public.

    `release["question"]`, `release["group"]` and `release["answer"]` narrow it, in this order; the result is the
    same release, with the guarantee, id and receipt of the whole. Iterating gives the next level.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True)
    >>> release = plan.release([[30.0], [50.0]])
    >>> release.names, release["age"].names
    (('age', 'count'), ('age',))
    """

    plan: Plan
    noisy: tuple[Array, ...]
    """The noisy features of each query: groups × features, one row where there are no groups."""
    records: tuple[int | None, ...]
    """The number of records of each query, if it is public."""
    row_rules: tuple[RowRule | None, ...]
    """How the records of each query came from a table; None for plain data."""
    id: str | None = None
    receipt: str | None = None
    software: str | None = None
    """The version that made it; None: this one."""
    made_up: bool = False
    """Whether the data were made up for a rehearsal: then every format says so."""
    view: View = field(default=View(), repr=False)
    shown: tuple[ShownGroups | None, ...] = field(default=(), repr=False)
    """Of each query over found keys the groups that were shown; None for other queries. Empty where no keys are
    found."""
    path: Path | None = field(default=None, repr=False)
    """The stages before these answers, where there were any: their plans and noisy outputs, and what was learned."""
    standing: Mapping[str, Any] | None = field(default=None, repr=False)
    """What all releases charged to the same ledger, up to this one, took together; None without a ledger."""
    versions: Mapping[str, str] | None = field(default=None, repr=False)
    """The versions of Python and of the packages that made it, where `software` is known; else these are in use."""

    def named(self, id: str, receipt: str, standing: Mapping[str, Any] | None = None) -> Release:
        """The same release under the id that a ledger charged, with the ledger's receipt and where the ledger stood."""
        return replace(self, id=id, receipt=receipt, standing=standing)

    @property
    def guarantee(self) -> Guarantee:
        """That of the whole release, all questions and groups together."""
        return self.plan.guarantee

    @property
    def learned_bounds(self) -> dict[str, tuple[float, float]]:
        """The bounds that were learned privately, by column; of people's totals under "total of …". Often empty."""
        bounds = () if self.path is None else self.path.last.asks.get("bounds", ())
        return {f"total of {name}" if of == "total" else name: (low, high) for name, of, low, high in bounds}

    @property
    def whole(self) -> Release:
        """The same release, not narrowed."""
        return replace(self, plan=self.plan.whole, view=View())

    @property
    def taken_less(self) -> Fraction | None:
        """What it took of μ², where stages ended before the answers; None where all of the guarantee is spent."""
        return self.path.taken if self.path is not None and self.path.last.stage == NOTHING else None

    @cached_property
    def own_rule(self) -> RowRule | None:
        """The row rule of the only query in view; None for plain data."""
        return self.row_rules[self.plan.slot.query]

    @property
    def row_rule(self) -> RowRule | None:
        """How the records of the only question came from a table; None for plain data. Refuses several queries."""
        row_rule, block = self.row_rules[self.plan.slot.queries[0]], self.block
        if row_rule is None or len(self.plan.slots) == 1:
            return row_rule
        places = block.problem.features.index.tolist() if not row_rule.counts_marks else []
        return row_rule.about({row_rule.features[i][1] for j in places for i in block.domain.input.made_of(j)})

    def notes(self) -> list[str]:
        """How the table of the only question was read, in plain words, one note per line; empty for plain data.

        What does not hold for all answers says for which it does.
        """
        shown = self.view.answer
        pieces = [piece for piece in self.pieces if shown in (None, *piece.plan.names, *share_names(piece))]
        notes = notes_on([told_of(piece.plan, piece.row_rule, shown) for piece in pieces])
        return [*notes, *selection_notes(self), *share_notes(self), *limit_notes(self)]

    # -- narrowing --------------------------------------------------------------------------------------------------

    @property
    def block(self) -> Block:
        """What the only question is about: domain, answers and noise."""
        return self.plan.block

    @cached_property
    def pieces(self) -> tuple[Release, ...]:
        """The release narrowed to each piece of the only question; all answers in view."""
        return tuple(replace(self, plan=piece, view=replace(self.view, answer=None)) for piece in self.plan.pieces)

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions; one empty name where there is one question without a name."""
        return self.plan.questions

    @cached_property
    def groups(self) -> Groups | None:
        """The groups of the only question; found ones with the keys that were shown."""
        groups, shown = self.plan.groups, self._shown_groups
        return groups.showing(shown.labels) if shown is not None and isinstance(groups, FoundGroups) else groups

    @property
    def _shown_groups(self) -> ShownGroups | None:
        return self.shown[self.plan.slot.queries[0]] if self.shown else None

    @property
    def shows_found_keys(self) -> bool:
        """Whether the groups of the only question have keys that were found in the data: other groups are missing."""
        shown = () if self.path is None else self.path.last.asks.get("keys", ())
        return self.plan.slot.name in shown or (self.plan.groups is not None and self.plan.groups.is_found)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The keys of the groups in order, declared or shown; empty if there are no groups or one is chosen."""
        groups = self.groups
        return () if groups is None or self.view.groups is not None else groups.labels

    @property
    def in_groups(self) -> bool:
        """Whether answers are by group, and none is chosen; of found groups none may have been shown."""
        return self.plan.groups is not None and self.view.groups is None

    @property
    def names(self) -> Sequence[str]:
        """The names of the answers in order, the count last if asked for."""
        return self.plan.names if self.view.answer is None else (self.view.answer,)

    def __getitem__(self, key: Any) -> Release:
        """One question, then one group by its key (`release["north", "f"]` for two columns), then one answer.

        A question may be left out where only one has such a group or answer, and an answer may come before a group.
        """
        if len(self.plan) > 1:
            return self._in_questions(key)
        if self.labels:
            if (group := self.group_of(key)) is not None:
                return group
            if key not in (*self.names, *share_names(self)):
                raise unknown_group(self, key)
        names = self.names if is_whole(key) else [*self.names, *share_names(self)]
        if is_whole(key):
            key = names[int(key)]
        if key not in names:
            rule = "the release has no such answer"
            raise PlanError(f"answer {key!r}", rule, nearest(str(key), names), code="no-such-answer", answer=key)
        return replace(self, view=replace(self.view, answer=key))

    def _in_questions(self, key: Any) -> Release:
        """A question by its name, else the only question that has such a group or answer, narrowed to it."""
        if key in self._questions:
            return self._questions[key]
        found = [each for each in self if each.group_of(key) is not None or key in (*each.names, *share_names(each))]
        if len(found) > 1:
            names = ", ".join(repr(each.questions[0]) for each in found)
            raise PlanError(
                f"{key!r} in {len(found)} questions",
                f"they are: {names}",
                f"choose one: release[{found[0].questions[0]!r}][{key!r}]",
                code="answer-in-several-questions",
                key=key,
            )
        return found[0][key] if found else replace(self, plan=self.plan[key])

    @cached_property
    def _questions(self) -> dict[str, Release]:
        """Each question of several; what is read from it is kept."""
        return {name: replace(self, plan=self.plan[name]) for name in self.questions}

    def __iter__(self) -> Iterator[Release]:
        if len(self.plan) > 1:
            return iter(self._questions.values())
        return map(self._group_at, range(len(self.labels))) if self.labels else map(self.of_answer, self.names)

    def __len__(self) -> int:
        return len(self.plan) if len(self.plan) > 1 else len(self.labels or self.names)

    def total(self, **keys: Any) -> Release:
        """Several groups together: all, or those with these keys (`total(region="north")`).

        It is the sum of the noisy sums and counts of the groups, so totals equal the sum of their parts; a person in
        several groups is counted in each.
        """
        groups = self.groups
        if self.shows_found_keys:
            raise PlanError(
                "a total over found groups",
                "groups that were not shown are missing from it",
                "ask for the total in a question of its own, without by",
                code="total-over-found-groups",
            )
        if any(piece.block.domain.chosen for piece in self.plan.pieces):
            raise PlanError(
                "a total over groups whose quantile was chosen",
                "each group has noisy numbers around its own choice, and these do not add up",
                f"ask for the quantile of everybody too, or for two levels: {setting('quantiles', {'x': [0.5, 0.9]})}",
                code="total-over-choices",
            )
        if groups is None or self.view.groups is not None:
            raise PlanError(
                "a total without groups",
                "a total adds up groups",
                f"ask for groups: {setting('by', ...)}",
                code="total-without-groups",
            )
        for column in keys:
            if column not in groups.columns:
                rule, remedy = "groups have no such column", nearest(column, groups.columns)
                raise PlanError(f"key column {column!r}", rule, remedy, code="groups-without-column", column=column)
        chosen = tuple(
            i
            for i, label in enumerate(groups.labels)
            if all(label[groups.columns.index(column)] == key for column, key in keys.items())
        )
        if not chosen:
            rule = "no declared group has these keys"
            raise PlanError(f"groups with {keys!r}", rule, "choose declared keys", code="no-group-with-keys", keys=keys)
        return replace(self, view=View(chosen, summed=True))

    def of_answer(self, answer: str) -> Release:
        """One answer of the only question, in all groups in view."""
        return replace(self, view=replace(self.view, answer=answer))

    def group_of(self, key: Any) -> Release | None:
        """The group in view that has this key, or these keys; None where none has."""
        try:
            at = self._places_of_groups.get(key if isinstance(key, tuple) else (key,))
        except TypeError:  # no key of a group is a list
            return None
        return None if at is None else self._group_at(at)

    @cached_property
    def _places_of_groups(self) -> dict[Label, int]:
        """The places of the groups in view; of equal keys, such as 1 and True, the first."""
        return {label: at for at, label in reversed(list(enumerate(self.labels)))}

    def _group_at(self, at: int) -> Release:
        return replace(self, view=View((at,), answer=self.view.answer))

    # -- answers ----------------------------------------------------------------------------------------------------

    @cached_property
    def readouts(self) -> tuple[Readout | ReadoutByWeight, ...]:
        """The answers of the only question, piece by piece: of all groups, or of those in view."""
        return tuple(read_piece(piece) for piece in self.pieces)

    @cached_property
    def kept_features(self) -> Places:
        """Where the features of the only question, which has one query, are among those of its query."""
        block, slot = self.plan.query.block, self.plan.slot
        return np.array(block.narrowed(*slot.piece_of(slot.query).chosen(block.answers))[1], np.int64)

    @property
    def readout(self) -> Readout:
        """The answers of a question of one query, of those in view; of all groups where these have one noise."""
        self.plan.query  # noqa: B018 (refuses several)
        (found,) = self.readouts
        assert isinstance(found, Readout), "groups whose noise differs are read apart"
        return found

    def _shown(self, answers: Array) -> Array:
        """The answers in view."""
        if self.view.answer is None:
            return answers
        return answers[..., [list(self.plan.names).index(self.view.answer)]]

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count last if asked for; groups × answers if there are groups."""
        share = share_in_view(self)
        return self._shown(side_by_side([each.values for each in self.readouts])) if share is None else share.values

    @cached_property
    def standard_errors(self) -> Array:
        """The standard errors of the answers in order; for means by the delta method, in the units of the mean."""
        if self.taken_less is not None:
            return np.full(np.shape(self.values), np.nan)
        if (share := share_in_view(self)) is not None:
            return share.standard_errors
        return self._shown(side_by_side([each.standard_errors for each in self.readouts]))

    @checks_arguments
    def intervals(
        self,
        confidence: float = CONFIDENCE,
        simultaneous: bool = False,
        method: str = "fieller",
        population: bool = False,
    ) -> tuple[Array, Array]:
        """Lower and upper ends for all answers in order; with `simultaneous` they hold all at once.

        Means: method "fieller" (exact) or "delta" (symmetric, for large counts). Ends are cut to what is public: the
        bounds of a mean, 0 for counts and for sums of numbers that are not negative. With `population` they also cover
        the sampling of people into the data, where this release tells how large that is (see `sampling`).
        """
        together = len(self.names) * max(1, len(self.labels)) if simultaneous else 1
        return self._ends(width_together(confidence, together, self.plan.guarantee.is_pure), method, population)

    def _ends(self, width: float, method: str, population: bool) -> tuple[Array, Array]:
        lower, upper = self.raw_intervals(width, check_method(method))
        if population:
            from gaussmith.releases.sampling import widened

            lower, upper = widened(self, lower, upper, width)
        low, high = self.limits
        return np.clip(lower, low, high), np.clip(upper, low, high)

    def raw_intervals(self, width: float, method: str = "fieller") -> tuple[Array, Array]:
        """Ends `width` standard errors to either side, not cut; infinite where the noise is too large to tell."""
        if (share := share_in_view(self)) is not None:
            return share.ends(width)
        ends = [each.intervals(width, method) for each in self.readouts]
        lower, upper = (self._shown(side_by_side(each)) for each in zip(*ends, strict=True))
        return lower, upper

    @property
    def shown_by_luck(self) -> Array:
        """Of which answers in view the noise may have decided that their found group is shown: these are too high."""
        if self.groups is None or not self.groups.is_found:
            return np.zeros(self.values.shape, bool)
        return self._shown(side_by_side([each.shown_by_luck() for each in self.readouts if isinstance(each, Readout)]))

    @property
    def limits(self) -> tuple[Array, Array]:
        """Between which numbers the answers in view lie without noise, from the bounds alone."""
        if (share := share_in_view(self)) is not None:
            return share.limits
        found = [piece.block.answers.limits(piece.block.domain) for piece in self.plan.pieces]
        low, high = (self._shown(side_by_side(each)) for each in zip(*found, strict=True))
        return low, high

    def _check_one(self) -> None:
        """Refuse, with the names to choose from, if more than one answer is in view."""
        if len(self.plan) > 1:
            self.plan.slot  # noqa: B018 (refuses, with the names of the questions)
        if self.labels:
            shown = ", ".join(shown_labels(self.labels[:6])) + (", …" if self.labels[6:] else "")
            what, rule = f"{len(self.labels)} groups", f"they are: {shown}"
            remedy = f"choose one: release[{in_brackets(self.labels[0])}]"
            raise PlanError(what, rule, remedy, code="release-of-several-groups", groups=len(self.labels))
        if self.in_groups:
            rule = "no group has so many people that it is shown, or noise hid it"
            raise PlanError("no groups", rule, "see plan.threshold", code="release-of-no-groups")
        if len(self.names) != 1:
            shown = ", ".join(map(repr, self.names[:6])) + (", …" if len(self.names) > 6 else "")
            what, remedy = f"{len(self.names)} answers", f"choose one: release[{self.names[0]!r}]"
            raise PlanError(what, f"they are: {shown}", remedy, code="release-of-several-answers", answers=self.names)

    def _only(self, values: Array) -> float:
        self._check_one()
        return float(values.reshape(-1)[0])

    @property
    def name(self) -> str:
        """The name of the only answer in view."""
        self._check_one()
        return self.names[0]

    @property
    def value(self) -> float:
        """The value of the only answer in view; refuses, with the names to choose from, if there are several."""
        return self._only(self.values)

    @property
    def standard_error(self) -> float:
        """The standard error of the only answer in view."""
        return self._only(self.standard_errors)

    @checks_arguments
    def interval(
        self,
        confidence: float = CONFIDENCE,
        simultaneous: bool = False,
        method: str = "fieller",
        population: bool = False,
    ) -> tuple[float, float]:
        """The interval that contains the only answer in view without noise, with this confidence.

        With `simultaneous` it is as wide as it must be for all answers of the question to hold at once. With
        `population` it is about the people that the data were sampled from. It is cut to what is public.
        """
        self._check_one()
        together = len(self.plan.names) if simultaneous else 1
        width = width_together(confidence, together, self.plan.guarantee.is_pure)
        lower, upper = self._ends(width, method, population)
        return self._only(lower), self._only(upper)

    def covariance(self) -> Array:
        """Of the released answers (of one group), the count last if asked; of means to first order."""
        from gaussmith.planning.pieces import Together

        if self.in_groups:
            rule, remedy = "each group has its own noise", "choose one: release[group]"
            raise PlanError("the covariance of groups", rule, remedy, code="covariance-of-groups")
        readouts = [each for each in self.readouts if isinstance(each, Readout)]  # of one group each is
        if len(readouts) == 1:
            return readouts[0].covariance()
        slopes, together = block_diagonal([each.gradient() for each in readouts]), Together(self.plan, self.view.groups)
        return np.asarray(slopes @ together.feature_covariance() @ slopes.T)
