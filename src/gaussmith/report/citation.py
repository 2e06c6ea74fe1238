"""How a release is cited, and by which version it was made: the last words of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.neighbours import ADD_REMOVE
from gaussmith.words.keys import kappa_of

if TYPE_CHECKING:
    from gaussmith.releases import Release


def version_of(release: Release) -> str:
    """The version of Gaussmith that made the release."""
    from gaussmith import __version__

    return release.software or __version__


def claim_of(release: Release) -> str:
    """The guarantee of a release as it is cited; with found keys it is never plain μ-GDP."""
    plan, g = release.plan, release.guarantee
    if g.epsilon is not None:
        return f"(ε, δ)-differential privacy with ε = {g.epsilon:g} and δ = {g.delta:g}"
    if plan.pays_for_keys:
        return (
            f"κ-approximate μ-Gaussian differential privacy with κ = {kappa_of(plan):.6g} and μ = {plan.spends.mu:.6g}"
        )
    if g.stated_rho is not None:
        return f"ρ-zero-concentrated differential privacy with ρ = {g.rho:g}"
    return f"μ-Gaussian differential privacy with μ = {g.mu:g}"


def sentence_of(release: Release) -> str:
    """The sentence by which a release is cited."""
    plan = release.plan
    is_unit = any(rule is not None and rule.unit is not None for rule in release.row_rules)
    who = "one person with all of their rows" if is_unit else "one person’s record"
    unit = f"{'adding or removing' if plan.neighbours == ADD_REMOVE else 'changing'} {who}"
    keys = f", keys found in the data took κ = {kappa_of(plan):.6g}" if plan.pays_for_keys else ""
    return (
        f"These statistics satisfy {claim_of(release)}, with respect to {unit}. The noise is Gaussian, exact on "
        f"integers (μ = {plan.spends.mu:.6g}){keys}, and was added by Gaussmith {version_of(release)}."
    )


def adding_up(release: Release) -> str:
    """How several releases about the same people add up."""
    also = " The κ of found keys add up beside them." if release.plan.pays_for_keys else ""
    return (
        "Always state ε and δ together, and what they protect: one without the other says little. Several releases "
        f"about the same people add up: add the squares of their μ and take the square root.{also}"
    )
