"""Certificates: a statement of how close to optimal a plan is, which others can check.

A certificate names a law on the differences of neighbours. For any such law, with M = E[s sᵀ] in answers scaled to
their weights, no Gaussian noise with the same guarantee has a total below (tr M^{1/2})²/μ²: so the law bounds what
anybody could have done, and the plan's own total says what was done.

What a law proves is computed in `gaussmith.proofs`, from the domain and the answers, apart from the choice of shapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gaussmith.errors import GaussmithError, PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import protects
from gaussmith.numerics.linear import Array
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.threads import single_threaded
from gaussmith.problem import Law
from gaussmith.problem.law import price_over_bound
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans import Block, Plan

FORMAT = 3

MAX_NUMBERS = 1 << 20
"""Limit on the numbers of differences and covariances in a certificate."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Of one draw: a law on differences, the bound it proves at the draw's share of the guarantee, and the price.

    `evidence` holds, where they are not too many, the law's differences (one a row, in answers scaled to the roots of
    their weights) with their weights, and the covariance of the plan's noise in the same scale.
    """

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
        return price_over_bound(self.price, self.lower_bound)

    def __str__(self) -> str:
        what = "total squared error" if self.objective == "total" else "largest squared error over its target squared"
        if not math.isfinite(self.optimality):
            return f"the plan's {what} is {self.price:.6g}; no lower bound for other noise is known"
        gap = 100 * max(self.optimality - 1, 0.0)
        return (
            f"the plan's {what} is {self.price:.6g}; no Gaussian noise can go below {self.lower_bound:.6g} (law: "
            f"{self.law.kind}): within {gap:.2g} %"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "neighbours": self.neighbours,
            "protects": protects(self.neighbours),
            "mu": self.mu,
            "objective": self.objective,
            "law": self.law.to_dict(),
            "lower_bound": self.lower_bound,
            "price": self.price,
            "evidence": {name: pack(values) for name, values in self.evidence.items()},
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Proof:
        """The proof that `to_dict` described."""
        return cls(
            str(fields["neighbours"]),
            float(fields["mu"]),
            str(fields["objective"]),
            Law.from_dict(fields["law"]),
            float(fields["lower_bound"]),
            float(fields["price"]),
            {str(name): unpack(values) for name, values in fields["evidence"].items()},
        )


@dataclass(frozen=True, eq=False)
class Certificate:
    """How close to the limit a plan is: a proof for each of its draws.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Cells(8), gm.Guarantee(mu=1), answers=gm.workloads.prefix(8))
    >>> print(plan.certificate)
    the plan's total squared error is 17.8...; no Gaussian noise can go below 17.86... (law: cells): within 0.0... %
    """

    plan_hash: str
    proofs: tuple[Proof, ...]
    together: Law | None = None
    """Of a plan with several noises, a law on what one person is in all of them: it bounds all noise together."""

    @property
    def proof(self) -> Proof:
        """The only one; refuses where there are several."""
        if len(self.proofs) != 1:
            what, rule = f"a certificate of {len(self.proofs)} draws", "each draw has its own proof"
            raise PlanError(what, rule, "use certificate.proofs", code="several-proofs", draws=len(self.proofs))
        return self.proofs[0]

    def __str__(self) -> str:
        return "\n".join(map(str, self.proofs))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        proofs = [proof.to_dict() for proof in self.proofs]
        fields = {"format": FORMAT, "kind": "certificate", "plan_hash": self.plan_hash, "proofs": proofs}
        return fields if self.together is None else fields | {"together": self.together.to_dict()}

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Certificate:
        """The certificate described by `to_dict`; refuses unknown forms."""
        try:
            if fields["format"] != FORMAT or fields["kind"] != "certificate":
                raise KeyError("kind")
            together = Law.from_dict(fields["together"]) if "together" in fields else None
            return cls(str(fields["plan_hash"]), tuple(map(Proof.from_dict, fields["proofs"])), together)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, GaussmithError):
                raise
            what, rule = "a file that is not a certificate", f"this version reads format {FORMAT}"
            raise PlanError(what, rule, "check the file", code="not-a-certificate") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """The certificate written by `to_json`; refuses unknown forms."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = {}
        return cls.from_dict(fields)


@dataclass(frozen=True)
class Verdict:
    """The result of checking a plan against its certificate; `problems` is empty if everything is correct."""

    lower_bound: float
    price: float
    reach: float
    """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
    problems: tuple[str, ...]
    draws: tuple[Verdict, ...] = ()
    """What was found of each draw; the numbers above are then of all together, each at its share of the guarantee."""
    least: float = 0.0
    """No Gaussian noise with the whole guarantee has a smaller price, by the law for all draws; 0 without one."""

    @property
    def optimality(self) -> float:
        """price / lower_bound, both as computed here."""
        return price_over_bound(self.price, self.lower_bound)


class Provable(Protocol):
    """A noise of a plan: a block's own, or one that is tied."""

    @property
    def neighbours(self) -> str: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def bound_mu(self) -> float: ...
    @property
    def objective(self) -> str: ...
    @property
    def price(self) -> float: ...
    @property
    def reach(self) -> float: ...
    @property
    def bounding_law(self) -> Law: ...
    def proven(self, law: Law) -> float: ...


@single_threaded()
def prove(noise: Provable, evidence: dict[str, Array]) -> Proof:
    """The proof of a noise: its law's bound is proven here, in directed arithmetic, not taken from the solver."""
    law, mu = noise.bounding_law, noise.bound_mu
    lower = noise.proven(law) / mu**2 * (1.0 - 2.0**-51)
    return Proof(noise.neighbours, mu, noise.objective, law, lower, _price(noise), evidence)


def prove_block(block: Block) -> Proof:
    """The proof of a block that has noise of its own."""
    return prove(block, _evidence(block, block.bounding_law))


@single_threaded()
def verify(plan: Plan, certificate: Certificate) -> Verdict:
    """Check a plan and its certificate against the domain and the answers alone; no number is trusted.

    1. Every difference of neighbours, on the grid of the release, stays within the guarantee: all rounding upward.
    2. No Gaussian noise has a smaller price than the law proves: all rounding downward.
    3. The plan's price is what the certificate says: all rounding upward.

    Each draw is checked, and that all keep the guarantee together; of groups, which are all alike, one is checked, and
    that the groups of one person keep the draw's guarantee. Prices and bounds are at a group's and a draw's share of μ.
    """
    noises = plan.provable
    if len(certificate.proofs) != len(noises):
        return Verdict(0.0, np.inf, np.inf, ("the certificate needs one proof for each draw of the plan",))
    found = tuple(_verify(noise, proof) for noise, proof in zip(noises, certificate.proofs, strict=True))
    several = len(found) > 1
    problems = [
        f"draw {i}: {problem}" if several else problem
        for i, draw in enumerate(found, start=1)
        for problem in draw.problems
    ]
    if certificate.plan_hash != plan.hash:
        problems.append("the certificate is for another plan")
    try:
        plan.certify()
    except PlanError as error:
        problems.append(f"the guarantee does not hold: {error}")
    worths = [plan.worth_of(noise) for noise in plan.noises]
    lower, price = (
        sum(worth * getattr(draw, name) for worth, draw in zip(worths, found, strict=False))
        for name in ("lower_bound", "price")
    )
    least, doubts = _verify_together(plan, certificate.together, found)
    problems += doubts
    if price < least * (1.0 - 1e-9):
        problems.append(f"no noise has a price of {price:.9g}: the plan does not give the answers it claims")
    return Verdict(lower, price, max(draw.reach for draw in found), tuple(dict.fromkeys(problems)), found, least)


def _verify_together(plan: Plan, law: Law | None, found: Sequence[Verdict]) -> tuple[float, list[str]]:
    """What a law for all draws proves of the plan, with what was found of each noise; and what is wrong with it."""
    from gaussmith.plans.joint_bound import bound_together, proven_together

    if law is None:
        return 0.0, []
    try:
        lower = proven_together(plan, law)
    except (PlanError, KeyError, ValueError, TypeError, IndexError, OverflowError, AssertionError) as error:
        return 0.0, [f"the law for all draws proves nothing: {error}"]
    if lower < law.lower * (1.0 - 1e-9):
        return 0.0, [f"the law for all draws proves {lower:.9g}, not {law.lower:.9g}"]
    noises = zip(plan.noises, plan.provable, found, strict=True)
    proven = {id(noise): verdict.lower_bound * own.bound_mu**2 for noise, own, verdict in noises}
    return bound_together(plan, law, lower, proven), []


def _verify(noise: Provable, proof: Proof) -> Verdict:
    problems = []
    if (proof.neighbours, proof.mu) != (noise.neighbours, noise.bound_mu):
        problems.append("the certificate is for another guarantee")
    if proof.objective != noise.objective:
        problems.append("the certificate is for another objective")
    if not np.isfinite([proof.lower_bound, proof.price]).all():
        problems.append("the certificate's numbers are not finite")
    try:
        reach = noise.reach
    except PlanError as error:
        problems.append(f"the guarantee does not hold: {error}")
        reach = np.inf
    if not reach <= 1.0:
        problems.append("the guarantee does not hold: neighbours are further apart than the noise allows")
    try:
        lower = noise.proven(proof.law) / noise.bound_mu**2
        lower *= 1.0 - 2.0**-51
    except (PlanError, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        problems.append(f"the law proves nothing: {error}")
        lower = 0.0
    if lower < proof.lower_bound * (1.0 - 1e-9):
        problems.append(f"the law proves {lower:.9g}, not {proof.lower_bound:.9g}")
    price = _price(noise)
    if price > proof.price * (1.0 + 1e-9):
        problems.append(f"the plan's price is {price:.9g}, not {proof.price:.9g}")
    if price < lower * (1.0 - 1e-9):
        problems.append(f"no noise has a price of {price:.9g}: the plan does not give the answers it claims")
    return Verdict(lower, price, reach, tuple(problems))


def _price(noise: Provable) -> float:
    """The plan's price, with more given away than all its roundings."""
    return noise.price * (1.0 + 2.0**-40)


def _evidence(block: Block, law: Law) -> dict[str, Array]:
    answers = block.answers
    size = answers.size + (answers.count and block.problem.secret_count)
    if size * size > MAX_NUMBERS or answers.any_divided:
        return {}
    scale = np.sqrt(answers.weights)[:size]
    covariance = block.averaged_covariance()[:size, :size] * np.outer(scale, scale)
    found = block.domain.differences(block.problem, law)
    if found is None or found[0].size > MAX_NUMBERS:
        return {"covariance": covariance}
    points, weights = found
    return {"covariance": covariance, "differences": points, "weights": weights / weights.sum()}
