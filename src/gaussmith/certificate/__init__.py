"""How close to the limit a plan is, as a statement that somebody else can check.

A certificate names a law on the differences of neighbours. For any such law, with M = E[s sᵀ] in answers scaled to
their weights, no Gaussian noise with the same guarantee has a total below (tr M^{1/2})²/μ²: so the law bounds what
anybody could have done, and the plan's own total says what was done.

- bounds: laws for boxes, balls and people, whose shapes come without one
- proofs: what a law proves, computed again from the domain and the answers
- roots:  tr M^{1/2} on the safe side of every rounding
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.certificate.bounds import law_of, lower_bound
from gaussmith.certificate.proofs import differences, proven
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.neighbours import ADD_REMOVE, protects
from gaussmith.numerics.linear import Array, pack, unpack
from gaussmith.shapes.laws import Law

if TYPE_CHECKING:
    from gaussmith.group_plans import GroupPlan
    from gaussmith.joint_plans import JointPlan
    from gaussmith.plans import Plan

__all__ = ["Certificate", "Certificates", "Verdict", "certificate_of", "law_of", "lower_bound", "read", "verify"]

FORMAT = 1

MOST_NUMBERS = 1 << 20
"""Differences and covariances of up to so many numbers are written into a certificate."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A law on differences, the bound it proves at the plan's guarantee, and the price of the plan.

    `evidence` holds, where they are not too many, the law's differences (one a row, in answers scaled to the roots of
    their weights) with their weights, and the covariance of the plan's noise in the same scale.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Cells(8), gm.Guarantee(mu=1), answers=gm.workloads.prefix(8))
    >>> print(plan.certificate)
    the plan's total squared error is 17.8...; none can be below 17.86... (law: cells): within 0.0... %
    """

    plan_hash: str
    neighbours: str
    mu: float
    objective: str
    law: Law
    lower_bound: float
    price: float
    evidence: dict[str, Array]

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do."""
        return self.price / self.lower_bound if self.lower_bound else 1.0

    def __str__(self) -> str:
        what = "total squared error" if self.objective == "total" else "largest squared error over its target squared"
        gap = 100 * max(self.optimality - 1, 0.0)
        return (
            f"the plan's {what} is {self.price:.6g}; none can be below {self.lower_bound:.6g} (law: "
            f"{self.law.kind}): within {gap:.2g} %"
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": "certificate",
            "plan_hash": self.plan_hash,
            "neighbours": self.neighbours,
            "protects": protects(self.neighbours),
            "mu": self.mu,
            "objective": self.objective,
            "law": self.law.to_dict(),
            "lower_bound": self.lower_bound,
            "price": self.price,
            "evidence": {name: pack(values) for name, values in self.evidence.items()},
        }

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` described."""
        return cls(
            str(fields["plan_hash"]),
            str(fields["neighbours"]),
            float(fields["mu"]),
            str(fields["objective"]),
            Law.from_dict(fields["law"]),
            float(fields["lower_bound"]),
            float(fields["price"]),
            {str(name): unpack(values) for name, values in fields["evidence"].items()},
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """The certificate that `to_json` wrote; refuses what it does not know."""
        found = read(text)
        if not isinstance(found, cls):
            raise PlanError(
                "certificates of several questions", "here one is expected", "use gaussmith.certificate.read"
            )
        return found


@dataclass(frozen=True, eq=False)
class Certificates:
    """The certificates of several questions: one for each part of their plan, at its share of the guarantee."""

    plan_hash: str
    parts: tuple[Certificate, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.parts))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        parts = [part.to_dict() for part in self.parts]
        return {"format": FORMAT, "kind": "certificates", "plan_hash": self.plan_hash, "parts": parts}

    def to_json(self) -> str:
        """The certificates as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)


def read(text: str | bytes) -> Certificate | Certificates:
    """What `to_json` of a certificate, or of several, wrote; refuses what it does not know."""
    try:
        fields = json.loads(text)
        if fields["format"] != FORMAT or fields["kind"] not in ("certificate", "certificates"):
            raise KeyError("kind")
        if fields["kind"] == "certificate":
            return Certificate.from_dict(fields)
        return Certificates(str(fields["plan_hash"]), tuple(map(Certificate.from_dict, fields["parts"])))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, GaussmithError):
            raise
        raise PlanError(
            "a file that is not a certificate", f"this version reads format {FORMAT}", "check the file"
        ) from None


@dataclass(frozen=True)
class Verdict:
    """What checking a plan against its certificate found; `problems` is empty where all is right."""

    lower_bound: float
    price: float
    reach: float
    """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
    problems: tuple[str, ...]
    parts: tuple[Verdict, ...] = ()
    """What was found of each part of a plan of several questions; the numbers above are then of all together."""

    @property
    def optimality(self) -> float:
        """price / lower_bound, both as computed here."""
        return self.price / self.lower_bound if self.lower_bound else 1.0


def certificate_of(plan: Plan) -> Certificate:
    """The certificate of a plan: its law's bound is proven here, in directed arithmetic, not taken from the solver."""
    law = plan.bounding_law
    mu = plan.guarantee.mu
    lower = proven(plan.domain, plan.answers, plan.neighbours, law) / mu**2 * (1.0 - 2.0**-51)
    return Certificate(
        plan.hash, plan.neighbours, mu, plan.answers.objective, law, lower, _price(plan), _evidence(plan, law)
    )


def verify(plan: Plan | GroupPlan | JointPlan, certificate: Certificate | Certificates) -> Verdict:
    """Check a plan and its certificate against the domain and the answers alone; no number is believed.

    1. Every difference of neighbours, on the grid of the release, stays within the guarantee: all rounding upward.
    2. No Gaussian noise has a smaller price than the law proves: all rounding downward.
    3. The plan's price is what the certificate says: all rounding upward.

    Of groups, which are all alike, one is checked, and that the groups of one person keep the guarantee together; of
    several questions each part, and that the parts do. Prices and bounds are at a group's and a part's share of μ.
    """
    each: Any = getattr(plan, "each", plan)
    parts = getattr(plan, "parts", None)
    if parts is not None:
        return _verify_parts(plan, [part.plan for part in parts], certificate)
    if not isinstance(certificate, Certificate):
        return Verdict(0.0, np.inf, np.inf, ("the certificates are for several questions",))
    found = _verify_one(each, certificate)
    return found if each is plan else replace(found, problems=(*found.problems, *_shares(plan)))


def _verify_parts(whole: Any, plans: list[Any], certificates: Certificate | Certificates) -> Verdict:
    if not isinstance(certificates, Certificates) or len(certificates.parts) != len(plans):
        return Verdict(0.0, np.inf, np.inf, ("there is not one certificate for each part of the plan",))
    found = tuple(verify(plan, part) for plan, part in zip(plans, certificates.parts, strict=True))
    problems = [f"part {i}: {problem}" for i, part in enumerate(found, start=1) for problem in part.problems]
    if certificates.plan_hash != whole.hash:
        problems.append("the certificates are for another plan")
    lower, price = (sum(getattr(part, name) for part in found) for name in ("lower_bound", "price"))
    return Verdict(lower, price, max(part.reach for part in found), (*problems, *_shares(whole)), found)


def _shares(plan: Any) -> list[str]:
    """What is wrong with how a plan shares its guarantee among groups or parts."""
    try:
        plan.certify()
    except PlanError as error:
        return [f"the guarantee does not hold: {error}"]
    return []


def _verify_one(plan: Plan, certificate: Certificate) -> Verdict:
    problems = []
    if certificate.plan_hash != plan.hash:
        problems.append("the certificate is for another plan")
    if (certificate.neighbours, certificate.mu) != (plan.neighbours, plan.guarantee.mu):
        problems.append("the certificate is for another guarantee")
    if certificate.objective != plan.answers.objective:
        problems.append("the certificate is for another objective")
    if not np.isfinite([certificate.lower_bound, certificate.price]).all():
        problems.append("the certificate's numbers are not finite")
    reach = 0.0
    try:
        plan.certify()
        reach = plan.grid.reach(plan.domain, plan.codes, plan.neighbours) / (plan.guarantee.mu * 2.0**52)
    except PlanError as error:
        problems.append(f"the guarantee does not hold: {error}")
        reach = np.inf
    if not reach <= 1.0:
        problems.append("the guarantee does not hold: neighbours lie further apart than the noise is made for")
    try:
        lower = proven(plan.domain, plan.answers, plan.neighbours, certificate.law) / plan.guarantee.mu**2
        lower *= 1.0 - 2.0**-51
    except (PlanError, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        problems.append(f"the law proves nothing: {error}")
        lower = 0.0
    if lower < certificate.lower_bound * (1.0 - 1e-9):
        problems.append(f"the law proves {lower:.9g}, not {certificate.lower_bound:.9g}")
    price = _price(plan)
    if price > certificate.price * (1.0 + 1e-9):
        problems.append(f"the plan's price is {price:.9g}, not {certificate.price:.9g}")
    if price < lower * (1.0 - 1e-9):
        problems.append(f"no noise has a price of {price:.9g}: the plan does not give the answers that it names")
    return Verdict(lower, price, reach, tuple(problems))


def _price(plan: Plan) -> float:
    """The plan's price, with more given away than all its roundings."""
    return plan.price * (1.0 + 2.0**-40)


def _evidence(plan: Plan, law: Law) -> dict[str, Array]:
    answers = plan.answers
    counted = answers.count and plan.neighbours == ADD_REMOVE
    size = answers.size + counted
    if size * size > MOST_NUMBERS or answers.any_mean or answers.ratios.any():
        return {}
    scale = np.append(np.sqrt(answers.weights), 1.0)[:size]
    covariance = plan.covariance()[:size, :size] * np.outer(scale, scale)
    found = differences(plan.domain, answers, plan.neighbours, law)
    if found is None or found[0].size > MOST_NUMBERS:
        return {"covariance": covariance}
    points, weights = found
    return {"covariance": covariance, "differences": points, "weights": weights / weights.sum()}
