"""Plans and releases in plain words and tables, for a terminal, for a notebook and for the report."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains import GaussianData
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array

if TYPE_CHECKING:
    from gaussmith.group_releases import GroupRelease
    from gaussmith.plans import Plan
    from gaussmith.releases import Release

MOST_ROWS = 24
"""A table in a terminal shows at most so many answers."""

COVERS = "Intervals cover the noise; not clipping to the bounds, and not the sampling of people into the data."

_SHAPES = {
    "lifted box": "noise on each column's distance from the middle of its bounds, and on the number of records",
    "lifted ball": "round noise on each record's distance from the centre, and on the number of records",
    "round": "the same noise in every direction",
    "elliptical": "independent noise, more on wide columns and less on narrow ones",
    "solved": "correlated noise, solved numerically for exactly these records",
    "count": "noise on the number of records",
    "clipped": "columns scaled by how much they are expected to vary, records clipped, noise of the same shape",
    "people": "noise on sums over rows, on the number of rows and on the number of people, in proportion to what one "
    "person can change in each",
    "two-level": "noise of one size on the sum of all counts, and of another on how they differ",
    "water-filled": "independent noise, more where single records can move more",
    "isotropic": "the standard Gaussian mechanism: equal noise on every answer, in units of its weight",
}

_WEIGHTING = {"equal": "", "relative": " (each error taken relative to its range)", "given": " (weighted as given)"}


@dataclass(frozen=True)
class Comparison:
    """The error of one answer beside that of the standard Gaussian mechanism at the same guarantee (None: unknown)."""

    name: str
    error: float
    standard: float | None
    mean: bool

    @property
    def share(self) -> float | None:
        """The error as a share of the standard one."""
        return self.error / self.standard if self.standard else None


# -- against the standard Gaussian ------------------------------------------------------------------------------------


def standard_plan(plan: Plan) -> Plan | None:
    """The same answers under the same guarantee by the standard Gaussian mechanism; None where it is not defined."""
    from gaussmith.shapes.straight import isotropic

    if plan.answers.size == 0:
        return plan  # a count alone: one number has only one shape of noise
    if isinstance(plan.domain, GaussianData):
        from gaussmith.shapes.clipped import clipped

        domain, shape = clipped(plan.domain, plan.answers, plan.neighbours, plan.guarantee.mu, "round")
        return replace(plan, domain=domain, shape=shape, alternatives=(), law=None)
    try:
        shape = isotropic(plan.domain, plan.answers, plan.neighbours)
    except PlanError:
        return None
    return replace(plan, shape=shape, alternatives=(), law=None)


def standard_errors_of_standard(plan: Plan) -> Array | None:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    if plan.answers.matrix is not None and not isinstance(plan.domain, GaussianData):
        return _standard_for_matrix(plan)
    other = standard_plan(plan)
    return None if other is None else other.standard_errors


def _standard_for_matrix(plan: Plan) -> Array:
    """Equal noise on every linear answer: the root of the largest weighted norm of the answers, over the guarantee."""
    W = plan.answers.matrix
    assert W is not None
    centre, radius = plan.domain.centre, plan.domain.radius
    if plan.neighbours == ADD_REMOVE:
        reach = np.abs(W @ centre) + np.abs(W) @ radius
    else:
        reach = 2 * np.abs(W) @ radius
    root = np.sqrt(plan.answers.weights)
    S = float(((root * reach) ** 2).sum()) + (1.0 if plan.answers.count and plan.neighbours == ADD_REMOVE else 0.0)
    return np.asarray(np.sqrt(S) / root / plan.guarantee.mu)


def compare_plan(plan: Plan, rows: int | None = None) -> list[Comparison]:
    """Every answer's error beside the standard one, the count last; n times those of means unless `rows` is given."""
    answers, errors, standard = plan.answers, plan.standard_errors, standard_errors_of_standard(plan)
    divided = answers.means | answers.ratios
    scale = np.where(divided, 1.0 / rows, 1.0) if rows else np.ones(answers.size)
    found = [
        Comparison(
            answers.names[i],
            float(errors[i] * scale[i]),
            None if standard is None else float(standard[i] * scale[i]),
            bool(divided[i]),
        )
        for i in range(answers.visible)
    ]
    if plan.count_standard_error is not None:
        other = standard_plan(plan)
        found.append(
            Comparison("count", plan.count_standard_error, other.count_standard_error if other else None, False)
        )
    return found


def compare_release(release: Release) -> list[Comparison]:
    """Every answer's error at its released value beside the standard one there, the count last."""
    plan, found = release.plan, compare_plan(release.plan)
    other = standard_plan(plan) if plan.answers.matrix is None else None
    if other is None:
        return found
    standard = replace(release, plan=other, features=release.features[: other.shape.features.shape[0]])
    errors = zip(_errors(release), _errors(standard), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def _errors(release: Release) -> list[float]:
    count = release.count_standard_error
    return [*release.standard_errors.tolist(), *([] if count is None else [count])]


def share_of_standard(plan: Plan) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if plan.answers.matrix is not None and not isinstance(plan.domain, GaussianData):
        standard = _standard_for_matrix(plan)
        extra = standard[0] ** 2 * plan.answers.weights[0] if plan.answers.count and not plan.public_count else 0.0
        return math.sqrt(plan.total_variance / (float(plan.answers.weights @ standard**2) + extra))
    other = standard_plan(plan)
    if other is None or not other.total_variance:
        return None
    return math.sqrt(plan.total_variance / other.total_variance)


# -- sentences --------------------------------------------------------------------------------------------------------


def describe_shape(name: str) -> str:
    """A shape in plain words."""
    return _SHAPES.get(name, name)


def describe_optimality(plan: Plan) -> str:
    """How close to the limit a plan is, in plain words.

    >>> import gaussmith as gm
    >>> describe_optimality(gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1)))
    'as good as any Gaussian noise can be'
    """
    gap = 100 * (plan.optimality - 1)
    return "as good as any Gaussian noise can be" if gap < 0.005 else f"within {gap:.2g} % of the best Gaussian noise"


def describe_gain(plan: Plan) -> str:
    """What the shape saves against the standard Gaussian mechanism, in plain words; empty where it saves nothing.

    >>> import gaussmith as gm
    >>> describe_gain(gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(mu=1)))
    'errors are 62 % of those of the standard Gaussian mechanism'
    """
    share = share_of_standard(plan)
    if share is None or share > 0.995:
        return ""
    return f"errors are {100 * share:.0f} % of those of the standard Gaussian mechanism"


def explain(plan: Plan) -> str:
    """What is protected, what was chosen, what the alternatives would have cost, and why."""
    return f"Protected: {plan.protects}. How well: {plan.guarantee}.\n{explain_choice(plan)}"


def explain_choice(plan: Plan) -> str:
    """What was chosen, what the alternatives would have cost, and why."""
    lines = [
        f"Chosen: {plan.shape.name}, that is, {describe_shape(plan.shape.name)}.",
        f"Its total squared error{_WEIGHTING[plan.answers.weighting]} is {plan.total_variance:.6g}; "
        f"no Gaussian noise with this guarantee can go below {plan.lower_bound:.6g}: "
        f"the plan is {describe_optimality(plan)}.",
    ]
    if plan.alternatives:
        lines.append("Considered and not chosen:")
        for name, price in sorted(plan.alternatives, key=lambda pair: pair[1]):
            times = price * plan.noise_scale**2 / plan.total_variance
            lines.append(f"  {name}: {times:.3g} × the total squared error ({describe_shape(name)})")
    if plan.answers.any_divided:
        public = plan.public_count and not plan.answers.ratios.any()
        lines.append(
            "A mean is the noisy sum of distances from the middle of the bounds, divided by the "
            f"{'public' if public else 'noisy'} number of {counted_in(plan)}."
        )
    if isinstance(plan.domain, GaussianData):
        lines.append(describe_clip(plan))
    lines.append("The choice used the bounds and the guarantee, never the data.")
    return "\n".join(lines)


def describe_clip(plan: Plan) -> str:
    """What clipping is expected to do to Gaussian data, in plain words.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.GaussianData(0, [1, 2]), gm.Guarantee(mu=1))
    >>> describe_clip(plan).split(":")[0]
    'If the data are as expected, 0.21 % of the records are clipped'
    """
    domain = plan.domain
    assert isinstance(domain, GaussianData)
    loss = domain.clipping_loss(plan.answers.coordinate_weights(domain.dimension))
    return (
        f"If the data are as expected, {100 * domain.clipped_fraction():.2g} % of the records are clipped: with "
        f"{domain.rows:.6g} of them this adds about {loss:.3g} to the total squared error. "
        "Privacy does not depend on it."
    )


def counted_in(plan: Plan) -> str:
    """What the means of a plan are over: records (people), or rows."""
    return "rows" if plan.answers.ratios.any() else "records"


def printable(text: str) -> str:
    """Text with control characters spelled out, so that a name cannot move the cursor or break a page.

    >>> printable("age\\x1b[2J")
    'age\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


# -- tables -----------------------------------------------------------------------------------------------------------

PLAN_HEADER = ("answer", "± error", "standard Gaussian", "ratio")
RELEASE_HEADER = ("answer", "value", "± error", "95 % interval")


def plan_rows(plan: Plan, rows: int | None = None, most: int = MOST_ROWS) -> list[tuple[str, ...]]:
    """answer · ± error · the standard Gaussian's · their ratio; an error of a mean is over n unless `rows` is given."""
    found: list[tuple[str, ...]] = []
    comparisons = compare_plan(plan, rows)
    shown = comparisons[: min(plan.answers.visible, most)] + comparisons[plan.answers.visible :]
    for c in shown:
        over = " / n" if c.mean and not rows else ""
        if c.name == "count" and plan.public_count and c is comparisons[-1] and plan.answers.count:
            found.append((printable(c.name), "exact", "exact", ""))
            continue
        other = "" if c.standard is None else f"{figure(c.standard)}{over}"
        ratio = "" if c.share is None else f"{100 * c.share:.0f} %"
        found.append((printable(c.name), f"{figure(c.error)}{over}", other, ratio))
    return found


def release_rows(release: Release, most: int = MOST_ROWS) -> list[tuple[str, ...]]:
    """answer · value · ± standard error · 95 % interval, each with two digits of its error."""
    found: list[tuple[str, ...]] = []
    lower, upper = release.interval(0.95)
    size = release.plan.answers.visible
    for i in [*range(min(size, most)), *range(size, len(release))]:
        answer = release[i]
        name, digits = printable(answer.name), decimals(answer.standard_error)
        if i == size and release.records is not None:
            found.append((name, f"{release.records:,}", "exact: public", ""))
        elif np.isfinite(lower[i]) and np.isfinite(upper[i]):
            ends = f"{lower[i]:,.{digits}f} to {upper[i]:,.{digits}f}"
            found.append((name, f"{answer.value:,.{digits}f}", f"{answer.standard_error:,.{digits}f}", ends))
        else:
            found.append((name, f"{answer.value:.4g}", f"{answer.standard_error:.2g}", "unknown: too few records"))
    return found


def decimals(error: float) -> int:
    """Decimals that show two digits of the error."""
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if np.isfinite(error) and error > 0 else 0


def figure(number: float, digits: int = 4) -> str:
    """A number with some significant digits, written out rather than as a power of ten where that reads well.

    >>> figure(1049876.5), figure(0.000333333), figure(12.0), figure(4.2e-12)
    ('1,050,000', '0.0003333', '12', '4.2e-12')
    """
    if number == 0 or not np.isfinite(number) or not 1e-4 <= abs(number) < 1e12:
        return f"{number:.{digits}g}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(rounded)))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in plain text: the first `left` columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def plan_table(plan: Plan, rows: int | None = None) -> str:
    """answer · ± error · against the standard Gaussian · how close to optimal."""
    text = text_table(PLAN_HEADER, plan_rows(plan, rows))
    return "\n".join([text, *_left_out(plan, "plan.standard_errors"), *_plan_notes(plan, rows)])


def release_table(release: Release) -> str:
    """answer · value · ± standard error · 95 % interval; then what it means."""
    return "\n".join([answers_table(release), *wrap_notes([*release_notes(release), COVERS])])


def wrap_notes(notes: Sequence[str]) -> list[str]:
    """Notes in lines of at most 80 characters; what has no blanks stays whole."""
    return [line for note in notes for line in textwrap.wrap(note, 80, break_long_words=False, break_on_hyphens=False)]


def answers_table(release: Release) -> str:
    """The answers of a release, as many as a screen holds."""
    text = text_table(RELEASE_HEADER, release_rows(release))
    return "\n".join([text, *_left_out(release.plan, "release.to_polars()")])


def _left_out(plan: Plan, where: str) -> list[str]:
    rest = plan.answers.visible - MOST_ROWS
    return [f"… and {rest:,} more answers: {where}"] if rest > 0 else []


def _plan_notes(plan: Plan, rows: int | None) -> list[str]:
    notes, of = [], counted_in(plan)
    if plan.answers.any_divided and rows:
        notes = [f"means of {rows:,} {of}"]
    elif plan.answers.any_divided:
        divided = (plan.answers.means | plan.answers.ratios)[: plan.answers.visible]
        error = float(plan.standard_errors[divided][0])
        notes = [f"n is the number of {of}: {figure(error)} / n is ± {figure(error / 10_000)} for 10,000 of them"]
    optimal = f"{plan.shape.name}: {describe_optimality(plan)}"
    return [*notes, optimal, str(plan.guarantee), f"protects {plan.protects}"]


def release_notes(release: Release | GroupRelease) -> list[str]:
    notes = [] if release.reading is None else [printable(note) for note in release.reading.notes()]
    charged = [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
    return [str(release.guarantee), f"protects {release.plan.protects}", *notes, *charged]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """A table for a page; every cell escaped."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<div>{html.escape(line)}</div>" for line in foot)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def release_html(release: Release) -> str:
    """The table of a release for a notebook."""
    foot = [*_left_out(release.plan, "release.to_polars()"), *release_notes(release), COVERS]
    return html_table(RELEASE_HEADER, release_rows(release), foot)


def plan_html(plan: Plan) -> str:
    """The table of a plan for a notebook."""
    foot = [*_left_out(plan, "plan.standard_errors"), *_plan_notes(plan, None)]
    return html_table(PLAN_HEADER, plan_rows(plan), foot)
