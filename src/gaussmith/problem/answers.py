"""What is asked of the summed records: sums, means, linear answers, the count, and how much each matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.problem import Domain
from gaussmith.workloads import Marginals, Rows, Runs, workload_from_dict

MAX_SPELLED = 10_000
"""Limit on the names of a workload's answers that are spelled at once; the others are when they are looked at."""

MAX_WRITTEN = 1 << 24
"""Limit on the numbers of a matrix of answers that is written down."""

SUM, MEAN = "sum", "mean"


@dataclass(frozen=True, eq=False)
class Answers:
    """One row per answer: the coordinate it is about and whether it is a sum or a mean; or a matrix of linear answers.

    A mean is over the number of records. `over[i]` ≥ 0 makes answer i a ratio instead: offsets[i] plus its feature over
    that of answer `over[i]`; plans treat it as a sum, and whoever asks gives its denominator the weight it deserves.
    The last `hidden` answers are not shown: denominators that are there for others only.

    `weights[i]` says how much the squared error of answer i matters (for a mean: of n times its error); the count,
    where asked, has weight 1 (with targets: target 1).
    """

    names: Sequence[str]
    index: npt.NDArray[np.int64]
    means: npt.NDArray[np.bool_]
    matrix: Array | None
    count: bool
    weights: Array
    weighting: str
    over: npt.NDArray[np.int64]
    offsets: Array
    hidden: int = 0
    workload: Runs | Marginals | None = None
    """Linear answers over cells that are not written down as a matrix."""
    targets: Array | None = None
    """Standard errors to aim at, where the worst answer counts (in units of its target) and not the weighted total."""

    @property
    def is_linear(self) -> bool:
        """Whether answers mix coordinates, so that none has one of its own."""
        return self.matrix is not None or self.workload is not None

    @property
    def runs(self) -> Runs | None:
        """The runs of neighbouring cells that are asked, if they are."""
        return self.workload if isinstance(self.workload, Runs) else None

    @property
    def marginals(self) -> Marginals | None:
        """The tables over some attributes of a product that are asked, if they are."""
        return self.workload if isinstance(self.workload, Marginals) else None

    @property
    def objective(self) -> str:
        """What is made small: the weighted "total" of squared errors, or the "worst" answer's."""
        return "total" if self.targets is None else "worst"

    @property
    def size(self) -> int:
        """How many answers there are, the count left out."""
        return len(self.weights)

    @property
    def visible(self) -> int:
        """How many answers are shown, the count left out."""
        return self.size - self.hidden

    @property
    def any_mean(self) -> bool:
        return bool(self.means.any())

    @property
    def any_divided(self) -> bool:
        """Whether some answer is a mean of any kind."""
        return bool((self.means | self.ratios).any())

    @property
    def ratios(self) -> npt.NDArray[np.bool_]:
        """Answers that are divided by another."""
        return self.over >= 0

    def coordinate_weights(self, dimension: int) -> Array:
        """ω_j: how much the squared error of coordinate j matters over all answers."""
        if self.matrix is not None:
            return np.asarray(self.weights @ (self.matrix * self.matrix))
        assert self.workload is None
        return np.bincount(self.index, weights=self.weights, minlength=dimension).astype(float)

    def check_written(self, columns: int) -> None:
        """Refuse a matrix of answers that is too large to be solved for."""
        if self.size * columns > MAX_WRITTEN:
            raise PlanError(
                f"{self.size} answers over {columns} cells",
                f"a matrix of at most {MAX_WRITTEN:,} numbers is solved",
                "ask for fewer answers, or for a workload such as gaussmith.workloads.ranges",
                code="too-many-answers-over-cells",
                answers=self.size,
                cells=columns,
            )

    def rows(self, dimension: int) -> Array:
        """The answers as a matrix, one a row, one column per coordinate."""
        if self.workload is not None:
            return self.workload.rows
        return self.matrix if self.matrix is not None else np.eye(dimension)[self.index]

    def row(self, i: int, dimension: int) -> Array:
        """One row of that matrix."""
        if self.workload is not None:
            return self.workload.row(i)
        if self.matrix is not None:
            return np.asarray(self.matrix[i])
        row = np.zeros(dimension)
        row[self.index[i]] = 1.0
        return row

    def pick(self, shown: Sequence[int], count: bool) -> tuple[Answers, list[int]]:
        """Some of the answers, in this order, with the count or without; and where these and what they need stand."""
        assert self.workload is None and self.targets is None, "a workload is a question of its own"
        below = [int(self.over[i]) for i in shown if self.over[i] >= 0]
        kept = list(dict.fromkeys([*shown, *below]))
        at = np.array(kept, np.int64)
        over = np.array([kept.index(i) if i >= 0 else -1 for i in self.over[at].tolist()], np.int64)
        matrix = None if self.matrix is None else self.matrix[at]
        names = tuple(self.names[i] for i in kept)
        hidden = len(kept) - len(shown)
        weights, offsets = self.weights[at], self.offsets[at]
        picked = Answers(
            names, self.index[at], self.means[at], matrix, count, weights, self.weighting, over, offsets, hidden
        )
        return picked, kept

    def fits(self, dimension: int) -> bool:
        """Whether all lists are of one length, and every place in them is that of a coordinate or an answer."""
        lists = (self.names, self.index, self.means, self.over, self.offsets)
        places = self.index if self.matrix is None else self.index[:0]
        return (
            all(len(each) == self.size for each in lists)
            and 0 <= self.hidden <= self.size
            and bool(((places >= 0) & (places < dimension)).all())
            and bool(((self.over >= -1) & (self.over < self.size)).all())
        )

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"count": self.count, "weighting": self.weighting}
        if self.targets is not None:
            fields["targets"] = self.targets.tolist()
        if self.workload is not None:
            at = self.workload.given_at  # as they were given
            weights = self.weights[at].tolist() if self.weighting == "given" else None
            return fields | {"workload": self.workload.to_dict(), "weights": weights}
        fields |= {"names": list(self.names), "weights": self.weights.tolist()}
        if self.ratios.any() or self.hidden:
            fields |= {"over": self.over.tolist(), "offsets": self.offsets.tolist(), "hidden": self.hidden}
        if self.matrix is not None:
            fields["matrix"] = pack(self.matrix)
        else:
            fields["index"] = self.index.tolist()
            fields["means"] = self.means.tolist()
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any], domain: Domain) -> Answers:
        if "workload" in fields:
            weights = fields["weighting"] if fields["weights"] is None else fields["weights"]
            asked = ask_workload(domain, workload_from_dict(fields["workload"]), bool(fields["count"]), weights)
            targets = fields.get("targets")
            return asked if targets is None else replace(asked, targets=np.array(targets, float))
        matrix = unpack(fields["matrix"]) if "matrix" in fields else None
        size = len(fields["weights"])
        return cls(
            tuple(fields["names"]),
            np.array(fields.get("index", [0] * size), np.int64),
            np.array(fields.get("means", [False] * size), bool),
            matrix,
            bool(fields["count"]),
            np.array(fields["weights"], float),
            str(fields["weighting"]),
            np.array(fields.get("over", [-1] * size), np.int64),
            np.array(fields.get("offsets", [0.0] * size), float),
            int(fields.get("hidden", 0)),
            targets=np.array(fields["targets"], float) if "targets" in fields else None,
        )


def ask(
    domain: Domain,
    answers: Any = "sums",
    count: bool = False,
    weights: Any = "equal",
    kinds: Sequence[tuple[int, str, str]] | None = None,
) -> Answers:
    """The answers asked of a domain: "sums", "means", a matrix with one column per coordinate, or a workload.

    `kinds`, used by table requests, lists (coordinate, "sum" or "mean", name) one by one.
    """
    if isinstance(answers, Rows):
        domain.check_workload(answers)
        answers = answers.matrix
    if isinstance(answers, Runs | Marginals):
        return ask_workload(domain, answers, count, weights)
    d = domain.dimension
    domain.check_coordinates()
    matrix = None
    if kinds is not None:
        names = tuple(name for _, _, name in kinds)
        index = np.array([j for j, _, _ in kinds], np.int64)
        means = np.array([kind == MEAN for _, kind, _ in kinds], bool)
    elif isinstance(answers, str):
        if answers not in ("sums", "means"):
            raise PlanError(
                f"answers={answers!r}",
                'it must be "sums", "means" or a matrix with one column per coordinate',
                nearest(answers, ["sums", "means"]),
                code="unknown-answers",
                answers=answers,
            )
        names = domain.names if domain.names is not None else tuple(map(str, range(d)))
        if count and "count" in names:
            raise PlanError(
                "a column named 'count' together with count=True",
                "every answer needs its own name",
                "rename the column, or use gaussmith.Request, which names its sum count_sum",
                code="column-named-count",
            )
        index = np.arange(d)
        means = np.full(d, answers == "means")
    else:
        matrix = _matrix(answers, d)
        names = tuple(map(str, range(len(matrix))))
        index = np.zeros(len(matrix), np.int64)  # of no meaning here: a linear answer has no coordinate of its own
        means = np.zeros(len(matrix), bool)
    size = len(names)
    if size == 0 and not count:
        what = "nothing is asked for"
        raise PlanError(what, "a plan has at least one answer", "ask for a sum, a mean or the count", code="no-answers")
    ranges = domain.ranges
    numbers, label = read_weights(weights, np.abs(matrix) @ ranges if matrix is not None else ranges[index], size)
    plain = (np.full(size, -1), np.zeros(size))
    return Answers(names, index, means, matrix, bool(count), numbers, label, *plain)


def ask_workload(domain: Domain, workload: Runs | Marginals, count: bool, weights: Any) -> Answers:
    """The answers of a workload over cells; of marginals, `weights` has one number per marginal."""
    domain.check_workload(workload)
    size, given = workload.size, workload.weighted
    numbers, label = read_weights(weights, np.ones(given), given)
    each = workload.spread_weights(numbers, label == "equal")
    names: Sequence[str] = domain.workload_names(workload)
    names = names if size > MAX_SPELLED else tuple(names)
    none = np.broadcast_to(np.int64(0), (size,))
    no = np.broadcast_to(np.bool_(False), (size,))
    apart = (np.broadcast_to(np.int64(-1), (size,)), np.broadcast_to(0.0, (size,)))
    return Answers(names, none, no, None, bool(count), each, label, *apart, workload=workload)


def aim(answers: Answers, objective: Any, targets: Any) -> Answers:
    """The same answers with an objective: the weighted "total", or the "worst" answer in units of its target."""
    if objective not in ("total", "worst"):
        rule, remedy = 'it must be "total" or "worst"', nearest(str(objective), ["total", "worst"])
        raise PlanError(f"objective={objective!r}", rule, remedy, code="unknown-objective", objective=objective)
    if objective == "total":
        if targets is not None:
            what, rule = "targets with objective='total'", "targets are for the worst answer"
            raise PlanError(what, rule, "use weights instead", code="targets-with-objective-total")
        return answers
    if answers.weighting != "equal":
        what, rule = "weights with objective='worst'", "every answer has a target instead"
        raise PlanError(what, rule, "give targets= instead", code="weights-with-objective-worst")
    try:
        aims = np.ones(answers.size) if targets is None else np.array(targets, float)
    except (TypeError, ValueError):
        aims = np.zeros(0)
    if aims.shape != (answers.size,) or not (np.isfinite(aims) & (aims > 0)).all():
        raise PlanError(
            f"targets of shape {aims.shape}",
            f"there must be {answers.size} positive finite numbers, one standard error per answer",
            "give them all, or none",
            code="targets-malformed",
            shape=aims.shape,
            size=answers.size,
        )
    return replace(answers, targets=aims)


def _matrix(answers: Any, dimension: int) -> Array:
    try:
        matrix = np.array(answers, dtype=float)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros((0, 0, 0))
    if matrix.ndim != 2 or matrix.shape[1] != dimension or len(matrix) == 0 or not np.isfinite(matrix).all():
        raise PlanError(
            f"answers of shape {matrix.shape}",
            f"a matrix of answers has one row per answer and {dimension} columns of finite numbers",
            "give a matrix that fits the domain",
            code="answers-malformed",
            shape=matrix.shape,
            dimension=dimension,
        )
    if not matrix.any(axis=1).all():
        what = "an answer that is always zero"
        raise PlanError(what, "every row must use a coordinate", "leave that row out", code="answer-always-zero")
    return matrix


def read_weights(weights: Any, ranges: Array, size: int) -> tuple[Array, str]:
    """One positive number per answer, and how they were chosen; `ranges` is what one record can change."""
    if isinstance(weights, str):
        if weights == "equal":
            return np.ones(size), "equal"
        if weights == "relative":
            return 1.0 / (ranges * ranges), "relative"
        raise PlanError(
            f"weights={weights!r}",
            'weights are "equal", "relative" or one number per answer',
            nearest(weights, ["equal", "relative"]),
            code="unknown-weights",
            weights=weights,
        )
    try:
        numbers = np.array(weights, float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if numbers.shape != (size,) or not ((numbers >= 1e-100) & (numbers <= 1e100)).all():
        raise PlanError(
            f"weights of shape {numbers.shape}",
            f"there must be {size} positive finite numbers, one per answer, between 1e-100 and 1e100",
            "leave out what does not matter instead of giving it weight 0",
            code="weights-malformed",
            shape=numbers.shape,
            size=size,
        )
    return numbers, "given"
