"""Pages and charts from plans and releases. Nothing here can reach data or noise.

- charts: what to draw, as Vega-Lite (charts are data)
- drawing: Vega-Lite → SVG that follows the page into the dark
- page: one self-contained HTML page of a release, without JavaScript
- folder: the record, the tables and the page in a directory
"""

from __future__ import annotations

from gaussmith.report.charts import plan_chart
from gaussmith.report.folder import check_folder, write_folder
from gaussmith.report.page import write_report

__all__ = ["check_folder", "plan_chart", "write_folder", "write_report"]
