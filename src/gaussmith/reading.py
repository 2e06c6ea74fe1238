"""`gaussmith.read`: whatever a file of ours holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaussmith.releases.saved import read_record

if TYPE_CHECKING:
    from gaussmith.plans import Plan
    from gaussmith.plans.certificate import Certificate
    from gaussmith.releases import Release
    from gaussmith.requests.request import Request


def read(source: str | bytes | os.PathLike[str]) -> Plan | Release | Request | Certificate:
    """The plan, release or certificate written by `to_json`: its text, or the path of a file; or the request in a file
    whose name ends in .toml.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1))
    >>> gm.read(plan.to_json()) == plan
    True
    """
    if not isinstance(source, bytes) and os.fspath(source).endswith(".toml"):
        from gaussmith.requests.request import Request

        return Request.from_toml(os.fspath(source))
    return read_record(source)
