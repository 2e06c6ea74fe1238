"""Records the golden file anew: `./run python tests/golden/record.py`; a diff of the file shows what changed.

    ./run python tests/golden/record.py            all cases, under several kinds of linear algebra; writes golden.json
    ./run python tests/golden/record.py --check    compares all cases with it, bit by bit, whatever their grade

Closed forms give the same integers on every processor. Where noise is solved numerically, another kernel of the linear
algebra may round a last bit otherwise, and then the integers differ too. Recording finds such cases by doing all
of them again under other kernels; they are named in the file under "near" and "turned" and compared as
`comparison.GRADES` says. `--check`, on the machine that recorded the file, compares them bit by bit as well: do that
before and after a change that must not change a release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "shared")]
os.environ["GAUSSMITH_CACHE"] = "off"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cases import all_cases  # noqa: E402
from comparison import FILE, GRADES, Kept, differences, read_golden  # noqa: E402

KERNELS: dict[str, dict[str, str]] = {
    "two threads": {"OPENBLAS_NUM_THREADS": "2"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Prescott, plain numpy": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"},
}
"""Under which all cases are done again."""


def find_all(every_way: bool) -> dict[str, Kept]:
    """The extract of every case by its first way; all other ways must come to the same."""
    found: dict[str, Kept] = {}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for case in all_cases():
            if case.name not in found:
                found[case.name] = case.find(Path(folder))
            elif every_way and (apart := differences(found[case.name], case.find(Path(folder)))):
                wrong.append(f"{case}: {', '.join(apart)}")
    if wrong:
        sys.exit("ways that do not agree:\n" + "\n".join(wrong))
    return found


def find_elsewhere(setting: dict[str, str]) -> dict[str, Kept]:
    """The same under another kernel."""
    words = [sys.executable, __file__, "--print"]
    done = subprocess.run(words, env={**os.environ, **setting}, capture_output=True, text=True, check=True)
    kept: dict[str, Kept] = json.loads(done.stdout)
    return kept


def record() -> None:
    found = find_all(every_way=True)
    grades = dict.fromkeys(found, 0)
    for kernel, setting in KERNELS.items():
        elsewhere = find_elsewhere(setting)
        for name, kept in found.items():
            fits = [not differences(kept, elsewhere[name], grade) for grade in GRADES]
            if not any(fits):
                sys.exit(f"{name} under {kernel}: {', '.join(differences(kept, elsewhere[name], GRADES[-1]))}")
            grades[name] = max(grades[name], fits.index(True))
        print(
            f"{kernel}: {sum(bool(differences(found[name], elsewhere[name])) for name in found)} cases are not the same"
        )
    lines = [f"{json.dumps(name)}:{json.dumps(found[name], separators=(',', ':'))}" for name in sorted(found)]
    named = {grade: sorted(name for name in found if grades[name] == i) for i, grade in enumerate(GRADES)}
    heads = "".join(f'"{grade}":{json.dumps(named[grade], indent=0)},\n' for grade in GRADES[1:])
    FILE.write_text("{" + heads + '"cases":{\n' + ",\n".join(lines) + "\n}}\n", "utf-8")
    print(f"{FILE.stat().st_size // 1024} KB:", ", ".join(f"{len(names)} {grade}" for grade, names in named.items()))


def check() -> None:
    golden, found = read_golden()["cases"], find_all(every_way=True)
    wrong = [f"{name}: {differences(golden[name], found[name])}" for name in found if name in golden]
    wrong = [line for line in wrong if not line.endswith(": []")] + sorted(map(str, set(golden) ^ set(found)))
    print("\n".join(wrong) or f"{len(found)} cases, the same bit by bit")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(json.dumps(find_all(every_way=False)))
    elif sys.argv[1:] == ["--check"]:
        check()
    elif not sys.argv[1:]:
        record()
    else:
        sys.exit(__doc__)
