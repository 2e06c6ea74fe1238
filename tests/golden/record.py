"""Records the golden files anew: `./run python tests/golden/record.py`; a diff of golden.json shows what changed.

    ./run python tests/golden/record.py            strategies as found here, then all cases; writes both files
    ./run python tests/golden/record.py --only TEXT    strategies and cases whose name holds the text; the others stay
    ./run python tests/golden/record.py --cases    all cases with the stored strategies; writes golden.json alone
    ./run python tests/golden/record.py --check    compares all cases with the files

A change that is meant to change what is released from a given strategy records the cases alone. A change of the
strategies themselves, or of where their numbers are in a plan, records both.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "shared")]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cases import all_cases, new_plans  # noqa: E402
from comparison import FILE, Kept, differences, is_as_good, keep_price, read_golden  # noqa: E402
from strategies import FILE as STRATEGIES  # noqa: E402
from strategies import numbers_of, store, stored  # noqa: E402


def record_strategies(only: str = "") -> None:
    found = {name: numbers_of(plan()) for name, plan in new_plans() if only in name}
    store(found if not only else stored() | found)
    stored.cache_clear()
    print(f"{STRATEGIES.name}: {STRATEGIES.stat().st_size // 1024} KB")


def find_all(only: str = "") -> dict[str, Kept]:
    """The extract of every case by its first way; all other ways must come to the same."""
    found: dict[str, Kept] = {}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for case in all_cases():
            if only not in case.name:
                continue
            if case.name not in found:
                found[case.name] = case.find(Path(folder))
            elif apart := differences(found[case.name], case.find(Path(folder))):
                wrong.append(f"{case}: {', '.join(apart)}")
    if wrong:
        sys.exit("ways that do not agree:\n" + "\n".join(wrong))
    return found


def find_prices(only: str = "") -> dict[str, Kept]:
    """What the solver finds here, of every plan."""
    return {name: keep_price(plan()) for name, plan in new_plans() if only in name}


def record_cases(only: str = "") -> None:
    parts = {"found": find_prices(only), "cases": find_all(only)}
    if only:
        golden = read_golden()
        parts = {name: golden[name] | found for name, found in parts.items()}
    written = ",\n".join(f'"{part}":{{\n{_lines(found)}\n}}' for part, found in parts.items())
    FILE.write_text("{" + written + "}\n", "utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size // 1024} KB, {len(parts['cases'])} cases")


def _lines(found: dict[str, Kept]) -> str:
    return ",\n".join(f"{json.dumps(name)}:{json.dumps(found[name], separators=(',', ':'))}" for name in sorted(found))


def check() -> None:
    golden, found, prices = read_golden(), find_all(), find_prices()
    cases, recorded = golden["cases"], golden["found"]
    wrong = [f"{name}: {apart}" for name in cases if name in found and (apart := differences(cases[name], found[name]))]
    worse = [name for name in recorded if name in prices and prices[name] != recorded[name]]
    wrong += [
        f"{name}: another price"
        for name in worse
        if not is_as_good(recorded[name], float.fromhex(prices[name]["price"]))
    ]
    wrong += sorted(set(cases) ^ set(found)) + sorted(set(recorded) ^ set(prices))
    print("\n".join(wrong) or f"{len(found)} cases, the same bit by bit; {len(prices)} plans as good")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            record_strategies()
            record_cases()
        case ["--only", text]:
            record_strategies(text)
            record_cases(text)
        case ["--cases"]:
            record_cases()
        case ["--check"]:
            check()
        case _:
            sys.exit(__doc__)
