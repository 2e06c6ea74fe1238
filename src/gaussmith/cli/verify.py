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

from gaussmith.cli.parser import Parser
from gaussmith.cli.terminal import bold, wrapped
from gaussmith.errors import PlanError, RequestError


def add_flags(parser: Parser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a plan, as written by gaussmith plan --save")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="its certificate: gaussmith plan --certificate")


def run(arguments: Namespace) -> int:
    from gaussmith.certificate import Certificate, verify
    from gaussmith.plans import Plan

    plan = Plan.from_json(_read(arguments.plan))
    certificate = Certificate.from_json(_read(arguments.certificate))
    found = verify(plan, certificate)
    if found.problems:
        raise PlanError("a certificate that does not hold", " · ".join(found.problems), "plan again, or ask its author")
    if arguments.json:
        fields = {
            "holds": True,
            "plan_hash": plan.hash,
            "lower_bound": found.lower_bound,
            "price": found.price,
            "optimality": found.optimality,
            "largest_difference": found.reach,
        }
        print(json.dumps(fields, sort_keys=True, allow_nan=False))
        return 0
    what = (
        "total squared error" if certificate.objective == "total" else "largest squared error over its target squared"
    )
    print(bold("The certificate holds"))
    print(
        wrapped(
            f"Private: no difference of neighbours exceeds the guarantee ({plan.protects}); the largest reaches "
            f"{100 * found.reach:.6f} % of it.\n"
            f"Optimal: the plan's {what} is at most {found.price:.9g}, and no Gaussian noise with this guarantee can "
            f"be below {found.lower_bound:.9g}: within {100 * (found.optimality - 1):.2g} % of the best."
        )
    )
    return 0


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RequestError(f"file {file!r}", f"it cannot be read: {reason}", "check the name") from None
