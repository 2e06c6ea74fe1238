"""Pages and charts from plans and releases. Nothing here can reach data or noise.

- charts: what to draw, as Vega-Lite (charts are data)
- spending: what a ledger spent over time, as Vega-Lite
- drawing: Vega-Lite → SVG that follows the dark mode of the page
- page: one self-contained HTML page of a release, without JavaScript
- reviewers: what a reviewer asks of a release
- registry: an entry for the registry of deployments
- folder: the record, the tables and the page in a directory
"""

from __future__ import annotations

from gaussmith.report.charts import plan_chart
from gaussmith.report.drawing import draw
from gaussmith.report.folder import check_folder, write_folder
from gaussmith.report.page import write_page
from gaussmith.report.registry import registry_entry
from gaussmith.report.spending import clock, spending_spec

__all__ = [
    "check_folder",
    "clock",
    "draw",
    "plan_chart",
    "registry_entry",
    "spending_spec",
    "write_folder",
    "write_page",
]
