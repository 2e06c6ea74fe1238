"""Numbers and names as they are printed."""

from __future__ import annotations

import numpy as np


def decimals(error: float) -> int:
    """Decimals that show two digits of the error."""
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if np.isfinite(error) and error > 0 else 0


def figure(number: float, digits: int = 4) -> str:
    """A number with some significant digits, written out rather than as a power of ten where that reads well.

    >>> figure(1049876.5), figure(0.000333333), figure(12.0), figure(4.2e-12)
    ('1,050,000', '0.0003333', '12', '4.2e-12')
    """
    if number == 0 or not np.isfinite(number) or not 1e-4 <= abs(number) < 1e12:
        return f"{number:.{digits}g}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(rounded)))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
