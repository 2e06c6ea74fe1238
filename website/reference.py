"""Pages of the reference that are written from the source: commands with their options, errors with cause and cure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from gaussmith import cli
from gaussmith.cli.parser import Parser

ROOT = Path(__file__).resolve().parents[1]
KINDS = {
    "RequestError": "The request is wrong; no data value was read, nothing was spent.",
    "GuaranteeError": "A guarantee with invalid numbers.",
    "DomainError": "A domain with invalid bounds, radii or labels.",
    "PlanError": "A plan that cannot be made, read or carried out.",
    "SourceError": "A source that does not exist, cannot be opened, or lacks a column.",
    "ExpressionError": "A filter or derived column outside the small language.",
    "LedgerError": "A ledger that is missing, locked, damaged or meant for other data.",
    "BudgetError": "The ledger refuses: nothing was read, nothing was spent.",
    "DataError": "The engine or the data failed after the data was opened.",
    "InternalError": "An internal call failed.",
}


def commands_page() -> str:
    """What `gaussmith COMMAND --help` prints, for every command."""
    parts = [
        "# Every command and option",
        "",
        "What `gaussmith COMMAND --help` prints. [More about them](../command-line.md).",
        "",
    ]
    for name in cli.COMMANDS:
        module = import_module(cli.module_of(name))
        parser = Parser(name, module.__doc__ or "")
        module.add_flags(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
        parts += [f"## gaussmith {name}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def error_sentences() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each code with the class and the words of every place that raises it, from tests/sentences/errors.md."""
    text = (ROOT / "tests" / "sentences" / "errors.md").read_text("utf-8")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        code, _, rest = part.partition("\n")
        yield code.strip(), re.findall(r"^- (\w+): (.+)$", rest, flags=re.M)


def errors_page() -> str:
    """Every code: what is wrong and the rule (the cause), and what to do (the cure)."""
    parts = [
        "---",
        "search:",
        "  exclude: true",
        "---",
        "",
        "# Errors",
        "",
        "Every error has a `code`, which stays when its words change, and says what is wrong, the rule it breaks and what",
        "to do. The words are those of the source; braces hold what is known only when it happens, and ⟨ | ⟩ alternatives.",
        "",
        "| class | meaning |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in KINDS.items()),
        "",
    ]
    for code, places in error_sentences():
        parts += [f"## {code}", ""]
        for kind, words in places:
            what, _, rest = words.partition(" · ")
            rule, _, remedy = rest.rpartition(" · ") if " · " in rest else (rest, "", "")
            parts.append(f"- `{kind}` **{_text(what)}**")
            parts += [f"    - cause: {_text(rule)}"] if rule else []
            parts += [f"    - cure: {_text(remedy)}"] if remedy else []
        parts.append("")
    return "\n".join(parts)


def notebook_page(file: Path) -> str:
    """The cells of a notebook, which is stored without output, and where to get it."""
    parts = []
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts += [f"```python\n{source}\n```" if cell["cell_type"] == "code" else source, ""]
    return "\n".join([*parts, f"[This page as a notebook]({file.name}), to run in Jupyter.", ""])


def _text(words: str) -> str:
    """Words of the source as Markdown that shows them as they are."""
    words = words.replace("\\n", " ")
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", words)
