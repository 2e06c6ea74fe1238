"""Plans and releases in plain words and tables, for a terminal and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

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
    "solved": "correlated noise, solved numerically for exactly this box",
    "count": "noise on the number of records",
    "isotropic": "the standard Gaussian mechanism: equal noise on every answer, in units of its weight",
}


def standard_errors_of_standard(plan: Plan) -> Array:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    from gaussmith.shapes import weighted_variances
    from gaussmith.shapes.straight import isotropic

    if plan.answers.size == 0:
        return np.zeros(0)
    if plan.answers.matrix is not None:
        return _standard_for_matrix(plan)
    shape = isotropic(plan.domain, plan.answers, plan.neighbours)
    per_answer, _ = weighted_variances(shape, plan.answers, plan.domain.spread)
    return np.asarray(np.sqrt(per_answer) / plan.guarantee.mu)


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


def describe_shape(name: str) -> str:
    """A shape in plain words."""
    return _SHAPES.get(name, name)


def explain(plan: Plan) -> str:
    """What was chosen, what the alternatives would have cost, and why."""
    g = plan.guarantee
    lines = [
        f"Protected: {plan.protects}. How well: {g}.",
        f"Chosen: {plan.shape.name}, that is, {describe_shape(plan.shape.name)}.",
    ]
    scale = (plan.noise_scale * g.mu) ** 2 / g.mu**2
    chosen = plan.total_variance
    weighted = {"equal": "", "relative": " (each error taken relative to its range)", "given": " (weighted as given)"}
    lines.append(
        f"Its total squared error{weighted[plan.answers.weighting]} is {chosen:.6g}; "
        f"no Gaussian noise with this guarantee can go below {plan.lower_bound:.6g} "
        f"(this plan is within {100 * (plan.optimality - 1):.2g} % of that)."
    )
    if plan.alternatives:
        others = sorted(plan.alternatives, key=lambda pair: pair[1])
        lines.append("Considered and not chosen:")
        for name, price in others:
            lines.append(f"  {name}: {price * scale / chosen:.3g} × the total squared error ({describe_shape(name)})")
    if plan.answers.any_mean:
        lines.append(
            "A mean is the noisy sum of distances from the middle of the bounds, divided by the "
            + ("public number of records." if plan.public_count else "noisy number of records.")
        )
    lines.append("The choice used the bounds and the guarantee, never the data.")
    return "\n".join(lines)


def plan_table(plan: Plan) -> str:
    """answer · ± error · against the standard Gaussian · how close to optimal."""
    errors, standard = plan.standard_errors, standard_errors_of_standard(plan)
    kinds = ["n × mean" if mean else "" for mean in plan.answers.means]
    rows = [
        [name, f"± {error:.4g}", f"{100 * error / other:.0f} %", kind]
        for name, error, other, kind in zip(
            plan.answers.names[:MOST_ROWS], errors[:MOST_ROWS], standard[:MOST_ROWS], kinds[:MOST_ROWS], strict=True
        )
    ]
    if plan.count_standard_error is not None:
        rows.append(["count", "exact" if plan.public_count else f"± {plan.count_standard_error:.4g}", "", ""])
    rest = plan.answers.size - MOST_ROWS
    header = ["answer", "standard error", "of the standard Gaussian's", ""]
    text = _text_table(header, rows)
    if rest > 0:
        text += f"\n… and {rest} more answers"
    return (
        f"{text}\n{plan.shape.name}; within {100 * (plan.optimality - 1):.2g} % of the best any Gaussian noise can do\n"
        f"{plan.guarantee}\nprotects {plan.protects}"
    )


def release_table(release: Release) -> str:
    """answer · value · ± standard error · 95 % interval."""
    rows = _release_rows(release)
    text = _text_table(["answer", "value", "± standard error", "95 % interval"], rows)
    if len(release) > len(rows):
        text += f"\n… and {len(release) - len(rows)} more answers: release.to_polars()"
    return f"{text}\n{release.plan.guarantee}\nprotects {release.plan.protects}\n{COVERS}"


def _release_rows(release: Release) -> list[list[str]]:
    rows = []
    lower, upper = release.interval(0.95)
    for i in range(min(len(release), MOST_ROWS)):
        answer = release[i]
        digits = _digits(answer.standard_error)
        if answer.name == "count" and release.records is not None:
            rows.append([answer.name, str(release.records), "exact: public", ""])
        elif np.isfinite(lower[i]) and np.isfinite(upper[i]):
            ends = f"{lower[i]:,.{digits}f} to {upper[i]:,.{digits}f}"
            rows.append([answer.name, f"{answer.value:,.{digits}f}", f"{answer.standard_error:,.{digits}f}", ends])
        else:
            rows.append(
                [answer.name, f"{answer.value:.4g}", f"{answer.standard_error:.2g}", "unknown: too few records"]
            )
    return rows


def group_table(release: GroupRelease) -> str:
    """keys · answer · value · ± standard error · 95 % interval, for as many groups as a screen holds."""
    header, rows = _group_rows(release)
    text = _text_table(header, rows)
    total = len(release) * len(release.names)
    if total > len(rows):
        text += f"\n… and {total - len(rows)} more rows: release.to_polars()"
    return f"{text}\n{release.plan.guarantee}\nprotects {release.plan.protects}\n{COVERS}"


def group_html(release: GroupRelease) -> str:
    """The table of a release of groups for a notebook."""
    header, rows = _group_rows(release)
    foot = [str(release.plan.guarantee), f"protects {release.plan.protects}", COVERS]
    return _html_table(header, rows, foot)


def _group_rows(release: GroupRelease) -> tuple[list[str], list[list[str]]]:
    keys = list(release.plan.groups.columns)
    rows = []
    for label in release.labels[: max(1, MOST_ROWS // len(release.names))]:
        for cells in _release_rows(release[label]):
            rows.append([*map(str, label), *cells])
    return [*keys, "answer", "value", "± standard error", "95 % interval"], rows


def _digits(error: float) -> int:
    """Decimals that show two digits of the error."""
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if np.isfinite(error) and error > 0 else 0


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def _html_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<div>{html.escape(line)}</div>" for line in foot)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def release_html(release: Release) -> str:
    """The table of a release for a notebook."""
    foot = [str(release.plan.guarantee), f"protects {release.plan.protects}", COVERS]
    return _html_table(["answer", "value", "± standard error", "95 % interval"], _release_rows(release), foot)


def plan_html(plan: Plan) -> str:
    """The table of a plan for a notebook."""
    errors, standard = plan.standard_errors, standard_errors_of_standard(plan)
    rows = [
        [name, f"± {e:.4g}", f"{100 * e / s:.0f} %"]
        for name, e, s in zip(plan.answers.names[:MOST_ROWS], errors, standard, strict=False)
    ]
    foot = [
        f"{plan.shape.name}; within {100 * (plan.optimality - 1):.2g} % of the best any Gaussian noise can do",
        str(plan.guarantee),
        f"protects {plan.protects}",
    ]
    return _html_table(["answer", "standard error", "of the standard Gaussian's"], rows, foot)
