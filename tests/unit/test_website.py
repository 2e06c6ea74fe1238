"""The pages of the docs: no dead link, each in the menu, the generated ones complete. `./run docs` builds the site."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts import importing

from gaussmith import cli

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load() -> Iterator[Any]:
    """Modules of website/ and proofs/jobs by name."""
    with importing("website", "proofs/jobs"):
        yield importlib.import_module


def test_no_link_of_a_page_is_dead(load: Any) -> None:
    assert list(load("links").dead_links()) == []


def test_dead_links_are_found(load: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("[a](docs/a.md#x-y) [b](docs/b.md) [c](docs/a.md#z) `[d](e.md)`\n", "utf-8")
    (tmp_path / "docs" / "a.md").write_text("# X, y\n\n```\n# Z\n```\n", "utf-8")
    found = list(load("links").dead_links(tmp_path))
    assert found == ["README.md: docs/b.md", "README.md: docs/a.md#z (no such heading)"]


def test_every_page_of_the_menu_exists(load: Any) -> None:
    """A page that the menu does not name is put at its end when the site is built."""
    menu = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), flags=re.M))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    generated = {name.removeprefix("docs/") for name in load("links").GENERATED}
    outside = {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/results/results.md"}
    notebooks = {f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    assert len(menu) > 35 and menu <= pages | generated | outside | notebooks


def test_nothing_of_the_site_comes_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "font: false" in settings and "inventories: []" in settings
    assert not re.search(r"https?://", settings)


def test_the_reference_has_every_command_and_every_error(load: Any) -> None:
    reference = load("reference")
    commands = reference.commands_page()
    assert all(f"## gaussmith {name}\n" in commands for name in cli.COMMANDS)
    errors = reference.errors_page()
    codes = re.findall(r"^## (.+)$", (ROOT / "tests/sentences/errors.md").read_text("utf-8"), flags=re.M)
    assert len(codes) > 500 and re.findall(r"^## (.+)$", errors, flags=re.M) == codes
    assert errors.count("cure: ") > 0.8 * len(codes) and errors.count("cause: ") > 0.8 * len(codes)


def test_every_public_name_is_in_the_reference() -> None:
    import gaussmith as gm

    page = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    documented = {name.rpartition(".")[2] for name in re.findall(r"^::: (.+)$", page, flags=re.M)}
    errors = {name for name in gm.__all__ if name.endswith("Error")}
    assert set(gm.__all__) - errors <= documented and "errors" in documented


def test_the_pages_of_other_libraries_show_what_ran(load: Any) -> None:
    for path, text in load("peers_pages").pages().items():
        assert path.read_text("utf-8") == text, "./run prove peers --pages"


def test_links_that_lead_nowhere_are_found_in_a_built_site(load: Any, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="b.html">b</a><a href="#x">x</a><a href="#y">y</a>', "utf-8"
    )
    (tmp_path / "c.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="a.html#x">a</a>', "utf-8"
    )
    found = list(load("build").dead_links(tmp_path))
    assert found == ["a.html → b.html", "a.html → #y: no such place", "c.html loads https://cdn.example/x.js"]


def test_examples_are_shown_as_code_to_copy_with_their_output(load: Any) -> None:
    hooks = load("hooks")
    page = "```python\n>>> x = 1\n>>> x + 1   # doctest: +NOISY\n2\n>>> f(\n...     x)\n"
    page += "Traceback (most recent call last):\nE: no\n\n```\n"
    shown = hooks.BLOCK.sub(hooks._without_prompts, page)
    code, output = (
        re.findall(r"^```python\n(.*?)\n```", shown, re.M | re.S),
        re.findall(r"no-copy }\n(.*?)\n```", shown, re.S),
    )
    assert code == ["x = 1\nx + 1", "f(\n    x)"] and output == ["2", "E: no"]
    assert hooks.BLOCK.sub(hooks._without_prompts, "```python\nx = 1\n```\n") == "```python\nx = 1\n```\n"


def test_formulas_of_the_theory_are_set_and_its_proofs_folded(load: Any) -> None:
    hooks = load("hooks")
    page = "**1. Name.** x_i ≤ e^{−t} for `a_b` (i < j).\n*Proof.* Since y_j z. ∎\n*Functions:* `f_g` · *Tests:* `t`\n"
    shown = hooks._raised(hooks._folded(page))
    assert "x<sub>i</sub> ≤ e<sup>−t</sup> for `a_b` (i < j)" in shown
    assert "<summary>Proof</summary>" in shown and "y<sub>j</sub> z" in shown
    assert "*Functions:* `f_g` · *Tests:* `t`\n{ .checked }" in shown


def test_every_proof_of_the_theory_is_folded(load: Any) -> None:
    text = (ROOT / "docs" / "theory.md").read_text("utf-8")
    folded = load("hooks")._folded(text)
    assert folded.count("<summary>Proof</summary>") == text.count("*Proof.*") > 70


def test_examples_of_docstrings_become_blocks(load: Any) -> None:
    fenced = load("docstrings").with_fences("Twice.\n\n>>> 1 + 1\n2\n\nMore.")
    assert fenced == "Twice.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
