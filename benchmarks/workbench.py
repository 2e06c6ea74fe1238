"""The workbench: how long it takes to start and to plan, how much it adds, and what it asks of the network.

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
sys.path.insert(0, str(ROOT / "tests" / "shared"))

from workbench import CHROMIUM, Workbench, make_folder  # noqa: E402

PACKAGES = ("starlette", "uvicorn", "jinja2", "anyio", "h11", "click", "markupsafe")
ROUNDS = 15


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


def measure_plan(kind: str, missing: str = "complete") -> tuple[float, float]:
    """Milliseconds on the server for a new ε of 50 answers in each of 100 groups: the least and the median."""
    import polars as pl

    from gaussmith.web.drafts import Ask, By, Draft
    from gaussmith.web.server import open_bench

    with tempfile.TemporaryDirectory() as folder:
        columns = {f"c{i}": [1.0] for i in range(49)} | {"place": ["a"]}
        pl.DataFrame(columns).write_parquet(f"{folder}/wide.parquet")
        bench, _ = open_bench(None, None, Path(folder))
        asks = tuple(Ask(kind, f"c{i}", "0", str(10 + i), missing=missing) for i in range(49))
        groups = (By("place", "listed", ", ".join(f"g{i}" for i in range(100))),)
        found = []
        for i in range(ROUNDS):
            draft = Draft("wide.parquet", asks=asks, by=groups, epsilon=f"{1 + i / 10}", rows="1000")
            started = time.perf_counter()
            view = bench.view(draft)
            found.append(1000 * (time.perf_counter() - started))
            assert view.request is not None and not view.said, view.said
    return min(found), sorted(found)[len(found) // 2]


def added_bytes() -> int:
    """What the packages of the extra and the files of the page take on disk."""
    own = sum(file.stat().st_size for file in (ROOT / "src" / "gaussmith" / "web").rglob("*") if file.is_file())
    files = [file for name in PACKAGES for file in metadata.files(name) or () if not str(file).endswith(".pyc")]
    return own + sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists())


def add_past(folder: Path) -> None:
    """Releases of the last weeks in the ledger."""
    from unittest import mock

    from gaussmith.charged_release import release
    from gaussmith.guarantee import Guarantee
    from gaussmith.ledger import Ledger
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


def main() -> None:
    if sys.argv[1:] == ["gallery"]:
        take_gallery()
        return
    with tempfile.TemporaryDirectory() as name:
        start, busy = measure_start(make_folder(Path(name)))
    print(f"start, from the command to the first page: {start:.2f} s, {busy:.2f} s of the processor (limit 1.5, quiet)")
    for kind, missing in (("sums", "complete"), ("means", "complete"), ("means", "skip")):
        least, median = measure_plan(kind, missing)
        told = f"{kind}, {'missing values left out' if missing == 'skip' else 'none missing'}"
        print(f"a new plan of 50 answers × 100 groups ({told}): {least:.0f} ms at best, {median:.0f} ms median")
    print(f"added on disk: {added_bytes() / 1e6:.1f} MB (limit 5)")
    page = "".join(p.read_text("utf-8") for p in (ROOT / "src/gaussmith/web/templates").glob("*.html"))
    outside = page.count("http://") + page.count("https://")
    print(f"addresses outside this machine in the pages: {outside} (tests/pages counts the requests of a browser)")


if __name__ == "__main__":
    main()
