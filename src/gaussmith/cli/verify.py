"""Check a plan against its certificate, trusting neither.

PLAN and CERTIFICATE are files that `gaussmith plan` wrote with --save and
--certificate. Checked with every rounding on the safe side: that no difference
of neighbours exceeds the guarantee, that no Gaussian noise can be better than
the certificate says, and that the plan is as good as it says.

examples:
  gaussmith plan request.toml --save plan.json --certificate proof.json
  gaussmith verify plan.json proof.json
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.addresses import without_secrets
from gaussmith.cli.parser import Parser
from gaussmith.cli.terminal import bold, wrapped
from gaussmith.errors import PlanError, RequestError
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.certificate import Verdict
    from gaussmith.group_plans import GroupPlan
    from gaussmith.plans import Plan


def add_flags(parser: Parser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a plan, as written by gaussmith plan --save")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="its certificate: gaussmith plan --certificate")


def run(arguments: Namespace) -> int:
    from gaussmith.certificate import read, verify
    from gaussmith.joint_plans import JointPlan, read_plan

    plan = read_plan(_read(arguments.plan))
    certificate = read(_read(arguments.certificate))
    found = verify(plan, certificate)
    if found.problems:
        raise PlanError("a certificate that does not hold", " · ".join(found.problems), "plan again, or ask its author")
    if arguments.json:
        fields: dict[str, Any] = {"holds": True, "plan_hash": plan.hash}
        if isinstance(plan, JointPlan):
            fields["parts"] = [{"questions": plan.asked_of(i), **_fields(part)} for i, part in enumerate(found.parts)]
        else:
            fields |= _fields(found)
        print(json.dumps(fields, sort_keys=True, allow_nan=False))
        return 0
    print(bold("The certificate holds"))
    if not isinstance(plan, JointPlan):
        print(wrapped(_describe(plan, found)))
        return 0
    for i, (part, verdict) in enumerate(zip(plan.parts, found.parts, strict=True)):
        print(f"\n{printable(', '.join(plan.asked_of(i)))}\n{wrapped(_describe(part.plan, verdict))}")
    print(wrapped("\nThe shares of μ² of all parts add up to no more than the guarantee's."))
    return 0


def _fields(found: Verdict) -> dict[str, float]:
    return {
        "lower_bound": found.lower_bound,
        "price": found.price,
        "optimality": found.optimality,
        "largest_difference": found.reach,
    }


def _describe(plan: Plan | GroupPlan, found: Verdict) -> str:
    """What was found of one plan, in plain words."""
    from gaussmith.group_plans import GroupPlan

    what = (
        "total squared error" if plan.answers.objective == "total" else "largest squared error over its target squared"
    )
    where, kept = "", "guarantee"
    if isinstance(plan, GroupPlan):
        m = plan.groups.at_most
        held = "one group" if m == 1 else f"at most {m} groups"
        where = f"In each of {plan.groups.size:,} groups, of which a person is in {held}:\n"
        kept = "guarantee" if plan.each.guarantee == plan.guarantee else "group's share of the guarantee"
    return (
        f"{where}Private: no difference of neighbours exceeds the {kept} ({plan.protects}); the largest reaches "
        f"{100 * found.reach:.6f} % of it.\n"
        f"Optimal: the plan's {what} is at most {found.price:.9g}, and no Gaussian noise with this {kept} can be below "
        f"{found.lower_bound:.9g}: within {100 * (found.optimality - 1):.2g} % of the best."
    )


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RequestError(
            f"file {without_secrets(file)!r}", f"it cannot be read: {reason}", "check the name"
        ) from None
