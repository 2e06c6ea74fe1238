"""Completions of the command line for bash, zsh and fish, made by shtab when the wheel is built.

pip puts them under the environment's `share`, where the shells look: share/bash-completion/completions,
share/zsh/site-functions, share/fish/vendor_completions.d. The parsers import nothing but the standard library, so the
environment that builds needs none of the package's dependencies; a test holds that.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import shtab
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "bash": "share/bash-completion/completions/gaussmith",
    "zsh": "share/zsh/site-functions/_gaussmith",
    "fish": "share/fish/vendor_completions.d/gaussmith.fish",
}
FILES = {"CERTIFICATE", "FILE", "LEDGER", "PLAN", "REQUEST", "SOURCE"}
FOLDERS = {"DIR"}


class CompletionHook(BuildHookInterface[Any]):
    """Adds the files of completions to a wheel."""

    PLUGIN_NAME = "custom"
    folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self.folder = Path(tempfile.mkdtemp())
        for shell, text in completions(Path(self.root, "src")).items():
            path = self.folder / shell
            path.write_text(text, "utf-8")
            build_data["shared_data"][str(path)] = PLACES[shell]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def completions(source: Path) -> dict[str, str]:
    """The text of each shell's completions, of the command line in `source`."""
    parser = whole_parser(source)
    return {shell: shtab.complete(parser, shell=shell) for shell in PLACES}


def whole_parser(source: Path) -> argparse.ArgumentParser:
    """All commands under one parser."""
    sys.path.insert(0, str(source))
    try:
        cli = import_module("gaussmith.cli")
        Parser = import_module("gaussmith.cli.parser").Parser
        whole = argparse.ArgumentParser("gaussmith")
        whole.add_argument("--version", action="store_true", help="the version")
        commands = whole.add_subparsers()
        for name, what in cli.COMMANDS.items():
            module = import_module(cli.module_of(name))
            own = Parser(name, module.__doc__ or "")
            module.add_flags(own)
            own.add_argument("--json", action="store_true", help="print one JSON document instead of text")
            for action in own._actions:
                _complete(action, getattr(module, "ACTIONS", None))
            commands.add_parser(name, help=what, parents=[own], add_help=False)
    finally:
        sys.path.remove(str(source))
    return whole


def _complete(action: argparse.Action, choices: tuple[str, ...] | None) -> None:
    """Say what may follow: a file, a folder, or one of a few words."""
    name = str(action.metavar)
    if name in FILES | FOLDERS:
        action.complete = shtab.DIRECTORY if name in FOLDERS else shtab.FILE  # type: ignore[attr-defined]
    if name == "ACTION" and choices:
        action.choices = list(choices)
