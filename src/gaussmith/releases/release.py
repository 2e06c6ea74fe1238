"""A release: the noisy answers, their error bars, and everything needed to publish them. A value; it holds no data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.checks import is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Plan
from gaussmith.plans.draw import tied_sum
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.row_rule import RowRule
from gaussmith.releases.readout import Readout, ReadoutByWeight
from gaussmith.releases.table import answer_columns
from gaussmith.statistics.mean import check_method

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class View:
    """The part of a release in view: some groups (added up, or one of them), one answer; everything by default."""

    groups: tuple[int, ...] | None = None
    summed: bool = False
    answer: str | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """The result of `plan.release` and `gaussmith.release`. Values are not clipped: a small count can be below 0.

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
    """The noisy features of each draw: groups × features, one row where there are no groups."""
    records: tuple[int | None, ...]
    """The number of records of each draw, if it is public."""
    row_rules: tuple[RowRule | None, ...]
    """How the records of each draw came from a table; None for plain data."""
    id: str | None = None
    receipt: str | None = None
    software: str | None = None
    """The version that made it; None: this one."""
    view: View = field(default=View(), repr=False)

    def named(self, id: str, receipt: str) -> Release:
        """The same release under the id that a ledger charged, with the ledger's receipt."""
        return replace(self, id=id, receipt=receipt)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the whole release, all questions and groups together."""
        return self.plan.guarantee

    @property
    def row_rule(self) -> RowRule | None:
        """How the records of the only question came from a table; None for plain data."""
        row_rule, block = self.row_rules[self.plan.slot.draw], self.block
        if row_rule is None or len(self.plan.slots) == 1:
            return row_rule
        places = block.problem.features.index.tolist() if row_rule.histogram is None else []
        return row_rule.about({row_rule.features[j][1] for j in places})

    def notes(self) -> list[str]:
        """How the table of the only question was read, in plain words, one note per line; empty for plain data."""
        return [] if self.row_rule is None else self.row_rule.notes()

    # -- narrowing --------------------------------------------------------------------------------------------------

    @property
    def block(self) -> Block:
        """What the only question is about: domain, answers and noise."""
        return self.plan.block

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions; one empty name where there is one question without a name."""
        return self.plan.questions

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The declared keys of the groups in order; empty if there are no groups or one is chosen."""
        groups = self.plan.groups
        return () if groups is None or self.view.groups is not None else groups.labels

    @property
    def names(self) -> Sequence[str]:
        """The names of the answers in order, the count last if asked for."""
        return self.plan.names if self.view.answer is None else (self.view.answer,)

    def __getitem__(self, key: Any) -> Release:
        """One question, then one group by its key (`release["north", "f"]` for two columns), then one answer."""
        if len(self.plan) > 1:
            return replace(self, plan=self.plan[key])
        if self.labels:
            wanted = key if isinstance(key, tuple) else (key,)
            if wanted not in self.labels:
                known = [" · ".join(map(str, each)) for each in self.labels]
                remedy = nearest(" · ".join(map(str, wanted)), known)
                raise PlanError(f"group {key!r}", "it was not declared", remedy, code="no-such-group", group=key)
            return replace(self, view=View((self.labels.index(wanted),)))
        names = self.names
        if is_whole(key):
            key = names[int(key)]
        if key not in names:
            rule = "the release has no such answer"
            raise PlanError(f"answer {key!r}", rule, nearest(str(key), names), code="no-such-answer", answer=key)
        return replace(self, view=replace(self.view, answer=key))

    def __iter__(self) -> Iterator[Release]:
        keys = self.questions if len(self.plan) > 1 else self.labels or self.names
        return (self[key] for key in keys)

    def __len__(self) -> int:
        return len(self.plan) if len(self.plan) > 1 else len(self.labels or self.names)

    def total(self, **keys: Any) -> Release:
        """Several groups together: all, or those with these keys (`total(region="north")`).

        It is the sum of the noisy sums and counts of the groups, so totals equal the sum of their parts; a person in
        several groups is counted in each.
        """
        groups = self.plan.groups
        if groups is None or self.view.groups is not None:
            raise PlanError(
                "a total without groups",
                "a total adds up groups",
                "ask for groups: by = { … }",
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

    # -- answers ----------------------------------------------------------------------------------------------------

    @cached_property
    def readout(self) -> Readout | ReadoutByWeight:
        """The answers of the only question, read from its noisy features: of all groups, or of those in view."""
        slot = self.plan.slot
        features = self.noisy[slot.draw][:, self.plan.draw.block.narrowed(slot.shown, slot.count)[1]]
        if self.view.groups is not None:
            features = features[list(self.view.groups)].sum(axis=0)
        elif self.plan.groups is None:
            features = features[0]
        chosen = self.view.groups
        parts = len(chosen) if chosen is not None and self.view.summed else 1
        block, draw = self.block, self.plan.draw
        if chosen is not None and draw.tie is not None and parts > 1:  # the noise of tied groups is not independent
            block, parts = tied_sum(draw, chosen).narrowed(slot.shown, slot.count)[0], 1
        elif chosen is not None and draw.by_weight:
            block = draw.block_of(chosen[0]).narrowed(slot.shown, slot.count)[0]
        elif draw.by_weight and draw.groups is not None:
            blocks = [each.narrowed(slot.shown, slot.count)[0] for each in draw.by_weight]
            return ReadoutByWeight.of(blocks, features, [at for _, at in draw.groups.classes])
        return Readout(block, features, self.records[slot.draw], parts)

    def _shown(self, answers: Array) -> Array:
        """The answers in view."""
        if self.view.answer is None:
            return answers
        return answers[..., [list(self.plan.names).index(self.view.answer)]]

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count last if asked for; groups × answers if there are groups."""
        return self._shown(self.readout.values)

    @cached_property
    def standard_errors(self) -> Array:
        """The standard errors of the answers in order; for means by the delta method, in the units of the mean."""
        return self._shown(self.readout.standard_errors)

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[Array, Array]:
        """Lower and upper ends for all answers in order; with `simultaneous` they hold all at once.

        Means: method "fieller" (exact) or "delta" (symmetric, for large counts).
        """
        width = normal_width(confidence, len(self.names) * max(1, len(self.labels)) if simultaneous else 1)
        lower, upper = self.readout.intervals(width, check_method(method))
        return self._shown(lower), self._shown(upper)

    def _check_one(self) -> None:
        """Refuse, with the names to choose from, if more than one answer is in view."""
        if len(self.plan) > 1:
            self.plan.slot  # noqa: B018 (refuses, with the names of the questions)
        if self.labels:
            shown = ", ".join(" · ".join(map(str, label)) for label in self.labels[:6])
            what, rule, remedy = f"{len(self.labels)} groups", f"they are: {shown}", "choose one: release[group]"
            raise PlanError(what, rule, remedy, code="release-of-several-groups", groups=len(self.labels))
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

    def interval(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[float, float]:
        """The interval that contains the only answer in view without noise, with this confidence.

        With `simultaneous` it is as wide as it must be for all answers of the question to hold at once.
        """
        self._check_one()
        width = normal_width(confidence, len(self.plan.names) if simultaneous else 1)
        lower, upper = self.readout.intervals(width, check_method(method))
        return self._only(self._shown(lower)), self._only(self._shown(upper))

    def covariance(self) -> Array:
        """Of the released answers (of one group), the count last if asked; of means to first order."""
        if self.labels:
            rule = "each group has its own noise"
            raise PlanError("the covariance of groups", rule, "choose one: release[group]", code="covariance-of-groups")
        assert isinstance(self.readout, Readout), "of one group"
        return self.readout.covariance()

    def marginal(self, *attributes: str | int) -> Array:
        """The table of one released marginal, an axis per attribute (by name or number), in the order given.

        >>> import gaussmith as gm
        >>> cells = gm.Cells({"age": 3, "sex": ["f", "m"]})
        >>> plan = gm.plan(cells, gm.Guarantee(mu=1), answers=gm.workloads.marginals([3, 2], 2))
        >>> plan.release([[0, "f"], [2, "m"]]).marginal("sex", "age").shape
        (2, 3)
        """
        from gaussmith.releases.table import marginal

        return marginal(self.block, self.values, attributes)

    # -- tables -----------------------------------------------------------------------------------------------------

    def columns(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """The one table of a release by columns: question · keys · answer · value · standard_error · lower · upper.

        Then `status` ("noisy", "exact" if the number is public, "unknown" if the noise is too large to tell) and
        `note`. There is a question column where there are several, key columns where there are groups; as text, None
        for a question without such keys, where there are several questions.
        """
        return answer_columns(self, confidence)

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The same table, one row per question, group and answer."""
        columns = self.columns(confidence)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The same table as a Polars frame."""
        import polars as pl

        texts = dict.fromkeys(("question", "answer", "status", "note"), pl.String)
        numbers = dict.fromkeys(("value", "standard_error", "lower", "upper"), pl.Float64)
        columns = self.columns(confidence)
        kinds = {name: kind for name, kind in {**texts, **numbers}.items() if name in columns}
        return pl.DataFrame(columns, schema_overrides=kinds, strict=False)

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        from gaussmith.releases.saved import release_to_dict

        return release_to_dict(self)

    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else depends on the data."""
        from gaussmith.releases.saved import write_json

        return write_json(self.to_dict())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """The release written by `to_json`."""
        from gaussmith.releases.saved import read_release

        return read_release(text)

    # -- words and pages --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from gaussmith.words.releases import release_text

        return release_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.words.releases import release_html

        return release_html(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained page about this release."""
        from gaussmith.report import write_page

        return write_page(self, path)
