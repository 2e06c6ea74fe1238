"""Releases: noisy features, and the answers that are read from them. Values; they hold no data."""

from gaussmith.releases.release import Release

__all__ = ["Release"]
