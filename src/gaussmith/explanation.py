"""Plans and releases in plain words and tables, for a terminal, for a notebook and for the report."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains import Box, Cells, Domain, GaussianData, Tallied
from gaussmith.standards import MOST_DIRECTIONS, compare_plan, share_of_standard, spectrum, standard_errors_of_standard
from gaussmith.texts import printable
from gaussmith.workloads import Marginals

if TYPE_CHECKING:
    from gaussmith.group_releases import GroupRelease
    from gaussmith.guarantee import Guarantee
    from gaussmith.plans import Plan
    from gaussmith.releases import Release

MOST_ROWS = 24
"""A table in a terminal shows at most so many answers."""

LARGE_DELTA = 1e-3
"""A δ above this is remarked on."""

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
    "even": "the same noise on every cell",
    "residuals": "noise of its own size on what each marginal says that no smaller one says",
    "isotropic": "the standard Gaussian mechanism: equal noise on every answer, in units of its weight",
}

_WEIGHTING = {"equal": "", "relative": " (each error taken relative to its range)", "given": " (weighted as given)"}


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


def describe_spectrum(plan: Plan) -> str:
    """The sizes of the noise over its directions, in plain words; empty where there is but one direction.

    >>> import gaussmith as gm
    >>> describe_spectrum(gm.plan(gm.Cells(8), gm.Guarantee(mu=1), neighbours="replace-one"))
    'In its 8 directions the noise has a standard deviation of 0 to 1.414; the standard Gaussian has 1.414 in all.'
    """
    if plan.answers.size < 2 or plan.answers.size > MOST_DIRECTIONS or plan.answers.ratios.any():
        return ""
    sizes, standard = spectrum(plan)
    low = 0.0 if sizes.min() < 1e-7 * sizes.max() else float(sizes.min())
    text = (
        f"In its {len(sizes)} directions the noise has a standard deviation of {figure(low)} to {figure(sizes.max())}"
    )
    return text + ("." if standard is None else f"; the standard Gaussian has {figure(standard)} in all.")


def describe_gain(plan: Plan, standard_scale: float = 1.0) -> str:
    """What the shape saves against the standard Gaussian mechanism, in plain words; empty where it saves nothing.

    >>> import gaussmith as gm
    >>> describe_gain(gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(mu=1)))
    'errors are 62 % of those of the standard Gaussian mechanism'
    """
    share = share_of_standard(plan)
    if share is None or share / standard_scale > 0.995:
        return ""
    return f"errors are {100 * share / standard_scale:.0f} % of those of the standard Gaussian mechanism"


def explain(plan: Plan) -> str:
    """What is protected, what was chosen, what the alternatives would have cost, and why."""
    if plan.whole is not None:
        plan = plan.whole[0]  # the noise was chosen for all of it
    return f"Protected: {plan.protects}. How well: {plan.guarantee}.\n{explain_choice(plan)}"


def explain_choice(plan: Plan) -> str:
    """What was chosen, what the alternatives would have cost, and why."""
    what = "total squared error"
    if plan.answers.targets is not None:
        what = "largest squared error, in units of its target squared,"
    lines = [
        f"Chosen: {plan.shape.name}, that is, {describe_shape(plan.shape.name)}.",
        f"Its {what}{_WEIGHTING[plan.answers.weighting]} is {plan.price:.6g}; "
        f"no Gaussian noise with this guarantee can go below {plan.lower_bound:.6g}: "
        f"the plan is {describe_optimality(plan)}.",
    ]
    if plan.alternatives:
        lines.append("Considered and not chosen:")
        for name, price in sorted(plan.alternatives, key=lambda pair: pair[1]):
            times = price * plan.noise_scale**2 / plan.price
            lines.append(f"  {name}: {times:.3g} × the {what.rstrip(',')} ({describe_shape(name)})")
    if plan.answers.any_divided:
        public = plan.public_count and not plan.answers.ratios.any()
        lines.append(
            "A mean is the noisy sum of distances from the middle of the bounds, divided by the "
            f"{'public' if public else 'noisy'} number of {counted_in(plan)}."
        )
    if isinstance(plan.domain, GaussianData):
        lines.append(describe_clip(plan))
    if plan.answers.is_linear or isinstance(plan.domain, Tallied):
        lines += [text for text in (describe_spectrum(plan),) if text]
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


def describe_divided(plan: Plan) -> str:
    """What n is under the errors of means, with an example."""
    divided = (plan.answers.means | plan.answers.ratios)[: plan.answers.visible]
    error = float(plan.standard_errors[divided][0])
    return (
        f"n is the number of {counted_in(plan)}: {figure(error)} / n is ± {figure(error / 10_000)} for 10,000 of them"
    )


def describe_undeclared(domain: Domain) -> str:
    """What a value counts as that is none of the declared ones; empty where it is left out, or where there are none.

    >>> describe_undeclared(Cells(["a", "b"]))
    'a value that is missing or not declared counts as: a'
    """
    if not isinstance(domain, Cells) or domain.or_none:
        return ""
    several = len(domain.others) > 1
    named = [
        f"{domain.attribute_name(i)}={domain.value_name(i, v)}" if several else domain.value_name(i, v)
        for i, v in enumerate(domain.others)
    ]
    shown = ", ".join(named[:8]) + (", …" if named[8:] else "")
    return printable(f"a value that is missing or not declared counts as: {shown}")


def guarantee_notes(guarantee: Guarantee) -> list[str]:
    """A guarantee in one line, and a warning where its δ promises little.

    >>> from gaussmith.guarantee import Guarantee
    >>> guarantee_notes(Guarantee(epsilon=1, delta=0.5))[1]
    'δ = 0.5 promises little: keep it far below 1 / (number of people)'
    """
    delta = guarantee.delta
    large = delta is not None and delta > LARGE_DELTA
    warning = [f"δ = {delta:g} promises little: keep it far below 1 / (number of people)"] if large else []
    return [str(guarantee), *warning]


def counted_in(plan: Plan) -> str:
    """What the means of a plan are over: records (people), or rows."""
    return "rows" if plan.answers.ratios.any() else "records"


# -- tables -----------------------------------------------------------------------------------------------------------

PLAN_HEADER = ("answer", "± error", "standard Gaussian", "ratio")
RELEASE_HEADER = ("answer", "value", "± error", "95 % interval")


def plan_rows(
    plan: Plan, rows: int | None = None, most: int = MOST_ROWS, standard_scale: float = 1.0
) -> list[tuple[str, ...]]:
    """answer · ± error · the standard Gaussian's · their ratio; an error of a mean is over n unless `rows` is given."""
    if isinstance(plan.answers.workload, Marginals):
        return _marginal_rows(plan, most)
    found: list[tuple[str, ...]] = []
    comparisons = compare_plan(plan, rows, most, standard_scale)
    for c in comparisons:
        over = " / n" if c.mean and not rows else ""
        if c.name == "count" and plan.public_count and c is comparisons[-1] and plan.answers.count:
            found.append((printable(c.name), "exact", "exact", ""))
            continue
        if c.error == 0:  # the public number of records tells it
            found.append((printable(c.name), "exact", "", ""))
            continue
        other = "" if c.standard is None else f"{figure(c.standard)}{over}"
        ratio = "" if c.share is None else f"{100 * c.share:.0f} %"
        found.append((printable(c.name), f"{figure(c.error)}{over}", other, ratio))
    return found


def _marginal_rows(plan: Plan, most: int) -> list[tuple[str, ...]]:
    """One row per marginal: all of its cells have the same error."""
    work, domain = plan.answers.workload, plan.domain
    assert isinstance(work, Marginals) and isinstance(domain, Cells)
    errors, standard = plan.standard_errors, standard_errors_of_standard(plan)
    found: list[tuple[str, ...]] = []
    for way, size, at in list(zip(work.ways, work.sizes, work.offsets, strict=True))[:most]:
        name = " × ".join(domain.attribute_name(i) for i in way) or "all"
        other, ratio = "", ""
        if standard is not None:
            other, ratio = figure(standard[at]), f"{100 * errors[at] / standard[at]:.0f} %"
        named = printable(f"{name} ({size:,} cells)" if size > 1 else name)
        exact = ("exact", "", "")
        found.append((named, *(exact if errors[at] == 0 else (figure(errors[at]), other, ratio))))
    if plan.count_standard_error is not None:
        error = "exact" if plan.public_count else figure(plan.count_standard_error)
        found.append(("count", error, "exact" if plan.public_count else "", ""))
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
        elif answer.standard_error == 0:
            found.append((name, figure(answer.value, 12), "exact: public", ""))
        elif np.isfinite(lower[i]) and np.isfinite(upper[i]):
            ends = f"{lower[i]:,.{digits}f} to {upper[i]:,.{digits}f}"
            found.append((name, f"{answer.value:,.{digits}f}", f"{answer.standard_error:,.{digits}f}", ends))
        else:
            error = figure(answer.standard_error, 2)
            found.append((name, figure(answer.value), error, "unknown: too few records"))
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


def plan_table(plan: Plan, rows: int | None = None, lead: str = "", standard_scale: float = 1.0) -> str:
    """answer · ± error · against the standard Gaussian · how close to optimal, with `lead` before that."""
    text = text_table(PLAN_HEADER, plan_rows(plan, rows, standard_scale=standard_scale))
    return "\n".join([text, *_left_out(plan, "plan.standard_errors", True), *_plan_notes(plan, rows, lead)])


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


def _left_out(plan: Plan, where: str, by_marginal: bool = False) -> list[str]:
    work = plan.answers.workload
    if by_marginal and isinstance(work, Marginals):
        rest = len(work.ways) - MOST_ROWS
        return [f"… and {rest:,} more marginals: {where}"] if rest > 0 else []
    rest = plan.answers.visible - MOST_ROWS
    return [f"… and {rest:,} more answers: {where}"] if rest > 0 else []


def _plan_notes(plan: Plan, rows: int | None, lead: str = "") -> list[str]:
    notes, of = [], counted_in(plan)
    if plan.answers.any_divided and rows:
        notes = [f"means of {rows:,} {of}"]
    elif plan.answers.any_divided:
        notes = [describe_divided(plan)]
    shares = [] if rows is None else [f"{printable(name)} ± {share:.3g} %" for name, share in _shares(plan, rows)]
    if shares:
        notes.append(f"of what {rows:,} records can add up to: {', '.join(shares[:4])}{', …' if shares[4:] else ''}")
    lead += "planned together, " if plan.whole is not None else ""
    optimal = f"{plan.shape.name}: {lead}{describe_optimality(plan)}"
    undeclared = [text for text in (describe_undeclared(plan.domain),) if text]
    return [*notes, optimal, *guarantee_notes(plan.guarantee), f"protects {plan.protects}", *undeclared]


def _shares(plan: Plan, rows: int) -> list[tuple[str, float]]:
    """The errors of sums and the count in percent of the most that so many records add up to."""
    answers, domain = plan.answers, plan.domain
    if answers.ratios.any():
        return []  # these rows are not people, whose number is not guessed
    found = []
    if isinstance(domain, Box) and answers.matrix is None:
        most = np.maximum(np.abs(domain.lower), np.abs(domain.upper))[answers.index] * rows
        sums = np.flatnonzero(~answers.means).tolist()
        found = [(answers.names[i], 100 * float(plan.standard_errors[i] / most[i])) for i in sums]
    if plan.count_standard_error:
        found.append(("count", 100 * plan.count_standard_error / rows))
    return found


def release_notes(release: Release | GroupRelease) -> list[str]:
    notes = [] if release.reading is None else [printable(note) for note in release.reading.notes()]
    charged = [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
    plan = release.plan
    undeclared = describe_undeclared(plan.domain)
    notes += [undeclared] if undeclared else []
    return [*guarantee_notes(release.guarantee), f"protects {plan.protects}", *notes, *charged]


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


def plan_html(plan: Plan, lead: str = "", standard_scale: float = 1.0) -> str:
    """The table of a plan for a notebook."""
    foot = [*_left_out(plan, "plan.standard_errors", True), *_plan_notes(plan, None, lead)]
    return html_table(PLAN_HEADER, plan_rows(plan, standard_scale=standard_scale), foot)
