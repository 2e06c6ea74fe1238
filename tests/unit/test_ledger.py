"""The rules of the ledger: what is charged, what is refused and in which words, what is given back."""

from __future__ import annotations

import doctest
import json
import os
import sqlite3
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from gaussmith.errors import BudgetError, DataError, GuaranteeError, LedgerError
from gaussmith.guarantee import Guarantee
from gaussmith.ledger import Ledger, Receipt
from gaussmith.ledger.chain import canonical, digest, follow, software
from gaussmith.ledger.failpoints import VARIABLE, failpoint
from gaussmith.ledger.units import budget_square, budget_units, charge_units

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
    assert repr(made) == f"Ledger({str(path)!r})"
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
    with pytest.raises(BudgetError) as error:
        ledger.reserve(None, "hash", EIGHTH)
    assert "nothing is left: no further release fits" in words(error)
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
        "what fits: epsilon=2.09377 at delta=1e-06 at most, which is mu=0.467488"
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
    assert words(error).endswith("what fits: mu=1.25 at most")


def test_what_is_left_may_be_no_epsilon_at_all(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(epsilon=1, delta=1e-6))
    ledger.reserve("x", "hash", Guarantee(mu=ledger.guarantee.mu * (1 - 1e-15)))
    assert ledger.remaining_epsilon == 0
    with pytest.raises(BudgetError) as error:
        ledger.reserve("y", "hash", Guarantee(epsilon=1, delta=1e-6))
    assert words(error).endswith("at most, which is no epsilon above 0 at delta=1e-06")


@pytest.mark.parametrize("mu", [0, 0.0, -0.0, -1.0, float("nan"), float("inf"), float("-inf"), True, "1", None])
def test_what_is_no_spend_is_refused(ledger: Ledger, path: Path, mu: object) -> None:
    spend = SimpleNamespace(mu=mu, stated_rho=None, to_dict=lambda: {"mu": mu})
    with pytest.raises(GuaranteeError) as error:
        ledger.reserve("x", "hash", spend)  # type: ignore[arg-type]
    assert words(error).startswith(f"mu={mu!r} cannot be charged · a charge is a finite number above 0")
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
    assert json.loads(reserved.body) == {"guarantee": {"mu": 0.125}, "mu": 0.125, "note": {"answers": ["count"]}}
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
    with pytest.raises(LedgerError) as error:
        ledger.reserve("r", *other)
    assert words(error) == (
        f"id='r' belongs to another request in ledger={path} · one id stands for one request and its one answer · "
        "repeat that request as it was, or choose another id"
    )
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0b", " a", "x" * 201, "\ud800", 7])
def test_odd_ids_are_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(LedgerError, match="cannot be used · it has 1 to 200 printable characters"):
        ledger.reserve(name, "request", EIGHTH)
    with pytest.raises(LedgerError, match="request_hash="):
        ledger.reserve("r", name, EIGHTH)


def test_a_fresh_id_avoids_the_names_in_use(ledger: Ledger) -> None:
    ledger.reserve("release-2", "request", EIGHTH)
    assert ledger.reserve(None, "request", EIGHTH).release_id == "release-2a"


def test_a_note_must_be_plain(ledger: Ledger) -> None:
    for note in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises(LedgerError, match="note cannot be written as JSON · "):
            ledger.reserve("r", "request", EIGHTH, note=note)
    assert len(ledger.entries()) == 1


def test_only_what_is_charged_is_stored(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="id='r' has no charge · a release is stored under its charge · reserve it"):
        ledger.store("r", b"bytes")
    ledger.reserve("r", "request", EIGHTH)
    with pytest.raises(LedgerError, match="payload is str · a release is stored as bytes · encode it first"):
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
    with pytest.raises(
        LedgerError, match=r"source='people.csv' is charged to .* for dataset='visits' · a ledger adds up"
    ):
        bound.check_dataset("people.csv")
    with pytest.raises(LedgerError, match="dataset='' cannot be used"):
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


# Ledgers that cannot be used: each has its own words.


def test_no_ledger(path: Path) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger(path)
    assert words(error) == (
        f"no ledger at {path} · a release is charged to a ledger that exists · "
        f"create it: gaussmith ledger init {path} --epsilon 3 --delta 1e-6"
    )
    assert error.value.exit_code == 2
    assert not path.exists()


def test_a_ledger_is_not_overwritten(ledger: Ledger, path: Path) -> None:
    ledger.reserve("r", "request", EIGHTH)
    with pytest.raises(LedgerError) as error:
        Ledger.create(path, Guarantee(mu=9))
    assert words(error).startswith(f"ledger={path} exists already · a ledger is never overwritten")
    assert Ledger(path).spent > 0


def test_of_many_who_create_it_one_does(path: Path) -> None:
    outcomes: list[str] = []

    def create() -> None:
        try:
            Ledger.create(path, EIGHTH)
            outcomes.append("made")
        except LedgerError as error:
            outcomes.append(error.rule)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["a ledger is never overwritten: that would forget what was spent"] * 7 + ["made"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["study.ledger", "study.ledger.head"]
    Ledger(path).verify()


def test_a_spent_ledger_that_was_deleted_is_not_started_afresh(ledger: Ledger, path: Path) -> None:
    path.unlink()
    Ledger.create(path, EIGHTH)  # nothing had been charged
    Ledger(path).reserve("r", "request", EIGHTH)
    path.unlink()
    with pytest.raises(LedgerError) as error:
        Ledger.create(path, EIGHTH)
    assert "study.ledger.head shows that one with charges was there" in words(error)


def test_a_crash_while_creating_leaves_a_ledger_or_none(path: Path) -> None:
    Ledger.create(path, EIGHTH)
    path.with_name("study.ledger.head").unlink()  # killed after the file was put in place, before its head was
    Ledger(path).reserve("r", "request", EIGHTH)
    assert path.with_name("study.ledger.head").read_text() == f"{Ledger(path).head}\n"


def test_no_place_for_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be "):
        Ledger.create(tmp_path / "nowhere" / "study.ledger", EIGHTH)


@pytest.mark.parametrize("content", [b"", b"hello, this is text\n" * 500, None])
def test_not_a_ledger(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE gaussmith_ledgers (name TEXT)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as error:
        Ledger(path)
    assert words(error).startswith(f"{path} is not a Gaussmith ledger · ")
    assert path.read_bytes() == before
    with pytest.raises(LedgerError, match="is not a Gaussmith ledger"):
        Ledger(tmp_path)


def test_a_damaged_file(ledger: Ledger, path: Path) -> None:
    for number in range(12):
        ledger.reserve(None, "request", EIGHTH, note={"number": number})
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError) as error:
        Ledger(path)
    assert words(error).startswith(f"ledger={path} is damaged and cannot be read · ")
    path.write_bytes(content[:5000])
    with pytest.raises(LedgerError, match="is damaged and cannot be read"):
        Ledger(path)


def test_damage_out_of_the_way_is_found_by_verify(ledger: Ledger, path: Path) -> None:
    for number in range(12):
        ledger.reserve(None, "request", EIGHTH, note={"number": number})
    content = bytearray(path.read_bytes())
    place = content.index(b'"number":10')
    content[place + 9 : place + 11] = b"11"
    path.write_bytes(content)
    Ledger(path)
    with pytest.raises(LedgerError, match="fails verification: entry 11 was changed: its hash does not fit"):
        Ledger(path).verify()


def test_a_newer_format(ledger: Ledger, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE gaussmith_ledgers SET format = 2")
    connection.close()
    with pytest.raises(LedgerError) as error:
        Ledger(path)
    assert words(error) == (
        f"ledger={path} has format=2 · this version of Gaussmith reads format 1 · "
        "use the version that wrote it, or a newer one"
    )


def test_a_locked_ledger(ledger: Ledger, path: Path) -> None:
    impatient = Ledger(path, timeout=0.05)
    ledger.reserve("before", "request", EIGHTH)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    assert impatient.spent > 0  # reading goes on
    with pytest.raises(LedgerError) as error:
        impatient.reserve("r", "request", EIGHTH)
    assert words(error) == (
        f"ledger={path} is locked by another process since 0.05 s or more · charges are made one at a time · "
        "try again; with the same release id nothing is charged twice"
    )
    with pytest.raises(DataError) as failure:
        impatient.store("before", b"bytes")
    assert failure.value.exit_code == 4
    assert words(failure).startswith("the release id='before' could not be stored: ledger=")
    assert words(failure).endswith("its charge stays; try again with the same id, which is not charged again")
    connection.close()
    assert impatient.store("before", b"bytes") == b"bytes"


def test_a_charge_whose_head_fails_names_its_fresh_id(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gaussmith.ledger.sqlite.os.replace", full)
        with pytest.raises(LedgerError) as error:
            ledger.reserve(None, "request", EIGHTH)
    assert words(error).startswith(
        f"ledger={path} cannot be written (No space left on device), while charging id='release-1' · "
    )
    assert ledger.reserve("release-1", "request", EIGHTH).state == "pending"
    assert Receipt.read(path.with_name("study.ledger.head").read_text()) == ledger.head


def test_a_lost_or_spoilt_head(ledger: Ledger, path: Path) -> None:
    ledger.reserve("r", "request", EIGHTH)
    head = path.with_name("study.ledger.head")
    text = head.read_text()
    for spoilt in ("", "1:abc", "x" * 100, "\xff"):
        head.write_text(spoilt, "latin-1")
        with pytest.raises(
            LedgerError, match=r"head=study.ledger.head of ledger=.* cannot be read · it holds one line"
        ):
            ledger.reserve("s", "request", EIGHTH)
    head.unlink()
    for attempt in (ledger.verify, lambda: Ledger(path), lambda: ledger.reserve("s", "request", EIGHTH)):
        with pytest.raises(LedgerError, match=r"has lost its head file study.ledger.head · a ledger moves together"):
            attempt()
    head.write_text(text)
    assert ledger.verify().entries == 2


def test_a_link_leads_to_the_same_ledger(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    Ledger(link).reserve("r", "request", EIGHTH)
    assert ledger.verify().pending == ("r",)
    assert list(link.parent.iterdir()) == [link]


def test_names_that_need_care_in_addresses(tmp_path: Path) -> None:
    path = tmp_path / "a ?b#c%20.ledger"
    Ledger.create(path, EIGHTH).reserve("r", "request", EIGHTH)
    assert Ledger(path).verify().pending == ("r",)


def test_threads_and_forks_share_a_ledger(ledger: Ledger) -> None:
    threads = [threading.Thread(target=ledger.reserve, args=(f"r{n}", "request", EIGHTH)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside other threads, such as those numpy keeps for its products.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            ledger.reserve("child", "request", EIGHTH)
        finally:
            os._exit(0)
    ledger.reserve("parent", "request", EIGHTH)
    os.waitpid(child, 0)
    assert set(ledger.verify().pending) == {*(f"r{n}" for n in range(8)), "child", "parent"}


def test_a_misspelt_failpoint_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    failpoint("before-data")
    monkeypatch.setenv(VARIABLE, "before-reserve-comit")
    with pytest.raises(LedgerError, match="is no failpoint · it must name one · did you mean 'before-reserve-commit'"):
        failpoint("before-data")


@pytest.mark.parametrize("text", ["", "abc", "1:", "-1:" + "0" * 64, "01:" + "0" * 64, "1:" + "G" * 64])
def test_a_receipt_that_cannot_be_read(ledger: Ledger, text: str) -> None:
    with pytest.raises(LedgerError, match="cannot be read · a receipt reads NUMBER:HASH"):
        ledger.verify(expect_head=text)


def test_the_hash_of_an_entry_is_pinned() -> None:
    entry = follow(None, "create", {"a": 1}, time=0)
    fields = (
        '{"body":"{\\"a\\":1}","charge":"0","kind":"create","payload_hash":"","plan_hash":"",'
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
