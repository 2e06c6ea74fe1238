"""The saved form of a release, its words and its page: everything by which it leaves the program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


class Recorded:
    """The part of a release that writes it down."""

    @property
    def _release(self) -> Release:
        return cast("Release", self)

    def to_dict(self) -> dict[str, Any]:
        from gaussmith.releases.saved import release_to_dict

        return release_to_dict(self._release)

    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else depends on the data."""
        from gaussmith.releases.saved import write_json

        return write_json(self.to_dict())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recorded) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """The release written by `to_json`."""
        from gaussmith.releases.saved import read_release

        return read_release(text)

    def __str__(self) -> str:
        from gaussmith.words.releases import release_text

        return release_text(self._release)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.words.releases import release_html

        return release_html(self._release)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained page about this release."""
        from gaussmith.report import write_page

        return write_page(self._release, path)

    def registry(self, draft: bool = False) -> dict[str, Any]:
        """An entry for the registry of deployments of differential privacy, in the tier that `[about]` completes.

        Refuses, with what is missing, where the first tier is not complete; a `draft` says so in its place. JSON is
        YAML, which the registry keeps.
        """
        from gaussmith.report import registry_entry

        return registry_entry(self._release, draft)
