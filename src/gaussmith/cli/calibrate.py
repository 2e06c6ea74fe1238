"""What a guarantee means, and how much Gaussian noise it needs.

examples:
  gaussmith calibrate --epsilon 1 --delta 1e-6
  gaussmith calibrate --mu 0.5
  gaussmith calibrate --rho 0.1 --json
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import add_guarantee_flags, guarantee_from
from gaussmith.cli.parser import Parser, bold, wrapped

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee

MULTIPLES = (0.25, 0.5, 1, 1.5, 2)
DELTAS = (1e-3, 1e-5, 1e-6, 1e-9, 1e-12)


def add_flags(parser: Parser) -> None:
    add_guarantee_flags(parser)


def run(arguments: Namespace) -> int:
    guarantee = guarantee_from(arguments)
    found = calibration(guarantee)
    print(json.dumps(found, ensure_ascii=False) if arguments.json else _text(guarantee, found))
    return 0


def calibration(guarantee: Guarantee) -> dict[str, Any]:
    """μ, ρ, the noise for an answer that one record changes by at most 1, the noise by other rules, the curve."""
    curve = [{"epsilon": epsilon, "delta": delta} for epsilon, delta in _curve(guarantee)]
    found: dict[str, Any] = {"guarantee": guarantee.to_dict(), "guess": guarantee.guess_bound, "curve": curve}
    if guarantee.is_pure:
        return found | {"sigma": math.sqrt(2) / float(guarantee.pure_epsilon)}
    found |= {"mu": guarantee.mu, "rho": guarantee.rho, "sigma": 1 / guarantee.mu}
    if guarantee.epsilon is not None and guarantee.delta is not None:
        found["sigma_elsewhere"] = elsewhere(guarantee.epsilon, guarantee.delta)
    return found


def elsewhere(epsilon: float, delta: float) -> dict[str, float]:
    """The noise that two common rules require at sensitivity 1.

        classic theorem:  √(2 ln(1.25/δ)) / ε,  proved for ε < 1 only
        zCDP tail bound:  1/√(2ρ)  with  ρ + 2√(ρ ln(1/δ)) = ε

    >>> {rule: round(sigma, 3) for rule, sigma in elsewhere(1, 1e-6).items()}
    {'classic': 5.299, 'zcdp': 5.35}
    """
    log = -math.log(delta)
    root = epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))  # of ρ, without cancellation
    return {"classic": math.sqrt(2 * math.log(1.25 / delta)) / epsilon, "zcdp": 1 / (math.sqrt(2) * root)}


def _curve(guarantee: Guarantee) -> list[tuple[float, float]]:
    """Some (ε, δ) pairs that hold for the same noise."""
    if guarantee.epsilon is not None:
        return [(m * guarantee.epsilon, guarantee.delta_at(epsilon=m * guarantee.epsilon)) for m in MULTIPLES]
    return [(guarantee.epsilon_at(delta=delta), delta) for delta in DELTAS]


def _text(guarantee: Guarantee, found: dict[str, Any]) -> str:
    lines = [
        bold(str(guarantee).split(", that is")[0]),
        wrapped(guarantee.describe()),
        "",
    ]
    if not guarantee.is_pure:
        lines += [
            f"  μ  {found['mu']:<10.4g} Gaussian differential privacy; μ² adds up over releases",
            f"  ρ  {found['rho']:<10.4g} zero-concentrated differential privacy",
        ]
    lines += [
        f"  σ  {found['sigma']:<10.4g} noise on an answer that one record changes by at most 1",
    ]
    others = found.get("sigma_elsewhere")
    if others:
        remark = "" if guarantee.epsilon is not None and guarantee.epsilon < 1 else "; proved for ε < 1 only"
        lines += ["", bold("σ by other rules, for the same promise")]
        for rule, sigma, note in (
            ("zCDP and its tail bound", others["zcdp"], ""),
            ("the classic theorem", others["classic"], remark),
        ):
            lines.append(f"  {rule:<24} {sigma:<10.4g} {sigma / found['sigma']:.2f} × the noise{note}")
    lines += ["", bold("The same noise also gives"), "  ε          δ"]
    lines += [f"  {_up(pair['epsilon']):<10} {_up(pair['delta'])}" for pair in found["curve"]]
    return "\n".join(lines)


def _up(number: float) -> str:
    """Three digits, rounded up: a stated guarantee is never better than the true one.

    >>> _up(0.0018901), _up(1e-06)
    ('0.0019', '1e-6')
    """
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(number)
    return f"{float(rounded):.3g}".replace("e-0", "e-")
