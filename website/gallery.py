"""The gallery: pictures drawn by the library and live reports, made anew when the site is built, with fresh noise."""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith.report.charts import errors_spec, plan_spec, spectrum_spec
from gaussmith.report.drawing import draw
from gaussmith.report.page import page

SURE = gm.Guarantee(epsilon=1, delta=1e-6)


def made_up_visits() -> pl.DataFrame:
    """Visits of people who live in one of three regions."""
    rng, n = np.random.default_rng(), 4_000
    home = rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2])
    person = np.repeat(np.arange(n), rng.integers(1, 13, n))
    minutes = rng.gamma(4, 5, len(person)).round()
    return pl.DataFrame({"person": person, "region": home[person], "minutes": minutes})


def reports() -> dict[str, tuple[str, gm.Request]]:
    """The title and the request of each live report."""
    health = str(resources.files("gaussmith") / "data" / "randhie.parquet")
    visits = made_up_visits()
    people = {"unit": "person", "guarantee": SURE}
    regions = {"region": ["north", "south", "east"]}
    return {
        "health": (
            "Sums, means and a count of health data",
            gm.Request(
                health, sums={"mdvis": (0, 80), "hlthp": (0, 1)}, means={"disea": (0, 60)}, count=True, guarantee=SURE
            ),
        ),
        "regions": (
            "Means by region, people with many rows",
            gm.Request(
                visits,
                rows_per_unit=12,
                groups_per_unit=1,
                by=regions,
                means={"minutes": (0, 60)},
                count=True,
                **people,
            ),
        ),
        "quantiles": (
            "Deciles of a person's total",
            gm.Request(
                visits,
                person_columns={"total": "sum(minutes)"},
                quantiles={"total": [0.1, 0.25, 0.5, 0.75, 0.9]},
                bounds={"total": (0, 500)},
                **people,
            ),
        ),
        "histogram": (
            "How many visits people make",
            gm.Request(
                visits, person_columns={"visits": "count()"}, histograms={"visits": list(range(1, 13))}, **people
            ),
        ),
    }


def drawings() -> list[tuple[str, str]]:
    """Captions and SVG of plans: no data is needed to draw them."""
    box = gm.plan(gm.Box({"visits": (0, 80), "age": (0, 100)}), SURE, weights="relative")
    means = gm.plan(gm.Box({"visits": (0, 80), "age": (0, 100)}), SURE, answers="means", count=True, weights="relative")
    ball = gm.plan(gm.domains.Ball(2, 1.0, names=["east", "north"]), SURE)
    runs = gm.plan(gm.Cells(64), SURE, answers=gm.workloads.prefix(64))
    told = [
        (
            "Two sums of columns with bounds: the ellipse just covers what one person can add or take away.",
            plan_spec(box.block),
        ),
        ("The same two columns as means, with the count: the noise of two answers.", plan_spec(means.block)),
        (
            "Vectors in a ball: what one person can change is round, so our noise is round too, and the standard noise is ours.",
            plan_spec(ball.block),
        ),
        (
            "Running totals over 64 cells: the error of each answer, beside the standard Gaussian.",
            errors_spec(runs.block),
        ),
        ("Running totals over 64 cells: the size of the noise in every direction.", spectrum_spec(runs.block)),
    ]
    return [(caption, draw(spec, caption)) for caption, spec in told]


def pages() -> dict[str, str]:
    """The gallery and its reports, by path on the site."""
    parts = [
        "# Gallery",
        "",
        "Pictures of plans, drawn by the library without any data (`plan.chart()`), and reports of real releases. They are made anew with every build of this site, so the noise in the reports is fresh.",
        "",
        "## Reports",
        "",
    ]
    made = {}
    for name, (title, request) in reports().items():
        made[f"reports/{name}.html"] = page(gm.release(request))
        parts.append(f"- [{title}](reports/{name}.html)")
    compared = gm.compare(gm.Box([0] * 16, [1] * 16), epsilon=1, delta=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        made["reports/compared.html"] = compared.save(Path(folder) / "compared.html").read_text("utf-8")
    parts += ["- [Published mechanisms compared, with those that are not private](reports/compared.html)", ""]
    parts += ["## Pictures", "", '<div class="gallery">']
    parts += [f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" for caption, svg in drawings()]
    parts += ["</div>", ""]
    return {"gallery.md": "\n".join(parts), **made}
