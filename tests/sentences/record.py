"""Writes down every sentence of every error: `./run python tests/sentences/record.py`; review the diff of errors.md.

./run python tests/sentences/record.py              reads src/gaussmith and writes errors.md
./run python tests/sentences/record.py --check      says whether errors.md is up to date
./run python tests/sentences/record.py --raised F   lists the codes that no test raised, of a run of the tests with
                                                    GAUSSMITH_RAISED=F in the environment
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from error_sentences import PAGE, Package, describe  # noqa: E402


def main(words: list[str]) -> None:
    sentences = Package().sentences()
    if not words:
        PAGE.write_text(describe(sentences), "utf-8")
    elif words == ["--check"]:
        if PAGE.read_text("utf-8") != describe(sentences):
            sys.exit(f"{PAGE.name} is out of date: run ./run python tests/sentences/record.py and review the diff")
    elif len(words) == 2 and words[0] == "--raised":
        raised = set(Path(words[1]).read_text("utf-8").split())
        never = sorted({each.code for each in sentences} - raised)
        print("\n".join(never) or "every code was raised")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
