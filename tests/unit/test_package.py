"""The package: its page, its completions, and what works without the packages of any extra."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import chart_packages, cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
G = gm.Guarantee(epsilon=1, delta=1e-6)


def load(name: str) -> ModuleType:
    """A module of package/, which is no part of the package itself."""
    pytest.importorskip("hatchling", reason="the build backend is only where ./run installed it")
    pytest.importorskip("shtab", reason="it comes with the build backend")
    spec = importlib.util.spec_from_file_location(f"package_{name}", ROOT / "package" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative_links(text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    return [link for pair in links for link in pair if link and not re.match(r"https?://|#", link)]


def test_the_page_of_an_unpublished_package_has_no_link_that_leads_nowhere() -> None:
    metadata = load("metadata")
    assert len(relative_links(README)) > 10
    page = metadata.page_text(README, "", "0.1.0")
    assert relative_links(page) == [] and "`docs/howto.md`" in page
    assert metadata.addresses("") == {}
    assert "pip install ." in README and "pip install gaussmith " in page
    assert "pip install ." not in page and "copy of this" not in page


def test_with_a_home_every_link_leads_there() -> None:
    metadata = load("metadata")
    page = metadata.page_text(README, "https://example.org/g", "0.1.0")
    assert relative_links(page) == []
    assert "](https://example.org/g/blob/v0.1.0/docs/howto.md)" in page
    assert metadata.addresses("https://example.org/g")["Changelog"].endswith("/CHANGELOG.md")


def test_the_citation_names_this_version_and_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    told = dict(re.findall(r"^(\w[\w-]*): ([^\n]+)$", text, flags=re.M))
    assert (told["version"], told["license"]) == (gm.__version__, PROJECT["license"])
    title = told["title"].strip('"')
    assert f"title  = {{{title}}}" in (ROOT / "docs" / "publishing.md").read_text("utf-8")


def test_the_parsers_of_all_commands_need_the_standard_library_alone() -> None:
    """So completions can be made where nothing but the build backend is installed."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from importlib import import_module; from gaussmith import cli; from gaussmith.cli.parser import Parser\n"
        "for name in cli.COMMANDS:\n"
        "    module = import_module(cli.module_of(name)); module.add_flags(Parser(name, module.__doc__ or ''))\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT / "src")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_completions_know_every_command_and_its_flags() -> None:
    texts = load("completions").completions(ROOT / "src")
    assert set(texts) == {"bash", "zsh", "fish"}
    for text in texts.values():
        for name in cli.COMMANDS:
            assert re.search(rf"\b{name}\b", text), name
        assert "epsilon" in text and "groups-per-unit" in text


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Altair nor vl-convert is installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        chart_packages, "find_spec", lambda name: None if name in ("altair", "vl_convert") else found(name)
    )


@pytest.mark.usefixtures("bare")
def test_without_chart_packages_pages_have_their_pictures(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 1.0]})
    request = gm.Request(table, means={"a": (0, 5), "b": (0, 1)}, count=True, guarantee=G)
    page = gm.release(request).report(tmp_path / "r.html").read_text("utf-8")
    assert page.count("<svg") >= 3 and "A picture is missing" not in page


@pytest.mark.usefixtures("bare")
def test_without_chart_packages_what_cannot_be_drawn_says_so(tmp_path: Path) -> None:
    with refused("chart-package-missing"):
        gm.plan(gm.Box([0, 0], [1, 1]), G).chart()
    compared = gm.compare(gm.Box([0] * 4, [1] * 4), epsilon=1, delta=1e-6)
    with refused("chart-package-missing"):
        compared.chart()
    for name in ("c.png", "c.svg"):
        with refused("chart-package-missing"):
            compared.save(tmp_path / name)
    page = compared.save(tmp_path / "c.html").read_text("utf-8")
    assert chart_packages.INSTALL in page and "<table" in page
