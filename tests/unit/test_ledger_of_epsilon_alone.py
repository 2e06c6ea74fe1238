"""A ledger of ε without δ: all of it is for pure noise, and pure ε adds up exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from refusals import refused
from terminal import run

import gaussmith as gm
from gaussmith.errors import BudgetError, GuaranteeError
from gaussmith.ledger.book import standing_of
from gaussmith.ledger.units import PURE_UNITS
from gaussmith.privacy.composition import Charge
from gaussmith.privacy.guarantee import Guarantee

TENTH = Guarantee(epsilon=0.1)
STATED = Guarantee(epsilon=0.1, delta=1e-6)


@pytest.fixture
def ledger(tmp_path: Path) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "l", Guarantee(epsilon=1), dataset="people", unit="person")


def test_its_epsilon_is_spent_to_the_last_tenth(ledger: gm.Ledger, tmp_path: Path) -> None:
    assert (ledger.budget, ledger.keys_budget, ledger.pure_budget) == (0, 0, PURE_UNITS)
    assert (ledger.remaining_epsilon, ledger.remaining_guarantee, ledger.left) == (1.0, None, 1.0)
    assert [ledger.reserve(None, "h", TENTH).pure_charge for _ in range(9)] == [PURE_UNITS // 10] * 9
    assert ledger.remaining_epsilon == 0.1 and repr(ledger).endswith("10 % left)")
    with refused("pure-budget-exceeded", BudgetError, says="at most epsilon=0.1 of pure noise fits"):
        ledger.reserve("x", "h", Guarantee(epsilon=0.11))
    assert ledger.reserve("last", "h", Guarantee(epsilon=ledger.remaining_epsilon)).state == "new"
    assert ledger.is_spent and ledger.remaining_pure == 0 and ledger.remaining_epsilon == 0
    found = gm.Ledger(tmp_path / "l").verify()
    assert (found.pure_spent, found.spent, found.budget) == (PURE_UNITS, 0, 0)


def test_what_has_a_delta_is_refused(ledger: gm.Ledger, tmp_path: Path) -> None:
    for guarantee in (STATED, Guarantee(mu=1e-9), Guarantee(rho=0.1)):
        with refused("no-allowance-for-gaussian-noise", BudgetError, says="ask with epsilon alone"):
            ledger.reserve("x", "h", guarantee)
    with refused("keys-budget-exceeded"):
        ledger.reserve("x", "h", STATED, charge=Charge(Fraction(1, 10), kappa=Fraction(1, 9)))
    with refused("no-room-for-other-delta"):
        ledger.add(epsilon=0.1, delta=1e-9)
    with refused("keys-delta-without-delta", GuaranteeError):
        gm.Ledger.create(tmp_path / "m", Guarantee(epsilon=1), keys_delta=1e-9)
    with refused("pure-epsilon-beside-pure", GuaranteeError):
        gm.Ledger.create(tmp_path / "m", Guarantee(epsilon=1), pure_epsilon=0.5)
    assert len(ledger.entries()) == 1
    assert ledger.reserve("x", "h", STATED, charge=Charge(pure=Fraction(1, 10))).state == "new"


def test_it_is_told_in_words(ledger: gm.Ledger) -> None:
    ledger.add(epsilon=0.25, note="Laplace noise elsewhere", unit="person")
    ledger.reserve("a", "h", Guarantee(epsilon=0.125))
    assert [(row["share"], row["mu"], row["of_pure"]) for row in ledger.history()] == [
        (0.25, 0, True),
        (0.125, 0, True),
    ]
    told = standing_of(ledger, ledger.head)
    assert (told["mu"], told["epsilon"], told["pure_epsilon"]) == (0, 0.375, 0.375)
    assert told["budget"] == {"epsilon": 1.0}
    found = ledger.afford(Guarantee(epsilon=0.125))
    assert (found.share, found.left, found.times, found.epsilon_before) == (0.125, 0.5, 5, 0.625)


def test_a_release_is_charged_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, where = str(tmp_path / "people.csv"), str(tmp_path / "l")
    pl.DataFrame({"age": [30.0, 40.0] * 50}).write_csv(table)
    code, out, _ = run(capsys, "ledger", "init", where, "--epsilon", "1")
    assert code == 0 and "may spend ε = 1 with δ = 0, all of it for pure noise" in out and "--" not in out
    words = ["release", table, "--sum", "age:0:100", "--count", "--epsilon", "0.5", "--ledger", where]
    code, out, _ = run(capsys, *words, "--id", "a")
    assert code == 0 and "50 % of the budget, ε = 0.5 for pure noise" in " ".join(out.split())
    assert run(capsys, *words, "--id", "a")[0] == 0
    assert gm.Ledger(where).pure_spent == PURE_UNITS // 2
    record = gm.read(gm.Ledger(where).result("a"))
    assert record.standing["pure_epsilon"] == record.standing["epsilon"] == 0.5
    code, out, _ = run(capsys, "plan", table, *words[2:])
    assert "takes 50 % of the budget and leaves nothing" in " ".join(out.split())
    assert run(capsys, *words, "--id", "b")[0] == 0
    assert run(capsys, *words, "--id", "c")[0] == 3
    found = json.loads(run(capsys, "ledger", "verify", where, "--json")[1])
    assert (found["left"], found["pure_left"], found["releases"]) == (0, 0, 2)
    assert "nothing: the budget is spent" in run(capsys, "ledger", "show", where)[1]


def test_the_law_of_a_request_decides_which_part_it_takes(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [30.0, 40.0] * 50})
    ledger = gm.Ledger.create(tmp_path / "l", Guarantee(epsilon=3, delta=1e-6), pure_epsilon=0.5)
    plain = gm.Ledger.create(tmp_path / "plain", Guarantee(epsilon=3, delta=1e-6))
    asked = {"guarantee": Guarantee(epsilon=0.25, delta=1e-6), "sums": {"age": (0, 100)}, "count": True}
    for law, taken in ((None, (0, False)), ("pure", (PURE_UNITS // 4, True))):
        request = gm.Request(table, **asked, noise=law) if law else gm.Request(table, **asked)
        before = ledger.spent
        release = gm.release(request, ledger=ledger, id=f"{law}")
        assert (ledger.pure_spent, ledger.spent == before) == taken
        assert gm.release(request, ledger=ledger, id=f"{law}").to_json() == release.to_json()
    with refused("no-allowance-for-pure-noise", BudgetError):
        gm.release(gm.Request(table, **asked, noise="pure"), ledger=plain, id="a")
    assert plain.verify().entries == 1 and ledger.verify().releases == 2


def test_the_workbench_tells_what_is_left(ledger: gm.Ledger) -> None:
    from gaussmith.workbench.app import spending

    ledger.reserve("a", "h", Guarantee(epsilon=0.25))
    found = spending(ledger, 3)
    assert (found.left, found.epsilon, found.like_last, found.each) == (75, 0.75, 3, "ε = 0.25 of pure noise each")
    ledger.reserve("b", "h", Guarantee(epsilon=0.75))
    assert spending(ledger, 3).is_spent
