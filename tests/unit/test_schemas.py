"""The JSON Schemas: made from the code's own fields, true of every example and record, and they refuse wrong keys."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gaussmith as gm
from gaussmith.engines.addresses import IDS
from gaussmith.engines.addresses import KEYS as SOURCE_KEYS
from gaussmith.requests.fields import KEYS
from gaussmith.requests.question import Question

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is installed for development alone")

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
RECORDS = ROOT / "tests" / "golden" / "records"
PEOPLE = pl.DataFrame({"person": [*range(60)] * 2, "region": ["north", "south"] * 60, "spent": [3.0] * 120})
G = gm.Guarantee(epsilon=1, delta=1e-6)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    return found


def problems(name: str, document: Any) -> list[str]:
    checker = jsonschema.Draft7Validator(schema(name), format_checker=jsonschema.FormatChecker())
    return [error.message for error in checker.iter_errors(document)]


def in_toml(text: str) -> dict[str, Any]:
    """A request file as a JSON document: dates are texts."""
    found: dict[str, Any] = json.loads(json.dumps(tomllib.loads(text), default=str))
    return found


def requests() -> list[str]:
    """Every request in TOML: the examples, and the whole ones in the pages."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*.toml"))]
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL):
            if re.search(r"^source = ", block, flags=re.MULTILINE) and "guarantee" in block:
                texts.append(block)
    return texts


def test_schemas_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("recorded_schemas", SCHEMAS / "record.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in module.SCHEMAS:
        assert (SCHEMAS / f"{name}.schema.json").read_text("utf-8") == module.text_of(name), (
            "run docs/schemas/record.py"
        )
    assert module.PACKAGED.read_text("utf-8") == module.text_of("request")


def test_every_field_of_the_code_has_a_form_and_no_other() -> None:
    found = schema("request")["properties"]
    assert set(found) == {*KEYS, "neighbors"}
    assert set(found["question"]["items"]["properties"]) == set(Question.field_names())
    _, source = found["source"]["anyOf"]
    assert tuple(source["properties"]) == SOURCE_KEYS and tuple(source["properties"]["ids"]["enum"]) == IDS
    untold = [name for name, form in found.items() if not form.get("description")]
    assert untold == []


def test_every_example_is_valid() -> None:
    assert len(requests()) >= 5
    for text in requests():
        assert problems("request", in_toml(text)) == [], text
        gm.Request.from_dict(tomllib.loads(text))


@pytest.mark.parametrize(
    "changed",
    [
        {"cuont": True},
        {"guarantee": {"delta": 1e-6}},
        {"guarantee": {"mu": 1, "delta": 1e-6}},
        {"noise": "laplace"},
        {"guarantee": {"epsilon": 1, "delta": 1e-6, "mu": 1}},
        {"sums": {"age": [0]}},
        {"mean_of": "people"},
        {"rows_per_unit": 0},
        {"question": [{"nmae": "a", "count": True}]},
        {"about": {"curatro": "x"}},
        {"about": {"published": "yesterday"}},
        {"about": {"deployment_model": "local"}},
        {"source": {"path": "a.csv", "idz": "text"}},
    ],
)
def test_schema_and_code_refuse_the_same_mistakes(changed: dict[str, Any]) -> None:
    right = {"source": "a.csv", "guarantee": {"epsilon": 1, "delta": 1e-6}, "count": True}
    assert problems("request", right) == []
    assert problems("request", {**right, **changed}) != []
    with pytest.raises(gm.GaussmithError):
        gm.Request.from_dict({**right, **changed})


def test_taplo_accepts_the_examples_and_flags_a_wrong_key(tmp_path: Path) -> None:
    taplo = shutil.which("taplo", path=str(Path(sys.executable).parent)) or shutil.which("taplo")
    if taplo is None:
        pytest.skip("taplo is not installed")

    def lint(file: Path) -> int:
        address = (SCHEMAS / "request.schema.json").as_uri()
        return subprocess.run([taplo, "lint", "--schema", address, str(file)], capture_output=True).returncode

    examples = sorted((ROOT / "examples").glob("*.toml"))
    assert [lint(file) for file in examples] == [0] * len(examples)
    for file in examples:
        assert file.read_text("utf-8").startswith("#:schema ../docs/schemas/request.schema.json\n")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(examples[0].read_text("utf-8").replace("count = true", "cuont = true", 1), encoding="utf-8")
    assert "cuont" in wrong.read_text("utf-8") and lint(wrong) != 0


def made() -> dict[str, gm.Release]:
    """Releases of several kinds."""
    asked = {"unit": "person", "sums": {"spent": (0, 10)}, "count": True, "guarantee": G}
    return {
        "groups": gm.release(gm.Request(PEOPLE, by={"region": ["north", "south"]}, groups_per_unit=1, **asked)),
        "found": gm.release(
            gm.Request(PEOPLE, unit="person", by={"region": "found"}, groups_per_unit=1, count=True, guarantee=G)
        ),
        "about": gm.release(gm.Request(PEOPLE, about={"curator": "a ministry", "published": "2026-11-16"}, **asked)),
        "private": gm.release(gm.Request(PEOPLE, sums=["spent"], bounds="private", guarantee=G)),
        "made up": gm.rehearse(gm.Request("nowhere.csv", count=True, means={"age": (0, 100)}, guarantee=G), rows=100),
    }


def test_records_plans_and_certificates_are_valid() -> None:
    for name, release in made().items():
        record = json.loads(release.to_json())
        assert problems("release", record) == [], name
        assert problems("plan", json.loads(release.plan.to_json())) == [], name
        wrong = copy.deepcopy(record)
        wrong["surprise"] = 1
        wrong["plan"]["surprise"] = 1
        assert len(problems("release", wrong)) == 2
    plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True)
    assert problems("certificate", json.loads(plan.certificate.to_json())) == []
    assert problems("certificate", {**json.loads(plan.certificate.to_json()), "kind": "plan"}) != []


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_kept_records_stay_readable(path: Path) -> None:
    """Written by earlier versions, never recorded again: every later version reads them with the same answers."""
    record = json.loads(path.read_text("utf-8"))
    found = gm.read(path)
    assert problems(record["kind"], record) == []
    if isinstance(found, gm.Release):
        for row, kept in zip(found.rows(), record["answers"], strict=True):
            assert row["answer"] == kept["answer"]
            assert kept["value"] is None or row["value"] == pytest.approx(kept["value"], rel=1e-9)
            assert kept["standard_error"] is None or row["standard_error"] == pytest.approx(kept["standard_error"])
        assert (found.plan.hash, found.software) == (record["plan_hash"], record["gaussmith"])
    else:
        assert json.loads(found.to_json()) | record == json.loads(found.to_json())


def test_records_are_kept_of_every_kind() -> None:
    kinds = {json.loads(path.read_text("utf-8"))["kind"] for path in RECORDS.glob("*.json")}
    assert kinds == {"release", "plan", "certificate"}


def test_suggested_requests_name_an_installed_schema() -> None:
    from gaussmith.pipeline.learning import schema_address

    assert schema_address().startswith("file:") and schema_address().endswith("request.schema.json")
    found = gm.suggest(PEOPLE, gm.Guarantee(epsilon=0.1, delta=1e-6), unit="person")
    assert found.toml().startswith(f"#:schema {schema_address()}\n")
