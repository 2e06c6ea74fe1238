"""Workloads: many linear answers over the cells of a histogram, which are features of their own."""

from __future__ import annotations

from typing import Any

from gaussmith.statistics.statistic import Statistic


class Workloads(Statistic):
    """The answers of a workload in order. There may be millions: names and weights follow from the workload."""

    kind = "workload"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}
