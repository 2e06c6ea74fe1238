"""One self-contained page about a release: plain HTML and CSS, charts as SVG, no scripts, no remote content.

Everything on it is public: the plan, the guarantee and the released values. All external text is escaped, and the
page forbids scripts and remote content, so a hostile column name stays a name.
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError
from gaussmith.numerics.threads import single_threaded
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem.features import MEAN, OWN_MEAN, ROW_SUM, ROWS, TABLED, TOTAL
from gaussmith.releases.diagnosis import diagnosis_legend, diagnosis_sentences, is_diagnosis
from gaussmith.releases.learned import learned_sentences
from gaussmith.report.cell_charts import cell_pictures, has_quantiles
from gaussmith.report.charts import MAX_BARS
from gaussmith.report.citation import adding_up, sentence_of, version_of
from gaussmith.report.coefficients import CAPTION as COEFFICIENTS
from gaussmith.report.coefficients import coefficient_spec
from gaussmith.report.drawing import draw
from gaussmith.report.error_bars import error_bars
from gaussmith.report.found_keys import shown_chart
from gaussmith.report.markup import (
    PAGE,
    boxed_table,
    escaped,
    figure_with,
    in_pages,
    listed,
    paged_table,
    prose,
    section,
)
from gaussmith.report.noise_sections import compared_section, shape_section
from gaussmith.report.reasons import reasons
from gaussmith.report.reviewers import PERSON, about_rows, review_rows, rows_html, unit_of, who_of
from gaussmith.report.sharing import sharing_spec, shown_ties
from gaussmith.texts import printable
from gaussmith.words.keys import kappa_of, promise, statement_notes
from gaussmith.words.numbers import figure
from gaussmith.words.plans import noise_names
from gaussmith.words.releases import MADE_UP, RELEASE_HEADER, shown_rows

if TYPE_CHECKING:
    from gaussmith.plans import Block, Plan
    from gaussmith.releases import Release

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
    said = release.notes() or [release.pieces[0].block.domain.person]
    people = ("people", "People, rows and limits", listed(said))
    answers = ("answers", "Answers", _answers(release))
    told = (
        [("told", "What this means", listed([*diagnosis_sentences(release), *diagnosis_legend(release)]))]
        if is_diagnosis(release)
        else []
    )
    pieces = [piece for piece in release.pieces if not piece.plan.draw.is_public]
    if not pieces:
        return [answers, people]
    drawn = next((piece for piece in pieces if not columns or set(columns) <= set(piece.names)), pieces[0])
    asking = [piece for piece in pieces if not _is_count(piece.block)] or pieces[:1]
    bounds = dict.fromkeys(_bounds(piece.block, piece.row_rule) for piece in asking)
    pictures = "".join(figure_with(draw(spec, told), told) for spec, told in cell_pictures(release))
    return [
        *told,
        answers,
        people,
        ("bounds", "Bounds and missing values", "".join(bounds)),
        ("covers", "What the intervals cover", _covers(release)),
        *_keys(release.plan),
        *([("pictures", "Pictures of the answers", f'<div class="fit">{pictures}</div>')] if pictures else []),
        ("noise", "Noise compared with the standard Gaussian", compared_section(release)),
        ("shape", "The shape of the noise", shape_section(drawn.block, columns, who_of([drawn.row_rule]))),
        ("why", "Why this noise", "".join(dict.fromkeys(reasons(piece.block) for piece in pieces))),
    ]


def _keys(plan: Plan) -> list[tuple[str, str, str]]:
    """Of found keys, how often a group is shown."""
    chart = shown_chart(plan)
    if chart is None:
        return []
    spec, caption, lines = chart
    told = "".join(f"<p>{prose(line)}.</p>" for line in lines)
    body = f'<div class="fit"><div>{told}</div>{figure_with(draw(spec, caption), caption)}</div>'
    return [("keys", "Which groups are shown", body)]


def _shares(plan: Plan) -> str:
    """The questions and the share of the guarantee that each has."""
    rows = [
        [
            printable(", ".join(named)),
            f"{100 * (guarantee.mu / plan.guarantee.mu) ** 2:.3g} %",
            f"{guarantee.mu:.4g}",
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
    facts = [*((name, f"{value:g}") for name, value in stated), ("μ", f"{g.mu:.4g}"), ("ρ", f"{g.rho:.4g}")]
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
    note = f"<p>… and {more:,} more answers, in the tables saved with this page.</p>" if more > 0 else ""
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
        f'<p class="quiet">± is the standard deviation of the noise{half}. Values are not clipped to their bounds, '
        "so they stay right on average: a small count can be negative. Intervals are cut to the bounds, and counts to "
        f"0. A value marked * is outside its interval for this reason.</p>\n{plot}"
    )


def _covers(release: Release) -> str:
    answers = len(release.columns()["answer"])
    width = normal_width(0.95, max(answers, 1)) / normal_width(0.95)
    together = (
        f"<li>All {answers:,} intervals at once: each one has 95 % coverage. Make them {width:.2f} times as wide for "
        "95 % coverage of all together.</li>"
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
        return "<p>Only the number of records is asked for here: no column is read.</p>"
    domain = block.domain
    columns = [j for j in range(domain.dimension) if j != domain.rows_coordinate]
    places = [j for j in columns if asked is None or j in asked]
    table = domain.bounds_table(block.problem, places[:MAX_LISTED], block.substitutes)
    if table is None:
        return f"<p>{prose(domain.reading if row_rule is None else _counted(row_rule) or domain.reading)}</p>"
    units = row_rule is not None and row_rule.unit is not None and not row_rule.person_columns
    kinds = [_OF[kind] for kind, _ in row_rule.features] if row_rule is not None and units else []
    told = [row_rule.missing_rule(*each) for each in row_rule.features] if row_rule is not None else []
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
    note = f"<p>… and {more:,} more columns, in the record saved with this page.</p>" if more else ""
    first, *others = (*table.header[:-1], "missing values") if any(told) else table.header
    below = _ODD_VALUES if any(told) and table.rows else table.note
    return paged_table([first, *(["of"] if kinds else []), *others], rows) + f"{note}<p>{html.escape(below)}</p>"


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
    if rule.features[0][0] == OWN_MEAN:
        rule_of_rows = (
            "counts as that bound, before the mean of the person's rows is taken; rows without one are left out."
        )
        return f"{ranges}, from {low} to {high}. A row's value beyond {rule_of_rows}"
    return f"{ranges}, from {low} to {high}. A value beyond counts as that bound; a missing one is in none."


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
