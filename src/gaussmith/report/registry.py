"""An entry for the registry of deployments of differential privacy (registry.opendp.org), filled from a release.

The names of fields, the choices and the three tiers are those of `schemas/deployments-schema.yaml` in the repository
opendp/deployments-registry-data at commit 3e9c812; docs/schemas/registry-entry.schema.json holds their structure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gaussmith.errors import RequestError
from gaussmith.plans.about import About
from gaussmith.report.reviewers import (
    composition_of,
    mechanism_of,
    neighbours_of,
    parameters_of,
    software_of,
    unit_of,
    unprotected_of,
)

if TYPE_CHECKING:
    from gaussmith.releases import Release

REQUIRED = ("name", "curator", "description", "purpose", "region", "published")
"""What an entry of the first tier must say, and a release cannot know."""

OF_TIER_3 = ("actors", "rationale_epsilon", "rationale_bounds", "preprocessing", "security")
"""What only a curator can say of the third tier; all of the second is known, or chosen."""

OF_TIER_2 = ("release_type", "data_source")


def registry_entry(release: Release, draft: bool = False) -> dict[str, Any]:
    """The entry, in the tier that is complete. Refuses what the first tier lacks; a draft says so in its place."""
    about = release.plan.about or About()
    missing = [name for name in REQUIRED if not getattr(about, name)]
    if missing and not draft:
        raise RequestError(
            f"a registry entry without {', '.join(missing)}",
            "an entry of the first tier names and describes what is published, who publishes it, where, when and why",
            "write them in [about] of the request, or ask for registry(draft=True)",
            code="about-incomplete",
            missing=missing,
        )
    first = {name: getattr(about, name) or f"(write about.{name})" for name in REQUIRED}
    curators = list(about.curator) or [first["curator"]]
    basic = {
        "name": first["name"],
        "data_curators": curators,
        "intended_use": first["purpose"],
        "data_product_type": "Summary statistics",
        "data_product_region": first["region"],
        "description": first["description"],
        "publication_date": first["published"],
        **({"data_product_sector": about.sector.capitalize()} if about.sector else {}),
    }
    contact = f"Contact: {about.contact}" if about.contact else ""
    period = " to ".join(filter(None, (about.data_from, about.data_until)))
    notes = "\n\n".join(filter(None, (about.notes, contact, f"Data of {period}." if period else "")))
    administrative = {
        **({"sources": "\n".join(f"- {source}" for source in about.sources)} if about.sources else {}),
        **({"notes": notes} if notes else {}),
        "registry_authors": list(about.authors) or curators,
    }
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", first["name"].lower()).strip("_") or "release",
        "status": "Draft",
        "tier": _tier(about, missing),
        "deployment": {"basic": basic, **_protection(release, about), "administrative": administrative},
    }


def _tier(about: About, missing: list[str]) -> int:
    if missing or not all(getattr(about, name) for name in OF_TIER_2):
        return 1
    return 3 if all(getattr(about, name) for name in OF_TIER_3) else 2


def _protection(release: Release, about: About) -> dict[str, Any]:
    """The second and third tier: what is protected, how well, by whom and by what."""
    g = release.guarantee
    variant, parameters = "Custom", {}
    if g.epsilon is not None and g.delta is not None:
        variant, parameters = "Approximate DP", {"epsilon": g.epsilon, "delta": g.delta}
    elif g.stated_rho is not None and not release.plan.pays_for_keys:
        variant, parameters = "Zero-concentrated DP", {"rho": g.rho}
    why = [
        f"{title}: {text}"
        for title, text in (("Guarantee", about.rationale_epsilon), ("Bounds and limits", about.rationale_bounds))
        if text
    ]
    model = {
        "model_name": (about.deployment_model or "central").capitalize(),
        "actors": about.actors,
        "release_type": about.release_type.capitalize(),
        "data_source_type": about.data_source.capitalize(),
        "access_type": "Non-interactive",
    }
    implementation = {
        "preprocessing_and_hyperparameter_tuning": about.preprocessing,
        "mechanisms": "\n".join(
            f"- {line}" for line in (mechanism_of(release), f"Made by {software_of(release)}.", about.security) if line
        ),
        "justification": "\n\n".join(why),
    }
    released = (
        about.post_processing or "None: the answers are shown as they were released; intervals are cut to bounds."
    )
    return {
        "dp_variant": {
            "variant_name": variant,
            "data_domain": "Every table with these columns; values beyond the bounds are clipped to them.",
            "unprotected_quantities": "\n".join(f"- {line}" for line in unprotected_of(release)),
        },
        "privacy_loss": {
            "privacy_unit": unit_of(release),
            "privacy_unit_details": neighbours_of(release),
            **({"privacy_parameters": parameters} if parameters else {}),
            "privacy_parameters_details": parameters_of(release),
        },
        "deployment_model": {name: text for name, text in model.items() if text},
        "accounting": {"post_processing": released, "composition": composition_of(release)},
        "implementation": {name: text for name, text in implementation.items() if text},
    }
