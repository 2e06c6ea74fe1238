"""What a reviewer asks of a release, answered from its record: what is protected, how well, by what, and what is not.

The questions are those of the pyramid in NIST SP 800-226 (Guidelines for Evaluating Differential Privacy Guarantees):
the guarantee and its unit; algorithms, utility and bias; query and threat model, side channels, security and access,
data collection. docs/publishing.md says which answer meets which of its hazards.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gaussmith.checks import PERCENT
from gaussmith.errors import RequestError, printable
from gaussmith.planning.answer_notes import About
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.releases.saved import versions_of
from gaussmith.report.keys import kappa_of
from gaussmith.report.tables import describe_shape, guarantee_notes

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


# How a release is cited, and by which version it was made: the last words of its page.


def version_of(release: Release) -> str:
    """The version of Gaussmith that made the release."""
    from gaussmith import __version__

    return release.software or __version__


def claim_of(release: Release) -> str:
    """The guarantee of a release as it is cited; with found keys it is never plain μ-GDP."""
    plan, g = release.plan, release.guarantee
    if g.is_pure:
        return f"ε-differential privacy with ε = {g.epsilon:g} (δ = 0)"
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
    if plan.guarantee.is_pure:
        return (
            f"These statistics satisfy {claim_of(release)}, with respect to {unit}. The noise is exact on integers, "
            f"and was added by Gaussmith {version_of(release)}."
        )
    return (
        f"These statistics satisfy {claim_of(release)}, with respect to {unit}. The noise is Gaussian, exact on "
        f"integers (μ = {plan.spends.mu:.6g}){keys}, and was added by Gaussmith {version_of(release)}."
    )


def adding_up(release: Release) -> str:
    """How several releases about the same people add up."""
    if release.guarantee.is_pure:
        return "Always state what ε protects. Several releases about the same people add up: add their ε."
    also = " The κ of found keys add up beside them." if release.plan.pays_for_keys else ""
    return (
        "Always state ε and δ together, and what they protect: one without the other says little. Several releases "
        f"about the same people add up: add the squares of their μ and take the square root.{also}"
    )


PERSON, RECORD = "one person", "one record"

NOT_SAID = "Not stated by the curator."

SAMPLER = (
    "The noise is a whole number, an exactly rounded normal variable, added to an exact sum of whole numbers. No "
    "floating-point arithmetic happens between a record and the noise. Random bits come from the operating "
    "system, or from AES-256 in counter mode under a key fresh from it."
)

SIDES = (
    "Errors, warnings, exit code and the path of the program are made not to depend on any record. How long the "
    "release took is not covered: let nobody measure it who sees the answers."
)

SELECTED = (
    "Groups are shown because their noisy counts are large, so the counts of shown groups are too high on average, "
    "most of those just above the least that is shown. Their intervals allow for this and can reach far down; "
    "± does not."
)
"""What is said of the values of found groups."""

NOT_PROTECTED = (
    "That this release took place, its request, and the names and types of columns: they are public.",
    "What the answers say about people in general: differential privacy hides one person, not what is true of many.",
    "Several people together: k people are protected by k times μ.",
    "The data themselves, before and beside this release: who may read them is decided elsewhere.",
    "Traces on the machine that made the release: keep them from those who see the result.",
)


def rules_of(release: Release) -> list[RowRule]:
    """How the records of each query came from a table."""
    return [rule for rule in release.row_rules if rule is not None]


def who_of(rules: Iterable[RowRule | None]) -> str:
    """Who is protected in two words: one record only where no column says which rows are one person's."""
    return PERSON if any(rule is not None and rule.unit is not None for rule in rules) else RECORD


def unit_of(release: Release) -> str:
    """Who is protected, in a few words; "person" stands for whatever one value of the unit's column is."""
    units = {rule.unit for rule in rules_of(release) if rule.unit is not None}
    if units:
        return f"one person with all of their rows (all rows with the same {' and '.join(sorted(units))})"
    if rules_of(release) and all(not rule.form for rule in rules_of(release)):
        return "one row: each row of the table is taken to be one person"
    return "one record: each record is taken to be one person"


EVENTS = "If a person has several rows, each row is protected by itself, and what all of them together tell is not."

RELEASED = (
    "A data release: the questions, their noise and their price were fixed before any data was read. Readers ask "
    "nothing, and reading the answers again costs nothing."
)

COMPARED = "Compare it with guarantees of the same unit at the same δ only; from μ follows ε at any δ."


def keys_of(release: Release) -> list[str]:
    """Where the groups and values come from whose answers are listed; empty where there are none."""
    lists = [piece.own_rule for question in _questions(release) for piece in question.pieces]
    rules = [rule for rule in lists if rule is not None]
    found = release.plan.pays_for_keys
    told = []
    if any(len(rule.by) > len(rule.found) or rule.histogram is not None for rule in rules):
        told.append("Declared, not looked up in the data. Each is answered, even where nobody is in it.")
    if found:
        told.append("Keys were found in the data, at the price that is stated above; a key of few people is not shown.")
    return told


def _questions(release: Release) -> list[Release]:
    return [release] if len(release.plan) == 1 else list(release)


def neighbours_of(release: Release) -> str:
    """What may differ between two datasets that the release hides from each other."""
    whole = "all of their rows" if any(rule.unit for rule in rules_of(release)) else "their record"
    if release.plan.neighbours == ADD_REMOVE:
        return f"Two datasets are neighbours if one person with {whole} is in one of them and not in the other."
    return (
        f"Two datasets are neighbours if they hold the same people and differ in {whole} of one of them. The number "
        "of people is public."
    )


def parameters_of(release: Release) -> str:
    """The numbers of the guarantee."""
    g, plan = release.guarantee, release.plan
    if g.is_pure:
        return f"{claim_of(release)}. All answers together, not each."
    exact = f"Exactly: μ-Gaussian differential privacy with μ = {plan.spends.mu:.6g} (ρ = {g.rho:.4g})."
    if plan.pays_for_keys:
        exact = f"Of this, κ = {kappa_of(plan):.4g} for keys found in the data, and Gaussian noise of μ = "
        exact += f"{plan.spends.mu:.6g}."
    return f"{claim_of(release)}. {exact} All answers together, not each."


def composition_of(release: Release) -> str:
    """What was spent on this dataset up to this release, as the ledger had it."""
    standing = release.standing
    if standing is None:
        return (
            "This release was not charged to a ledger. What other releases about the same people took is not counted "
            "here: add the squares of their μ to that of this one."
        )
    pure, delta = standing.get("pure_epsilon", 0.0), standing["budget"].get("delta")
    taken = [f"ε = {pure:.4g} of pure noise"] if pure else []
    taken += [f"μ = {standing['mu']:.6g}"] if standing["mu"] or not pure else []
    total = " and ".join(taken)
    if standing["epsilon"] is not None and delta is not None:
        total += f", that is ε = {standing['epsilon']:.4g} at δ = {delta:g}"
    if standing["keys_delta"]:
        total += f" (of δ, {standing['keys_delta']:.4g} for keys found in the data and for releases of other tools)"
    budget = standing["budget"]
    limit = " and ".join(f"{sign} = {budget[name]:g}" for name, sign in _SIGNS.items() if name in budget)
    which = f" on the dataset {printable(str(standing['dataset']))}" if standing["dataset"] else ""
    count = standing["releases"]
    so_far = f"It took {total}" if count == 1 else f"All {count:,} together: {total}"
    return (
        f"This is charge {count:,} of its ledger{which}. {so_far}. The ledger refuses what would exceed {limit}. "
        "Squares of μ add up, and κ adds up beside them" + (", and so does the ε of pure noise." if pure else ".")
    )


_SIGNS = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}


def mechanism_of(release: Release) -> str:
    """By what noise people are hidden."""
    shapes = dict.fromkeys(
        describe_shape(query.block.shape.name) for query in release.plan.queries if not query.is_public
    )
    named = "; ".join(shapes) or "nothing is noisy: all answers are public"
    return f"Gaussian noise shaped to what one person can change: {named}. {SAMPLER}"


def software_of(release: Release) -> str:
    """The versions that made it."""
    others = ", ".join(f"{name} {version}" for name, version in sorted((versions_of(release) or {}).items()))
    return f"Gaussmith {version_of(release)}" + (f", {others}" if others else "") + f"; plan {release.plan.hash}"


def unprotected_of(release: Release) -> list[str]:
    """What the guarantee does not cover."""
    found = list(NOT_PROTECTED)
    if release.plan.neighbours != ADD_REMOVE:
        found.insert(0, "The number of people: it is published as it is.")
    said = _said(release.plan.about, "unprotected")
    return found + [f"Published beside this without protection: {text}" for text in said]


def utility_of(release: Release) -> str:
    """How far the answers can be from those without noise, and from the truth."""
    chosen = f" {SELECTED}" if release.plan.pays_for_keys else ""
    right = "Values are right on average within the bounds" + (", but for found groups" if chosen else "")
    return (
        f"Each answer has its standard error and a {PERCENT} interval, which cover the noise.{chosen} {right}; "
        "clipping to bounds, limits on rows and groups, and missing values move them, and the intervals do not cover "
        "that. Negative counts are not raised to 0, which would bias sums of them. Noise does not shrink with a group, "
        "so relative errors are largest in the smallest groups."
    )


def review_rows(release: Release) -> list[tuple[str, list[str]]]:
    """The questions of a reviewer with their answers, in the order of the guidelines."""
    about = release.plan.about
    model = about.deployment_model if about is not None and about.deployment_model else "central"
    trust = f"{model.capitalize()} model: whoever runs the release can read the data and adds the noise, and must be "
    trust += "trusted with both. Readers of the answers need not be trusted."
    events = [] if who_of(release.row_rules) == PERSON else [EVENTS]
    keys = keys_of(release)
    warned = [f"{line}." for line in guarantee_notes(release.guarantee)[1:]]
    return [
        (
            "Who is protected",
            [f"{unit_of(release)[0].upper()}{unit_of(release)[1:]}.", neighbours_of(release), *events],
        ),
        ("How well", [parameters_of(release), *warned, COMPARED, *_because(about, "rationale_epsilon")]),
        ("Composition so far", [composition_of(release)]),
        ("Mechanism", [mechanism_of(release)]),
        ("Bounds and limits", _said(about, "rationale_bounds") or [NOT_SAID + " The bounds are above."]),
        *([("Groups and values", keys)] if keys else []),
        ("Utility and bias", [utility_of(release)]),
        ("Query model", [RELEASED]),
        ("Trust", [trust, *_said(about, "actors")]),
        ("Security and access", _said(about, "security") or [NOT_SAID]),
        ("Side channels", [SIDES]),
        ("Data collection and preparation", _said(about, "preprocessing") or [NOT_SAID]),
        ("After the release", _said(about, "post_processing") or ["The answers are shown as they were released."]),
        ("Not protected", unprotected_of(release)),
        ("Software", [software_of(release)]),
    ]


def about_rows(release: Release) -> list[tuple[str, list[str]]]:
    """What the curator says about the release itself; empty where nothing was said."""
    about = release.plan.about
    if about is None:
        return []
    period = " to ".join(filter(None, (about.data_from, about.data_until)))
    rows = [
        ("Name", about.name),
        ("Published by", ", ".join(about.curator)),
        ("Purpose", about.purpose),
        ("Description", about.description),
        ("Contact", about.contact),
        ("Published", about.published),
        ("Data of", period),
        ("Region", about.region),
        ("Releases", about.release_type),
        ("Sources", ", ".join(about.sources)),
        ("Notes", about.notes),
    ]
    return [(name, [text]) for name, text in rows if text]


def rows_html(rows: list[tuple[str, list[str]]]) -> str:
    """Questions and answers as a list; all of it escaped."""
    told = "".join(
        f"<div><dt>{html.escape(name)}</dt>"
        + "".join(f"<dd>{html.escape(printable(line))}</dd>" for text in lines for line in text.split("\n"))
        + "</div>"
        for name, lines in rows
    )
    return f'<dl class="facts">{told}</dl>'


def _said(about: About | None, name: str) -> list[str]:
    text = "" if about is None else str(getattr(about, name))
    return [text] if text else []


def _because(about: About | None, name: str) -> list[str]:
    return [f"Why: {text}" for text in _said(about, name)] or ["Why this guarantee: not stated by the curator."]


# An entry for the registry of deployments of differential privacy (registry.opendp.org), filled from a release.
#
# The names of fields, the choices and the three tiers are those of `schemas/deployments-schema.yaml` in the
# repository opendp/deployments-registry-data at commit 3e9c812; docs/schemas/registry-entry.schema.json holds their
# structure.

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
        "data_product_sector": about.sector.capitalize(),
    }
    contact = f"Contact: {about.contact}" if about.contact else ""
    period = " to ".join(filter(None, (about.data_from, about.data_until)))
    administrative = {
        "sources": "\n".join(f"- {source}" for source in about.sources),
        "notes": "\n\n".join(filter(None, (about.notes, contact, f"Data of {period}." if period else ""))),
        "registry_authors": list(about.authors) or curators,
    }
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", first["name"].lower()).strip("_") or "release",
        "status": "Draft",
        "tier": _tier(about, missing),
        "deployment": {
            "basic": _known(basic),
            **_protection(release, about),
            "administrative": _known(administrative),
        },
    }


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of which something is said."""
    return {name: said for name, said in fields.items() if said}


def _tier(about: About, missing: list[str]) -> int:
    if missing or not all(getattr(about, name) for name in OF_TIER_2):
        return 1
    return 3 if all(getattr(about, name) for name in OF_TIER_3) else 2


def _protection(release: Release, about: About) -> dict[str, Any]:
    """The second and third tier: what is protected, how well, by whom and by what."""
    variant, parameters = _variant(release)
    why = _known({"Guarantee": about.rationale_epsilon, "Bounds and limits": about.rationale_bounds})
    made = (mechanism_of(release), f"Made by {software_of(release)}.", about.security)
    model = {
        "model_name": (about.deployment_model or "central").capitalize(),
        "actors": about.actors,
        "release_type": about.release_type.capitalize(),
        "data_source_type": about.data_source.capitalize(),
        "access_type": "Non-interactive",
    }
    implementation = {
        "preprocessing_and_hyperparameter_tuning": about.preprocessing,
        "mechanisms": "\n".join(f"- {line}" for line in made if line),
        "justification": "\n\n".join(f"{title}: {text}" for title, text in why.items()),
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
        "privacy_loss": _known({
            "privacy_unit": unit_of(release),
            "privacy_unit_details": neighbours_of(release),
            "privacy_parameters": parameters,
            "privacy_parameters_details": parameters_of(release),
        }),
        "deployment_model": _known(model),
        "accounting": {"post_processing": released, "composition": composition_of(release)},
        "implementation": _known(implementation),
    }  # fmt: skip


def _variant(release: Release) -> tuple[str, dict[str, float]]:
    """How the registry calls the guarantee, and the numbers that it has for it."""
    g = release.guarantee
    if g.is_pure and g.epsilon is not None:
        return "Pure DP", {"epsilon": g.epsilon}
    if g.epsilon is not None and g.delta is not None:
        return "Approximate DP", {"epsilon": g.epsilon, "delta": g.delta}
    if g.stated_rho is not None and not release.plan.pays_for_keys:
        return "Zero-concentrated DP", {"rho": g.rho}
    return "Custom", {}
