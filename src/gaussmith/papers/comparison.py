"""One table for a domain and a guarantee: every mechanism that applies, its error, and whether its claim is true."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.domains.box import Box
from gaussmith.domains.counts import Counts
from gaussmith.domains.domain import Domain
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.papers.ball import Ball
from gaussmith.papers.clipping import clipped, gaussian_data
from gaussmith.papers.contributions import bounded_contribution
from gaussmith.papers.correlated_noise import correlated
from gaussmith.papers.entry import Entry
from gaussmith.papers.gaussian import GaussianData
from gaussmith.papers.gaussian_mechanisms import analytic, classic, elliptical
from gaussmith.papers.lecture import slides
from gaussmith.papers.rank_one_noise import rank_one
from gaussmith.papers.sparse import SparseSum
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, check, protects
from gaussmith.report.tables import figure, text_table

if TYPE_CHECKING:
    from gaussmith.papers.sweeps import Sweep
    from gaussmith.planning.plan import Plan


# Which published mechanisms apply to a domain, with the sensitivities they need.

Make = Callable[[], Entry]


@dataclass(frozen=True)
class Asked:
    """ε, δ and neighbours, as every entry takes them."""

    epsilon: float
    delta: float
    neighbours: str

    @property
    def private(self) -> bool:
        return self.neighbours == ADD_REMOVE

    @property
    def stated(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta}


def candidates(domain: Any, asked: Asked) -> dict[str, Make]:
    """Factories for every entry that fits the domain, by name; an entry that refuses says why when it is made."""
    if not isinstance(domain, Domain) or domain.kind not in _KINDS:
        what = f"domain of type {type(domain).__name__}"
        rule = "published mechanisms are compared on boxes, balls, counts, sparse sums, votes and Gaussian data"
        remedy = "give a gaussmith.Box, for example"
        raise PlanError(what, rule, remedy, code="domain-not-compared", type=type(domain).__name__)
    return _KINDS[domain.kind](domain, asked)


def _plain(dimension: int, sensitivity: float, asked: Asked) -> dict[str, Make]:
    """Entries that need only a Euclidean sensitivity."""
    numbers: dict[str, Any] = {"dimension": dimension, "sensitivity": sensitivity, **asked.stated}
    return {
        "classic Gaussian": lambda: classic(neighbours=asked.neighbours, **numbers),
        "slides Gaussian": lambda: slides(neighbours=asked.neighbours, **numbers),
        "analytic Gaussian": lambda: analytic(neighbours=asked.neighbours, **numbers),
        "rank-one singular (R1SMG)": lambda: rank_one(**numbers),
    }


def _box(domain: Box, asked: Asked) -> dict[str, Make]:
    low, high = domain.lower, domain.upper
    widths = np.maximum(np.abs(low), np.abs(high)) if asked.private else high - low
    found = _plain(domain.dimension, float(np.linalg.norm(widths)), asked)
    found["elliptical Gaussian"] = lambda: elliptical(sensitivity=widths, neighbours=asked.neighbours, **asked.stated)
    if asked.private:
        found["correlated Gaussian"] = lambda: correlated(
            dimension=domain.dimension, lower=low, upper=high, **asked.stated
        )
    return found


def _ball(domain: Ball, asked: Asked) -> dict[str, Make]:
    far = float(np.linalg.norm(domain.centre)) + domain.ball_radius
    found = _plain(domain.dimension, far if asked.private else 2 * domain.ball_radius, asked)
    if not domain.centre.any() or not asked.private:
        found["clipped sum"] = lambda: clipped(
            dimension=domain.dimension, radius=domain.ball_radius, neighbours=asked.neighbours, **asked.stated
        )
    return found


def _gaussian(domain: GaussianData, asked: Asked) -> dict[str, Make]:
    """Entries measured from the centre: the papers do not cover a secret number of records."""
    numbers: dict[str, Any] = {"sd": domain.sd, "rows": domain.rows, "neighbours": asked.neighbours, **asked.stated}
    return {
        "clipped sum": lambda: gaussian_data(scaling="round", **numbers),
        "Gaussian data, report": lambda: gaussian_data(**numbers),
        "Gaussian data, Chebyshev": lambda: gaussian_data(scaling="chebyshev", **numbers),
        "Gaussian data, improved scaling": lambda: gaussian_data(scaling="improved", **numbers),
    }


def _counts(domain: Counts, asked: Asked) -> dict[str, Make]:
    d, k = domain.dimension, domain.at_most
    found = _plain(d, math.sqrt(k if asked.private else min(2 * k, d)), asked)
    if asked.private:
        found["correlated Gaussian"] = lambda: correlated(dimension=d, **asked.stated)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, at_most=k, neighbours=asked.neighbours, **asked.stated
    )
    return found


def _votes(domain: Domain, asked: Asked) -> dict[str, Make]:
    d = domain.dimension
    squares = (d - 1) * d * (2 * d - 1) / 6 if asked.private else d * (d * d - 1) / 3
    found = _plain(d, math.sqrt(squares), asked)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, kind="votes", neighbours=asked.neighbours, **asked.stated
    )
    return found


def _sparse(domain: SparseSum, asked: Asked) -> dict[str, Make]:
    d, k = domain.dimension, domain.at_most
    bounds = domain.bounds
    reach = float(np.linalg.norm(np.sort(bounds)[-k:])) * (1 if asked.private else 2)
    found = _plain(d, reach, asked)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, at_most=k, kind="sums", bound=float(bounds.max()), neighbours=asked.neighbours, **asked.stated
    )
    return found


_KINDS: dict[str, Callable[[Any, Asked], dict[str, Make]]] = {
    "box": _box,
    "ball": _ball,
    "gaussian": _gaussian,
    "counts": _counts,
    "votes": _votes,
    "sparse": _sparse,
}


HEADER = ["mechanism", "standard error", "total error", "× best", "× lower bound", "sound"]

OURS = "gaussmith"
"""The name of our own row."""


@dataclass(frozen=True)
class Row:
    """One mechanism. Numbers are None if it does not apply, and `note` says why."""

    mechanism: str
    sound: str
    standard_error: float | None = None
    """The standard error of a typical answer: the square root of the mean variance."""
    least_error: float | None = None
    largest_error: float | None = None
    total_error: float | None = None
    """The expected squared error of all answers together."""
    ratio_to_best: float | None = None
    ratio_to_bound: float | None = None
    true_delta: float | None = None
    note: str = ""
    reference: str = ""

    @property
    def applies(self) -> bool:
        """Whether it can answer this question at all."""
        return self.total_error is not None

    @property
    def usable(self) -> bool:
        """Whether its privacy claim is true."""
        return self.applies and self.sound in ("yes", "corrected")


@dataclass(frozen=True)
class Comparison:
    """The result of `gaussmith.compare`: rows from best to worst, unusable mechanisms last."""

    rows: tuple[Row, ...]
    domain: str
    dimension: int
    epsilon: float
    delta: float
    neighbours: str
    lower_bound: float | None
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, mechanism: str) -> Row:
        for row in self.rows:
            if row.mechanism == mechanism:
                return row
        what, rule = f"mechanism {mechanism!r}", "it is not in the comparison"
        raise PlanError(what, rule, ", ".join(self.mechanisms), code="mechanism-not-compared", mechanism=mechanism)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(row.mechanism for row in self.rows)

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        return f"{self.domain}, (ε={self.epsilon:g}, δ={self.delta:g}), {protects(self.neighbours)}"

    @property
    def remarks(self) -> list[str]:
        """Remarks that go with the table."""
        told = [
            f"{row.mechanism}{':' if row.applies else ' does not apply:'} {row.note}" for row in self.rows if row.note
        ]
        return [*told, *self.notes]

    @property
    def applied(self) -> list[Row]:
        """The rows of mechanisms that apply: those of the printed table."""
        return [row for row in self.rows if row.applies]

    def __str__(self) -> str:
        table = text_table(HEADER, [self.cells(row) for row in self.applied])
        return "\n".join([self.title, "", table, "", *self.remarks]).rstrip()

    def cells(self, row: Row) -> list[str]:
        """The line of a mechanism that applies; the last cell says whether it is private as claimed."""
        assert row.total_error is not None
        assert row.standard_error is not None
        assert row.least_error is not None
        assert row.largest_error is not None
        even = row.largest_error <= row.least_error * (1 + 1e-9)
        errors = (
            figure(row.standard_error) if even else f"{figure(row.least_error, 3)} … {figure(row.largest_error, 3)}"
        )
        sound = row.sound if row.sound != "no" else f"no: true δ = {row.true_delta:.2g}"
        ratios = ["" if r is None else _ratio(r) for r in (row.ratio_to_best, row.ratio_to_bound)]
        return [row.mechanism, errors, figure(row.total_error), *ratios, sound]

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        fields["rows"] = [asdict(row) for row in self.rows]
        fields["notes"] = list(self.notes)
        return fields

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        return write_csv([asdict(row) for row in self.rows])

    def chart(self) -> Any:
        """Total errors as bars, unsound mechanisms struck through (an Altair chart)."""
        from gaussmith.chart_packages import altair_chart
        from gaussmith.papers.sweeps import comparison_spec

        return altair_chart(comparison_spec(self))

    def save(self, path: str | Path) -> Path:
        """Write a picture (.png, .svg), a page (.html) or the numbers (.json, .csv), by the suffix."""
        from gaussmith.papers.sweeps import comparison_spec

        return write(path, self, lambda: comparison_spec(self), self._page())

    def _page(self) -> str:
        unsound = [row.sound == "no" for row in self.applied]
        table = page_table(HEADER, [self.cells(row) for row in self.applied], unsound)
        return f"<h1>{html.escape(self.title)}</h1>\n{table}\n{paragraphs(self.remarks)}"


@checks_arguments
def compare(
    domain: Any, guarantee: Guarantee | None = None, *, epsilon: float | None = None, delta: float | None = None,
    neighbours: str = "add-remove",
) -> Comparison:  # fmt: skip
    """Compare every mechanism that applies to sums over a domain, at one (ε, δ), with Gaussmith's own plan.

    Errors are those of the sums; for Gaussian data they include clipping, if the data are as expected.

    >>> import gaussmith as gm
    >>> found = gm.compare(gm.Box([0] * 16, [1] * 16), epsilon=1, delta=1e-6)
    >>> found.rows[0].mechanism, round(found["analytic Gaussian"].ratio_to_best, 3)
    ('gaussmith', 2.56)
    >>> found["rank-one singular (R1SMG)"].sound
    'no'
    """
    guarantee = guarantee if guarantee is not None else Guarantee(epsilon=epsilon, delta=delta)
    if guarantee.epsilon is None or not guarantee.delta:
        what = f"guarantee {guarantee}"
        rule = "published mechanisms are compared at an ε and a δ, because their theorems are stated for both"
        remedy = "write epsilon=1, delta=1e-6"
        raise PlanError(what, rule, remedy, code="comparison-without-epsilon-and-delta", guarantee=guarantee)
    asked = Asked(guarantee.epsilon, guarantee.delta, check(neighbours))
    makers = candidates(domain, asked)
    from gaussmith.planning.planner import plan

    summed = domain.around_zero() if asked.private and isinstance(domain, GaussianData) else domain
    ours = plan(summed, guarantee, neighbours=asked.neighbours, weights="equal")  # as the published errors are stated
    note = ours.domain.comparison_note if isinstance(ours.domain, GaussianData) else ""
    bound = None if note else ours.lower_bound
    rows = [_ours(ours), *(_entry(name, make, asked) for name, make in makers.items())]
    best = min(row.total_error for row in rows if row.usable and row.total_error is not None)
    rows = [_with_ratios(row, best, bound) for row in rows]
    rows.sort(key=lambda row: (not row.usable, row.total_error is None, _rough(row.total_error), row.mechanism != OURS))
    notes = (note,) if note else ()
    return Comparison(
        tuple(rows), repr(domain), domain.dimension, asked.epsilon, asked.delta, asked.neighbours, bound, notes
    )


def _ours(plan: Plan) -> Row:
    errors = plan.standard_errors
    total = plan.expected_squared_error
    if isinstance(plan.domain, GaussianData):
        total += plan.domain.clipping_loss(np.ones(plan.domain.dimension))
    return _row(OURS, "yes", errors, total, plan.guarantee.delta, "", f"this library: {plan.block.shape.name}")


def _entry(name: str, make: Callable[[], Entry], asked: Asked) -> Row:
    try:
        entry = make()
    except GaussmithError as refused:
        return Row(name, "—", note=f"{refused.rule}")
    true = entry.true_delta(asked.epsilon)
    total = float(getattr(entry, "expected_error", entry.total_variance))
    sound = entry.sound
    note = ""
    if sound == "no":
        note = "not private as claimed; its error is shown as claimed"
        if entry.holds:
            note += "; with these numbers the claim happens to hold, but there is no valid proof of it"
    return _row(name, sound, entry.standard_errors, total, true, note, entry.reference)


def _row(name: str, sound: str, errors: Any, total: float, true: float | None, note: str, reference: str) -> Row:
    typical = math.sqrt(float(np.mean(np.square(errors))))
    return Row(
        name, sound, typical, float(np.min(errors)), float(np.max(errors)), total, None, None, true, note, reference
    )


def _with_ratios(row: Row, best: float, bound: float | None) -> Row:
    from dataclasses import replace

    if row.total_error is None:
        return row
    return replace(row, ratio_to_best=row.total_error / best, ratio_to_bound=row.total_error / bound if bound else None)


# -- files ------------------------------------------------------------------------------------------------------------


def write_csv(records: Sequence[dict[str, Any]]) -> str:
    """Records as CSV with a header."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue()


def page_table(header: Sequence[str], lines: Sequence[Sequence[str]], struck: Sequence[bool]) -> str:
    """A table for a page that can be scrolled where it is wide; the names of the lines that are `struck` are so."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = ""
    for line, wrong in zip(lines, struck, strict=True):
        name, *cells = map(html.escape, line)
        first = f"<s>{name}</s>" if wrong else name
        body += f"<tr><td>{first}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f'<div class="table"><table><tr>{head}</tr>{body}</table></div>'


def paragraphs(texts: Sequence[str]) -> str:
    """Texts for a page, each a paragraph."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def write(path: str | Path, numbers: Comparison | Sweep, spec: Callable[[], dict[str, Any]], page: str) -> Path:
    """Write the file in the format of its suffix."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".json":
        content: str | bytes = numbers.to_json() + "\n"
    elif suffix == ".csv":
        content = numbers.to_csv()
    elif suffix in (".png", ".svg", ".html"):
        from gaussmith.papers.sweeps import render

        content = render(spec(), suffix, page)
    else:
        what = f"file {without_secrets(target.name)!r}"
        rule = "its suffix says what to write: .png, .svg, .html, .json or .csv"
        remedy = "rename it, for example to comparison.png"
        raise PlanError(what, rule, remedy, code="unknown-chart-suffix", file=without_secrets(target.name))
    try:
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content, encoding="utf-8")
    except OSError as error:
        said = f"file {without_secrets(target)!r}"
        what, rule = said, f"it cannot be written: {error.strerror}"
        remedy = "choose a path you can write to"
        raise PlanError(what, rule, remedy, code="chart-not-written", reason=error.strerror) from None
    return target


def _ratio(ratio: float) -> str:
    return f"{ratio:.3f}" if 0.01 <= ratio < 1000 else figure(ratio, 3)


def _rough(total: float | None) -> float:
    """A total without its last digits, so that equal totals stay equal after rounding to the grid."""
    return float(f"{total or 0.0:.6g}")
