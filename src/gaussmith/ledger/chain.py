"""The hash chain: every entry has the hash of the one before, so none can be changed, dropped or moved unnoticed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from gaussmith.errors import LedgerError, nearest

KINDS = ("create", "reserve", "store", "period")
"""A ledger begins with `create`. `reserve` charges a release, `store` has what was released. `period` has what was
released in one period of a series: its `parent` is the id under which the series was charged, and it charges nothing.
"""

NOTHING_BEFORE = "0" * 64

AMOUNTS = ("charge", "spent", "keys_charge", "keys_spent", "pure_charge", "pure_spent")
"""The fields of an entry in integer units: written as text, because they are too large for databases and JSON."""

ADDED = {"pure_charge": "0", "pure_spent": "0", "parent": ""}
"""The fields that format 3 added, as text, with what they are in an entry of format 2. An entry is sealed without those
that are so: its hash, and every receipt that was given out, is the same in both formats."""


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger. `charge` and `spent` are whole units of μ² (`units.py`), `keys_charge` and `keys_spent`
    of κ, the δ that is spent on keys found in the data, `pure_charge` and `pure_spent` of pure ε; `time` is in seconds,
    UTC. `parent` is the id of the series that a period belongs to."""

    seq: int
    time: int
    kind: str
    release_id: str
    request_hash: str
    plan_hash: str
    charge: int
    spent: int
    keys_charge: int
    keys_spent: int
    software: str
    payload_hash: str
    body: str
    previous: str
    hash: str = ""
    pure_charge: int = 0
    pure_spent: int = 0
    parent: str = ""

    @property
    def receipt(self) -> Receipt:
        """The receipt, which can later prove that this entry was in the ledger."""
        return Receipt(self.seq, self.hash)


@dataclass(frozen=True)
class Receipt:
    """The number and hash of an entry, written `12:9f…`. A ledger that lacks it was rolled back or replaced."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Receipt:
        """The receipt written as `text`.

        >>> Receipt.read("3:" + "0" * 64).seq
        3
        """
        match = re.fullmatch(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", text.strip())
        if match is None:
            raise LedgerError(
                f"receipt={text.strip()[:80]!r} cannot be read",
                "a receipt has the form NUMBER:HASH, with a hash of 64 hex digits",
                "copy it from the release record, or from `gaussmith ledger show`",
                code="receipt-not-readable",
                receipt=text.strip()[:80],
            )
        return cls(int(match[1]), match[2])


def canonical(value: object) -> str:
    """`value` as canonical JSON for hashing: sorted names, no blanks, ASCII.

    >>> canonical({"b": 1, "a": [0.125, None]})
    '{"a":[0.125,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(payload: bytes) -> str:
    """The SHA-256 of `payload` in hex."""
    return hashlib.sha256(payload).hexdigest()


def seal(entry: LedgerEntry) -> LedgerEntry:
    """The same entry with its hash: SHA-256 of the canonical JSON of all other fields, including the previous hash."""
    fields = asdict(entry)
    del fields["hash"]
    fields |= {name: str(fields[name]) for name in AMOUNTS}
    fields = {name: value for name, value in fields.items() if ADDED.get(name) != value}
    return replace(entry, hash=digest(b"gaussmith ledger entry\n" + canonical(fields).encode("ascii")))


def follow(last: LedgerEntry | None, kind: str, body: dict[str, Any], **fields: Any) -> LedgerEntry:
    """The entry that comes after `last` (or is the first), numbered, totalled, linked and sealed."""
    given: dict[str, Any] = dict.fromkeys(("release_id", "request_hash", "plan_hash", "payload_hash"), "")
    given |= {"charge": 0, "keys_charge": 0, "pure_charge": 0, "time": int(time.time()), **fields}
    try:
        text = canonical(body)
    except (TypeError, ValueError):
        rule = "a note holds text, finite numbers, lists and tables"
        raise LedgerError("note cannot be written as JSON", rule, "simplify it", code="note-not-json") from None
    return seal(
        LedgerEntry(
            seq=0 if last is None else last.seq + 1,
            kind=kind,
            spent=given["charge"] + (0 if last is None else last.spent),
            keys_spent=given["keys_charge"] + (0 if last is None else last.keys_spent),
            pure_spent=given["pure_charge"] + (0 if last is None else last.pure_spent),
            software=software(),
            body=text,
            previous=NOTHING_BEFORE if last is None else last.hash,
            **given,
        )
    )


def periods_of(reserved: LedgerEntry) -> int:
    """For how many periods a release was charged; 0 where it is no series."""
    return int(json.loads(reserved.body).get("periods", 0))


def number_of(period: LedgerEntry) -> int:
    """The number of a stored period in its series, from 1."""
    return int(json.loads(period.body)["number"])


def check_seal(entry: LedgerEntry, where: str) -> LedgerEntry:
    """The entry, after checking its hash."""
    if seal(entry).hash != entry.hash:
        what = f"entry {entry.seq} was changed: its hash does not match its content"
        raise broken(where, what, code="ledger-entry-changed", entry=entry.seq)
    return entry


def check_links(entries: Iterable[LedgerEntry], where: str) -> None:
    """Check the number, hash and link of every entry."""
    previous, expected = NOTHING_BEFORE, 0
    for entry in entries:
        if entry.seq != expected:
            raise broken(where, f"entry {expected} is missing", code="ledger-entry-missing", entry=expected)
        check_seal(entry, where)
        if entry.previous != previous:
            what = f"entry {entry.seq} does not follow entry {entry.seq - 1}: the history was rewritten"
            raise broken(where, what, code="ledger-entries-not-linked", entry=entry.seq)
        if (entry.kind == "create") != (entry.seq == 0) or entry.kind not in KINDS:
            what = f"entry {entry.seq} is of a kind that is not allowed there"
            raise broken(where, what, code="ledger-entry-out-of-place", entry=entry.seq)
        previous, expected = entry.hash, expected + 1
    if expected == 0:
        raise broken(where, "it has no entries", code="ledger-without-entries")


def broken(where: str, what: str, *, code: str, **fields: object) -> LedgerError:
    """The error for a ledger that contradicts itself."""
    return LedgerError(
        f"ledger={where} fails verification: {what}",
        "entries are only ever added, each sealed by the next",
        "stop releasing from it; restore the newest intact copy and check it against the receipts of past releases",
        code=code,
        ledger=where,
        **fields,
    )


@functools.cache
def software() -> str:
    """The version of Gaussmith that writes the entry, to trace a later privacy bug to the affected releases."""
    import gaussmith

    version = getattr(gaussmith, "__version__", None)
    if version is None:
        from importlib.metadata import PackageNotFoundError
        from importlib.metadata import version as installed

        try:
            version = installed("gaussmith")
        except PackageNotFoundError:
            version = "0+source"
    return str(version)


# Places where a test may kill the process, to show that a crash there neither loses nor doubles a charge.
#
# If the environment variable GAUSSMITH_FAILPOINT names one of them, the process kills itself there (SIGKILL: no
# cleanup, no flush). An unknown name is refused, so that a misspelled test cannot pass.

VARIABLE = "GAUSSMITH_FAILPOINT"

NAMES = (
    "before-reserve-commit",
    "after-reserve-commit",
    "before-reserve-head",
    "after-reserve-head",
    "before-data",
    "after-noise",
    "before-store-commit",
    "after-store-commit",
    "before-store-head",
    "after-store-head",
)

UPGRADE_NAMES = ("before-upgrade-tables", "before-upgrade-commit", "after-upgrade-commit")
"""Places in the conversion of an older ledger."""


def failpoint(name: str) -> None:
    """Kill the process here if the environment says so; otherwise do nothing."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    if wanted not in NAMES + UPGRADE_NAMES:
        what, remedy = f"{VARIABLE}={wanted} is not a failpoint", nearest(wanted, NAMES + UPGRADE_NAMES)
        raise LedgerError(what, "it must name one", remedy, code="unknown-failpoint", failpoint=wanted)
    if wanted == name:
        os.kill(os.getpid(), signal.SIGKILL)
