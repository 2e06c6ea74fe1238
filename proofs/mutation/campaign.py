"""Which mutants are tried with which tests, and what is known of them so far.

Everything is kept in a folder, so that a campaign goes on where it was stopped: the lines that each test reaches, and
the fate of each mutant, which is valid as long as the code of its function is the same but for texts.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mutant_runs import read_lines
from mutants import Mutant, Tree, find_mutants, name_of

LONGEST = 5.0
"""Seconds of a processor that a test may take, alone, to be among those that mutants are tried with."""


@dataclass(frozen=True)
class Case:
    """A mutant, the group that its module is in, and the source of the module."""

    group: str
    mutant: Mutant
    source: str


@dataclass(frozen=True)
class Modules:
    """The modules of a package that are mutated, by group."""

    package: Path
    groups: dict[str, list[str]]
    untried: tuple[str, ...] = ()
    """Modules whose mutants are not tried."""

    @cached_property
    def sources(self) -> dict[str, dict[str, str]]:
        """The source of each module, by group and name."""
        return {
            group: {
                name_of(file, self.package): file.read_text("utf-8")
                for pattern in patterns
                for file in sorted(self.package.glob(pattern))
            }
            for group, patterns in self.groups.items()
        }

    @cached_property
    def lines(self) -> dict[str, dict[int, int]]:
        """A number for the first line of every statement inside a function, by module and line."""
        made: dict[str, dict[int, int]] = {}
        count = 0
        for modules in self.sources.values():
            for name, source in modules.items():
                tree = Tree(source)
                inside = {node.lineno for node in tree.nodes if isinstance(node, ast.stmt) and tree.scope(node)[0]}
                made[name] = {line: count + i for i, line in enumerate(sorted(inside))}
                count += len(inside)
        return made

    def cases(self, only: list[str], rate: float = 1.0) -> list[Case]:
        """The mutants below a rate; within a group in an order that depends on the names alone, so that each part is a
        sample."""
        made: list[Case] = []
        for group, modules in self.sources.items():
            if group in only:
                tried = {name: text for name, text in modules.items() if name not in self.untried}
                found = [Case(group, each, text) for name, text in tried.items() for each in find_mutants(name, text)]
                made += sorted((c for c in found if c.mutant.place < rate), key=lambda case: case.mutant.place)
        return made


class Cover:
    """Which tests reach a line."""

    def __init__(self, file: Path, lines: dict[str, dict[int, int]]) -> None:
        runs = [each for each in read_lines(file) if each["code"] == 0 and each["seconds"] <= LONGEST]
        self.lines = lines
        self.usual = {each["test"]: each["seconds"] for each in runs}
        self.reached = {each["test"]: int(each["reached"], 16) for each in runs}

    def naming(self, name: str) -> set[str]:
        """The tests in files that have a name in them: of a constant, as they may not run any function with it."""
        files = {test.split("::")[0] for test in self.usual} if name else set()
        holding = {file for file in files if re.search(rf"\b{name}\b", Path(file).read_text("utf-8"))}
        return {test for test in self.usual if test.split("::")[0] in holding}

    def tests(self, mutant: Mutant, first: set[str], most: float) -> list[tuple[str, float]]:
        """The tests to try and their usual seconds, `most` seconds together: first those that killed a mutant of the
        function before, then quick ones that reach little else, not too many of one file before those of others. Of
        constants those in files that name them come first."""
        lines = self.lines[mutant.module]
        chosen = [lines[mutant.line]] if mutant.scope else list(lines.values())  # at import: all that use the module
        mask = sum(1 << each for each in chosen)
        named = self.naming(mutant.sets)
        fitting = [name for name, seen in self.reached.items() if seen & mask or name in named]
        fitting.sort(key=self.usual.__getitem__)
        of_file: dict[str, int] = {}
        order = []
        for name in fitting:
            file = name.split("::")[0]
            of_file[file] = of_file.get(file, 0) + 1
            width = self.reached[name].bit_count() + 20
            cost = self.usual[name] * width * (20 + of_file[file])
            order.append((name not in first, name not in named, cost, name))
        made: list[tuple[str, float]] = []
        for *_, name in sorted(order):
            most -= self.usual[name]
            if most < 0 and made:
                break
            made.append((name, self.usual[name]))
        return made


class Fates:
    """What is known of each mutant."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known = {each["mutant"]: each for each in read_lines(file)}

    def of(self, case: Case) -> dict[str, Any] | None:
        found = self.known.get(case.mutant.key)
        return found if found and found["code"] == case.mutant.code else None

    def tell(self, case: Case, found: dict[str, Any]) -> None:
        line = {"mutant": case.mutant.key, "code": case.mutant.code, **found}
        self.known[case.mutant.key] = line
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def killers(self, mutant: Mutant) -> set[str]:
        """The tests that killed other mutants of the same function."""
        head = mutant.key.split(": ")[0]
        return {each["by"] for key, each in self.known.items() if each.get("by") and key.split(": ")[0] == head}
