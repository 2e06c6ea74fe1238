"""Check the types of what users copy: the code of the README, of docs/ and of examples/, as mypy and Pylance see it.

    python tests/shared/typed_pages.py      what `./run check` calls; exits 1 where a checker complains

Pyright runs in its standard mode, without a single exception: it is what an editor shows a newcomer.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
doctest.register_optionflag("NOISY")  # docs/conftest.py


def pages() -> Iterator[tuple[str, str]]:
    """The code of each page under a name of its own: the blocks of the README, the `>>>` lines of docs/."""
    readme = (ROOT / "README.md").read_text("utf-8")
    yield "readme_page.py", "\n".join(re.findall(r"^```python\n(.*?)^```$", readme, flags=re.M | re.S))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found = doctest.DocTestParser().get_examples(page.read_text("utf-8"))
        if found:
            named = "_".join(page.relative_to(ROOT).with_suffix("").parts).removeprefix("docs_").replace("-", "_")
            yield f"{named}_page.py", "".join(example.source for example in found)


def check(folder: Path) -> int:
    """How many checkers complain about the code in a folder."""
    settings = {
        "typeCheckingMode": "standard",
        "reportUnusedExpression": "none",  # a page shows values
        "extraPaths": [str(ROOT / "src"), str(ROOT / "examples/reproduce")],
        "include": [".", str(ROOT / "examples")],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    environment = {**os.environ, "MYPYPATH": f"{ROOT / 'src'}:{ROOT / 'examples/reproduce'}"}
    lenient = ["--ignore-missing-imports", "--follow-imports=silent", "--no-error-summary"]
    commands = [
        [sys.executable, "-m", "mypy", *lenient, ".", str(ROOT / "examples")],
        [sys.executable, "-m", "basedpyright", "--project", str(folder), "--pythonpath", sys.executable],
    ]
    return sum(subprocess.run(command, cwd=folder, env=environment).returncode != 0 for command in commands)


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, code in pages():
            (folder / name).write_text(code, "utf-8")
        return 1 if check(folder) else 0


if __name__ == "__main__":
    sys.exit(main())
