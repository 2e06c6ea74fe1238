"""The auditor: attempts to refute a claim of privacy, of this library or of any other.

    gaussmith.audit.audit(plan)                                        a plan, a request, a catalogue entry
    gaussmith.audit.audit(f, domain=gm.Box([0], [1]), guarantee=g)     any function of an array of records

- verdict: what comes back                       - bounds: exact confidence bounds, sizes of samples, the early look
- exact, recording, scenes: record and replay    - sampling, whitening, noise_tests, attacks: drawn, tested and guessed
- plans, entries, callables: kinds of targets    - plan_samples, found_samples: which noises of a plan are sampled
- effort: how hard an audit tries                - strategies: neighbours for hypothesis (needs `gaussmith[audit]`)
"""

from __future__ import annotations

from gaussmith.audit.auditor import audit
from gaussmith.audit.verdict import Attempt, Verdict

__all__ = ["Attempt", "Verdict", "audit"]
