"""Build the site of docs/ and look for dead links: `./run docs` (no network; writes site/).

./run docs                 build, then check every link, anchor and address of the pages
./run docs --browse        also open it in Chromium, light and dark, and refuse any request to another machine
./run docs --serve         build, then show it at http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
MOST_SECONDS = 60
BROWSED = (
    "index.html",
    "gallery.html",
    "howto.html",
    "reference/api.html",
    "reference/errors.html",
    "coming-from.html",
)


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if "id" in told:
            self.places.add(told["id"])
        if tag == "a" and "name" in told:
            self.places.add(told["name"])
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in told:
            self.loads.append(told["src"])
        if tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loads.append(told.get("href", ""))


def dead_links(site: Path) -> Iterator[str]:
    """Every link that leads to no file or place, and everything that would be loaded from another machine."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # served under any address, so its links start at the root
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or link.startswith("//"):
                if link in page.loads:
                    yield f"{path.relative_to(site)} loads {link}"
                continue
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)} → {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{path.relative_to(site)} → {link}: no such place"


def build() -> None:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def serve(port: int = 0) -> ThreadingHTTPServer:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(SITE)))


def browse(pictures: Path | None = None) -> list[str]:
    """Open pages in a real browser: what they ask of other machines, and errors of their scripts."""
    from playwright.sync_api import sync_playwright

    found: list[str] = []
    server = serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for width in (320, 1280):
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
                tab = context.new_page()
                tab.on(
                    "request",
                    lambda asked: None if asked.url.startswith((home, "data:", "blob:")) else found.append(asked.url),
                )
                tab.on("pageerror", lambda error: found.append(f"a script failed: {error}"))
                every = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))
                for name in every if (scheme, width) == ("light", 1280) else BROWSED:
                    tab.goto(f"{home}/{name}", wait_until="networkidle")
                    wide = tab.evaluate("document.documentElement.scrollWidth")
                    if wide > width + 1:
                        found.append(f"{name} is {wide} pixels wide on a screen of {width}")
                    if pictures is not None and name in BROWSED:
                        tab.screenshot(path=pictures / f"{Path(name).stem}-{scheme}-{width}.png")
                if width == 1280:
                    tab.goto(f"{home}/index.html", wait_until="networkidle")
                    tab.click(".md-search__input")
                    tab.keyboard.type("groups_per_unit")
                    try:
                        tab.wait_for_selector(".md-search-result__item", timeout=10_000)
                    except Exception:
                        found.append("the search found nothing")
                context.close()
        browser.close()
    server.shutdown()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the site of docs/.")
    parser.add_argument(
        "--browse", action="store_true", help="open it in Chromium and look for requests to the outside"
    )
    parser.add_argument("--pictures", metavar="DIR", help="with --browse: where to put pictures of the pages")
    parser.add_argument("--serve", action="store_true", help="show it at http://127.0.0.1:8000")
    options = parser.parse_args()
    start = time.perf_counter()
    build()
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    dead = list(dead_links(SITE))
    pages = len(list(SITE.rglob("*.html")))
    print(f"site/: {pages} pages in {seconds:.0f} s ({processor:.0f} processor seconds), {len(dead)} dead links")
    if options.browse:
        found = browse(Path(options.pictures) if options.pictures else None)
        print(
            f"in Chromium: every page, and {len(BROWSED)} in light and dark on a phone and a desktop, {len(found)} faults"
        )
        dead += found
    for each in dead:
        print(f"  {each}")
    if processor > MOST_SECONDS:
        print(f"  it took longer than {MOST_SECONDS} processor seconds")
    if options.serve and not dead:
        print("http://127.0.0.1:8000 (stop with Ctrl-C)")
        serve(8000).serve_forever()
    return 1 if dead or processor > MOST_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
