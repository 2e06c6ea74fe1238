"""Releases: noisy features, and the answers that are read from them. Values; they hold no data."""
