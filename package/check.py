"""What a release of the package must pass: `./run package` (about two minutes; packages come from pip's index).

Builds the source archive and, from it, the wheel; checks both with twine; reads the long description for dead links;
runs tests from the unpacked archive; installs the wheel into an empty environment without any extra; runs the demo and
what is left of charts there; has pyright look at its types; uninstalls it and looks for what is left behind.

    ./run package                 writes dist/
    ./run package --tests         runs all unit tests of the archive, not a few
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
FEW = [
    "tests/unit/test_package.py",
    "tests/unit/test_website.py",
    "tests/unit/test_guarantee.py",
    "tests/stories/test_readme.py",
]
COMPLETIONS = ("share/bash-completion/completions/gaussmith", "share/zsh/site-functions/_gaussmith")
WITHOUT_EXTRAS = """
import importlib.util, pathlib, sys
import gaussmith as gm
assert pathlib.Path(gm.__file__).is_relative_to(sys.prefix), gm.__file__
for package in ("altair", "vl_convert", "duckdb", "pyspark", "psycopg", "starlette", "pandas", "pyarrow"):
    assert importlib.util.find_spec(package) is None, package
plan = gm.plan(gm.Box({"age": (0, 100), "visits": (0, 80)}), gm.Guarantee(epsilon=1, delta=1e-6))
try:
    plan.chart()
except gm.RequestError as error:
    assert error.code == "chart-package-missing", error
else:
    raise SystemExit("a chart without Altair")
compared = gm.compare(gm.Box([0] * 4, [1] * 4), epsilon=1, delta=1e-6)
page = compared.save("compared.html").read_text("utf-8")
assert "pip install gaussmith[report]" in page and "<table" in page
try:
    compared.save("compared.png")
except gm.RequestError as error:
    assert error.code == "chart-package-missing", error
else:
    raise SystemExit("a picture without vl-convert")
report = pathlib.Path("demo/report.html").read_text("utf-8")
assert report.count("<svg") >= 3 and "A picture is missing" not in report
"""


class Failed(Exception):
    """A step that did not pass."""


def run(*command: str | os.PathLike[str], cwd: Path | None = None, **environment: str) -> str:
    """What a command prints; its own words are shown where it fails."""
    base = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=cwd, env=base | environment, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def build() -> tuple[Path, Path]:
    """The source archive, and the wheel that is built from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    (archive,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return archive, wheel


def read_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(files.read(name).decode("utf-8"))


def check_page(wheel: Path) -> str:
    """The long description is the README, and links to nothing that is not there."""
    text = str(read_metadata(wheel).get_payload())
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    relative = [link for pair in links for link in pair if link and not re.match(r"https?://|#", link)]
    if relative:
        raise Failed(f"the long description has links that lead nowhere: {relative}")
    if len(text) < 4000:
        raise Failed("the long description is not the README")
    return f"{len(text):,} characters, no relative link"


def check_archive(archive: Path, everything: bool) -> str:
    """The tests of the unpacked archive run, with the packages of this environment."""
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(archive) as files:
            files.extractall(place, filter="data")
        (root,) = Path(place).iterdir()
        environment = {"PYTHONPATH": str(root / "src"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        found = run(*pytest, "--collect-only", cwd=root, **environment).strip().splitlines()[-1]
        told = run(*pytest, *(["-n", "2", "tests/unit"] if everything else FEW), cwd=root, **environment)
        return f"{found}; {told.strip().splitlines()[-1].strip('= ')}"


def pinned_versions(folder: Path) -> Path:
    """The versions that are tested, as limits for pip; without hashes, which it would then ask of the wheel too."""
    lines = (ROOT / "requirements" / "runtime.txt").read_text("utf-8").splitlines()
    path = folder / "versions.txt"
    path.write_text("\n".join(line.removesuffix("\\").strip() for line in lines if line[:1].isalnum()), "utf-8")
    return path


def contents(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if "__pycache__" not in path.parts}


def check_installed(wheel: Path) -> str:
    """Into an empty environment and out of it again."""
    with tempfile.TemporaryDirectory() as holder:
        folder = Path(holder).resolve()
        place, work = folder / "env", folder / "work"
        work.mkdir()
        venv.create(place, with_pip=True)
        python = place / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "install", "--constraint", pinned_versions(folder), wheel)
        run(*pip, "check")
        installed = json.loads(run(*pip, "list", "--format", "json"))
        command = place / "bin" / "gaussmith"
        run(command, "demo", "--out", "demo", cwd=work)
        if {path.name for path in (work / "demo").iterdir()} < {"release.json", "answers.csv", "report.html"}:
            raise Failed("the demo did not write its files")
        run(python, "-c", WITHOUT_EXTRAS, cwd=work)
        for name in COMPLETIONS:
            if not (place / name).is_file():
                raise Failed(f"no completions at {name}")
        run("bash", "-n", place / COMPLETIONS[0])
        typed = check_types(python, work)
        run(*pip, "uninstall", "-y", "gaussmith")
        left = sorted(name for name in contents(place) if "gaussmith" in name.lower())
        if left:
            raise Failed(f"left behind: {left}")
        return f"{len(installed) - 1} packages; demo done; {typed}; nothing left behind"


def check_types(python: Path, work: Path) -> str:
    """Pyright takes the types of the installed package from its own py.typed."""
    (work / "user.py").write_text(
        "import gaussmith as gm\n\n"
        "reveal_type(gm.Guarantee(epsilon=1, delta=1e-6).mu)\n"
        "g: str = gm.Guarantee(epsilon=1, delta=1e-6).mu\n",
        "utf-8",
    )
    base = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson", "--pythonpath", str(python)]
    done = subprocess.run([*command, "user.py"], cwd=work, env=base, capture_output=True, text=True)
    said = [each["message"] for each in json.loads(done.stdout)["generalDiagnostics"]]
    if not any('"float"' in text and '"str"' in text for text in said):
        raise Failed(f"pyright does not see the types: {said}")
    if any("stub" in text or "py.typed" in text for text in said):
        raise Failed(f"pyright misses py.typed: {said}")
    return "pyright sees its types"


def main() -> int:
    parser = argparse.ArgumentParser(description="What a release of the package must pass.")
    parser.add_argument("--tests", action="store_true", help="run all unit tests of the source archive")
    options = parser.parse_args()
    source = (ROOT / "src" / "gaussmith" / "__init__.py").read_text("utf-8")
    print("gaussmith", re.findall('__version__ = "(.+)"', source)[0], flush=True)
    try:
        archive, wheel = step("build", lambda: build(), lambda made: ", ".join(_sized(file) for file in made))
        step("twine check", lambda: run(sys.executable, "-m", "twine", "check", "--strict", archive, wheel))
        step("package page", lambda: check_page(wheel))
        step("tests of the archive", lambda: check_archive(archive, options.tests))
        step("empty environment", lambda: check_installed(wheel))
    except Failed as failure:
        print(f"  failed: {failure}", file=sys.stderr)
        return 1
    return 0


def step(name: str, work, told=str):  # type: ignore[no-untyped-def]
    """Do one step, say how long it took and what it found."""
    start = time.perf_counter()
    print(f"  {name:<22}", end="", flush=True)
    found = work()
    words = " ".join(told(found).split())
    print(f"{time.perf_counter() - start:5.1f} s  {words[-160:]}", flush=True)
    return found


def _sized(file: Path) -> str:
    return f"{file.name} {file.stat().st_size / 1e6:.2f} MB"


if __name__ == "__main__":
    sys.exit(main())
