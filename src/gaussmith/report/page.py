"""One self-contained page about a release: plain HTML and CSS, charts as SVG, no scripts, no remote content.

Everything on it is public: the plan, the guarantee and the released values. All external text is escaped, and the
page forbids scripts and remote content, so a hostile column name stays a name.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.checks import CONFIDENCE, PERCENT
from gaussmith.domains.domain import BoundsTable, rows_coordinate
from gaussmith.domains.features import MEAN, OWN_MEAN, ROW_SUM, ROWS, TABLED, TOTAL
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, counted, printable
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.block import compare_block, compare_release, standard_scale
from gaussmith.planning.error_distribution import normal_width
from gaussmith.planning.joint_people import NAME
from gaussmith.planning.row_rule import RowRule, columns_needed
from gaussmith.releases.diagnosis import diagnosis_legend, diagnosis_sentences, is_diagnosis
from gaussmith.releases.path import learned_sentences
from gaussmith.report.charts import (
    MAX_BARS,
    cell_pictures,
    drawn_names,
    draws_line,
    draws_record,
    errors_spec,
    has_quantiles,
    noise_spec,
    plan_spec,
    sharing_spec,
    shown_ties,
    spectrum_spec,
)
from gaussmith.report.drawing import draw
from gaussmith.report.error_bars import COEFFICIENTS_CAPTION as COEFFICIENTS
from gaussmith.report.error_bars import coefficient_spec, error_bars
from gaussmith.report.keys import kappa_of, promise, shown_chart, statement_notes
from gaussmith.report.plans import noise_names, share_of
from gaussmith.report.releases import MADE_UP, RELEASE_HEADER, shown_rows
from gaussmith.report.reviewers import (
    PERSON,
    RECORD,
    SELECTED,
    about_rows,
    adding_up,
    review_rows,
    rows_html,
    sentence_of,
    unit_of,
    version_of,
    who_of,
)
from gaussmith.report.tables import (
    ON_REQUEST,
    RANKS,
    describe_divided,
    describe_factor,
    describe_optimality,
    describe_shape,
    describe_spectrum,
    figure,
    html_table,
    parameter_of,
    rounded,
)

if TYPE_CHECKING:
    from gaussmith.planning.block import Block, ComparedStrategies
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.query import AnyTie, Query
    from gaussmith.releases.release import Release


# Pieces of a page: escaped text, sections, tables and figures.

PAGE = 50
"""How many rows of a long table are opened at once."""


def escaped(text: str) -> str:
    """External text, escaped."""
    return html.escape(printable(text))


def prose(text: str) -> str:
    """A sentence, escaped, with typeset powers of ten and percent signs kept next to their numbers."""
    powers = re.sub(r"\b(\d(?:\.\d+)?)e([+-]\d+)\b", _power, escaped(text))
    return re.sub(r"(\d) %", "\\1\u00a0%", powers)


def _power(match: re.Match[str]) -> str:
    factor, exponent = match.groups()
    front = "" if float(factor) == 1 else f"{factor}\u00a0·\u00a0"
    return f'<span class="number">{front}10<sup>{str(int(exponent)).replace("-", "−")}</sup></span>'


def section(name: str, title: str, body: str) -> str:
    return (
        f'<section id="{name}" class="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{body}\n</section>'
    )


def listed(notes: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escaped(note)}</li>' for note in notes)}</ul>"


def boxed_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="table">{html_table(header, rows)}</div>'


def paged_table(header: Sequence[str], rows: Sequence[Sequence[str]], rows_per_page: int = PAGE) -> str:
    """A table; a longer one in pages that open one by one, without a script."""
    cut = range(0, max(len(rows), 1), rows_per_page)
    return in_pages([boxed_table(header, rows[i : i + rows_per_page]) for i in cut], len(rows), rows_per_page)


def in_pages(pages: Sequence[str], size: int, rows_per_page: int) -> str:
    """Pages of so many rows each, the first one open; a single page stays as it is."""
    if len(pages) == 1:
        return pages[0]
    return "\n".join(
        f'<details class="page"{" open" if i == 0 else ""}><summary>Rows {i * rows_per_page + 1:,} to '
        f"{min((i + 1) * rows_per_page, size):,} of {size:,}</summary>\n{body}\n</details>"
        for i, body in enumerate(pages)
    )


def figure_with(svg: str, caption: str) -> str:
    words = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{words}</figure>"


# The sections of a page about its noise: beside the standard Gaussian, and its shape.

MAX_ROWS = 200
"""Limit on the answers whose noise a page compares."""

WORSE = (
    " The noise was chosen for all answers together, and for means anywhere within their bounds: one answer by itself "
    "can have a larger error than the standard one."
)
"""What is said where a ratio in the table is above 100 %."""

_ALL = {PERSON: " with all rows", RECORD: ""}


def compared_section(release: Release) -> str:
    """Errors beside the standard Gaussian's: one table for answers that share a noise, else one for each piece."""
    plan, ties = release.plan, {id(piece.query.tie) for piece in release.plan.pieces}
    several, pieces = len(plan.provable) > 1, release.pieces
    if len(pieces) > 1 and (len(ties) > 1 or plan.pieces[0].query.tie is None):
        return "\n".join(compared_section(piece) for piece in pieces if not piece.plan.query.is_public)
    block = pieces[0].block
    if plan.groups is None or release.view.groups is not None:
        return _noise(block, compare_release(release, MAX_ROWS), several, pieces[0].plan.query)
    roots: dict[int, dict[int, float]] = {}
    compared = [  # all groups have the same noise, or this is the largest
        each
        for piece in plan.pieces
        for each in compare_block(piece.block, most=MAX_ROWS, standard_scale=standard_scale(piece, roots))
    ]
    return _noise(block, compared, several, plan.pieces[0].query, of_groups=True)


def _noise(
    block: Block, comparisons: Sequence[ComparedStrategies], several: bool, query_of: Query, of_groups: bool = False
) -> str:
    """Errors beside the standard Gaussian's; `several` noises share the guarantee."""
    known = [c for c in comparisons if c.standard]
    if not known:
        return "<p>The standard Gaussian mechanism is not defined for these answers.</p>"
    rows, shares = [], []
    for c in known[:MAX_ROWS]:
        over = " / n" if c.mean and of_groups else ""  # every group has its own n
        errors = [f"{rounded(error, c.error)}{over}" for error in (c.error, c.standard or 0.0)]
        rows.append([printable(c.name), *errors, f"{100 * (c.share or 0):.0f} %"])
        shares += [] if c.share is None else [c.share]
    table = paged_table(["answer", "± error", "standard Gaussian", "ratio"], rows)
    if max(len(known), len(block.answers)) > MAX_ROWS:
        table += f"<p>Compared: the first {MAX_ROWS} answers.</p>"
    if of_groups and block.answers.any_divided:
        table += f"<p>{prose('; '.join(describe_divided(block)))}.</p>"
    if block.answers.any_inverted:
        table += f"<p>{RANKS[0].upper()}{RANKS[1:]}.</p>"
    caption = "Blue: this release. Grey: the standard Gaussian mechanism."
    caption += f" The first {MAX_BARS} of the table." if len(rows) > MAX_BARS else ""
    label = "Bars: each error in percent of the standard Gaussian's; the numbers are in the table."
    return (
        f"<p>{prose(_lead(shares))}, at the same guarantee; {_judged(block, query_of, several, of_groups)}. "
        "The standard mechanism adds independent noise of equal size to every answer, in units of its weight."
        f"{WORSE if max(shares) > 1.005 else ''}</p>\n"
        f'<div class="fit">\n<div>{table}</div>\n{figure_with(draw(noise_spec(known), label), caption)}\n</div>'
    )


def _judged(block: Block, query: Query, several: bool, of_groups: bool) -> str:
    """How close a plan is to the best noise there is, or where that is told."""
    if not block.is_bound_quick:
        return ON_REQUEST
    together = block.whole is not None or block.tie is not None
    what = "the plan of all questions that were planned together" if together else "the plan"
    inside = query.is_planned_inside
    best = describe_factor(query.optimality) if inside else describe_optimality(block)
    shared = of_groups and query.is_shared and not inside
    where = "in each group, at its share of μ, " if shared else "at its share of μ, " if several else ""
    return f"{what} is {prose(best if block.lender is not None else where + best)}"


def _lead(shares: Sequence[float]) -> str:
    """The ratios of a table in one clause, which says no more than the table does.

    >>> _lead([0.79, 0.79])
    'Errors are 79 % of those of the standard Gaussian mechanism'
    >>> _lead([0.73, 0.781]).split(" of ")[0]
    'Errors are 73 % to 78 %'
    """
    low, high = (f"{100 * share:.0f} %" for share in (min(shares), max(shares)))
    if low == high == "100 %":
        return "Here the standard Gaussian mechanism is just as good"
    return f"Errors are {low if low == high else f'{low} to {high}'} of those of the standard Gaussian mechanism"


def shape_section(block: Block, columns: Sequence[str] | None, who: str = RECORD) -> str:
    """The picture of the noise over the most that one record, or one person with all rows, can change."""
    if draws_line(block, columns):
        return _line_section(block, who)
    names = [printable(name) for name in drawn_names(block, columns)]
    times = figure(block.noise_scale, 2)
    of = " and ".join(f"<b>{html.escape(name)}</b>" for name in names)
    label = (
        f"The noise in {' and '.join(names)}: an outline of this release's noise, one of the standard Gaussian's, "
        f"and what {who} can change."
    )
    mirrored = f"; removing {'a person' if who == PERSON else 'a record'} is its mirror image"
    what = f"the most that {who}{_ALL[who]} can change{'' if block.public_count else mirrored}"
    record = f'<li class="record">{what}</li>' if draws_record(block, columns) else ""
    standard = "" if block.tie is not None else '<li class="standard">the standard Gaussian’s noise</li>'
    return (
        f'<div class="beside">\n{figure_with(draw(plan_spec(block, columns, who), label), "")}\n<div>\n'
        f"<p>What {who}{_ALL[who]} can change in {of}, and the noise that hides it.</p>\n"
        f'<ul class="key">{record}'
        f'<li class="ours">the noise of this release</li>{standard}</ul>\n'
        "<p>The outlines of the noise are scaled so that, over all answers together, they just contain every "
        f"difference that {who} can make. The noise itself has the same shape and is {times} times as large "
        "(1/μ): this is its standard deviation in every direction.</p>\n"
        f"<p>Chosen: {escaped(describe_shape(block.shape.name))}.</p>\n</div>\n</div>{_directions(block)}"
    )


def _line_section(block: Block, who: str) -> str:
    """The same for a single answer: its noise has one direction, and is drawn at its true size."""
    (name,) = (printable(name) for name in drawn_names(block))
    of = "the rank of " if block.answers.any_inverted else ""
    label = f"The noise in {of}{name}, one standard deviation to each side, and the most that {who} can change."
    return (
        f'<div class="beside">\n{figure_with(draw(plan_spec(block, None, who), label), "")}\n<div>\n'
        f"<p>The most that {who}{_ALL[who]} can change in {of}<b>{html.escape(name)}</b>, and the noise that hides it: "
        "one standard deviation to each side, at its true size.</p>\n"
        f"<p>Chosen: {escaped(describe_shape(block.shape.name))}.</p>\n</div>\n</div>{_directions(block)}"
    )


def _directions(block: Block) -> str:
    """The noise of all answers at once: by direction, and for a workload by answer."""
    words = describe_spectrum(block) if block.answers.size > 2 else ""
    if not words:
        return ""
    spectrum = figure_with(draw(spectrum_spec(block), words), f"{words} Dashed: the standard Gaussian.")
    if not block.problem.features.is_linear:
        return f'\n<div class="beside">\n{spectrum}\n</div>'
    label = "The standard error of every answer in order, of this release and of the standard Gaussian mechanism."
    errors = figure_with(draw(errors_spec(block), label), f"{label} Blue: this release. Grey: the standard.")
    return f'\n<div class="beside">\n{spectrum}\n{errors}\n</div>'


# The section of a page that says why this noise was chosen.


def reasons(query: Query, block: Block) -> str:
    """Why this noise: what was minimised, what other noise would have cost, and the least there is."""
    if block.tie is not None:
        return _tied_reasons(block.tie)
    together = " of this question and the questions planned together with it" if block.whole is not None else ""
    block = block.whole[0] if block.whole is not None else block
    weighting = {
        "equal": "",
        "relative": ", each relative to what one person can change",
        "given": ", weighted as given",
    }[block.answers.weighting]
    worst = block.problem.features.targets is not None
    aim = "to minimise the sum of squared errors"
    if worst:
        aim = "to minimise the squared error of the worst answer, relative to its squared target"
    prices = [(block.shape.name, block.price, "chosen")]
    prices += [
        (name, price * block.noise_scale**2, "") for name, price in sorted(block.alternatives, key=lambda p: p[1])
    ]
    rows = [
        [describe_shape(name) + (f" ({note})" if note else ""), f"{price / block.price:.2f} ×"]
        for name, price, note in prices
    ]
    optimality = query.optimality if query.is_planned_inside else block.optimality
    if math.isfinite(optimality):
        least = f"{1 / optimality:.2f} ×"
        rows.append(["lower bound for any Gaussian noise with this guarantee", least])
    return (
        f"<p>The noise was chosen {aim}{together}{weighting}. The choice used only the bounds and the guarantee, "
        "never the data.</p>\n"
        f"{_table(['noise', 'largest squared error' if worst else 'total squared error'], rows)}"
    )


def _tied_reasons(tie: AnyTie) -> str:
    rows = [
        [f"{describe_shape(NAME)} (chosen)", "1.00 ×"],
        ["separate noise for each question or group, with the best shares", f"{tie.apart / tie.total_variance:.2f} ×"],
    ]
    if tie.is_bound_quick:
        rows.append(["lower bound for any Gaussian noise with this guarantee", f"{1 / tie.optimality:.2f} ×"])
    return (
        "<p>The noise was chosen to minimise the sum of squared errors of all answers that share it, each relative to "
        "what one person can change. The choice used only the bounds and the guarantee, never the data.</p>\n"
        f"{_table(['noise', 'total squared error'], rows)}"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="table">{html_table(header, rows)}</div>'


_ODD_VALUES = (
    "Infinite values count as the nearer bound. Empty cells, values that are not numbers, and text that is not a "
    "number are missing. These rules do not depend on the data."
)
_OF = {TOTAL: "a person’s total", MEAN: "each row, before a person’s mean", ROW_SUM: "each row", ROWS: "rows"}

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

MAX_LISTED = 10_000
"""Limit on the answers of a question that a page lists; it says how many more there are, and where."""

MAX_DRAWN = 1_000
"""Limit on the answers of a question that have error bars."""

SHARING = "How the errors of answers that share one noise go together; of groups and values, one and another."
"""What the picture of shared noise shows."""


def write_page(release: Release, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Path:
    """Write the page; `columns` names the two answers whose noise is drawn. Refuses a path it cannot write to."""
    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise RequestError(
            f"report {without_secrets(path)!r}",
            "a report is an .html file",
            f"write {without_secrets(file.with_suffix('.html'))!r}; browsers print it",
            code="report-not-html",
            report=without_secrets(path),
        )
    try:
        file.write_text(page(release, columns), encoding="utf-8")
    except OSError as error:
        raise RequestError(
            f"report {without_secrets(path)!r}",
            f"it cannot be written: {error.strerror}",
            "choose a path you can write to",
            code="report-not-written",
            reason=error.strerror,
            report=without_secrets(path),
        ) from None
    return file


@single_threaded()
def page(release: Release, columns: Sequence[str] | None = None) -> str:
    """The page as text."""
    learned = learned_sentences(release)
    before = [section("learned", "What was learned first", listed(learned))] if learned else []
    if len(release.plan) > 1:
        sections = [*before, section("shares", "Questions", _shares(release.plan))]
        for i, question in enumerate(release, start=1):
            body = "\n".join(
                f'<div class="{kind}">\n<h3>{title}</h3>\n{text}\n</div>'
                for kind, title, text in _sections(question, None)
            )
            sections.append(section(f"question-{i}", escaped(question.questions[0]), body))
    else:
        sections = [*before, *(section(*each) for each in _sections(release, columns))]
    if said := about_rows(release):
        sections.insert(0, section("about", "About this release", rows_html(said)))
    sections.append(section("review", "For reviewers", rows_html(review_rows(release))))
    sections.append(section("cite", "How to cite", _cite(release)))
    style = (resources.files("gaussmith.report") / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(_title(release))} · Gaussmith {escaped(version_of(release))}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f"{_header(release)}\n<main>\n" + "\n".join(sections) + f"\n</main>\n{_footer(release)}\n</body>\n</html>\n"
    )


def _title(release: Release) -> str:
    """The title of the page: the name of the source, if it has one."""
    first = release.row_rules[0]
    named = first is not None and first.source
    if release.made_up:
        return "Made up: a rehearsal"
    return f"{named} · a private release" if named else "A private release"


def _sections(release: Release, columns: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """The name, title and body of each section about one question."""
    said = release.notes() or [release.pieces[0].block.domain.words.person]
    people = ("people", "People, rows and limits", listed(said))
    answers = ("answers", "Answers", _answers(release))
    pieces = [piece for piece in release.pieces if not piece.plan.query.is_public]
    if not pieces:
        return [answers, people]
    told = [*diagnosis_sentences(release), *diagnosis_legend(release)] if is_diagnosis(release.plan) else []
    pictures = "".join(figure_with(draw(spec, caption), caption) for spec, caption in cell_pictures(release))
    sections = [
        ("told", "What this means", listed(told) if told else ""),
        answers,
        people,
        ("bounds", "Bounds and missing values", _bounds_of(pieces)),
        ("covers", "What the intervals cover", _covers(release)),
        ("keys", "Which groups are shown", _keys(release.plan)),
        ("pictures", "Pictures of the answers", f'<div class="fit">{pictures}</div>' if pictures else ""),
        *_noises(release, pieces, columns),
        ("why", "Why this noise", "".join(dict.fromkeys(reasons(piece.plan.query, piece.block) for piece in pieces))),
    ]
    return [each for each in sections if each[2]]


def _noises(release: Release, pieces: Sequence[Release], columns: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """The noise beside the standard Gaussian's, and its shape; of pure noise its law."""
    if release.plan.guarantee.is_pure:
        laws = dict.fromkeys(describe_optimality(piece.block) for piece in release.plan.pieces)
        told = (f"<p>The noise is {prose(law)}, exact on integers.</p>" for law in laws)
        return [("noise", "The noise", "".join(told))]
    return [
        ("noise", "Noise compared with the standard Gaussian", compared_section(release)),
        ("shape", "The shape of the noise", _shape_of(pieces, columns)),
    ]


def _bounds_of(pieces: Sequence[Release]) -> str:
    """The bounds of all pieces that ask for more than a number of records, each table once."""
    asking = [piece for piece in pieces if not _is_count(piece.block)] or pieces[:1]
    return "".join(dict.fromkeys(_bounds(piece.block, piece.row_rule) for piece in asking))


def _shape_of(pieces: Sequence[Release], columns: Sequence[str] | None) -> str:
    """The noise of the first piece that has these columns."""
    drawn = next((piece for piece in pieces if not columns or set(columns) <= set(piece.names)), pieces[0])
    return shape_section(drawn.block, columns, who_of([drawn.row_rule]))


def _keys(plan: Plan) -> str:
    """Of found keys, how often a group is shown; empty where none are found."""
    chart = shown_chart(plan)
    if chart is None:
        return ""
    spec, caption, lines = chart
    told = "".join(f"<p>{prose(line)}.</p>" for line in lines)
    return f'<div class="fit"><div>{told}</div>{figure_with(draw(spec, caption), caption)}</div>'


def _shares(plan: Plan) -> str:
    """The questions and the share of the guarantee that each has."""
    rows = [
        [
            printable(", ".join(named)),
            f"{100 * share_of(guarantee, plan.guarantee):.3g} %",
            parameter_of(guarantee).partition("=")[2],
        ]
        for named, guarantee, _ in noise_names(plan)
    ]
    pictures = "".join(figure_with(draw(sharing_spec(plan, tie), SHARING), SHARING) for tie in shown_ties(plan))
    return (
        "<p>The questions share one guarantee. Questions on one line were planned together and share one draw of "
        "noise. Shares are shares of μ², which adds up.</p>\n"
        + boxed_table(["questions", "share of the budget", "μ"], rows)
        + pictures
    )


def _header(release: Release) -> str:
    g, plan = release.guarantee, release.plan
    told, _, rest = _of_people(promise(plan), release).partition(". ")
    more = "".join(f"<p>{prose(line)}</p>\n" for line in (rest, *statement_notes(plan)[1:]) if line)
    stated = [("ε", g.epsilon), ("δ", g.delta)] if g.epsilon is not None else []
    facts = [*((name, f"{value:g}") for name, value in stated)]
    if not g.is_pure:
        facts += [("μ", f"{g.mu:.4g}"), ("ρ", f"{g.rho:.4g}")]
    if plan.pays_for_keys:
        facts[-2:] = [("μ of the noise", f"{plan.spends.mu:.4g}"), ("κ of keys", f"{kappa_of(plan):.4g}")]
    items = "".join(f"<div><dt>{name}</dt><dd>{prose(value)}</dd></div>" for name, value in facts)
    made_up = f"<p><b>{escaped(MADE_UP)}</b></p>\n" if release.made_up else ""
    unit = f"{unit_of(release)}; " if who_of(release.row_rules) == PERSON else ""
    return (
        f'<header>\n{made_up}<p class="brand">{escaped(_title(release))}</p>\n<h1>{prose(told.rstrip("."))}.</h1>\n'
        f"{more}<p>Protected: {escaped(unit + release.plan.protects)}.</p>\n"
        f"<dl>{items}</dl>\n</header>"
    )


def _of_people(text: str, release: Release) -> str:
    """A sentence about one person's record, as one about all of their rows where a person may have many."""
    if who_of(release.row_rules) != PERSON:
        return text
    said = text.replace("One person's record makes", "One person with all of their rows makes")
    return said.replace("whether one person's record was used", "whether one person's rows were used")


def _answers(release: Release) -> str:
    found = release.rows()
    every = len(found) + len(release.names)
    header, rows, more = shown_rows(release, every if len(found) <= MAX_LISTED else MAX_LISTED)
    keyed = len(header) > len(RELEASE_HEADER)
    several = max(1, len(release.names)) if keyed else 1
    size = PAGE // several * several or several  # a group is not split
    pages = []
    for i in range(0, max(len(rows), 1), size):
        bars = error_bars(found[i : i + size], found[: -(-MAX_DRAWN // size) * size]) if i < MAX_DRAWN else ""
        table = f"<div>{boxed_table(header, rows[i : i + size])}</div>"
        body = f"{bars}\n{table}" if keyed else f"{table}\n{bars}"  # the long table of groups comes after its picture
        pages.append(f'<div class="fit">\n{body}\n</div>')
    note = f"<p>… and {counted(more, 'more answer')}, in the tables saved with this page.</p>" if more > 0 else ""
    if len(rows) > -(-MAX_DRAWN // size) * size:
        note += f"<p>Error bars are drawn for the first {-(-MAX_DRAWN // size) * size:,} rows.</p>"
    half = "; of a quantile, half the length of its 68 % interval" if has_quantiles(release) else ""
    slopes = coefficient_spec(release)
    plot = ""
    if slopes is not None:
        full = len(slopes["data"]["values"]) == MAX_BARS
        more_slopes = f" At most {MAX_BARS} slopes are drawn; all are in the table." if full else ""
        plot = figure_with(draw(slopes, COEFFICIENTS), COEFFICIENTS + more_slopes)
    return (
        f"{in_pages(pages, len(rows), size)}\n{note}"
        f'<p class="quiet">± is the standard deviation of the noise{half}. Values are not clipped to their bounds'
        f"{_bias(release)} Intervals are cut to the bounds, and counts to "
        f"0. A value marked * is outside its interval for this reason.</p>\n{plot}"
    )


def _bias(release: Release) -> str:
    """Whether values are right on average, as the end of a sentence that says they are not clipped."""
    if release.groups is None or not release.groups.is_found:
        return ", so they stay right on average: a small count can be negative."
    return f". {SELECTED} Values of groups near that limit are marked †."


def _covers(release: Release) -> str:
    answers = len(release.columns()["answer"])
    width = normal_width(CONFIDENCE, max(answers, 1)) / normal_width(CONFIDENCE)
    together = (
        f"<li>All {answers:,} intervals at once: each one has {PERCENT} coverage. Make them {width:.2f} times as wide "
        f"for {PERCENT} coverage of all together.</li>"
        if answers > 1
        else ""
    )
    division = "<li>For means, the division by a noisy number of records, exactly.</li>"
    limits = "<li>Limits: rows, groups and values of a person beyond them are left out or scaled down.</li>"
    is_limited = any(rule is not None and rule.unit is not None for rule in release.row_rules)
    return (
        '<div class="beside">\n<div><h3>Covered</h3><ul class="yes">'
        "<li>The noise: 95 of 100 such intervals contain the answer without noise.</li>"
        f"{division if release.plan.any_divided else ''}</ul></div>\n"
        '<div><h3>Not covered</h3><ul class="no">'
        "<li>Clipping: values outside the bounds were clipped to the nearer bound, and the answers describe the "
        f"clipped values.</li>{limits if is_limited else ''}"
        "<li>Sampling: how well the people in the data represent others.</li>"
        f"<li>Missing values and their substitutes (above).</li>{together}</ul></div>\n</div>"
    )


def _is_count(block: Block) -> bool:
    """Whether a block asks for the number of records alone."""
    features = block.problem.features
    return block.domain.dimension == 0 or (
        block.whole is not None and not features.is_linear and not len(features.index)
    )


def _bounds(block: Block, row_rule: RowRule | None) -> str:
    features = block.problem.features
    asked = None if features.is_linear else set(features.index.tolist())  # a question may ask but some
    if block.whole is not None and not asked:
        return f"<p>Only the number of records is asked for here: {_who_counts(row_rule)}.</p>"
    domain, reading = block.domain, block.domain.words.reading
    columns = {*range(domain.dimension)} - {rows_coordinate(domain)}
    places = sorted(columns if asked is None else columns & asked)
    table = domain.bounds_table(block.problem, places[:MAX_LISTED], block.substitutes)
    if table is None and not domain.dimension:
        return f"<p>{reading.rstrip('.')}: {_who_counts(row_rule)}.</p>"
    if table is None:
        return f"<p>{prose(reading if row_rule is None else _counted(row_rule) or reading)}</p>"
    return _bounds_table(table, places, row_rule)


def _bounds_table(table: BoundsTable, places: Sequence[int], row_rule: RowRule | None) -> str:
    """The bounds of the coordinates at some places, and what is done about missing values."""
    kinds, told = [], []
    if row_rule is not None:
        told = [row_rule.missing_rule(*each) for each in row_rule.features]
        kinds = [_OF[kind] for kind, _ in row_rule.features] if row_rule.unit and not row_rule.person_columns else []
    rows = [
        [
            printable(name),
            *kinds[j : j + 1],
            *(figure(number, 6) for number in numbers[:2]),
            *_missing(j, numbers, told),
        ]
        for j, (name, numbers) in zip(places, table.rows, strict=False)
    ]
    more = len(places) - len(rows) if len(rows) == MAX_LISTED else 0  # squares and products have no bounds of their own
    note = f"<p>… and {counted(more, 'more column')}, in the record saved with this page.</p>" if more else ""
    first, *others = (*table.header[:-1], "missing values") if any(told) else table.header
    below = _ODD_VALUES if any(told) and table.rows else table.note
    return paged_table([first, *(["of"] if kinds else []), *others], rows) + f"{note}<p>{html.escape(below)}</p>"


def _who_counts(rule: RowRule | None) -> str:
    """What columns are read for, where none has bounds."""
    if rule is None or not (columns_needed(rule, ()) or rule.person_columns):
        return "no column is read"
    return "columns decide who is counted" + (" and in which group" if rule.by else "") + ", and none has bounds"


def _counted(rule: RowRule) -> str:
    """How people are counted, where a question counts them in cells; in plain words."""
    if not rule.features or not (rule.is_counted or rule.counts_marks):
        return ""
    columns = [column for _, column in rule.features]
    column = columns[0]
    if rule.is_checked:
        return "People are counted by where they are between the bounds and limits of the other answers."
    if rule.is_counted and rule.features[0][0] == TABLED:
        table = " and ".join(columns)
        return f"People are counted in a table of {table}; a value that is missing or not declared has its own cell."
    cut = rule.cut_of(column)
    if cut is None:
        return f"People are counted by the declared values of {column}. Other values, and missing ones, are in none."
    ranges = f"People are counted in {cut.cells:,} ranges of {column}"
    if cut.ends is None:
        return f"{ranges}, the outer ones open. A missing value is in none."
    low, high = (figure(end, 6) for end in cut.ends)
    is_full = column in (*rule.complete, *rule.complete_by_type)
    if rule.features[0][0] == OWN_MEAN:
        rest = "" if is_full else "; rows without one are left out"
        beyond = f"A row's value beyond counts as that bound, before the mean of the person's rows is taken{rest}."
    else:
        beyond = f"A value beyond counts as that bound{'' if is_full else '; a missing one is in none'}."
    return f"{ranges}, from {low} to {high}. {beyond}"


def _missing(j: int, numbers: Sequence[float], told: Sequence[str]) -> list[str]:
    """What is said of missing values beside the bounds of a column: the rule of the request, or the substitute."""
    rule = told[j] if j < len(told) else ""
    return (
        [rule.removeprefix("missing values ").removeprefix("missing ")] if rule else [figure(n, 6) for n in numbers[2:]]
    )


def _cite(release: Release) -> str:
    return (
        f"<blockquote>{prose(sentence_of(release))}</blockquote>\n<p>{prose(adding_up(release))}</p>\n"
        f'<p class="quiet">Plan <code>{release.plan.hash}</code></p>'
    )


def _footer(release: Release) -> str:
    words = "This page contains only released values and public choices."
    return f"<footer>Gaussmith {escaped(version_of(release))}. {words}</footer>"
