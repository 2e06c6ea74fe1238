"""One self-contained page about a release: plain HTML and CSS, charts as SVG, no scripts, no remote content.

Everything on it is public: the plan, the guarantee and the released values. All external text is escaped, and the
page forbids scripts and remote content, so a hostile column name stays a name.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.row_rule import RowRule
from gaussmith.plans.standard_gaussian import compare_block, compare_release, standard_scale
from gaussmith.problem.features import MEAN, ROW_SUM, ROWS, TOTAL
from gaussmith.releases.diagnosis import diagnosis_sentences, is_diagnosis
from gaussmith.releases.learned import learned_sentences
from gaussmith.report.cell_charts import cell_pictures
from gaussmith.report.charts import drawn_names, draws_record, interval_spec, noise_spec, plan_spec
from gaussmith.report.citation import adding_up, sentence_of, version_of
from gaussmith.report.coefficients import CAPTION as COEFFICIENTS
from gaussmith.report.coefficients import coefficient_spec
from gaussmith.report.drawing import draw
from gaussmith.report.found_keys import shown_chart
from gaussmith.report.reasons import reasons
from gaussmith.report.sharing import sharing_spec, shown_ties
from gaussmith.report.spectra import errors_spec, spectrum_spec
from gaussmith.texts import printable
from gaussmith.words.blocks import (
    RANKS,
    describe_divided,
    describe_gain,
    describe_optimality,
    describe_shape,
    describe_spectrum,
)
from gaussmith.words.keys import kappa_of, promise, statement_notes
from gaussmith.words.numbers import decimals, figure
from gaussmith.words.plans import noise_names
from gaussmith.words.releases import MADE_UP, shown_rows
from gaussmith.words.tables import html_table

if TYPE_CHECKING:
    from gaussmith.plans import Block, Draw, Plan
    from gaussmith.plans.standard_gaussian import Comparison
    from gaussmith.releases import Release

_OF = {TOTAL: "a person’s total", MEAN: "a person’s mean", ROW_SUM: "each row", ROWS: "rows"}

MAX_ROWS = 200
"""Limit on the answers that a page shows; the tables saved with it hold all of them."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

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


def page(release: Release, columns: Sequence[str] | None = None) -> str:
    """The page as text."""
    learned = learned_sentences(release)
    before = [_section("learned", "What was learned first", _listed(learned))] if learned else []
    if len(release.plan) > 1:
        sections = [*before, _section("shares", "Questions", _shares(release.plan))]
        for i, question in enumerate(release, start=1):
            body = "\n".join(
                f'<div class="{kind}">\n<h3>{title}</h3>\n{text}\n</div>'
                for kind, title, text in _sections(question, None)
            )
            sections.append(_section(f"question-{i}", _text(question.questions[0]), body))
    else:
        sections = [*before, *(_section(*each) for each in _sections(release, columns))]
    sections.append(_section("cite", "How to cite", _cite(release)))
    style = (resources.files("gaussmith.report") / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(_title(release))} · Gaussmith {_text(version_of(release))}</title>\n"
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
    people = ("people", "People and rows", _listed(said))
    answers = ("answers", "Answers", _answers(release))
    told = [("told", "What this means", _listed(diagnosis_sentences(release)))] if is_diagnosis(release) else []
    pieces = [piece for piece in release.pieces if not piece.plan.draw.is_public]
    if not pieces:
        return [answers, people]
    drawn = next((piece for piece in pieces if not columns or set(columns) <= set(piece.names)), pieces[0])
    bounds = dict.fromkeys(_bounds(piece.block, piece.row_rule) for piece in pieces)
    pictures = "".join(_figure(draw(spec, told), told) for spec, told in cell_pictures(release))
    return [
        *told,
        answers,
        people,
        *_keys(release.plan),
        *([("pictures", "Pictures of the answers", f'<div class="fit">{pictures}</div>')] if pictures else []),
        ("noise", "Noise compared with the standard Gaussian", _compared(release)),
        ("shape", "The shape of the noise", _shape(drawn.block, columns)),
        ("covers", "What the intervals cover", _covers(release)),
        ("why", "Why this noise", "".join(dict.fromkeys(reasons(piece.block) for piece in pieces))),
        ("bounds", "Bounds and missing values", "".join(bounds)),
    ]


def _keys(plan: Plan) -> list[tuple[str, str, str]]:
    """Of found keys, how often a group is shown."""
    chart = shown_chart(plan)
    if chart is None:
        return []
    spec, caption, lines = chart
    told = "".join(f"<p>{_prose(line)}.</p>" for line in lines)
    body = f'<div class="fit"><div>{told}</div>{_figure(draw(spec, caption), caption)}</div>'
    return [("keys", "Which groups are shown", body)]


def _listed(notes: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(note)}</li>' for note in notes)}</ul>"


def _compared(release: Release) -> str:
    """Errors beside the standard Gaussian's: one table for answers that share a noise, else one for each piece."""
    plan, ties = release.plan, {id(piece.draw.tie) for piece in release.plan.pieces}
    several, pieces = len(plan.provable) > 1, release.pieces
    if len(pieces) > 1 and (len(ties) > 1 or plan.pieces[0].draw.tie is None):
        return "\n".join(_compared(piece) for piece in pieces if not piece.plan.draw.is_public)
    block, scale = pieces[0].block, standard_scale(plan.pieces[0])
    if plan.groups is None or release.view.groups is not None:
        return _noise(block, compare_release(release, MAX_ROWS), several, scale)
    compared = [  # all groups have the same noise, or this is the largest
        each
        for piece in plan.pieces
        for each in compare_block(piece.block, most=MAX_ROWS, standard_scale=standard_scale(piece))
    ]
    return _noise(block, compared, several, scale, plan.pieces[0].draw)


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
    pictures = "".join(_figure(draw(sharing_spec(plan, tie), SHARING), SHARING) for tie in shown_ties(plan))
    return (
        "<p>The questions share one guarantee. Questions on one line were planned together and share one draw of "
        "noise. Shares are shares of μ², which adds up.</p>\n"
        + _table(["questions", "share of the budget", "μ"], rows)
        + pictures
    )


def _text(text: str) -> str:
    """External text, escaped."""
    return html.escape(printable(text))


def _prose(text: str) -> str:
    """A sentence, escaped, with typeset powers of ten and percent signs kept next to their numbers."""
    powers = re.sub(r"\b(\d(?:\.\d+)?)e([+-]\d+)\b", _power, _text(text))
    return re.sub(r"(\d) %", "\\1\u00a0%", powers)


def _power(match: re.Match[str]) -> str:
    factor, exponent = match.groups()
    front = "" if float(factor) == 1 else f"{factor}\u00a0·\u00a0"
    return f'<span class="number">{front}10<sup>{str(int(exponent)).replace("-", "−")}</sup></span>'


def _section(name: str, title: str, body: str) -> str:
    return (
        f'<section id="{name}" class="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{body}\n</section>'
    )


def _header(release: Release) -> str:
    g, plan = release.guarantee, release.plan
    told, _, rest = promise(plan).partition(". ")
    more = "".join(f"<p>{_prose(line)}</p>\n" for line in (rest, *statement_notes(plan)[1:]) if line)
    stated = [("ε", g.epsilon), ("δ", g.delta)] if g.epsilon is not None else []
    facts = [*((name, f"{value:g}") for name, value in stated), ("μ", f"{g.mu:.4g}"), ("ρ", f"{g.rho:.4g}")]
    if plan.finds_keys:
        facts[-2:] = [("μ of the noise", f"{plan.spends.mu:.4g}"), ("κ of keys", f"{kappa_of(plan):.4g}")]
    items = "".join(f"<div><dt>{name}</dt><dd>{_prose(value)}</dd></div>" for name, value in facts)
    made_up = f"<p><b>{_text(MADE_UP)}</b></p>\n" if release.made_up else ""
    return (
        f'<header>\n{made_up}<p class="brand">{_text(_title(release))}</p>\n<h1>{_prose(told.rstrip("."))}.</h1>\n'
        f"{more}<p>Protected: {_text(release.plan.protects)}.</p>\n<dl>{items}</dl>\n</header>"
    )


def _answers(release: Release) -> str:
    header, rows, more = shown_rows(release, MAX_ROWS)
    note = f"<p>… and {more:,} more answers, in the tables saved with this page.</p>" if more > 0 else ""
    label = "Error bars: each answer's 95 % interval in percent of its released value; the numbers are in the table."
    table = _table(header, rows)
    bars = _figure(draw(interval_spec(release), label), "Error bars side by side: the 95 % interval of each answer.")
    slopes = coefficient_spec(release)
    bars += "" if slopes is None else _figure(draw(slopes, COEFFICIENTS), COEFFICIENTS)
    return (
        f'<div class="fit">\n<div>{table}{note}\n'
        '<p class="quiet">± is the standard deviation of the noise. Values are not clipped back to their bounds, '
        "so they stay right on average: a small count can be negative. Intervals are cut to the bounds, and counts to "
        "0.</p></div>\n"
        f"{bars}\n</div>"
    )


def _noise(
    block: Block, comparisons: Sequence[Comparison], several: bool, scale: float, groups: Draw | None = None
) -> str:
    """Errors beside the standard Gaussian's; `several` noises share the guarantee.

    The standard's errors are `scale` times those that it has at the block's guarantee.
    """
    known = [c for c in comparisons if c.standard]
    if not known:
        return "<p>The standard Gaussian mechanism is not defined for these answers.</p>"
    rows = []
    for c in known[:MAX_ROWS]:
        digits = decimals(c.error)
        over = " / n" if c.mean and groups is not None else ""  # every group has its own n
        errors = [f"{error:,.{digits}f}{over}" for error in (c.error, c.standard or 0.0)]
        rows.append([printable(c.name), *errors, f"{100 * (c.share or 0):.0f} %"])
    label = "Bars: each error in percent of the standard Gaussian's; the numbers are in the table."
    table = _table(["answer", "± error", "standard Gaussian", "ratio"], rows)
    gain = describe_gain(block, scale)
    lead = f"Taken together, {gain}" if gain else "Here the standard Gaussian mechanism is just as good"
    together = block.whole is not None or block.tie is not None
    what = "the plan of all questions that were planned together" if together else "the plan"
    shared = groups is not None and groups.is_shared
    where = "in each group, at its share of μ, " if shared else "at its share of μ, " if several else ""
    where = where if block.lender is None else ""
    bars = _figure(draw(noise_spec(known), label), "Blue: this release. Grey: the standard Gaussian mechanism.")
    divided = (
        f"<p>{_prose('; '.join(describe_divided(block)))}.</p>"
        if groups is not None and block.answers.any_divided
        else ""
    )
    divided += f"<p>{RANKS[0].upper()}{RANKS[1:]}.</p>" if block.answers.any_inverted else ""
    return (
        f"<p>{_prose(lead)}, at the same guarantee; {what} is {_prose(where + describe_optimality(block))}. "
        "The standard mechanism adds independent noise of equal size to every answer, in units of its weight.</p>\n"
        f'<div class="fit">\n<div>{table}{divided}</div>\n{bars}\n</div>'
    )


def _shape(block: Block, columns: Sequence[str] | None) -> str:
    names = [printable(name) for name in drawn_names(block, columns)]
    times = figure(1 / block.guarantee.mu, 2)
    of = " and ".join(f"<b>{html.escape(name)}</b>" for name in names)
    label = (
        f"The noise in {' and '.join(names)}: an outline of this release's noise, one of the standard Gaussian's, "
        "and what one record can change."
    )
    mirrored = "; removing a record is its mirror image" if not block.public_count else ""
    what = f"the most that one record can change{mirrored}"
    record = f'<li class="record">{what}</li>' if draws_record(block, columns) else ""
    standard = "" if block.tie is not None else '<li class="standard">the standard Gaussian’s noise</li>'
    return (
        f'<div class="beside">\n{_figure(draw(plan_spec(block, columns), label), "")}\n<div>\n'
        f"<p>What one record can change in {of}, and the noise that hides it.</p>\n"
        f'<ul class="key">{record}'
        f'<li class="ours">the noise of this release</li>{standard}</ul>\n'
        "<p>The outlines of the noise are scaled so that, over all answers together, they just contain every "
        f"difference that one record can make. The noise itself has the same shape and is {times} times as large "
        "(1/μ): this is its standard deviation in every direction.</p>\n"
        f"<p>Chosen: {_text(describe_shape(block.shape.name))}.</p>\n</div>\n</div>{_directions(block)}"
    )


def _directions(block: Block) -> str:
    """The noise of all answers at once: by direction, and for a workload by answer."""
    words = describe_spectrum(block) if block.answers.size > 2 else ""
    if not words:
        return ""
    spectrum = _figure(draw(spectrum_spec(block), words), f"{words} Dashed: the standard Gaussian.")
    if not block.problem.features.is_linear:
        return f'\n<div class="beside">\n{spectrum}\n</div>'
    label = "The standard error of every answer in order, of this release and of the standard Gaussian mechanism."
    errors = _figure(draw(errors_spec(block), label), f"{label} Blue: this release. Grey: the standard.")
    return f'\n<div class="beside">\n{spectrum}\n{errors}\n</div>'


def _covers(release: Release) -> str:
    answers = len(release.names) * max(1, len(release.labels))
    width = normal_width(0.95, answers) / normal_width(0.95)
    together = (
        f"<li>All {answers:,} intervals at once: each one has 95 % coverage. Make them {width:.2f} times as wide for "
        "95 % coverage of all together.</li>"
        if answers > 1
        else ""
    )
    division = "<li>For means, the division by a noisy number of records, exactly.</li>"
    return (
        '<div class="beside">\n<div><h3>Covered</h3><ul class="yes">'
        "<li>The noise: 95 of 100 such intervals contain the answer without noise.</li>"
        f"{division if release.plan.any_divided else ''}</ul></div>\n"
        '<div><h3>Not covered</h3><ul class="no">'
        "<li>Clipping: values outside the bounds were clipped to the nearer bound, and the answers describe the "
        "clipped values.</li>"
        "<li>Sampling: how well the people in the data represent others.</li>"
        f"<li>Missing values and their substitutes (below).</li>{together}</ul></div>\n</div>"
    )


def _bounds(block: Block, row_rule: RowRule | None) -> str:
    features = block.problem.features
    asked = None if features.is_linear else set(features.index.tolist())  # a question may ask but some
    if block.whole is not None and not asked:
        return "<p>Only the number of records is asked for here: no column is read.</p>"
    domain = block.domain
    columns = [j for j in range(domain.dimension) if j != domain.rows_coordinate]
    places = [j for j in columns if asked is None or j in asked]
    table = domain.bounds_table(block.problem, places[:MAX_ROWS], block.substitutes)
    if table is None:
        return f"<p>{_prose(domain.reading)}</p>"
    units = row_rule is not None and row_rule.unit is not None and not row_rule.person_columns
    kinds = [_OF[kind] for kind, _ in row_rule.features] if row_rule is not None and units else []
    rows = [
        [printable(name), *kinds[j : j + 1], *(figure(number, 6) for number in numbers)]
        for j, (name, numbers) in zip(places, table.rows, strict=False)
    ]
    more = len(places) - len(rows)
    note = f"<p>… and {more:,} more columns, in the record saved with this page.</p>" if more else ""
    first, *others = table.header
    return _table([first, *(["of"] if kinds else []), *others], rows) + f"{note}<p>{html.escape(table.note)}</p>"


def _cite(release: Release) -> str:
    return (
        f"<blockquote>{_prose(sentence_of(release))}</blockquote>\n<p>{_prose(adding_up(release))}</p>\n"
        f'<p class="quiet">Plan <code>{release.plan.hash}</code></p>'
    )


def _footer(release: Release) -> str:
    words = "This page contains only released values and public choices."
    return f"<footer>Gaussmith {_text(version_of(release))}. {words}</footer>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="table">{html_table(header, rows)}</div>'


def _figure(svg: str, caption: str) -> str:
    words = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{words}</figure>"
