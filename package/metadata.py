"""The package page: the README, with links that lead somewhere, and the addresses of the project.

The README links to files beside it, which a package page does not have. `home` in pyproject.toml is the address of
the project's repository. While it is empty, because nothing is published, a link becomes its text and the file's path,
pictures are left out, and the project has no addresses: a package page must not name a place that does not exist.
Whoever reads the package page installs from the index, not from a folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"<picture>.*?</picture>\n*|^!\[[^\]]*\]\([^)]*\)\n+", flags=re.M | re.S)
MADE = re.compile(r"^<!-- .*? -->\n", flags=re.M)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
COPY = re.compile(r"^pip install \.\s.*$", flags=re.M)
"""How the README says to install from the folder it is in."""
ARCHIVE = "Files that this page names are in the source archive (sdist)."


class ReadmeHook(MetadataHookInterface):
    """Fills `readme` and `urls`, which pyproject.toml declares as dynamic."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        home = str(self.config.get("home", "")).rstrip("/")
        readme = Path(self.root, "README.md").read_text("utf-8")
        text = page_text(readme, home, str(metadata["version"]))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = addresses(home)


def page_text(readme: str, home: str, version: str) -> str:
    """The README as a package page shows it: no link to a file that is not there."""
    text = COPY.sub("pip install gaussmith     # needs Python 3.11 or newer", MADE.sub("", readme))
    if home:
        base = f"{home}/blob/v{version}"
        text = re.sub(r'(src|srcset)="(?!https?:)([^"]+)"', rf'\1="{home}/raw/v{version}/\2"', text)
        return LINK.sub(lambda link: f"[{link[1]}]({base}/{link[2]})", text)
    return f"{LINK.sub(_named, PICTURE.sub('', text)).rstrip()}\n\n{ARCHIVE}\n"


def _named(link: re.Match[str]) -> str:
    """The text of a link and the file it leads to, once where they are the same."""
    text, target = link[1], link[2]
    return f"`{target}`" if text.strip("`") == target else f"{text} (`{target}`)"


def addresses(home: str) -> dict[str, str]:
    """What a package page lists beside the text."""
    if not home:
        return {}
    files = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    return {"Homepage": home, **{name: f"{home}/blob/main/{file}" for name, file in files.items()}}
