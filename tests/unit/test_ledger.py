"""The rules of the ledger: what is charged, what is refused and in which words, what is given back."""

from __future__ import annotations

import doctest
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from refusals import refused

from gaussmith.errors import BudgetError, GuaranteeError, LedgerError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import canonical, digest, follow, software
from gaussmith.ledger.units import budget_square, budget_units, charge_units
from gaussmith.privacy.guarantee import Guarantee

EIGHTH = Guarantee(mu=0.125)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    """Room for exactly 100 releases at μ = 1/8."""
    return Ledger.create(path, Guarantee(mu=1.25))


def words(error: pytest.ExceptionInfo[Exception]) -> str:
    """The message, which must have its three parts."""
    text = str(error.value)
    assert text.count(" · ") == 2, text
    return text


def test_a_new_ledger_holds_what_it_was_given(path: Path) -> None:
    made = Ledger.create(path, Guarantee(epsilon=3, delta=1e-6), dataset="visits")
    for ledger in (made, Ledger(path), Ledger(str(path))):
        assert ledger.guarantee == Guarantee(epsilon=3, delta=1e-6)
        assert ledger.dataset == "visits"
        assert ledger.spent == 0
        assert ledger.remaining == ledger.budget == charge_units(Guarantee(epsilon=3, delta=1e-6).mu)
        assert ledger.remaining_epsilon == 3
    assert repr(made) == f"Ledger({str(path)!r}, 100 % left)"
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    "guarantee",
    [Guarantee(epsilon=3, delta=1e-6), Guarantee(epsilon=0.1, delta=1e-9), Guarantee(rho=0.1), Guarantee(mu=1 / 3)],
    ids=repr,
)
def test_one_release_can_spend_the_whole_ledger(path: Path, guarantee: Guarantee) -> None:
    ledger = Ledger.create(path, guarantee)
    assert ledger.reserve("all", "hash", guarantee).state == "new"
    assert ledger.remaining >= 0
    with pytest.raises(BudgetError):
        ledger.reserve("more", "hash", Guarantee(mu=1e-3))


@pytest.mark.parametrize(
    ("whole", "part", "fit"),
    [
        (1.0, 0.01, 100),
        (0.5, 0.005, 100),
        (100 / 64, 1 / 64, 100),
        # The double 0.3 is a little less than three tenths, and a budget errs low.
        (0.3, 0.003, 99),
    ],
)
def test_how_many_hundredths_of_a_stated_rho_fit(whole: float, part: float, fit: int) -> None:
    charge = charge_units(Guarantee(rho=part).mu)
    assert budget_units(budget_square(Guarantee(rho=whole))) // charge == fit


def test_exactly_as_many_charges_as_the_budget_holds(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(mu=0.375))
    for number in range(9):
        assert ledger.reserve(None, "hash", EIGHTH).release_id == f"release-{number + 1}"
    assert ledger.spent == ledger.budget
    assert ledger.remaining_guarantee is None
    with refused("budget-exceeded", BudgetError, requested=EIGHTH, remaining=None):
        ledger.reserve(None, "hash", EIGHTH)
    assert ledger.verify().pending == tuple(f"release-{n}" for n in range(1, 10))


def test_the_refusal_says_what_would_fit(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(epsilon=3, delta=1e-6))
    ledger.reserve("first", "hash", Guarantee(epsilon=2, delta=1e-6))
    before = ledger.entries()
    with pytest.raises(BudgetError) as error:
        ledger.reserve("second", "hash", Guarantee(epsilon=2.5, delta=1e-6))
    refusal = error.value
    assert refusal.exit_code == 3
    assert words(error) == (
        f"the release asks for epsilon=2.5 at delta=1e-06 (mu=0.549325), more than is left in ledger={path} · "
        "charges add up as μ² and never exceed the ledger's guarantee; nothing was charged · "
        "at most epsilon=2.09377 at delta=1e-06 fits, which is mu=0.467488"
    )
    assert refusal.requested == Guarantee(epsilon=2.5, delta=1e-6)
    assert isinstance(refusal.remaining, Guarantee)
    assert ledger.entries() == before
    for fits in (Guarantee(epsilon=2.09377, delta=1e-6), Guarantee(mu=0.467488), refusal.remaining):
        assert charge_units(fits.mu) <= ledger.remaining
    for too_much in (Guarantee(epsilon=2.09378, delta=1e-6), Guarantee(mu=0.467489)):
        assert charge_units(too_much.mu) > ledger.remaining
    remaining = ledger.remaining_epsilon
    assert remaining is not None
    assert ledger.reserve("second", "hash", Guarantee(epsilon=remaining, delta=1e-6)).state == "new"


def test_the_refusal_without_delta_speaks_of_mu_alone(ledger: Ledger) -> None:
    assert ledger.remaining_epsilon is None
    with pytest.raises(BudgetError) as error:
        ledger.reserve("x", "hash", Guarantee(mu=2))
    assert words(error).startswith("the release asks for mu=2, more than is left")
    assert words(error).endswith("at most mu=1.25 fits")


def test_what_is_left_may_be_no_epsilon_at_all(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(epsilon=1, delta=1e-6))
    ledger.reserve("x", "hash", Guarantee(mu=ledger.guarantee.mu * (1 - 1e-15)))
    assert ledger.remaining_epsilon == 0
    with pytest.raises(BudgetError) as error:
        ledger.reserve("y", "hash", Guarantee(epsilon=1, delta=1e-6))
    assert words(error).endswith("fits, which is no epsilon above 0 at delta=1e-06")


@pytest.mark.parametrize("mu", [0, 0.0, -0.0, -1.0, float("nan"), float("inf"), float("-inf"), True, "1", None])
def test_what_is_no_spend_is_refused(ledger: Ledger, path: Path, mu: object) -> None:
    spend = SimpleNamespace(mu=mu, stated_rho=None, to_dict=lambda: {"mu": mu})
    with refused("charge-not-positive", GuaranteeError) as error:
        ledger.reserve("x", "hash", spend)  # type: ignore[arg-type]
    assert repr(error.value.fields["mu"]) == repr(mu)
    with pytest.raises(GuaranteeError):
        Ledger.create(path.with_name("other"), spend)  # type: ignore[arg-type]
    assert not path.with_name("other").exists()
    assert len(ledger.entries()) == 1


def test_the_life_of_a_release(ledger: Ledger) -> None:
    new = ledger.reserve("r", "request", EIGHTH, plan_hash="plan", note={"answers": ["count"]})
    assert (new.state, new.payload, new.charge) == ("new", None, 2 ** (256 - 6))
    assert ledger.result("r") is None
    pending = ledger.reserve("r", "request", EIGHTH, plan_hash="plan of a later version")
    assert (pending.state, pending.payload, pending.receipt) == ("pending", None, new.receipt)
    assert ledger.store("r", b"first", plan_hash="plan") == b"first"
    assert ledger.store("r", b"second") == b"first"
    done = ledger.reserve("r", "request", EIGHTH)
    assert (done.state, done.payload, done.receipt) == ("done", b"first", new.receipt)
    assert ledger.result("r") == b"first"
    assert ledger.spent == new.charge
    assert [entry.kind for entry in ledger.entries()] == ["create", "reserve", "store"]
    reserved, stored = ledger.entries()[1:]
    said = {"guarantee": {"mu": 0.125}, "mu": 0.125, "keys_delta": "0", "note": {"answers": ["count"]}}
    assert json.loads(reserved.body) == said
    assert (reserved.plan_hash, stored.plan_hash) == ("plan", "plan")
    assert stored.payload_hash == digest(b"first")
    assert {entry.software for entry in ledger.entries()} == {software()}


def test_a_done_release_is_given_back_when_nothing_is_left(path: Path) -> None:
    ledger = Ledger.create(path, EIGHTH)
    ledger.reserve("r", "request", EIGHTH)
    ledger.store("r", b"bytes")
    assert ledger.remaining == 0
    assert ledger.reserve("r", "request", EIGHTH).payload == b"bytes"


@pytest.mark.parametrize("other", [("another", EIGHTH), ("request", Guarantee(mu=0.25))])
def test_an_id_belongs_to_one_request(ledger: Ledger, path: Path, other: tuple[str, Guarantee]) -> None:
    ledger.reserve("r", "request", EIGHTH)
    with refused("id-of-another-request", LedgerError, id="r", ledger=str(path)):
        ledger.reserve("r", *other)
    assert len(ledger.entries()) == 2


def test_a_version_with_another_mu_gives_back_what_is_stored_but_makes_nothing_dearer(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarantee = Guarantee(epsilon=0.5, delta=1e-6)
    for name in ("done", "pending"):
        ledger.reserve(name, "request", guarantee)
    ledger.store("done", b"bytes")
    for factor, dearer in ((1 - 2.0**-50, False), (1 + 2.0**-50, True)):
        with monkeypatch.context() as patch:
            patch.setattr("gaussmith.privacy.guarantee._calibrated", lambda *_, mu=guarantee.mu * factor: mu)
            again = Guarantee(epsilon=0.5, delta=1e-6)  # as the other version reads it
            assert ledger.reserve("done", "request", again).payload == b"bytes"
            if dearer:
                with refused("id-of-another-request", id="pending"):
                    ledger.reserve("pending", "request", again)
            else:
                assert ledger.reserve("pending", "request", again).state == "pending"
            ledger.verify()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0b", " a", "x" * 201, "\ud800", 7])
def test_odd_ids_are_refused(ledger: Ledger, name: str) -> None:
    with refused("ledger-name-unusable"):
        ledger.reserve(name, "request", EIGHTH)
    with refused("ledger-name-unusable", name="request_hash"):
        ledger.reserve("r", name, EIGHTH)


def test_a_fresh_id_avoids_the_names_in_use(ledger: Ledger) -> None:
    ledger.reserve("release-2", "request", EIGHTH)
    assert ledger.reserve(None, "request", EIGHTH).release_id == "release-2a"


def test_a_note_must_be_plain(ledger: Ledger) -> None:
    for note in ({"a": float("nan")}, {"a": object()}):
        with refused("note-not-json"):
            ledger.reserve("r", "request", EIGHTH, note=note)
    assert len(ledger.entries()) == 1


def test_only_what_is_charged_is_stored(ledger: Ledger) -> None:
    with refused("store-without-charge", id="r"):
        ledger.store("r", b"bytes")
    ledger.reserve("r", "request", EIGHTH)
    with refused("payload-not-bytes", type="str"):
        ledger.store("r", "text")  # type: ignore[arg-type]
    assert ledger.result("r") is None


def test_the_entries_do_not_tell_how_long_the_data_took(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1000.0, 5000.0, 9000.0])
    monkeypatch.setattr("gaussmith.ledger.chain.time.time", lambda: next(clock))
    ledger.reserve("r", "request", EIGHTH)
    ledger.store("r", b"bytes")
    assert [entry.time for entry in ledger.entries()[1:]] == [1000, 1000]


def test_the_dataset_is_checked_by_name(path: Path, ledger: Ledger) -> None:
    ledger.check_dataset("anything")
    bound = Ledger.create(path.with_name("bound"), EIGHTH, dataset="visits")
    for source in ("visits", "visits.parquet", "some/where/visits.csv"):
        bound.check_dataset(source)
    with refused("ledger-of-another-dataset", source="people.csv", dataset="visits"):
        bound.check_dataset("people.csv")
    with refused("ledger-name-unusable", name="dataset", value=""):
        Ledger.create(path.with_name("third"), EIGHTH, dataset="")


def test_history_is_ready_for_a_table_or_chart(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(epsilon=3, delta=1e-6))
    ledger.reserve("a", "request", Guarantee(epsilon=1, delta=1e-6))
    ledger.store("a", b"bytes")
    ledger.reserve("b", "request", Guarantee(mu=0.25))
    first, second = ledger.history()
    assert (first["id"], first["state"], first["epsilon"]) == ("a", "done", 1.0)
    assert (second["id"], second["state"], second["mu"]) == ("b", "pending", 0.25)
    assert second["epsilon"] == Guarantee(mu=0.25).epsilon_at(delta=1e-6)
    assert first["spent"] == first["share"] == pytest.approx((0.2367043806634357 / ledger.guarantee.mu) ** 2)
    assert second["spent"] == pytest.approx(first["share"] + second["share"])
    assert second["receipt"] == str(ledger.head)
    assert first["time"] <= second["time"]
    assert first["software"] == software()


def test_history_without_delta_has_no_epsilon(ledger: Ledger) -> None:
    ledger.reserve("a", "request", Guarantee(epsilon=1, delta=1e-6))
    assert ledger.history()[0]["epsilon"] is None


@pytest.mark.parametrize("text", ["", "abc", "1:", "-1:" + "0" * 64, "01:" + "0" * 64, "1:" + "G" * 64])
def test_a_receipt_that_cannot_be_read(ledger: Ledger, text: str) -> None:
    with refused("receipt-not-readable"):
        ledger.verify(expect_head=text)


def test_the_hash_of_an_entry_is_pinned() -> None:
    entry = follow(None, "create", {"a": 1}, time=0)
    fields = (
        '{"body":"{\\"a\\":1}","charge":"0","keys_charge":"0","keys_spent":"0","kind":"create","payload_hash":"",'
        '"plan_hash":"",'
        f'"previous":"{"0" * 64}","release_id":"","request_hash":"","seq":0,"software":{canonical(software())},'
        '"spent":"0","time":0}'
    )
    assert entry.hash == digest(b"gaussmith ledger entry\n" + fields.encode())


def test_the_page_on_ledgers_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "ledger.md"
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 10
    assert outcome.failed == 0


@pytest.mark.parametrize("guarantee", [1, (1, 1e-6), None])
def test_a_ledger_is_made_for_a_guarantee(path: Path, guarantee: object) -> None:
    with refused("ledger-without-guarantee"):
        Ledger.create(path.with_name("none"), guarantee)  # type: ignore[arg-type]
    assert not path.with_name("none").exists()


def test_the_last_unit_is_spent_and_not_one_more(path: Path) -> None:
    """The smallest charge there is, one unit, is refused when nothing is left."""
    ledger = Ledger.create(path, Guarantee(mu=1))
    smallest = Guarantee(mu=1e-100)
    assert charge_units(smallest.mu) == 1
    whole = ledger.afford(Guarantee(mu=1))
    assert (whole.share, whole.left, whole.times) == (1.0, 0.0, 1)
    ledger.reserve("one", "hash", smallest)
    with pytest.raises(BudgetError):  # one unit is missing
        ledger.afford(Guarantee(mu=1))
    with pytest.raises(BudgetError):
        ledger.reserve("whole", "hash", Guarantee(mu=1))
    assert ledger.spent == 1

    other = Ledger.create(path.with_name("other.ledger"), Guarantee(mu=1))
    other.reserve("whole", "hash", Guarantee(mu=1))
    assert other.remaining == 0
    for charge in (other.afford, lambda guarantee: other.reserve("one", "hash", guarantee)):
        with pytest.raises(BudgetError):
            charge(smallest)
    assert other.spent == other.budget


@pytest.mark.parametrize("other", [Guarantee(mu=0.0625), Guarantee(rho=0.125**2 / 2), Guarantee(mu=0.25)])
def test_an_id_belongs_to_one_guarantee_smaller_ones_too(ledger: Ledger, other: Guarantee) -> None:
    """What is stored under an id says which guarantee it has: it is not given out under another."""
    ledger.reserve("x", "hash", EIGHTH)
    for stored in (False, True):
        if stored:
            ledger.store("x", b"released")
        with refused("id-of-another-request", LedgerError, id="x"):
            ledger.reserve("x", "hash", other)
        assert ledger.reserve("x", "hash", EIGHTH).state == ("done" if stored else "pending")
