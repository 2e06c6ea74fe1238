"""Docstrings as they are written in the source: `>>>` lines become blocks of code, other text stays Markdown."""

from __future__ import annotations

from typing import Any

import griffe


class Fences(griffe.Extension):  # type: ignore[misc]
    """Puts fences around the examples of every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = with_fences(obj.docstring.value)


def with_fences(text: str) -> str:
    """The text with each run of `>>>` lines and their output as a block of code, up to a blank line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            lines += ["", "```pycon"] if lines and lines[-1] else ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
