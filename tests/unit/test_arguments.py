"""Names that people bring from elsewhere: each wrong argument, field or flag is refused with what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.errors import OTHER_WORDS, meant_names
from gaussmith.releases.contrasts import Contrasts
from gaussmith.requests.fields import KEYS

G = gm.Guarantee(mu=1)

FIELDS = {
    "group_by": "by", "groupby": "by", "key": "by", "keys": "by", "partition_by": "by", "partition_keys": "by",
    "privacy_unit": "unit", "user": "unit", "user_id": "unit", "privacy_id_column": "unit", "max_contributions":
    "rows_per_unit", "max_partitions_contributed": "groups_per_unit", "avg": "means", "average": "means",
    "median": "medians", "quantile": "quantiles", "percentiles": "quantiles", "std": "variances", "hist": "histograms",
    "filter": "where", "clip": "bounds", "extremes": "quantiles",
}  # fmt: skip

MADE_BY_US = {"Plan", "Release", "Suggestion", "Records"}
"""Classes that nobody calls, or that take nothing."""


@pytest.mark.parametrize(("word", "field"), FIELDS.items())
def test_fields_are_found_by_what_others_call_them(word: str, field: str) -> None:
    given: dict[str, Any] = {word: ["age"]}
    with refused("unknown-field-of-request", says=f"write {field}=…", field=word):
        gm.Request("people.csv", count=True, guarantee=G, **given)
    with refused("unknown-key-in-request", says=f"write {field} = …", key=word):
        gm.Request.from_dict({"source": "people.csv", "guarantee": {"mu": 1}, **given})
    if field in gm.Question.field_names():
        with refused("unknown-key-in-question", says=f"write {field} = …", key=word):
            gm.Request.from_dict({"source": "people.csv", "guarantee": {"mu": 1}, "question": [given]})
    else:
        with refused("unknown-key-in-question", says=f"write {field} = … above the questions", key=word):
            gm.Request.from_dict({"source": "people.csv", "guarantee": {"mu": 1}, "question": [given]})


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--group-by", "'--by'"), ("--group_by", "'--by'"), ("--eps", "'--epsilon'"), ("--avg", "'--mean'"),
        ("--privacy-unit", "'--unit'"), ("--format", "--out, --json"), ("--filter", "'--where'"),
        ("--epsilom", "'--epsilon'"), ("--percentile", "'--quantile'"), ("--max-contributions", "'--rows-per-unit'"),
    ],
)  # fmt: skip
def test_flags_are_found_by_what_others_call_them(flag: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "people.csv", flag, "1"]) == 2
    told = capsys.readouterr().err
    assert says in told and "normal" not in told


def test_words_that_mean_several_answers_or_none_are_not_taken_for_one_that_looks_alike() -> None:
    fields: dict[str, Any] = {"aggregate": "mean"}
    with refused("unknown-field-of-request", says="choose one of: sums, means, quantiles, medians, count, histograms"):
        gm.Request("people.csv", guarantee=G, **fields)
    assert meant_names("format", KEYS) == meant_names("zzz", KEYS) == []
    assert meant_names("extremes", ["sums", "values_per_unit"]) == []


def test_the_table_of_words_names_no_field_of_ours_and_no_word_twice() -> None:
    ours = {*KEYS, "questions", "neighbors"}
    for field, words in OTHER_WORDS.items():
        listed = words.split()
        assert len(set(listed)) == len(listed), field
        assert ours.isdisjoint(set(listed) - {"question", "questions"}), field


@pytest.mark.parametrize("word", ["eps", "epsilon", "ε"])
def test_a_part_of_a_guarantee_inside_a_request(word: str) -> None:
    given: dict[str, Any] = {word: 1}
    with refused("unknown-field-of-request", says="write guarantee=gaussmith.Guarantee(epsilon=…, delta=…)"):
        gm.Request("people.csv", count=True, **given)
    with refused("unknown-key-in-request", says="write guarantee = { epsilon = 1, delta = 1e-6 }"):
        gm.Request.from_dict({"source": "people.csv", "count": True, **given})
    with refused("no-such-argument", says="write guarantee=gaussmith.Guarantee(epsilon=…)"):
        gm.plan(gm.Box({"age": (0, 100)}), **given)
    if word != "epsilon":
        with refused("no-such-argument", says="write epsilon=…"):
            gm.Guarantee(**given)
        with refused("unknown-guarantee-field", says="write epsilon=…"):
            gm.Guarantee.from_dict(given)


def test_an_id_belongs_to_the_release() -> None:
    given: dict[str, Any] = {"id": "week-1"}
    with refused("unknown-field-of-request", says="write gaussmith.release(request, id=…)", field="id"):
        gm.Request("people.csv", count=True, guarantee=G, **given)


def test_a_release_is_given_no_fields_by_other_names() -> None:
    request = gm.Request("people.csv", count=True, guarantee=G)
    for given in ({"group_by": ["city"]}, {"eps": 1}):
        with refused("field-beside-request", says="make a request first"):
            gm.release(request, **given)  # type: ignore[arg-type]


def public_calls() -> dict[str, Callable[..., Any]]:
    """Everything that a user may call: names of the package, of the catalogue, workloads and the auditor."""
    found = {f"gm.{name}": getattr(gm, name) for name in gm.__all__ if name not in MADE_BY_US}
    errors = {name for name, each in found.items() if isinstance(each, type) and issubclass(each, Exception)}
    found = {name: each for name, each in found.items() if name not in errors}
    for module in (gm.papers, gm.workloads, gm.audit):
        names = getattr(module, "__all__", ["identity", "prefix", "ranges", "tree", "marginals"])
        found |= {f"{module.__name__}.{n}": f for n in names if inspect.isfunction(f := getattr(module, n))}
    found |= {f"gm.domains.{name}": getattr(gm.domains, name) for name in gm.domains.RESEARCH}
    methods = {
        gm.Release: ("interval", "intervals", "difference", "ratio", "contrast", "to_polars", "report"),
        gm.Plan: ("errors", "release", "rows_needed", "maximum_error"),
        Contrasts: ("interval", "intervals", "to_polars"),
        gm.Guarantee: ("delta_at", "epsilon_at", "split"),
    }
    return found | {f"{c.__name__}.{name}": getattr(c, name) for c, names in methods.items() for name in names}


@pytest.mark.parametrize("name", public_calls())
def test_no_public_call_with_a_wrong_argument_ends_in_a_bare_type_error(name: str) -> None:
    called = public_calls()[name]
    with pytest.raises(gm.GaussmithError) as caught:
        called(no_such_name=1)
    assert caught.value.rule and caught.value.remedy


def test_arguments_are_named_as_they_should_be_written() -> None:
    calls: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
        (gm.Guarantee, {"eps": 1}, "write epsilon=…"),
        (gm.papers.elliptical, {"sensitivities": [1, 2], "epsilon": 1, "delta": 1e-5}, "write sensitivity=…"),
        (gm.papers.rank_one, {"dim": 10, "epsilon": 1, "delta": 1e-5}, "write dimension=…"),
        (gm.domains.Ball, {"dimensions": 3, "radius": 1}, "write dimension=…"),
    ]
    for called, given, says in calls:
        with refused("no-such-argument", says=says):
            called(**given)
    with refused("arguments-do-not-fit", says="write Counts(items, at_most)"):
        gm.Counts(3)  # type: ignore[call-arg]
    with refused("unnamed-fields-of-request", says="gaussmith.Request(source, count=True"):
        gm.Request("people.csv", G)  # type: ignore[misc]
    with refused("request-without-source"):
        gm.Request(count=True, guarantee=G)  # type: ignore[call-arg]


def test_a_type_error_from_inside_a_call_stays_what_it_is() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        gm.papers.epsilon_of("a", 1e-6)  # type: ignore[arg-type]


def test_signatures_are_shown_as_they_are_written() -> None:
    assert list(inspect.signature(gm.Guarantee).parameters) == ["unnamed", "epsilon", "delta", "mu", "rho", "guess"]
    assert list(inspect.signature(gm.papers.classic).parameters)[:3] == ["dimension", "epsilon", "delta"]


def test_intervals_of_contrasts_say_that_they_cover_noise_alone() -> None:
    frame = pl.DataFrame({"city": ["a", "b"] * 500, "age": np.full(1000, 40.0)})
    request = gm.Request(
        frame, by={"city": ["a", "b"]}, means={"age": (0, 100)}, guarantee=gm.Guarantee(mu=10), complete=["age"]
    )
    contrast = gm.release(request).difference("a", "b", answer="age_mean")
    low, high = contrast.interval()
    assert low < high
    for ask in (contrast.interval, contrast.intervals):
        with refused("population-of-contrast", says="cover the noise alone"):
            ask(population=True)


@pytest.mark.parametrize("rows", [[{"age": 3}, {"age": 4}], ({"age": 3},), {"age": [3, 4]}, {"age": np.array([3, 4])}])
def test_dicts_of_python_are_no_source(rows: Any, tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1), dataset="people")
    plan = gm.plan(gm.Box({"age": (0, 100)}), G, count=True)
    for ask in (
        lambda: gm.Request(rows, means={"age": (0, 100)}, guarantee=G),
        lambda: plan.release(rows, ledger=ledger, id="a"),
        lambda: gm.suggest(rows, guarantee=G),
    ):
        with refused("source-of-dicts", says="wrap it in polars.DataFrame(…)"):
            ask()
    assert ledger.spent == 0
