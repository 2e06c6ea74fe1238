"""What the server remembers while it runs: drafts, confirmations, releases, and when data was read."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gaussmith.errors import GaussmithError, internal_error
from gaussmith.workbench.drafts import Draft
from gaussmith.workbench.tokens import new_token

if TYPE_CHECKING:
    from gaussmith.releases.release import Release
    from gaussmith.requests.request import Request


MAX_KEPT = 200
"""Limit on the drafts and on the confirmations that are kept; the oldest go first."""

VALID_SECONDS = 3600.0
"""How long a confirmation can be used."""

Value = TypeVar("Value")


@dataclass
class Confirmation:
    """A request that is about to be released, once. `released` is the release that it became."""

    draft: Draft
    request: Request
    toml: str
    made: float = field(default_factory=time.monotonic)
    released: str | None = None

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.made > VALID_SECONDS


@dataclass
class Job:
    """A release that is being made, or was made.

    share:  the part of the budget that it takes
    before: what the ledger knew of its id before: "" (it is new), "pending" (charged) or "done" (charged and stored)
    """

    draft: Draft
    toml: str
    id: str | None
    state: Literal["running", "done", "failed"] = "running"
    share: float | None = None
    before: str = ""
    read: float | None = None
    release: Release | None = None
    error: GaussmithError | None = None
    started: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Reading:
    """When data was read, and the share of the budget that it took; None where nothing was charged for it."""

    time: float
    share: float | None


@dataclass(frozen=True)
class Repeat:
    """A stored release that was asked for again: nothing was read or charged."""

    id: str | None


class Desk:
    """The memory of one server. One release is made at a time."""

    def __init__(self) -> None:
        self._drafts: OrderedDict[str, Draft] = OrderedDict()
        self._confirmations: OrderedDict[str, Confirmation] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.readings: list[Reading] = []
        self.repeat: Repeat | None = None
        self._lock, self._writer = threading.Lock(), threading.Lock()

    def keep_draft(self, draft: Draft, name: str | None = None) -> str:
        """The name under which a draft is found again; one that is known keeps its name."""
        with self._lock:
            name = name if name in self._drafts else new_token()
            assert name is not None
            _put(self._drafts, name, draft)
            return name

    def draft(self, name: str | None) -> Draft | None:
        return self._drafts.get(name or "")

    def confirm(self, confirmation: Confirmation) -> str:
        """The one-time word for a release."""
        with self._lock:
            name = new_token()
            _put(self._confirmations, name, confirmation)
            return name

    def confirmation(self, name: str) -> Confirmation | None:
        return self._confirmations.get(name)

    def start(
        self, name: str, id: str | None, make: Callable[[Job], Release], share: float | None, before: str = ""
    ) -> str | None:
        """Begin the release of a confirmation, once; returns its name, or None while another one is being made.

        A confirmation that was used names the release that it became.
        """
        with self._lock:
            confirmation = self._confirmations[name]
            if confirmation.released is not None:
                return confirmation.released
            if not self._writer.acquire(blocking=False):
                return None
            job = Job(confirmation.draft, confirmation.toml, id, share=share, before=before)
            confirmation.released = self.keep_job(job)
        threading.Thread(target=self._run, args=(job, make), name="release").start()
        return confirmation.released

    def keep_job(self, job: Job) -> str:
        name = new_token()
        _put(self.jobs, name, job)
        return name

    def told(self) -> str:
        """What was read so far, and what it cost, in one line."""
        told = "No value has been read"
        if self.readings:
            last, number = self.readings[-1], len(self.readings)
            times = {1: "once", 2: "twice"}.get(number, f"{number} times")
            share = "" if last.share is None else f", charge {100 * last.share:.3g} %"
            at = time.strftime("%H:%M", time.localtime(last.time))
            told = f"Read {times}{', last' if number > 1 else ''} at {at}{share}"
        return told if self.repeat is None else f"{told} · {self.repeat.id} repeated, not charged"

    def _run(self, job: Job, make: Callable[[Job], Release]) -> None:
        try:
            job.release = make(job)
            if job.before == "done":
                self.repeat = Repeat(job.id)
            else:
                self.readings.append(Reading(time.time(), None if job.before else job.share))
                self.repeat = None
            job.state = "done"
        except GaussmithError as error:
            job.error, job.state = error, "failed"
        except BaseException:  # an engine's panic is not an Exception; its text could contain data
            job.error, job.state = internal_error("what was charged stays charged"), "failed"
        finally:
            self._writer.release()


def _put(kept: OrderedDict[str, Any], name: str, value: Value) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > MAX_KEPT:
        kept.popitem(last=False)
