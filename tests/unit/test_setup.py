"""The set-up: `./run` against a stand-in for Python, and the pinned requirement files against pyproject.toml."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import gaussmith

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

STAND_IN = """#!/bin/sh
# Answers as an interpreter would, and notes every start of pip.
case "$1 $2" in
  "--version "*) echo "Python $FAKE_VERSION" ;;
  "-c "*version_info*) [ "$FAKE_VERSION" != 3.9.2 ] ;;
  "-c "*ensurepip*) [ -z "$FAKE_NO_VENV" ] ;;
  "-m venv") mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  "-m pip") echo "$*" >>"$FAKE_LOG" && [ -z "$FAKE_PIP_FAILS" ] ;;
  "-m pytest") echo "$PWD|$*" && case " $FAKE_TESTS " in *" $3 "*) exit "${FAKE_TESTS%% *}" ;; esac ;;
  *) echo "$PWD|$*" ;;
esac
"""


@dataclass(frozen=True)
class Tree:
    """A copy of the set-up in a directory with a space in its name, and a stand-in for Python."""

    root: Path
    python: Path
    log: Path

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        # A bare environment: no HOME, no variable of the machine that runs the tests but PATH.
        base = {"PATH": os.environ["PATH"], "PYTHON": str(self.python), "FAKE_LOG": str(self.log)}
        base |= {"FAKE_VERSION": "3.12.1", "FAKE_NO_VENV": "", "FAKE_PIP_FAILS": "", "FAKE_TESTS": ""}
        return subprocess.run(
            [self.root / "run", *arguments],
            cwd=cwd or self.root.parent,
            env=base | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def pip_calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def stamps(self) -> list[str]:
        return sorted(path.name for path in self.root.glob(".venv/*.stamp*"))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path / "a tree"
    root.mkdir()
    shutil.copy(ROOT / "run", root)
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copytree(ROOT / "requirements", root / "requirements")
    python = tmp_path / "python-stand-in"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    return Tree(root, python, tmp_path / "pip.log")


def test_help_needs_no_python(tree: Tree) -> None:
    for arguments in [(), ("help",), ("--help",)]:
        done = tree.run(*arguments, PYTHON="/nonexistent")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: ./run COMMAND")
    assert not (tree.root / ".venv").exists()


def test_an_unknown_command_is_refused_with_the_usage(tree: Tree) -> None:
    done = tree.run("tset")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./run COMMAND")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"PYTHON": "no-such-python"},
            "run: no-such-python not found · Gaussmith needs Python 3.11 or newer · install it",
        ),
        ({"FAKE_VERSION": "3.9.2"}, "is Python 3.9.2 · Gaussmith needs Python 3.11 or newer · name a newer one"),
        (
            {"FAKE_NO_VENV": "1"},
            "has no venv · Gaussmith keeps its packages in one · install it (on Debian and Ubuntu:",
        ),
    ],
)
def test_a_python_that_will_not_do_is_said_plainly(tree: Tree, environment: dict[str, str], message: str) -> None:
    done = tree.run("demo", **environment)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_packages_are_installed_once_with_hashes_and_pinned_backends(tree: Tree) -> None:
    first = tree.run("python", "-c pass")
    assert first.returncode == 0
    build, runtime, editable = tree.pip_calls()
    assert "--require-hashes" in build and build.endswith("requirements/build.txt")
    assert "--require-hashes --no-build-isolation" in runtime and runtime.endswith("requirements/runtime.txt")
    assert editable.endswith("--no-build-isolation --no-deps --no-index --editable .")
    assert "installing" in first.stderr

    second = tree.run("demo", "--json")
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.endswith("|-m gaussmith demo --json\n")
    assert len(tree.pip_calls()) == 3


def test_the_tests_have_a_stage_of_their_own_that_covers_the_first(tree: Tree) -> None:
    assert tree.run("test", "-q").stdout.endswith("|-m pytest -q\n")
    assert [call.split()[-1] for call in tree.pip_calls()] == ["requirements/build.txt", "requirements/dev.txt", "."]
    assert tree.stamps() == ["dev.stamp", "runtime.stamp"]
    tree.run("demo")
    assert len(tree.pip_calls()) == 3


def test_the_lowest_versions_have_an_environment_of_their_own(tree: Tree) -> None:
    """By default the tests of data doors, with --all every test; other arguments go to pytest as ever."""
    done = tree.run("test", "--lowest")
    assert "making .venv-lowest" in done.stderr and not (tree.root / ".venv").exists()
    assert [call.split()[-1] for call in tree.pip_calls()] == ["requirements/build.txt", "requirements/lowest.txt", "."]
    words = done.stdout.strip().split("|-m pytest ")[1].split()
    files = [word for word in words if word.startswith("tests/")]
    assert {"tests/unit/test_files.py", "tests/unit/test_sources.py", "tests/unit/test_versions.py"} <= set(files)
    assert words == ["-n", "2", "--dist", "loadfile", "-k", "not", "spark", *files]
    for file in files:
        assert (ROOT / file).is_file(), file
    spared = {path.name for path in (ROOT / "tests/engines").glob("test_*.py")} - {Path(file).name for file in files}
    assert spared == {path.name for path in (ROOT / "tests/engines").glob("test_spark*.py")}

    assert tree.run("test", "--lowest", "-k", "x").stdout.endswith("|-m pytest -k x\n")
    assert len(tree.pip_calls()) == 3
    assert tree.run("test", "--lowest", "--all").stdout.endswith("|-m pytest -n 2 --dist loadfile\n")
    assert tree.pip_calls()[4].endswith("requirements/lowest-all.txt")
    assert tree.run("test", "--lowest", "-q").stderr == ""  # the larger set holds the smaller one


def test_what_fails_in_a_whole_run_fails_at_once(tree: Tree) -> None:
    """No test is run again: one that fails by chance is mended."""
    for failing, status in [("", 0), ("1 -n", 1), ("2 -n", 2)]:
        done = tree.run("test", FAKE_TESTS=failing)
        assert done.returncode == status
        assert [line.split("|")[1] for line in done.stdout.splitlines()] == ["-m pytest -n 2 --dist loadfile"]
    alone = tree.run("test", "-q", FAKE_TESTS="1 -q")
    assert (alone.returncode, alone.stdout.splitlines()) == (1, [f"{tree.root}|-m pytest -q"])


def test_a_failed_install_leaves_no_stamp_and_is_tried_again(tree: Tree) -> None:
    done = tree.run("demo", FAKE_PIP_FAILS="1")
    assert done.returncode == 1
    assert "run: the packages are not complete" in done.stderr
    assert done.stdout == ""
    assert tree.stamps() == []
    assert tree.run("demo").returncode == 0
    assert tree.stamps() == ["runtime.stamp"]


@pytest.mark.parametrize("changed", ["requirements/runtime.txt", "requirements/build.txt", "pyproject.toml"])
def test_changed_requirements_are_installed_anew(tree: Tree, changed: str) -> None:
    tree.run("demo")
    with (tree.root / changed).open("a") as file:
        file.write("# changed\n")
    tree.run("demo")
    assert len(tree.pip_calls()) == 6


def test_a_moved_tree_and_another_python_are_noticed(tree: Tree, tmp_path: Path) -> None:
    tree.run("demo")
    moved = Tree(tree.root.rename(tmp_path / "moved"), tree.python, tree.log)
    moved.run("demo")
    assert len(tree.pip_calls()) == 6

    other = shutil.copy(tree.python, tmp_path / "other")
    assert "making .venv" in moved.run("demo", PYTHON=str(other)).stderr
    assert moved.run("demo", PYTHON=str(other)).stderr == ""
    assert len(tree.pip_calls()) == 9


def test_commands_for_users_run_where_they_were_called(tree: Tree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert tree.run("python", "x.py", cwd=elsewhere).stdout == f"{elsewhere}|x.py\n"
    assert (
        tree.run("gaussmith", "plan", "a b.toml", cwd=elsewhere).stdout == f"{elsewhere}|-m gaussmith plan a b.toml\n"
    )
    assert tree.run("test", "-k", "x", cwd=elsewhere).stdout == f"{tree.root}|-m pytest -k x\n"


def test_benchmarks_are_chosen_by_name(tree: Tree) -> None:
    (tree.root / "benchmarks").mkdir()
    for name in ["speed", "error"]:
        (tree.root / "benchmarks" / f"{name}.py").touch()
    assert re.findall(r"benchmarks/\w+", tree.run("bench").stdout) == ["benchmarks/error", "benchmarks/speed"]
    assert re.findall(r"benchmarks/\w+", tree.run("bench", "speed").stdout) == ["benchmarks/speed"]
    missing = tree.run("bench", "sped")
    assert missing.returncode == 2
    assert "no benchmark 'sped' · one of: error speed" in missing.stderr


def test_a_proof_is_chosen_by_its_name_and_takes_arguments(tree: Tree) -> None:
    (tree.root / "proofs").mkdir()
    for name in ["doors", "keys"]:
        (tree.root / "proofs" / f"{name}.py").touch()
    assert tree.run("prove").stdout.splitlines() == ["doors", "keys"]
    assert tree.run("prove", "doors", "--again", "a b/c").stdout == f"{tree.root}|-P proofs/doors.py --again a b/c\n"
    missing = tree.run("prove", "dors")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no proof 'dors' · one of: doors keys" in missing.stderr


def pins(name: str) -> dict[str, set[tuple[str, str]]]:
    """The pins of a requirement file: package → {(version, marker)}."""
    found: dict[str, set[tuple[str, str]]] = {}
    for line in (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").splitlines():
        if line[:1].isalnum():
            requirement = Requirement(line.removesuffix("\\").strip())
            (version,) = [s.version for s in requirement.specifier if s.operator == "=="]
            found.setdefault(canonicalize_name(requirement.name), set()).add((version, str(requirement.marker or "")))
    return found


@pytest.mark.parametrize("name", ["build", "runtime", "dev", "lowest", "lowest-all"])
def test_every_pin_has_a_hash_and_no_option(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    for line, following in zip(code, [*code[1:], ""], strict=True):
        if line[:1].isalnum():
            assert line.endswith("\\") and following.startswith("    --hash=sha256:"), line
        else:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_the_files_pin_what_the_project_declares() -> None:
    build, runtime, dev = pins("build"), pins("runtime"), pins("dev")
    declared = {"runtime": PROJECT["project"]["dependencies"], **PROJECT["dependency-groups"]}
    declared["build"] = declared["build"] + PROJECT["build-system"]["requires"]
    for stage, pinned in {"build": build, "runtime": runtime, "dev": dev}.items():
        for text in declared[stage]:
            requirement = Requirement(text)
            versions = {version for version, _ in pinned[canonicalize_name(requirement.name)]}
            assert any(requirement.specifier.contains(version) for version in versions), text
    offered = {name: texts for name, texts in PROJECT["project"]["optional-dependencies"].items() if name != "all"}
    for requirement in [Requirement(text) for texts in offered.values() for text in texts]:  # what is offered is tested
        assert all(requirement.specifier.contains(version) for version, _ in dev[canonicalize_name(requirement.name)])


def test_the_lowest_files_pin_the_lowest_versions_that_the_project_allows() -> None:
    build, lowest, whole = pins("build"), pins("lowest"), pins("lowest-all")
    extras = PROJECT["project"]["optional-dependencies"]
    light = [*PROJECT["project"]["dependencies"], *extras["duckdb"], *extras["postgres"]]
    for pinned, texts in ((lowest, light), (whole, [*light, *extras["spark"]])):
        for requirement in map(Requirement, [*texts, *PROJECT["dependency-groups"]["lowest"]]):
            if requirement.name != "packaging":  # comes with the build backends, which are pinned
                floors = {Version(s.version) for s in requirement.specifier if s.operator == ">="}
                found = {Version(version) for version, _ in pinned[canonicalize_name(requirement.name)]}
                assert found == floors, requirement
    assert "pyspark" not in lowest and lowest.keys() <= whole.keys()
    for name, versions in lowest.items():
        assert {version for version, _ in whole[name]} == {version for version, _ in versions}, name
    for name in build.keys() & whole.keys():
        assert {version for version, _ in whole[name]} == {version for version, _ in build[name]}, name


def test_the_version_is_stated_in_one_place() -> None:
    """The build backend reads it from the package."""
    assert "version" not in PROJECT["project"] and "version" in PROJECT["project"]["dynamic"]
    source = (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    assert source.count(f'__version__ = "{gaussmith.__version__}"') == 1


def test_the_stages_agree_on_versions() -> None:
    build, runtime, dev = pins("build"), pins("runtime"), pins("dev")
    assert runtime.keys() <= dev.keys()
    for name, versions in runtime.items():
        assert {version for version, _ in dev[name]} == {version for version, _ in versions}, name
    for name in build.keys() & dev.keys():
        assert {version for version, _ in dev[name]} == {version for version, _ in build[name]}, name


def test_what_the_code_imports_is_what_is_declared() -> None:
    named = {"vl_convert": "vl-convert-python"}
    imported: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            imported |= {name.split(".")[0] for name in names}
    imported -= sys.stdlib_module_names | {"gaussmith"}
    imported = {canonicalize_name(named.get(name, name)) for name in imported}
    core = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    extras = [text for texts in PROJECT["project"]["optional-dependencies"].values() for text in texts]
    offered = {canonicalize_name(Requirement(text).name) for text in extras}
    # pandas and pyarrow are met only in the hands of those who bring their tables.
    assert core <= imported <= core | offered | {"pandas", "pyarrow", "dp-accounting"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source in which no import is forbidden."""
    root = tmp_path_factory.mktemp("sound")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__", "*.parquet"))
    shutil.copy(ROOT / "pyproject.toml", root)
    assert "0 broken" in arrows(root)
    return root


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("planning/planner.py", "from gaussmith.noise.gaussian import normal_integers"),
        ("planning/planner.py", "from gaussmith.noise.keystream import pure_integers"),
        ("planning/plan.py", "def f():\n    import gaussmith.totals"),
        ("request.py", "import gaussmith.mechanism"),
        ("report/__init__.py", "import gaussmith.totals"),
        ("report/__init__.py", "import gaussmith.pipeline.release"),
        ("cli/__init__.py", "import gaussmith.engines.source"),
        ("cli/__init__.py", "def f():\n    import gaussmith.audit.command"),
        ("domains/registry.py", "import gaussmith.papers.ball"),
        ("releases/saved.py", "import gaussmith.engines.registry"),
        ("engines/addresses.py", "def f():\n    import gaussmith.engines.files"),
        ("engines/duckdb.py", "import gaussmith.engines.spark"),
        ("engines/newcomer.py", ""),
        ("job.py", "import gaussmith.noise.keystream"),
        ("numerics/__init__.py", "import gaussmith.domains"),
        ("newcomer.py", ""),
    ],
)
def test_the_arrows_hold_off_a_planted_import(tmp_path: Path, sound: Path, module: str, planted: str) -> None:
    root = shutil.copytree(sound, tmp_path / "planted")
    with (root / "src" / "gaussmith" / module).open("a") as file:
        file.write(f"\n\n{planted}\n")
    assert re.search("[1-9] broken", arrows(root))


def arrows(root: Path) -> str:
    """What import-linter says of the tree at `root`."""
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", lint]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(find_spec("hatchling") is None, reason="the build backend is only where ./run installed it")
def test_the_wheel_carries_data_types_and_licence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*") if p.is_file()}
    sources = {name for name in sources if "__pycache__" not in name and ".egg-info" not in name}
    assert {"gaussmith/py.typed", "gaussmith/data/randhie.parquet"} <= sources <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
