"""Links of the Markdown pages that lead nowhere: `./run check` (files and headings in the tree; nothing is fetched)."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"docs/gallery.md", "docs/reference/commands.md", "docs/reference/errors.md"}
"""Pages that `./run docs` makes."""
FENCE = re.compile(r"^(`{3,}).*?^\1`*$", flags=re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")


def markdown_pages(root: Path = ROOT) -> list[Path]:
    """Every page that a reader may open."""
    outer = [*root.glob("*.md"), *root.glob("benchmarks/results/*.md"), *root.glob("examples/**/*.md")]
    return sorted([*outer, *root.glob("docs/**/*.md")])


def anchor(heading: str) -> str:
    """Where a link to a heading points, as on GitHub and on the site.

    >>> anchor("28. The least ε for an accuracy"), anchor("`--json`, and why")
    ('28-the-least-ε-for-an-accuracy', '--json-and-why')
    """
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def places(text: str) -> set[str]:
    """The anchors of a page."""
    found = {anchor(title) for title in re.findall(r"^#{1,6} (.+)$", FENCE.sub("", text), flags=re.M)}
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)) | set(re.findall(r"id=\"([^\"]+)\"", text))


def dead_links(root: Path = ROOT) -> Iterator[str]:
    """Each link whose file or heading does not exist, as `page: link`."""
    for page in markdown_pages(root):
        name = page.relative_to(root).as_posix()
        text = page.read_text("utf-8")
        for pair in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))):
            link = "".join(pair)
            if re.match(r"[a-z]+:", link):
                continue
            path, _, place = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if target in GENERATED or place in ("only-light", "only-dark"):
                continue
            if not (root / target).exists():
                yield f"{name}: {link}"
            elif place and target.endswith(".md") and place not in places((root / target).read_text("utf-8")):
                yield f"{name}: {link} (no such heading)"


if __name__ == "__main__":
    dead = list(dead_links())
    print("\n".join(dead) or f"{len(markdown_pages())} pages, no dead link")
    sys.exit(1 if dead else 0)
