"""Plans that a process keeps to make the next one faster, and how a test forgets them."""

from __future__ import annotations

import sys

KEPT = {
    "gaussmith.requests.translation": ("_KEPT",),
    "gaussmith.numerics.joint.ladder": ("_KEPT", "_CENTRES"),
    "gaussmith.numerics.joint.reduced": ("_KEPT",),
    "gaussmith.planning.joint_people": ("_KNOWN",),
    "gaussmith.domains.strategies": ("_KNOWN",),
}
"""Where they are, by module."""


def forget_plans() -> None:
    """Let the next plan be made as if it were the first."""
    for module, names in KEPT.items():
        for name in names if module in sys.modules else ():
            getattr(sys.modules[module], name).clear()
