"""Words that nobody can guess: the key of the server, names of drafts, and confirmations. They are no noise."""

from __future__ import annotations

import hmac
import secrets


def new_token() -> str:
    """A fresh word of 192 random bits, which can stand in an address."""
    return secrets.token_urlsafe(24)


def same_token(given: str, known: str) -> bool:
    """Whether two words are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode("utf-8", "replace"))
