"""The workbench in a real browser: the demo story, the keyboard, double clicks, tabs, a killed server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'workbench' is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import sync_playwright
from workbench import CHROMIUM, Workbench, make_folder

from gaussmith.ledger.book import Ledger

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (on Debian: apt install chromium)")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, Path]]:
    folder = make_folder(tmp_path_factory.mktemp("bench"))
    with Workbench(folder, "request.toml", "--ledger", "study.ledger") as running:
        yield running, folder


def open_page(chromium: Any, bench: Workbench, **options: Any) -> Any:
    page = chromium.new_context(**options).new_page()
    page.set_default_timeout(30_000)
    page.goto(bench.address)
    return page


def charges(folder: Path) -> int:
    return len(Ledger(folder / "study.ledger").history())


def faults(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


def test_the_demo_story(chromium: Any, bench: tuple[Workbench, Path]) -> None:
    running, folder = bench
    before = charges(folder)
    page = open_page(chromium, running)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.fill("#rows", "20000")
    page.wait_for_selector("#later-title")
    first = page.text_content(".error-of")
    page.click(".columns summary")
    page.fill("#epsilon", "0.5")
    page.wait_for_function("old => document.querySelector('.error-of').textContent !== old", arg=first)
    assert page.is_visible(".columns li")  # what was opened stays open
    page.focus("button[value=asks]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#asks-2-column")
    assert page.evaluate("document.activeElement.id") == "asks-2-kind"
    page.fill("#asks-2-column", "physlm")
    page.fill("#asks-2-low", "0")
    page.wait_for_selector("#says-asks-2-high .error")
    page.fill("#asks-2-high", "1")
    page.wait_for_selector("tbody th:has-text('physlm_sum')")
    page.click("button[value=asks-0]")  # the lines below move up, and so do the places of their errors
    page.wait_for_selector("#asks-2-column", state="detached")
    page.fill("#asks-0-high", "")
    page.wait_for_selector("#says-asks-0-high .error")
    page.fill("#asks-0-high", "60")
    page.wait_for_selector("tbody th:has-text('disea_mean')")
    assert faults(page) == []
    page.click("text=Continue to release")
    page.wait_for_selector("#go")
    assert "No value has been read" in page.text_content("#told") and faults(page) == []
    back = page.url
    page.dblclick("#go")  # two clicks, one release
    page.wait_for_selector("iframe")
    assert "Read once" in page.text_content("#told") and faults(page) == []
    assert charges(folder) == before + 1
    released = page.url
    page.go_back()
    page.wait_for_selector("iframe")
    assert page.url == released and back != released and charges(folder) == before + 1
    page.click("text=Start a new request from this one")
    page.wait_for_selector("#asks-1-column")
    page.goto(running.home + "ledger")
    page.locator("#n").fill("7")
    page.wait_for_function("() => document.getElementById('n-shown').textContent === '7'")
    assert faults(page) == []
    assert all(url.startswith((running.home, "data:")) for url in asked) and complaints == []
    page.context.close()


def tab_to(page: Any, name: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if page.evaluate("document.activeElement.id") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached with Tab")


@pytest.mark.parametrize("script", [True, False])
def test_a_whole_release_by_keyboard_alone(chromium: Any, bench: tuple[Workbench, Path], script: bool) -> None:
    running, folder = bench
    before = charges(folder)
    page = open_page(chromium, running, java_script_enabled=script)
    tab_to(page, "rows")
    page.keyboard.type("1000")
    page.keyboard.press("Enter")
    page.wait_for_selector("td:has-text('%')")
    tab_to(page, "epsilon")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.2")
    page.keyboard.press("Enter")
    page.wait_for_selector("p:has-text('(ε=0.2,')")
    assert page.input_value("#rows") == "1000"
    tab_to(page, "continue")
    page.keyboard.press("Enter")
    page.wait_for_selector("#go")
    tab_to(page, "id")
    page.keyboard.press("Control+A")
    page.keyboard.type(f"by-keyboard-{script}")
    tab_to(page, "go")
    page.keyboard.press("Enter")
    page.wait_for_selector("iframe")
    assert charges(folder) == before + 1
    assert Ledger(folder / "study.ledger").history()[-1]["id"] == f"by-keyboard-{script}"
    page.context.close()


def test_narrow_pages_do_not_scroll_sideways(chromium: Any, bench: tuple[Workbench, Path]) -> None:
    page = open_page(chromium, bench[0], viewport={"width": 320, "height": 700}, color_scheme="dark")
    page.wait_for_selector(".error-of")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    for address in ("", "ledger"):
        if address:
            page.goto(bench[0].home + address)
        for width in (320, 640):
            page.set_viewport_size({"width": width, "height": 700})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults(page) == []
    page.context.close()


def test_two_tabs_do_not_mix(chromium: Any, bench: tuple[Workbench, Path]) -> None:
    one = open_page(chromium, bench[0])
    two = one.context.new_page()
    two.goto(bench[0].home)
    for page, rows in ((one, "1111"), (two, "2222")):
        page.fill("#rows", rows)
        page.wait_for_function("() => location.search.startsWith('?draft=')")
        page.wait_for_function("() => !document.body.textContent.includes('give a guess of n')")
    one.reload()
    two.reload()
    assert (one.input_value("#rows"), two.input_value("#rows")) == ("1111", "2222")
    one.context.close()


def test_a_server_killed_between_charge_and_store(chromium: Any, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    words = ("request.toml", "--ledger", "study.ledger")
    for variables in ({"GAUSSMITH_FAILPOINT": "before-data"}, {}):
        with Workbench(folder, *words, **variables) as running:
            page = open_page(chromium, running, java_script_enabled=False)
            page.click("text=Continue to release")
            page.fill("#id", "week-1")
            page.click("#go", no_wait_after=True)
            if variables:
                assert running.process.wait(30) == -9
                assert Ledger(folder / "study.ledger").history()[0]["state"] == "pending"
            else:
                page.wait_for_selector("iframe")
            page.context.close()
    (row,) = Ledger(folder / "study.ledger").history()
    assert (row["id"], row["state"]) == ("week-1", "done")
