"""How a ledger is printed; one that is spent says so in every form."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gaussmith.errors import LedgerError

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger


class Printed:
    """The part of a ledger that prints it."""

    @property
    def is_spent(self) -> bool:
        """Whether no further release fits."""
        ledger = cast("Ledger", self)
        return ledger.remaining_guarantee is None or ledger.remaining_epsilon == 0

    def __repr__(self) -> str:
        ledger = cast("Ledger", self)
        try:
            left = "spent" if self.is_spent else f"{100 * ledger.remaining / ledger.budget:.3g} % left"
        except LedgerError:  # it was moved or is busy; what prints must not fail
            return f"Ledger({ledger.where!r})"
        return f"Ledger({ledger.where!r}, {left})"

    def _repr_html_(self) -> str:
        from gaussmith.words.ledgers import ledger_html

        return ledger_html(cast("Ledger", self))
