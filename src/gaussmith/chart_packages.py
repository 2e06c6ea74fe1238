"""The packages of the extra `report`: Altair makes `plan.chart()`, vl-convert the pictures of comparisons and sweeps.

Reports draw their charts themselves (report/drawing.py). What needs a package says so: a page in place of the picture
(`LEFT_OUT`), a call with an error.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from gaussmith.errors import RequestError

INSTALL = "pip install gaussmith[report]"
LEFT_OUT = f"A picture is missing here: it needs two more packages ({INSTALL})."


def can_draw() -> bool:
    """Whether vl-convert is installed, which draws any Vega-Lite specification."""
    return find_spec("vl_convert") is not None


def require_vl_convert(what: str) -> Any:
    """The module vl_convert; refuses `what` where it is not installed."""
    _require(what, "vl_convert", "vl-convert-python")
    import vl_convert

    return vl_convert


def altair_chart(spec: dict[str, Any]) -> Any:
    """The specification as an Altair chart; refused where Altair is not installed."""
    _require("an Altair chart", "altair", "altair")
    import altair

    return altair.Chart.from_dict(spec)


def _require(what: str, module: str, package: str) -> None:
    if find_spec(module) is None:
        raise RequestError(
            what, f"it needs the package {package}", INSTALL, code="chart-package-missing", package=package
        )
