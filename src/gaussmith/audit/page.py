"""The one-page HTML verdict: what was claimed, what was tried, what would have been noticed, what was found."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaussmith.audit.verdict import Verdict

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.survived { color: #14532d; } .refuted { color: #991b1b; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d4d4d4; }
tr.refuted td { background: #fef2f2; } td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def verdict_page(verdict: Verdict) -> str:
    """The page as one document without scripts or further files."""
    word = "survived" if verdict.survived else "refuted"
    rows = "\n".join(
        f'<tr class="{"refuted" if each.refutes else "passed"}"><td>{escape(each.name)}</td><td>{each.kind}</td>'
        f'<td class="number">{each.samples:,}</td>'
        f"<td>{'refuted: ' if each.refutes else ''}{escape(each.finding)}</td></tr>"
        for each in verdict.attempts
    )
    power = "\n".join(f"<li>{escape(text)}</li>" for text in verdict.power) or "<li>exact attempts only</li>"
    bound = "" if not verdict.bound else f"<p>The largest lower bound on μ that was found: {verdict.bound:.6g}.</p>"
    claimed = "" if verdict.mu is None else f" (μ={verdict.mu:.6g})"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Audit: {word}</title><style>{_STYLE}</style></head><body>
<h1 class="{word}">The claim {"survived" if verdict.survived else "is refuted"}</h1>
<h2>What was claimed</h2><p>{escape(verdict.target)}: {escape(verdict.claim)}{claimed}</p>
<h2>What was tried, and found</h2>
<table><thead><tr><th>attempt</th><th>kind</th><th>samples</th><th>finding</th></tr></thead><tbody>
{rows}
</tbody></table>{bound}
<h2>What would have been noticed, with probability 0.8 or more</h2><ul>{power}</ul>
<p>A true claim is refuted with probability at most {verdict.error:g}. A claim that survived is not proven by that.
It took {verdict.seconds:.1f} s.</p>
</body></html>
"""
