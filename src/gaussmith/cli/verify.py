"""Check a plan against its certificate, trusting neither.

PLAN and CERTIFICATE are files that `gaussmith plan` wrote with --save and
--certificate. With every rounding on the safe side, this checks that no
difference of neighbours exceeds the guarantee, that the certificate's lower
bound holds for all Gaussian noise, and that the plan is as good as it claims.

examples:
  gaussmith plan request.toml --save plan.json --certificate proof.json
  gaussmith verify plan.json proof.json
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.parser import Parser, bold, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import PlanError, RequestError, counted, printable

if TYPE_CHECKING:
    from gaussmith.planning.certificate import CertificateVerdict
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.query import Query


def add_flags(parser: Parser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a plan, as written by gaussmith plan --save")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="its certificate: gaussmith plan --certificate")


def run(arguments: Namespace) -> int:
    from gaussmith.planning.certificate import Certificate, verify
    from gaussmith.planning.plan import Plan

    plan = Plan.from_json(_read(arguments.plan))
    certificate = Certificate.from_json(_read(arguments.certificate))
    found = verify(plan, certificate)
    if found.problems:
        what, rule = "a certificate that does not hold", " · ".join(found.problems)
        raise PlanError(what, rule, "plan again, or ask its author", code="certificate-does-not-hold")
    if arguments.json:
        print(json.dumps(_document(plan, found), sort_keys=True, allow_nan=False))
    else:
        _print(plan, found)
    return 0


def _document(plan: Plan, found: CertificateVerdict) -> dict[str, Any]:
    from gaussmith.report.keys import kappa_of, statement
    from gaussmith.report.plans import noise_names

    fields: dict[str, Any] = {"holds": True, "plan_hash": plan.hash, **_fields(found)}
    if plan.pays_for_keys:
        fields |= {"statement": statement(plan), "keys_delta": kappa_of(plan), "mu_of_noise": plan.spends.mu}
    if found.least > 0:
        fields["least_together"] = found.least
    asked = [list(filter(None, names)) for names, _, _ in noise_names(plan)]
    fields["queries"] = [{"questions": names, **_fields(d)} for names, d in zip(asked, found.queries, strict=True)]
    return fields


def _print(plan: Plan, found: CertificateVerdict) -> None:
    from gaussmith.report.keys import statement, statement_notes
    from gaussmith.report.plans import explain_any_noise, noise_names

    print(bold("The certificate holds"))
    queries = [*plan.untied, *([None] * len(plan.ties))]
    for (names, _, _), query, verdict in zip(noise_names(plan), queries, found.queries, strict=True):
        named = ", ".join(names)
        print((f"\n{printable(named)}\n" if named else "") + wrapped(_describe(query, plan.neighbours, verdict)))
    if plan.pays_for_keys:
        told = (
            "Keys: every threshold hides the keys of one person alone as often as stated, and together with all noise"
        )
        print(wrapped("\n".join(["", f"{told} the release is {statement(plan)}.", *statement_notes(plan)[1:]])))
    if len(plan.provable) > 1:
        print(wrapped("\nThe shares of μ² of all queries add up to no more than the guarantee's."))
        if found.least > 0:
            best = f"no Gaussian noise with the whole guarantee can go below {found.least:.9g}"
            within = f"within {100 * (max(found.price / found.least, 1) - 1):.2g} % of the best"
            print(wrapped(f"All queries together: the total is at most {found.price:.9g}, and {best}: {within}."))
    for line in explain_any_noise(plan):
        print(wrapped(f"\n{line}"))


def _fields(found: CertificateVerdict) -> dict[str, float | None]:
    return {
        "lower_bound": found.lower_bound,
        "price": found.price,
        "optimality": found.optimality if math.isfinite(found.optimality) else None,
        "largest_difference": found.reach,
    }


def _describe(query: Query | None, neighbours: str, found: CertificateVerdict) -> str:
    """What was found of one noise, in plain words: of a query, or (None) of several that are tied."""
    from gaussmith.privacy.neighbours import protects
    from gaussmith.report.keys import describe_groups
    from gaussmith.report.plans import held

    total = query is None or query.block.objective == "total"
    what = "total squared error" if total else "largest squared error relative to its squared target"
    where, kept = "", "guarantee"
    if query is None:
        where = "One noise for all groups and questions:\n"
    elif query.groups is not None and query.groups.is_found:
        where = f"In each group, {describe_groups(query)} (each person is in {held(query)}):\n"
        kept = "group's share of μ"
    elif query.groups is not None:
        where = f"In each of {counted(query.groups.size, 'group')} (each person is in {held(query)}):\n"
        kept = "group's share of the guarantee" if query.is_shared else "guarantee"
        kept = "noise around a choice" if query.block.domain.chosen else kept
    if query is not None and query.block.lender is not None:
        kept = "guarantee, with that of the noise whose number of everybody it takes,"
    bound = (
        f"no Gaussian noise with this {kept} can go below {found.lower_bound:.9g}: within "
        f"{100 * (found.optimality - 1):.2g} % of the best"
        if math.isfinite(found.optimality)
        else "no lower bound for other noise is known"
    )
    return (
        f"{where}Private: no difference of neighbours exceeds the {kept} ({protects(neighbours)}); the largest "
        f"is {100 * found.reach:.6f} % of it.\n"
        f"Optimal: the plan's {what} is at most {found.price:.9g}, and {bound}."
    )


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        what, rule = f"file {without_secrets(file)!r}", f"it cannot be read: {reason}"
        raise RequestError(
            what, rule, "check the name", code="file-not-readable", reason=reason, file=without_secrets(file)
        ) from None
