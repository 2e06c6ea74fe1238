"""The auditor: attempts to refute a claim of privacy, of this library or of any other.

    gaussmith.audit.audit(plan)                                        a plan, a request, a catalogue entry
    gaussmith.audit.audit(f, domain=gm.Box([0], [1]), guarantee=g)     any function of an array of records

- auditor: which attempts a target gets     - verdict: what comes back
- exact, scenes: releases of made-up tables, recorded and replayed on neighbours
- plan_samples, noise_tests, attacks: noise drawn, tested and guessed   - pure_samples: the same under pure ε
- callables: functions of others             - bounds: exact confidence bounds, sizes of samples, the early look
- command: `gaussmith audit`
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaussmith.audit.auditor import audit
    from gaussmith.audit.verdict import Attempt, Verdict

_HOMES = {"Attempt": "verdict", "Verdict": "verdict", "audit": "auditor"}


def __getattr__(name: str) -> Any:
    """Imported when it is first used, so that the command's flags cost nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"gaussmith.audit.{_HOMES[name]}"), name)


__all__ = ["Attempt", "Verdict", "audit"]
