"""The workbench: how long it takes to start and to plan, how much it adds, and what it asks of the network.

Claimed: a new plan of 50 answers in each of 100 groups takes at most 50 ms of the processor (the median), whatever is
asked, when another ε is typed and when another bound is. The start is by the clock, and is meant for a quiet machine.

`python benchmarks/workbench.py gallery` takes the pictures of docs/workbench.md with the system's Chromium.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import urllib.request
from http.cookiejar import CookieJar
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "shared"), str(ROOT / "benchmarks" / "shared")]

from findings import Findings  # noqa: E402
from workbench import CHROMIUM, Workbench, make_folder  # noqa: E402

PACKAGES = ("starlette", "uvicorn", "jinja2", "anyio", "h11", "click", "markupsafe")
ROUNDS = 15
SIZE = "50 answers × 100 groups"
PLANS = (
    ("sums, another ε", "sums", "complete", False),
    ("means without missing values, another ε", "means", "complete", False),
    ("means that leave missing values out, another ε", "means", "skip", False),
    ("sums, another bound", "sums", "complete", True),
    ("means that leave missing values out, another bound", "means", "skip", True),
)
"""What is asked, as a column's field and what a missing value does; and whether another bound is typed, or ε."""


def measure_start(folder: Path) -> tuple[float, float]:
    """Seconds from the command to the first page, by the clock and of the processor, the best of three."""
    best = busy = float("inf")
    for _ in range(3):
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with Workbench(folder, "request.toml") as running:
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            assert opener.open(running.address).status == 200
            best = min(best, time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = min(busy, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best, busy


def measure_plan(kind: str, missing: str, bound: bool) -> list[float]:
    """Milliseconds of the processor for new plans of 50 answers in each of 100 groups, in order of size.

    Every plan has another ε; or, where `bound` says so, another bound of one of the columns, each in its turn.
    """
    import polars as pl

    from gaussmith.workbench.drafts import Ask, By, Draft
    from gaussmith.workbench.server import open_bench

    def typed(i: int) -> Draft:
        highest = {k: 10 + k for k in range(49)} | ({5 * i % 49: 100 + 13 * i} if bound else {})
        asks = tuple(Ask(kind, f"c{k}", "0", str(high), missing=missing) for k, high in highest.items())
        epsilon = "1" if bound else f"{1 + i / 10}"
        return Draft("wide.parquet", asks=asks, by=groups, epsilon=epsilon, rows="1000")

    with tempfile.TemporaryDirectory() as folder:
        columns = {f"c{k}": [1.0] for k in range(49)} | {"place": ["a"]}
        pl.DataFrame(columns).write_parquet(f"{folder}/wide.parquet")
        bench, _ = open_bench(None, None, Path(folder))
        groups = (By("place", "listed", ", ".join(f"g{k}" for k in range(100))),)
        found = []
        for i in range(ROUNDS + 1):
            draft = typed(i)
            started = time.process_time()
            view = bench.view(draft)
            found.append(1000 * (time.process_time() - started))
            assert view.request is not None and not view.said, view.said
    return sorted(found[1:])  # the first one loads what all need


def added_bytes() -> int:
    """What the packages of the extra and the files of the page take on disk."""
    own = sum(file.stat().st_size for file in (ROOT / "src" / "gaussmith" / "workbench").rglob("*") if file.is_file())
    files = [file for name in PACKAGES for file in metadata.files(name) or () if not str(file).endswith(".pyc")]
    return own + sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists())


def add_past(folder: Path) -> None:
    """Releases of the last weeks in the ledger."""
    from unittest import mock

    from gaussmith.ledger.book import Ledger
    from gaussmith.pipeline.release import release
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.requests.request import Request

    now, data = time.time(), str(folder / "health.parquet")
    for days, epsilon, id in ((17, 0.6, "october"), (6, 0.4, "by-health")):
        request = Request(data, sums={"mdvis": (0, 80)}, count=True, guarantee=Guarantee(epsilon=epsilon, delta=1e-6))
        with mock.patch("gaussmith.ledger.chain.time.time", lambda days=days: now - 86400 * days):
            release(request, ledger=Ledger(folder / "study.ledger"), id=id)


def take_gallery() -> None:
    """The ten pictures, in docs/gallery."""
    from playwright.sync_api import sync_playwright

    target = ROOT / "docs" / "gallery"
    target.mkdir(exist_ok=True)
    groups = "\n[by]\nhlthg = [0, 1]\n"
    quantiles = "[quantiles]\nmdvis = [0.25, 0.5, 0.9]\n\n[bounds]\nmdvis = [0, 80]\n"
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        folder = make_folder(Path(name))
        plain = (folder / "request.toml").read_text()
        (folder / "quantiles.toml").write_text(plain.partition("[sums]")[0] + quantiles)
        (folder / "groups.toml").write_text(plain + groups)
        add_past(folder)
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def shoot(bench: Workbench, picture: str, path: str = "", full: bool = False, **options: object) -> None:
            page = browser.new_context(**{"viewport": {"width": 1120, "height": 780}, **options}).new_page()
            page.goto(bench.address)
            if path:
                page.goto(bench.home + path)
            else:
                page.fill("#rows", "20000")
                page.wait_for_function("() => !document.body.textContent.includes('give a guess of n')")
                page.wait_for_selector("#later-title")
                page.evaluate("window.scrollTo(0, 0)")
            page.screenshot(path=target / f"workbench-{picture}.png", full_page=full)
            page.context.close()

        with Workbench(folder, "request.toml", "--ledger", "study.ledger") as bench:
            shoot(bench, "light")
            shoot(bench, "dark", color_scheme="dark")
            shoot(bench, "phone", viewport={"width": 360, "height": 760})
            page = browser.new_context(viewport={"width": 1120, "height": 780}).new_page()
            page.goto(bench.address)
            page.fill("#asks-0-column", "mdvsi")
            page.wait_for_selector("#says-asks-0-column .error")
            page.evaluate("window.scrollTo(0, 420)")
            page.screenshot(path=target / "workbench-error.png")
            page.fill("#asks-0-column", "mdvis")
            page.wait_for_selector(".error-of")
            page.click("text=Continue to release")
            page.wait_for_selector("#go")
            page.screenshot(path=target / "workbench-confirmation.png")
            page.click("#go")
            page.wait_for_selector("iframe")
            page.wait_for_timeout(1500)
            page.screenshot(path=target / "workbench-report.png")
            shoot(bench, "ledger", "ledger")
        for what in ("groups", "quantiles"):
            with Workbench(folder, f"{what}.toml") as bench:
                shoot(bench, what)
        with Workbench(folder, "request.toml", "--read-only") as bench:
            shoot(bench, "read-only")
        browser.close()


def main() -> int:
    if sys.argv[1:] == ["gallery"]:
        take_gallery()
        return 0
    found = Findings("workbench", "The workbench: what it takes to start and to plan")
    with tempfile.TemporaryDirectory() as name:
        start, busy = measure_start(make_folder(Path(name)))
    found.say("from the command to the first page, seconds", start, f"{busy:.2f} s of the processor (1.5 s, quiet)")
    for asked, kind, missing, bound in PLANS:
        took = measure_plan(kind, missing, bound)
        detail = f"{took[0]:.0f} to {took[-1]:.0f}, {SIZE}"
        found.say(f"{asked}: a new plan, ms of the processor, median", took[len(took) // 2], detail, at_most=50)
    found.say("added on disk, MB", added_bytes() / 1e6, at_most=5)
    page = "".join(p.read_text("utf-8") for p in (ROOT / "src/gaussmith/workbench/templates").glob("*.html"))
    outside = page.count("http://") + page.count("https://")
    found.say("addresses outside this machine in the pages", outside, "tests/pages counts requests", at_most=0)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())
