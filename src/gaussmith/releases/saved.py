"""Records of releases: written once as JSON, read back as the same release; and the reader of every saved file."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import CONFIDENCE, is_whole
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import GaussmithError, PlanError, RequestError, counted, spreadsheet_text
from gaussmith.numerics.exact import Array, fraction_up
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.planning.plan import Plan
from gaussmith.planning.row_rule import RowRule
from gaussmith.releases.path import Path as Stages
from gaussmith.releases.path import learned_sentences
from gaussmith.releases.readout import ShownGroups
from gaussmith.releases.release import Release, View
from gaussmith.releases.tables import rows_of

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.planning.certificate import Certificate
    from gaussmith.releases.tables import Tabled


FORMAT = 3
"""The version of the JSON form."""

MAX_ROWS = 10_000
"""Limit on answers that are saved row by row; more are saved by columns."""

MAX_RECORDS = 2**62
"""Limit on a public number of records in a saved release."""

NUMBERS = ("value", "standard_error", "lower", "upper")

COVERS = "the noise; not clipping to the bounds, not sampling"


def release_to_dict(release: Release) -> dict[str, Any]:
    """All of a release, also where it is narrowed; then the view says to what."""
    from gaussmith import __version__

    view, plan = release.view, release.plan
    return {
        "format": FORMAT,
        "kind": "release",
        "gaussmith": release.software or __version__,
        "plan_hash": plan.hash,
        "protects": plan.protects,
        "guarantee": _guarantee(plan),
        "shares": {name: share for name, share in plan.shares().items() if name},
        "answers": _answers(release),
        "confidence": CONFIDENCE,
        "intervals_cover": COVERS,
        "queries": queries_to_dict(release),
        "view": {
            "question": plan.questions[0] if len(plan) < len(plan.slots) else None,
            "groups": None if view.groups is None else list(view.groups),
            "summed": view.summed,
            "answer": view.answer,
        },
        "id": release.id,
        "receipt": release.receipt,
        "plan": plan.to_dict(),
        **({"versions": dict(found)} if (found := versions_of(release)) else {}),
        **({"ledger": dict(release.standing)} if release.standing is not None else {}),
        **({"made_up": True} if release.made_up else {}),
        **_stages(release),
    }


def versions_of(release: Release) -> Mapping[str, str] | None:
    """The versions that made a release: those in its record, or those in use for one that was just made."""
    return software_versions() if release.software is None else release.versions


@cache
def software_versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute here."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "polars", "scipy")}}


def _stages(release: Release) -> dict[str, Any]:
    """What stages learned, in sentences, and the stages themselves; nothing where there were none."""
    if release.path is None:
        return {}
    return {"learned": learned_sentences(release), "stages": release.path.to_dict()}


def queries_to_dict(release: Release) -> list[dict[str, Any]]:
    """The noisy numbers of each query; null where there are none, because the stages before found too little."""
    none = (None,) * len(release.plan.queries)
    return [
        {
            "features": pack(noisy) if np.isfinite(noisy).all() else None,
            "records": records,
            "row_rule": row_rule and row_rule.to_dict(),
        }
        | ({} if shown is None else {"shown": shown.to_dict()})
        for noisy, records, row_rule, shown in zip(
            release.noisy, release.records, release.row_rules, release.shown or none, strict=True
        )
    ]


def _features(saved: Any, groups: int, width: int) -> Array:
    return np.full((groups, width), np.nan) if saved is None else unpack(saved).reshape(groups, width)


def release_of(plan: Plan, queries: Any) -> Release:
    """The release of a plan from the saved numbers of its queries."""
    if len(queries) != len(plan.queries):
        what = "a release whose queries do not match its plan's"
        raise PlanError(
            what, "every query must have its noisy numbers", "check the file", code="release-of-other-queries"
        )
    noisy, records, rules, shown = [], [], [], []
    for saved, query in zip(queries, plan.queries, strict=True):
        found = query.groups is not None and query.groups.is_found
        shown.append(ShownGroups.from_dict(saved["shown"]) if found else None)
        size = query.size if shown[-1] is None else len(shown[-1].labels)
        noisy.append(_features(saved["features"], size, query.block.width))
        records.append(_records(saved["records"]))
        rules.append(None if saved["row_rule"] is None else RowRule.from_dict(saved["row_rule"]))
    kept = tuple(shown) if plan.finds_keys else ()
    return Release(plan, tuple(noisy), tuple(records), tuple(rules), shown=kept)


def _answers(release: Release) -> list[dict[str, Any]] | dict[str, Any]:
    """The table of answers: a row for each, or, where there are many, by columns.

    Of many answers the numbers are the bytes of their doubles in base64 (NaN and infinities where a row has None), and
    a text that is the same for all is written once.
    """
    columns = release.columns()
    if len(columns["answer"]) <= MAX_ROWS:
        return [
            {k: (v if not isinstance(v, float) or math.isfinite(v) else None) for k, v in row.items()}
            for row in rows_of(columns)
        ]
    return {"columns": {name: _column(values, name in NUMBERS) for name, values in columns.items()}}


def _column(values: list[Any], number: bool) -> Any:
    if number:
        return pack(np.array(values, float))
    return {"all": values[0]} if values.count(values[0]) == len(values) else values


def _guarantee(plan: Plan) -> dict[str, Any]:
    """What a release satisfies; with found keys μ is that of its noise, and κ stands beside it."""
    g = plan.guarantee
    if g.is_pure:
        return {"epsilon": g.epsilon, "delta": 0.0}
    if not plan.pays_for_keys:
        return {"epsilon": g.epsilon, "delta": g.delta, "mu": g.mu, "rho": g.rho}
    kept = {"mu_of_noise": plan.spends.mu, "keys_delta": fraction_up(plan.keys_delta)}
    return {"epsilon": g.epsilon, "delta": g.delta, **kept, "statement": "κ-approximately μ-GDP"}


def write_json(fields: dict[str, Any]) -> str:
    """A record as text."""
    return json.dumps(fields, sort_keys=True, ensure_ascii=False, allow_nan=False)


def read_release(text: str | bytes) -> Release:
    """The release in a record; refuses anything else with an error."""
    found = _parse(text)
    kind = found.get("kind")
    if kind not in (None, "release"):
        what, rule = f"a {kind} where a release is expected", "this is a file of another kind"
        raise PlanError(what, rule, "use gaussmith.read", code="other-file-instead-of-release", kind=kind)
    return _release(found)


def read_record(source: str | bytes | os.PathLike[str]) -> Plan | Release | Certificate:
    """The plan, release or certificate written by `to_json`: its text, or the path of a file."""
    from gaussmith.planning.certificate import Certificate

    fields = _parse(_text(source))
    if fields.get("kind") == "plan":
        return Plan.from_dict(fields)
    if fields.get("kind") == "certificate":
        return Certificate.from_dict(fields)
    return _release(fields)


def _text(source: str | bytes | os.PathLike[str]) -> str | bytes:
    """The text itself, or what the file of this name holds: text of ours begins with a brace."""
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip()[:1] in ("{", "[", "")):
        return source
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a file name"
        what = f"file {without_secrets(source)[:200]!r}"
        raise RequestError(
            what, f"it cannot be read: {reason}", "check the name", code="record-file-not-readable", reason=reason
        ) from None


def _parse(text: str | bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        what = "a file that is not a record of Gaussmith"
        rule = "gaussmith.read reads what to_json() has saved, and requests in files that end in .toml"
        remedy = 'check the file; to release statistics of data, write gaussmith.Request("people.csv", …)'
        raise PlanError(what, rule, remedy, code="not-a-record")
    return fields


def _release(fields: dict[str, Any]) -> Release:
    try:
        if fields["format"] != FORMAT:
            what, rule = f"release format = {fields['format']!r}", f"this version reads format {FORMAT}"
            raise PlanError(what, rule, "upgrade gaussmith", code="unknown-release-format", format=fields["format"])
        plan = Plan.from_dict(fields["plan"])
        made = replace(
            release_of(plan, fields["queries"]),
            id=_word(fields, "id"),
            receipt=_word(fields, "receipt"),
            software=_word(fields, "gaussmith"),
            made_up=fields.get("made_up") is True,
            versions=_table(fields, "versions"),
            standing=_table(fields, "ledger"),
            path=_path(fields.get("stages"), plan),
        )
        return _narrowed(made, fields["view"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, GaussmithError):
            raise
        rule = "releases are saved by release.to_json()"
        raise PlanError("a record that is not a release", rule, "check the file", code="not-a-release") from None


def _records(found: Any) -> int | None:
    """The public number of records, or none."""
    if found is not None and not (is_whole(found) and 0 <= found < MAX_RECORDS):
        raise TypeError("records")
    return None if found is None else int(found)


def _word(fields: dict[str, Any], name: str) -> str | None:
    """A field that is text, or is not there."""
    found = fields.get(name)
    if not isinstance(found, str | None):
        raise TypeError(name)
    return found


def _table(fields: dict[str, Any], name: str) -> dict[str, Any] | None:
    """A field that is a table, or is not there."""
    found = fields.get(name)
    if not isinstance(found, dict | None):
        raise TypeError(name)
    return found


def _path(fields: Any, plan: Plan) -> Stages | None:
    """The stages before a release, replayed and added up; refuses those that do not hold."""
    if fields is None:
        return None
    path = Stages.from_dict(fields)
    path.check(plan, plan.guarantee)
    return path


def _narrowed(release: Release, saved: dict[str, Any]) -> Release:
    """The release as the saved view shows it."""
    if saved["question"] is not None:
        release = release[saved["question"]]
    if saved["groups"] is None and saved["answer"] is None:
        return release
    groups = saved["groups"]
    if groups is not None:
        _check_groups(groups, 0 if release.groups is None else len(release.groups.labels), bool(saved["summed"]))
    if saved["answer"] is not None and saved["answer"] not in release.names:
        what, rule = f"a view of the answer {saved['answer']!r}", "the release has no such answer"
        raise PlanError(what, rule, "check the file", code="view-of-unknown-answer", answer=saved["answer"])
    view = View(None if groups is None else tuple(map(int, groups)), bool(saved["summed"]), saved["answer"])
    return replace(release, view=view)


def _check_groups(groups: Any, size: int, summed: bool) -> None:
    """Refuse a view of groups that are not there, or of several that are not summed: which has one group's error."""
    inside = all(type(group) is int and 0 <= group < size for group in groups)
    if not inside or len(set(groups)) < len(groups) or not (groups and (summed or len(groups) == 1)):
        what, rule = f"a view of {counted(len(groups), 'group')}", f"there are {size}"
        raise PlanError(what, rule, "check the file", code="view-of-other-groups", groups=len(groups), size=size)


# The one table of a release for other programs: as CSV for R and spreadsheets, as Parquet and Arrow with metadata.


def csv_table(tabled: Tabled, confidence: float = CONFIDENCE) -> pl.DataFrame:
    """The table for a .csv file: a number that is not known is an empty cell, and no text is a formula.

    An empty cell is read as NA in R and is blank in a spreadsheet; `status` and `note` say why it is empty. Text that
    a spreadsheet would evaluate has an apostrophe before it.
    """
    import polars as pl

    table = tabled.to_polars(confidence)
    numbers = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    known = [pl.Series(name, [_known(value) for value in table[name].to_list()], dtype=pl.Float64) for name in numbers]
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    cells = [table[name].map_elements(spreadsheet_text, return_dtype=pl.String) for name in texts]
    return table.with_columns(known + cells).rename({name: spreadsheet_text(name) for name in table.columns})


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def metadata_of(release: Release) -> dict[str, str]:
    """What a reader of the table must know, as texts: guarantee, neighbours, unit, plan, versions, id and receipt.

    Tables and lists are JSON. The unit is empty where each row is one person.
    """
    from gaussmith import __version__

    plan = release.plan
    units = sorted({rule.unit for rule in release.row_rules if rule is not None and rule.unit is not None})
    stated = plan.guarantee.to_dict() | ({} if plan.guarantee.is_pure else {"mu": plan.spends.mu})
    if plan.pays_for_keys:
        stated["keys_delta"] = float(plan.keys_delta)
    found: dict[str, Any] = {
        "guarantee": stated,
        "neighbours": plan.neighbours,
        "protects": plan.protects,
        "unit": ", ".join(units),
        "plan_hash": plan.hash,
        "confidence": str(CONFIDENCE),
        "version": release.software or __version__,
        "versions": versions_of(release) or {},
        "id": release.id or "",
        "receipt": release.receipt or "",
        "about": plan.about.to_dict() if plan.about is not None else {},
        **({"made_up": "true"} if release.made_up else {}),
    }
    return {
        f"gaussmith.{name}": value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        for name, value in found.items()
    }
