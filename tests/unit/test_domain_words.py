"""What refusals of domains name, and what is cut short in words."""

from __future__ import annotations

from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains import uncentred as labels
from gaussmith.report.plans import plan_text


def test_the_label_that_stands_twice_is_named() -> None:
    for given, double in ((["b", "a", "c", "a"], "a"), ([1, "1", 2, "1"], "1"), ([0, 2, 2], 2)):
        with refused("label-twice", label=double, kind="item"):
            labels.read_labels("item", given)


def test_what_is_wrong_is_named() -> None:
    for sd, index in (
        ([1.0, 0.0, 1.0], 1),
        ([1.0, 1.0, 2e150], 2),
        ([1e-150, 1.0, 1.0], 0),
        ([1.0, 1e150, 1.0], 1),
        ([1.0, 1e-150, 1.0], 1),
        ([1.5e-150, 1.0, 0.0], 2),
    ):
        with refused("sd-out-of-range", index=index, sd=sd[index]):
            gm.domains.GaussianData([0, 0, 0], sd)
    for code, given in (
        ("centre-does-not-match-dimension", lambda: gm.domains.Ball(2, 1.0, centre="ab")),
        ("points-malformed", lambda: gm.domains.Points("ab")),
    ):
        with refused(code) as caught:
            given()
        assert not any(caught.value.fields["shape"]), "nothing was read"
    with refused("bounds-reversed", says="did you mean [1, 2]?", column="b", lower=2, upper=1):
        gm.Box({"a": (0, 1), "b": (2, 1)})
    with refused("bounds-equal", column="b") as caught:
        gm.Box({"a": (0, 1), "b": (2, 2)})
    assert "did you mean" not in str(caught.value)
    saved = gm.Cells({"x": ["p", "q"], "y": 3}).to_dict()
    for others, right in (
        ([1, 2], True),
        ([0, 0], True),
        ([2, 0], False),
        ([0, 3], False),
        ([-1, 0], False),
        ([0], False),
    ):
        if right:
            assert gm.Cells.from_dict(saved | {"others": others}).others == tuple(others)
        else:
            with refused(damaged("cells with a value for others that is not declared")):
                gm.Cells.from_dict(saved | {"others": others})


def test_long_lists_are_cut_in_words() -> None:
    few, many = gm.Cells(shape=[2] * 8), gm.Cells(shape=[2] * 9)
    assert few.words.reading.endswith(" counts as: " + ", ".join("0" * 8) + ".")
    assert many.words.reading.endswith(" counts as: " + ", ".join("0" * 8) + ", ….")
    assert few.words.undeclared.endswith(": " + ", ".join(f"{i}=0" for i in range(8)))
    assert many.words.undeclared.endswith(": " + ", ".join(f"{i}=0" for i in range(8)) + ", …")
    assert gm.Cells(2).names is None and gm.Cells(shape=[2, 1]).names == ("0, 0", "1, 0")
    assert gm.Cells(["a"]).names == ("a",) and gm.Cells(["a", "b"]).words.undeclared.endswith(": a")


def test_what_is_said_of_counts_and_cells() -> None:
    assert (
        "more than" not in gm.Counts(3, 3).words.reading
        and "more than 2, the first 2 " in gm.Counts(3, 2).words.reading
    )
    assert gm.Cells(3).words.reading.startswith("A record has one of 3 values.")
    assert gm.Cells(shape=[2, 3]).words.reading.startswith("A record has one value of each of 2 columns.")
    assert gm.Cells(3, or_none=True).words.reading.startswith("A record has one of 3 values; ")


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    assert repr(gm.Counts(1, 1)) == "Counts(1 item, at most 1 of them)"
    assert repr(gm.Counts(2, 1)) == "Counts(2 items, at most 1 of them)"
    assert repr(gm.domains.SparseSum(1, 1, 1)).startswith("SparseSum(1 coordinate, ")
    assert "vector of 1 number," in gm.domains.SparseSum(1, 1, 1).words.reading
    assert (
        repr(gm.domains.Ball(1, 2)) == "Ball(1 coordinate, radius 2)"
        and "vectors of 1 number within" in gm.domains.Ball(1, 2).words.reading
    )
    plan = gm.plan(gm.Box({"age": (0, 1)}), gm.Guarantee(mu=1), answers="means")
    assert "means over 1 record\n" in plan_text(plan, rows=1) and "means over 2 records\n" in plan_text(plan, rows=2)
