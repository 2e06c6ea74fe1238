"""Tables and notes as text and as HTML."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.box import Box
from gaussmith.domains.domain import records_are_rows
from gaussmith.domains.strategies import has_standard_shape
from gaussmith.domains.workloads import Marginals
from gaussmith.errors import counted, printable
from gaussmith.statistics.moment import REFERENCE
from gaussmith.statistics.statistic import ONE

if TYPE_CHECKING:
    from gaussmith.planning.block import Block
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.requests.request import Request


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


def wrap_notes(notes: Sequence[str], width: int = 80) -> list[str]:
    """Notes in lines of at most 80 characters; what has no blanks stays whole."""
    return [
        line for note in notes for line in textwrap.wrap(note, width, break_long_words=False, break_on_hyphens=False)
    ]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str] = (), left: int = 0) -> str:
    """A table for a page, with notes below; every cell escaped. The first `left` columns are marked as text."""
    head = _cells("th", header, left)
    body = "".join(f"<tr>{_cells('td', row, left)}</tr>" for row in rows)
    notes = note_lines(foot)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _cells(tag: str, cells: Sequence[str], left: int) -> str:
    """Cells of a row; on a narrow screen names that are text may go on in the next line after an underscore."""
    from html import escape

    return "".join(
        f'<{tag} class="text">{escape(cell).replace("_", "_<wbr>")}</{tag}>'
        if i < left
        else f"<{tag}>{escape(cell)}</{tag}>"
        for i, cell in enumerate(cells)
    )


def note_lines(notes: Sequence[str]) -> str:
    """Notes for a page, one per line."""
    from html import escape

    return "".join(f'<div class="notes">{escape(line)}</div>' for line in notes)


# Numbers and names as they are printed.

LARGE = 1e12
"""From here on numbers are written as powers of ten."""


def decimals(error: float) -> int:
    """Decimals that show two digits of the error."""
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if np.isfinite(error) and error > 0 else 0


def rounded(number: float, error: float) -> str:
    """A number with two digits of its error, written out; as a power of ten where that would be too long or all zeros.

    >>> rounded(1234.56, 7.1), rounded(1e6, 570.9), rounded(-5.8037e30, 4.57e30), rounded(3e-20, 1.2e-21)
    ('1,234.6', '1,000,000', '-5.8e+30', '3.00e-20')
    """
    is_small = abs(number) < 1e-6 and 0 < error < 1e-11
    if not is_small and abs(number) < LARGE:
        return f"{number:z,.{decimals(error)}f}"
    if number == 0 or not np.isfinite(number):
        return f"{number:zg}"
    digits = np.floor(np.log10(abs(number))) - np.floor(np.log10(error)) + 1 if error > 0 else 11
    return f"{number:.{int(np.clip(digits, 1, 11))}e}"


def figure(number: float, digits: int = 4) -> str:
    """A number with some significant digits, written out rather than as a power of ten where that reads well.

    >>> figure(1049876.5), figure(0.000333333), figure(12.0), figure(4.2e-12)
    ('1,050,000', '0.0003333', '12', '4.2e-12')
    """
    if number == 0 or not np.isfinite(number) or not 1e-4 <= abs(number) < LARGE:
        return f"{number:.{digits}g}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(rounded)))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# A block in plain words: its noise, how good it is, and its errors as rows of a table.

MAX_ROWS = 24
"""Limit on the answers that a table in a terminal shows."""

LARGE_DELTA = 1e-3
"""A larger δ gets a warning."""

LARGE_EPSILON, LARGE_MU = 10.0, 3.0
"""A larger ε, or a larger μ where no ε is stated, gets a warning."""

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
    "people first": "noise on the number of people in each group, by which it is shown or not, and on each column's "
    "distance from the middle of its bounds",
    "two-level": "one noise size on the sum of all counts, and another on their differences",
    "water-filled": "independent noise, more on coordinates that one record can change more",
    "even": "the same noise on every cell",
    "residuals": "a separate noise size for what each marginal adds to the smaller ones",
    "reflected": "correlated noise whose strength falls with the distance of cells, in closed form",
    "levelled": "one noise size per level of the tree, on how its nodes split into their parts",
    "tied": "one noise shared by all questions and groups: it hides what one person can change in all answers at once, "
    "which takes less noise than hiding each by itself",
    "centred": "noise on what a person adds less a centre; the centre is added for everybody who is counted, by a "
    "noisy number that other answers use too",
    "isotropic": "the standard Gaussian mechanism: equal noise on every answer, in units of its weight",
}

_WEIGHTING = {"equal": "", "relative": " (each error relative to its range)", "given": " (weighted as given)"}


def describe_shape(name: str) -> str:
    """A shape in plain words."""
    return _SHAPES.get(name, name)


def describe_optimality(block: Block) -> str:
    """How close to the limit a plan is, in plain words.

    >>> import gaussmith as gm
    >>> describe_optimality(gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1)).block)
    'as good as any Gaussian noise can be'
    """
    if block.lender is not None:
        return "judged with all answers together"
    if block.drawn is not None:
        return PURE_LAWS[block.drawn.norm]
    return describe_factor(block.optimality)


PURE_LAWS = {"1": "two-sided geometric (Laplace)", "max": "uniform in a cube of random size"}
"""What is said of noise of a pure ε, whose least size is not known."""

ON_REQUEST = "certificate on request: plan.optimality, or gaussmith plan --certificate FILE"
"""What is said instead where the lower bound would take longer than the plan."""


def describe_factor(optimality: float) -> str:
    """How close to the limit a price is that is so many times the bound."""
    if not math.isfinite(optimality):
        return "at an unknown distance from the best Gaussian noise"
    if optimality >= 1.1:
        return f"within a factor {optimality:.3g} of the lower bound for any Gaussian noise"
    gap = 100 * (optimality - 1)
    return "as good as any Gaussian noise can be" if gap < 0.005 else f"within {gap:.2g} % of the best Gaussian noise"


def _describe_bound(block: Block) -> str:
    if not math.isfinite(block.optimality):
        return "no lower bound for other noise is known"
    return f"no Gaussian noise with this guarantee can go below {block.lower_bound:.6g}"


def describe_spectrum(block: Block) -> str:
    """The sizes of the noise over its directions, in plain words; empty if there is only one direction.

    >>> import gaussmith as gm
    >>> describe_spectrum(gm.plan(gm.Cells(8), gm.Guarantee(mu=1), neighbours="replace-one").block)
    'In its 8 directions the noise has standard deviations from 0 to 1.414; the standard Gaussian has 1.414 in all.'
    """
    from gaussmith.planning.block import MAX_DIRECTIONS, spectrum

    if block.answers.size < 2 or block.answers.size > MAX_DIRECTIONS or block.answers.over_rows:
        return ""
    sizes, standard = spectrum(block)
    low = 0.0 if sizes.min() < 1e-7 * sizes.max() else float(sizes.min())
    text = (
        f"In its {len(sizes)} directions the noise has standard deviations from {figure(low)} to {figure(sizes.max())}"
    )
    return text + ("." if standard is None else f"; the standard Gaussian has {figure(standard)} in all.")


def describe_gain(block: Block) -> str:
    """What the shape saves compared with the standard Gaussian mechanism, in plain words; empty if it saves nothing.

    >>> import gaussmith as gm
    >>> describe_gain(gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(mu=1)).block)
    'errors are 62 % of those of the standard Gaussian mechanism'
    """
    from gaussmith.planning.block import share_of_standard

    share = share_of_standard(block)
    if share is None or share > 0.995:
        return ""
    return f"errors are {100 * share:.0f} % of those of the standard Gaussian mechanism"


def explain_choice(block: Block, judged: str = "") -> str:
    """What was chosen, what the alternatives would have cost, and why; how good it is may be `judged` elsewhere."""
    worst = block.problem.features.targets is not None
    what = "largest squared error, relative to its squared target," if worst else "total squared error"
    judged = judged or f"{_describe_bound(block)}: the plan is {describe_optimality(block)}"
    if block.lender is not None:
        judged = f"it is {describe_optimality(block)}"
    lines = [
        f"Chosen: {block.shape.name}, that is, {describe_shape(block.shape.name)}.",
        f"Its {what}{_WEIGHTING[block.answers.weighting]} is {block.price:.6g}; {judged}.",
    ]
    if block.alternatives:
        lines.append("Considered and not chosen:")
        for name, price in sorted(block.alternatives, key=lambda pair: pair[1]):
            times = price * block.noise_scale**2 / block.price
            lines.append(f"  {name}: {times:.3g} × the {what.rstrip(',')} ({describe_shape(name)})")
    table = block.domain.bounds_table(block.problem, (), block.substitutes)
    lines += [_read_from(block), "" if table is None else table.expected]
    if block.problem.features.is_linear or not has_standard_shape(block.problem):
        lines.append(describe_spectrum(block))
    lines.append("The choice used the bounds and the guarantee, never the data.")
    return "\n".join(filter(None, lines))


def _read_from(block: Block) -> str:
    """How moments and means are read from noisy sums; empty where there are none."""
    if block.domain.has_products:
        return (
            "Answers are read from noisy sums, squares and products of distances from the middle of the bounds, and "
            "the number of records."
        )
    if not block.answers.any_divided:
        return ""
    number = "public" if block.public_count and not block.answers.over_rows else "noisy"
    return (
        f"A mean is the noisy sum of distances from the middle of the bounds, divided by the {number} number of "
        f"{counted_in(block)}."
    )


N_IS = "n is the number of "


def describe_divided(block: Block) -> list[str]:
    """What n is under the errors of means, with an example; and for which means they hold."""
    error = float(block.standard_errors[block.answers.divided][0])
    example = f"for n = 10,000, {figure(error)} / n is ± {figure(error / 10_000)}"
    return [f"{N_IS}{counted_in(block)}: {example}", *describe_means(block)]


def describe_means(block: Block) -> list[str]:
    """For which means the stated errors hold; empty where they are the same for all.

    >>> import gaussmith as gm
    >>> describe_means(gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1), answers="means").block)
    ['errors of means are at most these, for means anywhere within their bounds']
    """
    if block.domain.has_products:
        return [
            "errors of variances and covariances are at most these; those of standard deviations, correlations and "
            f"coefficients hold on average, for columns with a standard deviation of {REFERENCE:g} of half their range"
        ]
    if block.public_count and not block.answers.over_rows:
        return []
    stated = block.answers.stated[block.answers.divided]
    said = ["where mean_within says they lie"] if stated.any() else []
    where = said if stated.all() else [block.domain.means.words, *said]
    return [f"errors of means are at most these, for means {', or '.join(where)}"]


def guarantee_notes(guarantee: Guarantee) -> list[str]:
    """A guarantee in one line, and a warning where its δ or its ε promises little.

    >>> from gaussmith.privacy.guarantee import Guarantee
    >>> guarantee_notes(Guarantee(epsilon=1, delta=0.5))[1]
    'δ = 0.5 promises little: keep it far below 1 / (number of people)'
    >>> guarantee_notes(Guarantee(epsilon=50, delta=1e-6))[1]
    'ε = 50 hardly protects: guessing whether a person is in the data may be right up to 99.93 % of the time'
    """
    delta = guarantee.delta
    large = delta is not None and delta > LARGE_DELTA
    warning = [f"δ = {delta:g} promises little: keep it far below 1 / (number of people)"] if large else []
    epsilon = guarantee.epsilon
    if epsilon > LARGE_EPSILON if epsilon is not None else guarantee.mu > LARGE_MU:
        stated = f"μ = {guarantee.mu:g}" if epsilon is None else f"ε = {epsilon:g}"
        right = math.ceil(10000 * guarantee.guess_bound) / 100
        often = f"up to {right:g} % of the time" if right < 100 else "nearly always"
        warning.append(f"{stated} hardly protects: guessing whether a person is in the data may be right {often}")
    return [str(guarantee), *warning]


def parameter_of(guarantee: Guarantee) -> str:
    """What noise is drawn from: μ, or a pure ε."""
    return f"ε={float(guarantee.pure_epsilon):.4g}" if guarantee.is_pure else f"μ={guarantee.mu:.4g}"


def counted_in(block: Block) -> str:
    """What the means of a plan are over: records (people), or rows."""
    return "rows" if block.answers.over_rows or records_are_rows(block.domain) else "records"


RANKS = "errors of quantiles are in ranks: so many people lie between an estimate and the quantile"

PLAN_HEADER = ("answer", "± error", "standard Gaussian", "ratio")


def block_rows(
    block: Block, rows: int | None = None, most: int = MAX_ROWS, standard_scale: float = 1.0
) -> list[tuple[str, ...]]:
    """answer · ± error · the standard Gaussian's · their ratio; an error of a mean is over n unless `rows` is given."""
    from gaussmith.planning.block import compare_block

    if block.problem.features.marginals is not None:
        return _marginal_rows(block, block.problem.features.marginals, most)
    found: list[tuple[str, ...]] = []
    comparisons = compare_block(block, rows, most, standard_scale)
    for c in comparisons:
        over = " / n" if c.mean and not rows else ""
        if c.name == "count" and block.public_count and c is comparisons[-1] and block.answers.count:
            found.append((printable(c.name), "exact", "exact", ""))
            continue
        if c.error == 0:  # known from the public number of records
            found.append((printable(c.name), "exact", "", ""))
            continue
        other = "" if c.standard is None else f"{figure(c.standard)}{over}"
        ratio = "" if c.share is None else f"{100 * c.share:.0f} %"
        found.append((printable(c.name), f"{figure(c.error)}{over}", other, ratio))
    return found


def _marginal_rows(block: Block, work: Marginals, most: int) -> list[tuple[str, ...]]:
    """One row per marginal: all of its cells have the same error."""
    from gaussmith.planning.block import standard_errors_of_standard

    attributes = block.domain.input.attributes
    errors, standard = block.standard_errors, standard_errors_of_standard(block)
    found: list[tuple[str, ...]] = []
    for way, size, at in list(zip(work.ways, work.sizes, work.offsets, strict=True))[:most]:
        name = " × ".join(attributes[i] for i in way) or "all"
        other, ratio = "", ""
        if standard is not None:
            other, ratio = figure(standard[at]), f"{100 * errors[at] / standard[at]:.0f} %"
        named = printable(f"{name} ({size:,} cells)" if size > 1 else name)
        exact = ("exact", "", "")
        found.append((named, *(exact if errors[at] == 0 else (figure(errors[at]), other, ratio))))
    if block.count_standard_error is not None:
        error = "exact" if block.public_count else figure(block.count_standard_error)
        found.append(("count", error, "exact" if block.public_count else "", ""))
    return found


def block_notes(
    block: Block,
    rows: int | None,
    lead: str = "",
    protected: str | None = None,
    finds: bool = False,
    judged: str = "",
    guarantee: Guarantee | None = None,
) -> list[str]:
    """What stands below the errors of a block; where it `finds` keys, the noise alone is not the guarantee.

    How good it is may be `judged` elsewhere, and its `guarantee` be that of all who may enter or leave.
    """
    optimal = "noise of its own, and a noisy number of everybody that other answers use too"
    if block.lender is None:
        lead += "planned together, " if block.whole is not None and block.tie is None else ""
        noise = "the noise is " if block.tie is None else "one noise for everything asked, "
        optimal = lead + noise + (judged or (describe_optimality(block) if block.is_bound_quick else ON_REQUEST))
    of_group = [f"noise in each group: {parameter_of(block.guarantee)}"] if finds else []
    kept = of_group or guarantee_notes(guarantee or block.guarantee)
    undeclared = [text for text in (block.domain.words.undeclared,) if text]
    return [*_unit_notes(block, rows), optimal, *kept, f"protects {protected or block.protects}", *undeclared]


def _unit_notes(block: Block, rows: int | None) -> list[str]:
    """What the errors of a block are of, and how large they are in percent."""
    notes: list[str] = []
    if block.answers.any_divided and rows:
        notes = [f"means over {counted(rows, counted_in(block).rstrip('s'))}", *describe_means(block)]
    elif block.answers.any_divided:
        notes = describe_divided(block)
    if block.answers.any_inverted:
        notes.append(RANKS)
    if rows is not None and (shares := _shares(block, rows)):
        told = ", ".join(f"{printable(name)} ± {share:.3g} %" for name, share in shares[:4])
        told += ", …" if shares[4:] else ""
        notes.append(f"relative to the largest possible total of {counted(rows, 'record')}: {told}")
    return notes


def _shares(block: Block, rows: int) -> list[tuple[str, float]]:
    """The errors of sums and the count in percent of the most that so many records add up to."""
    answers, features, domain = block.answers, block.problem.features, block.domain
    if answers.over_rows:
        return []  # these rows are not people, whose number is not guessed
    known = isinstance(domain, Box) and not features.is_linear
    largest = np.maximum(np.abs(domain.lower), np.abs(domain.upper)) if isinstance(domain, Box) else np.zeros(0)
    found = []
    for name, lead, plain, error in zip(
        answers.names, answers.leads.tolist(), answers.plain.tolist(), block.standard_errors.tolist(), strict=True
    ):
        if plain and (error if lead == ONE else known):
            most = 1.0 if lead == ONE else float(largest[features.index[lead]])
            found.append((name, 100 * error / (most * rows)))
    return found


# Displays for notebooks: one style for all, in light and in dark; numbers to the right, every text escaped.

# Colours are those of the notebook; lines and notes are shades of them, so that both themes are legible. Notebooks say
# which theme they have in attributes, pages in a media query.
_RULES = (
    ("", "overflow-x:auto;line-height:1.45"),
    (" h4", "margin:.9em 0 .3em;font-size:1em;font-weight:600;overflow-wrap:anywhere"),
    (" table", "margin:.2em 0 .5em;border:0;border-collapse:collapse;font-variant-numeric:tabular-nums"),
    (" table tr", "background:transparent"),
    (
        " table :is(th,td)",
        "padding:.3em .8em;border:0;border-bottom:1px solid rgb(128 128 128/.35);text-align:right;white-space:nowrap;"
        "max-width:none",
    ),
    (" table th", "font-weight:600;border-bottom-color:rgb(128 128 128/.8)"),
    (" table tbody th", "border-bottom-color:rgb(128 128 128/.35)"),
    (" table :is(th,td).text", "text-align:left"),
    (" table td.long", "text-align:left;white-space:normal;overflow-wrap:anywhere;max-width:48em"),
    (" p", "margin:.3em 0;max-width:48em;overflow-wrap:anywhere"),
    (" .notes", "max-width:48em;font-size:.92em;opacity:.8;overflow-wrap:anywhere"),
    (" .warning", "color:#b3261e;font-weight:600"),
)
_DARK = "color:#ff9c92"

SCOPE = "div.gaussmith.gaussmith"
"""Where the style reaches; the class twice, to be stronger than a notebook's own stripes."""


def _style() -> str:
    rules = "".join(f"{SCOPE}{where}{{{said}}}" for where, said in _RULES)
    dark = f"@media (prefers-color-scheme:dark){{{SCOPE} .warning{{{_DARK}}}}}"
    themes = "[data-jp-theme-light=false]", "body.vscode-dark", "html[theme=dark]"
    light = f"[data-jp-theme-light=true] {SCOPE} .warning{{color:#b3261e}}"
    small = f"{SCOPE} table{{font-size:.8em}}{SCOPE} table :is(th,td){{padding:.25em .2em;white-space:normal}}"
    narrow = f"@media (max-width:30rem){{{small}}}"
    told = "".join(f"{theme} {SCOPE} .warning{{{_DARK}}}" for theme in themes)
    return f"<style>{rules}{narrow}{dark}{light}{told}</style>"


def framed(body: str) -> str:
    """A display: what is escaped already, in the style of all displays, which reaches nothing outside of it."""
    return f'<div class="gaussmith">{_style()}{body}</div>'


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and texts as a table."""
    rows = (
        f'<tr><th class="text">{_escaped(name)}</th><td class="long">{_escaped(text)}</td></tr>' for name, text in pairs
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def paragraph(text: str, warning: bool = False) -> str:
    mark = ' class="warning"' if warning else ""
    return f"<p{mark}>{_escaped(text)}</p>"


def heading(text: str) -> str:
    return f"<h4>{_escaped(text)}</h4>"


def _escaped(text: str) -> str:
    return escape(printable(text))


def guarantee_html(guarantee: Guarantee) -> str:
    """A guarantee in numbers and in plain words."""
    stated = {"ε": guarantee.epsilon, "δ": guarantee.delta}
    rows = [(name, f"{value:.12g}") for name, value in stated.items() if value is not None]
    if not guarantee.is_pure:
        rows += [("μ", f"{guarantee.mu:.4g}"), ("ρ", f"{guarantee.rho:.4g}")]
    return framed(html_table(("guarantee", ""), rows, left=1) + paragraph(guarantee.describe()))


def request_html(request: Request) -> str:
    """What is asked, and the errors to expect; nothing of it is from data."""
    from gaussmith.report.plans import plan_body

    said = [(name, text) for name, text in request.said() if name != "guarantee"]
    asked = facts([*said, ("guarantee", str(request.guarantee)), ("protects", request.plan.protects)])
    return framed(f"{heading('Request')}{asked}{heading('Errors to expect')}{plan_body(request.plan)}")
