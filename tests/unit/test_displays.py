"""Displays in notebooks: one scoped style, numbers to the right, every text escaped; a spent ledger says so."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gaussmith as gm
from gaussmith import cli
from gaussmith.ledger.book import Ledger

G = gm.Guarantee(epsilon=1, delta=1e-6)
EVIL = "<script>alert(1)</script>&"
SECRET = 987654321.125
TAGS = {"div", "style", "h4", "p", "table", "thead", "tbody", "tr", "th", "td"}


class Display(HTMLParser):
    """The tags of a display and the cells of its tables, each with its class; refuses what is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[tuple[str, str]]] = []
        self.words: dict[str, str] = {}
        self.mark = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":  # where a long name may go on in the next line: it is never closed, and no part of the text
            return
        self.open.append(tag)
        self.tags.add(tag)
        self.mark = dict(attributes).get("class") or ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append((self.mark, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("th", "td"):
            mark, before = self.rows[-1][-1]
            self.rows[-1][-1] = (mark, before + data)
        self.words[self.mark] = self.words.get(self.mark, "") + data


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each kind of value that has a display, with a hostile name in every place that takes one."""
    frame = pl.DataFrame({"g": [EVIL, "b"], EVIL: [SECRET, 2.0]})
    request = gm.Request(frame, by={"g": [EVIL, "b"]}, sums={EVIL: (0, 1e9)}, count=True, guarantee=G)
    ledger = Ledger.create(tmp_path_factory.mktemp("ledgers") / "a&b.ledger", gm.Guarantee(epsilon=3, delta=1e-6), EVIL)
    release = request.plan.release(frame)
    ledger.reserve(EVIL, "asked", G)
    return {"guarantee": G, "request": request, "plan": request.plan, "release": release, "ledger": ledger}


KINDS = ("guarantee", "request", "plan", "release", "ledger")


@pytest.mark.parametrize("kind", KINDS)
def test_a_display_is_closed_escaped_and_styled_within_itself(kind: str, shown: dict[str, Any]) -> None:
    page = shown[kind]._repr_html_()
    assert Display(page).tags <= TAGS and page.startswith('<div class="gaussmith"><style>')
    if kind != "guarantee":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page
    (style,) = re.findall("<style>(.*?)</style>", page)
    selectors = re.findall(r"([^{}]+)\{[^{}]+\}", re.sub(r"@media [^{]+\{(.*?\})\}", r"\1", style))
    assert len(selectors) > 10 and all("div.gaussmith.gaussmith" in selector for selector in selectors)
    assert not re.search(r"background:(?!transparent)|url\(|@import", style)  # the notebook's own, light or dark
    assert "prefers-color-scheme:dark" in style and "[data-jp-theme-light=false]" in style


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_stand_to_the_right_and_texts_to_the_left(kind: str, shown: dict[str, Any]) -> None:
    page = shown[kind]._repr_html_()
    assert "table :is(th,td){" in page and "text-align:right" in page
    cells = [cell for row in Display(page).rows for cell in row]
    number = re.compile(r"-?[\d,.]+(e-\d+)?( %)?( / n)?")
    assert any(number.fullmatch(text) for mark, text in cells if not mark)
    assert not [text for mark, text in cells if mark == "text" and number.fullmatch(text)]
    names = {"guarantee": "μ", "request": "count", "plan": "count", "release": "count", "ledger": "pending"}
    assert ("text", names[kind]) in cells


def test_displays_say_what_they_are_about(shown: dict[str, Any]) -> None:
    rows = [[text for _, text in row] for row in Display(G._repr_html_()).rows]
    assert rows == [["guarantee", ""], ["ε", "1"], ["δ", "1e-06"], ["μ", "0.2367"], ["ρ", "0.02801"]]
    assert "54.8 % of the time" in G._repr_html_() and "ε" not in gm.Guarantee(mu=0.5)._repr_html_()
    asked = [(row[0][1], row[1][1]) for row in Display(shown["request"]._repr_html_()).rows]
    assert {("source", "<DataFrame>"), ("guarantee", str(G)), ("count", "True")} <= set(asked)
    assert "Errors to expect" in shown["request"]._repr_html_() and f"{EVIL}_sum" in dict(asked)
    assert "987654321" not in shown["request"]._repr_html_() + repr(shown["request"])
    ledger = Display(shown["ledger"]._repr_html_())
    assert [text for _, text in ledger.rows[1]][1:6] == [EVIL, "pending", "0.2367", "1", ledger.rows[1][5][1]]
    assert "left: " in ledger.words[""] and "warning" not in ledger.words


@pytest.mark.parametrize("whole", [G, gm.Guarantee(mu=0.5)])
def test_a_spent_ledger_says_so_in_every_print(
    whole: gm.Guarantee, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.ledger"
    ledger = Ledger.create(path, whole)
    said = "nothing: the budget is spent, and no further release fits"
    assert not ledger.is_spent and repr(ledger) == f"Ledger({str(path)!r}, 100 % left)"
    assert said not in ledger._repr_html_()
    stated = [word for name, value in whole.to_dict().items() for word in (f"--{name}", repr(value))]
    assert cli.main(["plan", "--count", *stated, "--ledger", str(path)]) == 0
    assert "leaves nothing: it would be the last one that fits" in capsys.readouterr().out.replace("\n", " ")
    ledger.reserve("all", "asked", whole)
    assert ledger.is_spent and repr(ledger) == f"Ledger({str(path)!r}, spent)"
    assert Display(ledger._repr_html_()).words["warning"] == f"left: {said}"
    for action in ("show", "verify"):
        assert cli.main(["ledger", action, str(path)]) == 0
        printed = capsys.readouterr().out
        assert f"\nleft: {said}\n" in printed and "one more release" not in printed + ledger._repr_html_()
    path.rename(tmp_path / "elsewhere")
    assert repr(ledger) == f"Ledger({str(path)!r})"


def test_a_long_ledger_shows_its_latest_charges_and_where_the_others_are(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1))
    for k in range(30):
        ledger.reserve(f"week {k}", "asked", gm.Guarantee(mu=0.1))
    page = ledger._repr_html_()
    assert [row[1][1] for row in Display(page).rows[1:]] == [f"week {k}" for k in range(6, 30)]
    assert "… and 6 earlier charges: ledger.history()" in page
