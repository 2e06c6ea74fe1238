"""What mkdocs does beside its own: pages that are generated, and links out of docs/.

Generated: every command with its options (from `--help`), every error with its cause and cure (from the source), the
gallery with live reports. A link to a file outside docs/ leads to a copy of that file on the site: Markdown becomes a
page, everything else a text.
"""

from __future__ import annotations

import doctest
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE), str(ROOT / "tests" / "sentences")]

import gallery  # noqa: E402
import reference  # noqa: E402

PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/results/results.md",
    "examples/reproduce/README.md",
)
doctest.register_optionflag("NOISY")  # docs/conftest.py
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.M | re.S)
INDEX = re.compile(r"(?<=[\w‖)\]′½])_(\{[^{}]*\}|[a-z0-9]+|[A-ZΑ-Ωα-ω∞])")
POWER = re.compile(r"\^(\{[^{}]*\}|[a-zα-ω]|[0-9]+|½)")
PROOF = re.compile(r"^(\*Proof\.\*.*?∎)", flags=re.M | re.S)
CHECKED = re.compile(r"^(\*Functions:\* .*)$", flags=re.M)
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(\))")


def on_config(config: Any) -> Any:
    """Put pages that the menu does not name at its end, so that every page can be found."""
    named = re.findall(r"[\w/.-]+\.md", repr(config["nav"]))
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    rest = [page for page in pages if page not in named]
    config["nav"] += [{"More": rest}] if rest else []
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is generated, and every file outside docs/ that a page links to."""
    made = {
        "reference/commands.md": reference.commands_page(),
        "reference/errors.md": reference.errors_page(),
        **gallery.pages(),
    }
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        made[f"notebooks/{notebook.stem}.md"] = reference.notebook_page(notebook)
    made |= {name: (ROOT / name).read_text("utf-8") for name in PAGES}
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    for name in sorted(_linked_files(files)):
        files.append(File.generated(config, f"files/{name}.txt", content=_content(ROOT / name)))
    for picture in (ROOT / "benchmarks" / "results").glob("*.svg"):
        name = f"benchmarks/results/{picture.name}"
        files.append(File.generated(config, name, content=picture.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links out of docs/ into links on the site, and examples into code that can be copied, with its output."""
    source = page.file.src_uri
    if source in ("theory.md", "errata.md"):
        markdown = _raised(_folded(markdown))
    markdown = BLOCK.sub(lambda block: _without_prompts(block), _without_marks(markdown))
    return LINK.sub(lambda link: _rewritten(link, source), markdown)


def _without_prompts(block: re.Match[str]) -> str:
    """Code without `>>>`, and what it prints in a block of its own."""
    examples = doctest.DocTestParser().get_examples(block[1])
    parts: list[str] = []
    code = ""
    for example in examples:
        code += re.sub(r" *# doctest: .*$", "", example.source, flags=re.M)
        if example.want or example.exc_msg:
            said = example.exc_msg or example.want
            parts += ["```python", code.rstrip(), "```", "", "``` { .text .output .no-copy }", said.rstrip(), "```", ""]
            code = ""
    parts += ["```python", code.rstrip(), "```", ""] if code else []
    return "\n".join(parts).rstrip() if examples else block[0]


def _raised(markdown: str) -> str:
    """Indices and powers of formulas that are typed as text, such as λ_j and e^{−t}, set as such."""
    parts = re.split(r"(`[^`]*`|\]\([^)]*\)|at_most|</?[a-z][^>]*>)", markdown)
    for i in range(0, len(parts), 2):
        text = INDEX.sub(lambda found: f"<sub>{found[1].strip('{}')}</sub>", parts[i])
        parts[i] = POWER.sub(lambda found: f"<sup>{found[1].strip('{}')}</sup>", text)
    return "".join(parts)


def _folded(markdown: str) -> str:
    """The theory with its proofs folded, and small print for the functions and tests of a statement."""
    markdown = PROOF.sub(
        r'\n<details class="proof" markdown="1"><summary>Proof</summary>\n\n\1\n\n</details>\n', markdown
    )
    return CHECKED.sub(r"\n\1\n{ .checked }\n", markdown)


def _without_marks(markdown: str) -> str:
    return re.sub(r"^<!-- (?:\w+: made by .*|end) -->\n", "", markdown, flags=re.M)


def _outside(target: str, source: str) -> str | None:
    """The path from the root of the repository, if a link from a page leads out of docs/ to something that exists."""
    start = "" if source in PAGES else "docs"
    path = posixpath.normpath(posixpath.join(start, posixpath.dirname(source), target))
    if (ROOT / path).is_dir() and path.startswith("docs/"):
        return path
    if path.startswith("docs/") and (start or (ROOT / path).is_file()):
        return path if not start else None
    return path if (ROOT / path).exists() and not path.startswith("..") else None


def _rewritten(link: re.Match[str], source: str) -> str:
    before, target, anchor, after = link[1], link[2], link[3] or "", link[4]
    path = _outside(target, source)
    if path is None:
        return link[0]
    if path == "README.md":
        path, anchor = "index.md", ""
    elif path.startswith("docs/") and not (ROOT / path).is_dir():
        path = path.removeprefix("docs/")
    elif path not in PAGES and not path.endswith(".svg"):
        path, anchor = f"files/{path}.txt", ""
    return f"{before}{posixpath.relpath(path, posixpath.dirname(source) or '.')}{anchor}{after}"


def _content(path: Path) -> bytes:
    """A file, or the names of the files in a folder."""
    if path.is_file():
        return path.read_bytes()
    names = [each.relative_to(path).as_posix() for each in sorted(path.rglob("*")) if each.is_file()]
    return "\n".join([f"{path.relative_to(ROOT).as_posix()}/", *names, ""]).encode()


def _linked_files(files: Files) -> set[str]:
    found = set()
    for file in files:
        if file.src_uri.endswith(".md"):
            for link in LINK.finditer(file.content_string):
                path = _outside(link[2], file.src_uri)
                inside = path is None or path in PAGES or (path.startswith("docs/") and not (ROOT / path).is_dir())
                if path and not inside:
                    found.add(path)
    return found - {"README.md"} - {name for name in found if name.endswith(".svg")}
