"""The page docs/coming-from.md: the code of each library's script beside ours, and the errors that were measured."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = ROOT / "proofs" / "jobs"
POLARS = f"polars=={version('polars')}"
SHOWN = "# shown from here on\n"
TITLES = {
    "count_people": "How many people?",
    "three_sums": "The sums of three columns",
    "three_means": "The means of three columns",
    "mean_by_region": "A mean by region",
    "count_by_region": "How many people in each region?",
}
UNITS = {
    "count_people": "people",
    "three_sums": "of the upper bounds",
    "three_means": "% of the bounds",
    "mean_by_region": "% of the bounds",
    "count_by_region": "people",
}
REGIONS = '{"region": ["north", "south", "east"]}'
OURS = {
    "count_people": 'gm.Request("people.parquet", count=True, guarantee=sure)',
    "three_sums": 'gm.Request("people.parquet", sums=bounds, guarantee=sure)',
    "three_means": 'gm.Request("people.parquet", means=bounds, complete=[*bounds], guarantee=sure)',
    "mean_by_region": 'gm.Request("people.parquet", means={"wage": (0, 100)}, complete=["wage"], '
    f"by={REGIONS}, guarantee=sure)",
    "count_by_region": f'gm.Request("people.parquet", count=True, by={REGIONS}, guarantee=sure)',
}
"""Each job as a request; `complete` promises that no value is missing, as the others assume."""

PREAMBLE = """```python
>>> import numpy as np, polars as pl, gaussmith as gm
>>> rng, n = np.random.default_rng(), 5_000
>>> pl.DataFrame({
...     "region": rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]),
...     "age": rng.integers(18, 90, n).astype(float),
...     "wage": rng.lognormal(3, 0.4, n).clip(0, 100).round(2),
...     "hours": rng.normal(35, 8, n).clip(0, 60).round(1),
... }).write_parquet("people.parquet")
>>> bounds = {"age": (0, 110), "wage": (0, 100), "hours": (0, 60)}
>>> sure = gm.Guarantee(epsilon=1, delta=1e-6)

```"""


@dataclass(frozen=True)
class Library:
    """One other library: what it needs, and what its users must know."""

    name: str
    title: str
    script: str
    packages: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    """Its words and ours."""
    notes: tuple[str, ...]


LIBRARIES = (
    Library(
        "opendp",
        "OpenDP",
        "opendp_jobs",
        ("opendp[polars]==0.16.0",),
        (
            ("`unit_of(contributions=…)`", "`unit`, `rows_per_unit`, `groups_per_unit`"),
            ("`loss_of(epsilon=…, delta=…)`", "`gm.Guarantee(epsilon=…, delta=…)`; also `rho=…`, `mu=…`"),
            ("`split_evenly_over=…`", "nothing: questions in one request are planned together"),
            ("`Margin(by=…, max_length=…)`", "nothing: no bound on the number of rows of the table is needed"),
            ("`.with_keys(…)`", '`by = { region = ["north", …] }`; without keys: `by = { region = "found" }`'),
            ("`.summarize(alpha=…)`", "`plan.errors()`, and `interval()` of every answer"),
        ),
        (
            "Gaussian noise is calibrated in zCDP there. To keep the same (ε, δ) you search for the ρ whose conversion gives it; here the exact curve of the Gaussian is used, and noise is smaller for that alone.",
            "A mean there is a sum and a count with separate noise; here they share one.",
        ),
    ),
    Library(
        "diffprivlib",
        "diffprivlib",
        "diffprivlib_jobs",
        ("diffprivlib==0.6.6", "scikit-learn==1.5.2", POLARS),
        (
            ("`epsilon=…` of each call", "`guarantee=` of one request, for all of its answers"),
            ("`bounds=(low, high)`", "`means = { wage = [0, 100] }`"),
            ("`BudgetAccountant`", "a [ledger](ledger.md), on disk"),
            ("`tools.histogram(…, bins=…)`", "`histograms`, with bins or declared values"),
        ),
        (
            "It adds Laplace and geometric noise for pure ε. State `epsilon` without `delta` for the same guarantee here: one noise then serves all numbers of a request.",
            'It divides means by the exact number of people, which it takes for public; ours is secret. `neighbours="replace-one"` makes it public here too.',
            "Its noise is made with floating-point numbers, and known attacks on them apply. A person with many rows is not protected: there is no unit.",
        ),
    ),
    Library(
        "tumult",
        "Tumult Analytics",
        "tumult_jobs",
        ("tmlt.analytics==0.21.0",),
        (
            ("`AddOneRow()`, `AddRowsWithID()`", 'no `unit`; `unit = "person"`'),
            ("`MaxRowsPerID`, `MaxGroupsPerID`", "`rows_per_unit`, `groups_per_unit`"),
            ("`KeySet.from_dict(…)`", "`by = { region = […] }`"),
            ("`get_groups`, `get_bounds`", '`by = { region = "found" }`, `bounds = "private"`'),
            ("`RhoZCDPBudget`, `PureDPBudget`", "`gm.Guarantee(rho=…)`, or `epsilon` and `delta`"),
            ("`Session`", "a request; the budget of several is in a [ledger](ledger.md)"),
        ),
        (
            "Every query is a job of Spark. Here a Spark frame is a source like any other, and small tables need no Spark.",
            "A query has a budget of its own; here questions share one noise.",
        ),
    ),
    Library(
        "pipelinedp",
        "PipelineDP",
        "pipelinedp_jobs",
        ("pipeline-dp==0.3.1", "dp-accounting==0.6.0", POLARS),
        (
            ("`privacy_id_extractor`", "`unit`"),
            ("`partition_extractor`, public partitions", "`by`, with declared keys"),
            ("`max_partitions_contributed`", "`groups_per_unit`"),
            ("`max_contributions_per_partition`", "`rows_per_unit`"),
            ("private partition selection", '`by = { region = "found" }`'),
            ("`NaiveBudgetAccountant`, `compute_budgets()`", "nothing: the guarantee is that of the request"),
        ),
        (
            "It limits rows by sampling them at random; here a person with more rows is scaled down, and no row is lost by chance.",
        ),
    ),
    Library(
        "smartnoise",
        "SmartNoise SQL",
        "smartnoise_jobs",
        ("smartnoise-sql==1.0.10", f"pyarrow=={version('pyarrow')}"),
        (
            ("`SELECT AVG(wage) … GROUP BY region`", "`means = { wage = [0, 100] }`, `by = { region = […] }`"),
            ("`lower`, `upper` in the metadata", "bounds in the request"),
            ("`row_privacy`, `max_contrib`", "no `unit`; `rows_per_unit`, `groups_per_unit`"),
            ("`censor_dims`", 'declared keys, or `"found"`'),
            ("`Privacy(epsilon=…)`, for each column", "`guarantee=` for the whole request"),
        ),
        (
            "Its ε is that of each column of a query: a query with three means costs several times ε. The script asks what a query costs and divides.",
        ),
    ),
)


def results() -> dict[str, dict[str, dict[str, float]]]:
    file = ROOT / "docs" / "evidence" / "peers.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else {"errors": {}, "left_out": {}}  # type: ignore[no-any-return]


def functions(library: Library) -> tuple[str, dict[str, str]]:
    """What is shared by the jobs of a script, and the code of each job."""
    text = (JOBS / f"{library.script}.py").read_text("utf-8").split(SHOWN)[1].split("\n\nif __name__")[0]
    parts = re.split(r"(?=^def )", text, flags=re.M)
    named = {m[1]: part.strip() for part in parts if (m := re.match(r"def (\w+)\(", part)) and m[1] in TITLES}
    shared = "".join(part for part in parts if part.strip() not in named.values()).strip()
    return shared, named


def _doctest(code: str) -> str:
    wrapped = code.replace(", complete=", ",\n    complete=").replace(", by=", ",\n    by=") if len(code) > 90 else code
    first, *rest = f"request = {wrapped}".splitlines()
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest), ">>> release = gm.release(request)"])


def _error(title: str, job: str) -> str:
    """An error and its own standard error, which is that of a root mean square of so many normal numbers."""
    found = results()
    value = found["errors"].get(title, {}).get(job)
    if value is None:
        return "–"
    answers = found["repetitions"][title] * (1 if job == "count_people" else 3)
    return f"{value:.2g} ± {value / math.sqrt(2 * answers):.1g}"


def table() -> str:
    """The errors of every library, of every job."""
    titles = [each.title for each in LIBRARIES]
    lines = ["| job | Gaussmith | " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) + 1) + "|"]
    for job, title in TITLES.items():
        cells = [_error(name, job) for name in ("Gaussmith", *titles)]
        lines.append(f"| {title} ({UNITS[job]}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def section_of(library: Library) -> list[str]:
    """What users of a library must know, and its code of the five jobs."""
    found = results()
    version = found.get("libraries", {}).get(library.title)
    shared, jobs = functions(library)
    left_out = {name: why for name, why in found.get("left_out", {}).items() if str(name).startswith(library.title)}
    return [
        f"## {library.title}",
        "",
        f"| {library.title} {version or '(not run here)'} | Gaussmith |",
        "|---|---|",
        *(f"| {theirs} | {ours} |" for theirs, ours in library.words),
        "",
        *(f"- {note}" for note in library.notes),
        *(f"- {name}: {why}" for name, why in left_out.items()),
        "",
        "```py",
        "\n\n\n".join([*([shared] if shared else []), *(jobs[job] for job in TITLES)]),
        "```",
        "",
    ]


def page() -> str:
    links = ", ".join(f"[{each.title}](#{each.title.lower().replace(' ', '-')})" for each in LIBRARIES)
    parts = [
        "# Coming from another library",
        "",
        f"Five jobs on the same 5 000 people at ε = 1 and δ = 1e-6, here and in {links}.",
        "",
        "Root mean square errors of what was released, with the standard errors of these figures. `./run prove peers` "
        "runs each library in an environment of its own:",
        "",
        table(),
        "",
        "OpenDP, Tumult and PipelineDP add Gaussian noise here. diffprivlib and SmartNoise add Laplace noise for pure "
        "ε, as `guarantee = { epsilon = 1 }` does here. More jobs, with such noise and times: "
        "[how it compares](compared.md).",
        "",
        "## The five jobs in Gaussmith",
        "",
        PREAMBLE,
    ]
    for job, title in TITLES.items():
        parts += ["", f"{title}", "", "```python", _doctest(OURS[job]), "", "```"]
    parts.append("")
    for library in LIBRARIES:
        parts += section_of(library)
    return "\n".join(parts).rstrip() + "\n"


def pages() -> dict[Path, str]:
    return {ROOT / "docs" / "coming-from.md": page()}


def write_pages() -> None:
    for path, text in pages().items():
        path.write_text(text, "utf-8")
