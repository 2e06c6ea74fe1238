"""Displays for notebooks: one style for all, in light and in dark; numbers to the right, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from gaussmith.texts import printable
from gaussmith.words.tables import html_table

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.requests import Request

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
    rows += [("μ", f"{guarantee.mu:.4g}"), ("ρ", f"{guarantee.rho:.4g}")]
    return framed(html_table(("guarantee", ""), rows, left=1) + paragraph(guarantee.describe()))


def request_html(request: Request) -> str:
    """What is asked, and the errors to expect; nothing of it is from data."""
    from gaussmith.words.plans import plan_body

    said = [(name, text) for name, text in request.said() if name != "guarantee"]
    asked = facts([*said, ("guarantee", str(request.guarantee)), ("protects", request.plan.protects)])
    return framed(f"{heading('Request')}{asked}{heading('Errors to expect')}{plan_body(request.plan)}")
