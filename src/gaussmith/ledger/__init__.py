"""The ledger: the guarantee promised for a dataset, and everything spent from it.

book · the rules                chain · sealed entries           units · μ² and κ as whole numbers
protection · neighbours, unit   remainder · what is left         history · charges as rows
verification · recomputing it   pages · the tables               sqlite, postgres · where it lives
printing · as text and display  failpoints · places where a test may kill the process
"""

from __future__ import annotations

from gaussmith.ledger.book import Ledger, Reservation
from gaussmith.ledger.chain import LedgerEntry, Receipt
from gaussmith.ledger.protection import EACH_ROW
from gaussmith.ledger.verification import Verification

__all__ = ["EACH_ROW", "Ledger", "LedgerEntry", "Receipt", "Reservation", "Verification"]
