"""The sections of a page about its noise: beside the standard Gaussian, and its shape."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.plans.standard_gaussian import compare_block, compare_release, standard_scale
from gaussmith.report.charts import MAX_BARS, drawn_names, draws_line, draws_record, noise_spec, plan_spec
from gaussmith.report.drawing import draw
from gaussmith.report.markup import escaped, figure_with, paged_table, prose
from gaussmith.report.reviewers import PERSON, RECORD
from gaussmith.report.spectra import errors_spec, spectrum_spec
from gaussmith.texts import printable
from gaussmith.words.blocks import (
    RANKS,
    describe_divided,
    describe_optimality,
    describe_shape,
    describe_spectrum,
)
from gaussmith.words.numbers import decimals, figure

if TYPE_CHECKING:
    from gaussmith.plans import Block, Draw
    from gaussmith.plans.standard_gaussian import Comparison
    from gaussmith.releases import Release

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
    plan, ties = release.plan, {id(piece.draw.tie) for piece in release.plan.pieces}
    several, pieces = len(plan.provable) > 1, release.pieces
    if len(pieces) > 1 and (len(ties) > 1 or plan.pieces[0].draw.tie is None):
        return "\n".join(compared_section(piece) for piece in pieces if not piece.plan.draw.is_public)
    block = pieces[0].block
    if plan.groups is None or release.view.groups is not None:
        return _noise(block, compare_release(release, MAX_ROWS), several)
    compared = [  # all groups have the same noise, or this is the largest
        each
        for piece in plan.pieces
        for each in compare_block(piece.block, most=MAX_ROWS, standard_scale=standard_scale(piece))
    ]
    return _noise(block, compared, several, plan.pieces[0].draw)


def _noise(block: Block, comparisons: Sequence[Comparison], several: bool, groups: Draw | None = None) -> str:
    """Errors beside the standard Gaussian's; `several` noises share the guarantee."""
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
    table = paged_table(["answer", "± error", "standard Gaussian", "ratio"], rows)
    if max(len(known), len(block.answers)) > MAX_ROWS:
        table += f"<p>Compared: the first {MAX_ROWS} answers.</p>"
    shares = [c.share for c in known[:MAX_ROWS] if c.share is not None]
    lead = _lead(shares)
    worse = WORSE if max(shares) > 1.005 else ""
    together = block.whole is not None or block.tie is not None
    what = "the plan of all questions that were planned together" if together else "the plan"
    shared = groups is not None and groups.is_shared
    where = "in each group, at its share of μ, " if shared else "at its share of μ, " if several else ""
    where = where if block.lender is None else ""
    caption = "Blue: this release. Grey: the standard Gaussian mechanism."
    caption += f" The first {MAX_BARS} of the table." if len(rows) > MAX_BARS else ""
    bars = figure_with(draw(noise_spec(known), label), caption)
    over_n = groups is not None and block.answers.any_divided
    divided = f"<p>{prose('; '.join(describe_divided(block)))}.</p>" if over_n else ""
    divided += f"<p>{RANKS[0].upper()}{RANKS[1:]}.</p>" if block.answers.any_inverted else ""
    return (
        f"<p>{prose(lead)}, at the same guarantee; {what} is {prose(where + describe_optimality(block))}. "
        "The standard mechanism adds independent noise of equal size to every answer, in units of its weight."
        f"{worse}</p>\n"
        f'<div class="fit">\n<div>{table}{divided}</div>\n{bars}\n</div>'
    )


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
    times = figure(1 / block.guarantee.mu, 2)
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
