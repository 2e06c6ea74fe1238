"""Certificates: a statement of how close to optimal a plan is, which others can check.

A certificate names a law on the differences of neighbours. For any such law, with M = E[s sᵀ] in answers scaled to
their weights, no Gaussian noise with the same guarantee has a total below (tr M^{1/2})²/μ²: so the law bounds what
anybody could have done, and the plan's own total says what was done.

What a law proves is computed in `gaussmith.domains.worst_cases`, from the domain and the answers, apart from the
choice of shapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from gaussmith.domains.cell_bounds import cells_beside
from gaussmith.domains.cells import Cells
from gaussmith.domains.crossed_bounds import tables_beside
from gaussmith.domains.domain import IN_GROUPS, TOGETHER, Problem, WorstCase, check_law, price_over_bound, refused_law
from gaussmith.domains.joint_law import Beside
from gaussmith.domains.moment_bounds import moments_beside
from gaussmith.domains.moments import Moments
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.ladder import solve
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.threads import single_threaded
from gaussmith.numerics.trace_roots import square_down
from gaussmith.planning.crossed_noise import KIND, CrossedNoise, bound_tables
from gaussmith.planning.joining import everybody_of
from gaussmith.planning.joint_noise import JointNoise, types_numbers, types_of
from gaussmith.planning.joint_people import (
    JointPeople,
    are_free,
    columns_asked,
    columns_changed,
    parts_of,
    people_of,
    possible_people,
)
from gaussmith.planning.lending import Borrower, find_borrowers, find_centres
from gaussmith.planning.one_group import by_one_key, inside, one_choice, weight_of
from gaussmith.planning.query import Query, tied
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, protects

if TYPE_CHECKING:
    from gaussmith.planning.block import Block
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.query import AnyTie


FORMAT = 3

ASSUMED = (
    "any value within the bounds, any key and any filter can meet in one person, in one question even where they are "
    "made of one column, in several questions only where these read other columns or have the same keys"
)
"""What a certificate takes for granted: laws may be about people who can exist, and nothing looks at formulas."""

MAX_NUMBERS = 1 << 20
"""Limit on the numbers of differences and covariances in a certificate."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Of one query: a law on differences, the bound it proves at the query's share of the guarantee, and the price.

    `evidence` holds, where they are not too many, the law's differences (one a row, in answers scaled to the roots of
    their weights) with their weights, and the covariance of the plan's noise in the same scale.
    """

    neighbours: str
    mu: float
    objective: str
    law: WorstCase
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
            f"the plan's {what} is {self.price:.6g}; no Gaussian noise with μ={self.mu:.4g} ({self.neighbours}) can go "
            f"below {self.lower_bound:.6g} (law: {self.law.kind}): within {gap:.2g} %"
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
            WorstCase.from_dict(fields["law"]),
            float(fields["lower_bound"]),
            float(fields["price"]),
            {str(name): unpack(values) for name, values in fields["evidence"].items()},
        )


@dataclass(frozen=True, eq=False)
class Certificate:
    """How close to the limit a plan is: a proof for each of its queries.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Cells(8), gm.Guarantee(mu=1), answers=gm.workloads.prefix(8))
    >>> print(plan.certificate.proof)
    the plan's total squared error is 17.8...; no Gaussian noise with μ=1 (add-remove) can go below 17.86...
    """

    plan_hash: str
    proofs: tuple[Proof, ...]
    together: WorstCase | None = None
    """Of a plan with several noises, a law on what one person is in all of them: it bounds all noise together."""

    @property
    def proof(self) -> Proof:
        """The only one; refuses where there are several."""
        if len(self.proofs) != 1:
            what, rule = f"a certificate of {len(self.proofs)} queries", "each query has its own proof"
            raise PlanError(what, rule, "use certificate.proofs", code="several-proofs", queries=len(self.proofs))
        return self.proofs[0]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.proofs), f"assumed of people: {ASSUMED}"])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        proofs = [proof.to_dict() for proof in self.proofs]
        fields = {"format": FORMAT, "kind": "certificate", "plan_hash": self.plan_hash, "proofs": proofs}
        fields |= {"assumed": ASSUMED}
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
            together = WorstCase.from_dict(fields["together"]) if "together" in fields else None
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
class CertificateVerdict:
    """The result of checking a plan against its certificate; `problems` is empty if everything is correct."""

    lower_bound: float
    price: float
    reach: float
    """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
    problems: tuple[str, ...]
    queries: tuple[CertificateVerdict, ...] = ()
    """What was found of each query; the numbers above are then of all together, each at its share of the guarantee."""
    least: float = 0.0
    """No Gaussian noise with the whole guarantee has a smaller price, by the law for all queries; 0 without one."""

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
    def bounding_law(self) -> WorstCase: ...
    def proven(self, law: WorstCase) -> float: ...


@single_threaded()
def prove(noise: Provable, evidence: dict[str, Array]) -> Proof:
    """The proof of a noise: its law's bound is proven here, in directed arithmetic, not taken from the solver."""
    law, mu = noise.bounding_law, noise.bound_mu
    lower = noise.proven(law) / mu**2 * (1.0 - 2.0**-51)
    return Proof(noise.neighbours, mu, noise.objective, law, lower, _price(noise), evidence)


def prove_block(block: Block) -> Proof:
    """The proof of a block that has noise of its own."""
    return prove(block, _evidence(block, block.bounding_law))


def unbiased_factor(plan: Plan) -> float | None:
    """By how much noise of any law could be below the plan's total at the same μ, if it left the answers unbiased.

        c = (1 + x) (e^{μ²} − 1)/μ²,   x the plan's distance from the best Gaussian noise

    Guarantee: no unbiased release of these sums and counts that is μ-GDP with the same μ has less than 1/c of this
    total variance. None where that is not proven: for ratios and quantiles, under replace-one, for groups that are
    found and in stages. Rounding: up. Proof: docs/theory.md, statement 60.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box({"age": (0, 1)}), gm.Guarantee(epsilon=1, delta=1e-6), count=True)
    >>> round(unbiased_factor(plan), 3)
    1.029
    """
    answers = [query.block.answers for query in plan.queries]
    linear = not any(each.any_divided or each.any_inverted for each in answers)
    total = all(noise.objective == "total" for noise in plan.provable)
    alone = plan.neighbours == ADD_REMOVE and not plan.pays_for_keys and plan.staging is None and not plan.is_narrowed
    if not (linear and total and alone and plan.provable):
        return None
    square = plan.guarantee.mu**2
    factor = plan.optimality * math.expm1(square) / square if square < 700 else math.inf
    return factor * (1.0 + 2.0**-40) if math.isfinite(factor) else None


@single_threaded()
def verify(plan: Plan, certificate: Certificate) -> CertificateVerdict:
    """Check a plan and its certificate against the domain and the answers alone; no number is trusted.

    1. Every difference of neighbours, on the grid of the release, stays within the guarantee: all rounding upward.
    2. No Gaussian noise has a smaller price than the law proves: all rounding downward.
    3. The plan's price is what the certificate says: all rounding upward.

    Each query is checked, and that all keep the guarantee together; of groups, which are all alike, one is checked, and
    that the groups of one person keep the query's guarantee. Prices and bounds are at a group's and a query's share
    of μ.
    """
    noises = plan.provable
    if len(certificate.proofs) != len(noises):
        return CertificateVerdict(0.0, np.inf, np.inf, ("the certificate needs one proof for each query of the plan",))
    found = tuple(_verify(noise, proof) for noise, proof in zip(noises, certificate.proofs, strict=True))
    found = tuple(
        replace(verdict, lower_bound=verdict.lower_bound * _share_inside(noise))
        for noise, verdict in zip(plan.noises, found, strict=True)
    )
    several = len(found) > 1
    problems = [
        f"query {i}: {problem}" if several else problem
        for i, query in enumerate(found, start=1)
        for problem in query.problems
    ]
    if certificate.plan_hash != plan.hash:
        problems.append("the certificate is for another plan")
    try:
        plan.certify()
    except PlanError as error:
        problems.append(f"the guarantee does not hold: {error}")
    worths = [plan.worth_of(noise) for noise in plan.noises]
    lower, price = (
        sum(worth * getattr(query, name) for worth, query in zip(worths, found, strict=False))
        for name in ("lower_bound", "price")
    )
    least, doubts = _verify_together(plan, certificate.together, found)
    problems += doubts
    if plan.price * (1.0 + 2.0**-40) < least * (1.0 - 1e-9):  # over all groups, as the bound is
        problems.append(f"no noise has a price of {plan.price:.9g}: the plan does not give the answers it claims")
    return CertificateVerdict(
        lower, price, max(query.reach for query in found), tuple(dict.fromkeys(problems)), found, least
    )


def _share_inside(noise: Query | AnyTie) -> float:
    """What is left of a bound where noise is planned for one person added or removed, and must hide one replaced.

    A person who is replaced by one whom a filter leaves out is removed: so the bound holds with all of the query's μ,
    not the smaller one that it was planned with. Groups are judged at the share of one.
    """
    if not getattr(noise, "is_planned_inside", False) or cast("Query", noise).groups is not None:
        return 1.0
    return (cast("Query", noise).block.bound_mu / noise.bound_mu) ** 2 * (1.0 - 2.0**-50)


def _verify_together(plan: Plan, law: WorstCase | None, found: Sequence[CertificateVerdict]) -> tuple[float, list[str]]:
    """What a law for all queries proves of the plan, with what was found of each noise; and what is wrong with it."""

    if law is None:
        return 0.0, []
    noises = zip(plan.noises, plan.provable, found, strict=True)
    proven = {id(noise): verdict.lower_bound * own.bound_mu**2 for noise, own, verdict in noises}
    try:
        lower = proven_together(plan, law, proven)
    except (PlanError, KeyError, ValueError, TypeError, IndexError, OverflowError, AssertionError) as error:
        return 0.0, [f"the law for all queries proves nothing: {error}"]
    if lower < law.lower * (1.0 - 1e-9):
        return 0.0, [f"the law for all queries proves {lower:.9g}, not {law.lower:.9g}"]
    return bound_together(plan, law, lower, proven), []


def _verify(noise: Provable, proof: Proof) -> CertificateVerdict:
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
    return CertificateVerdict(lower, price, reach, tuple(problems))


def _price(noise: Provable) -> float:
    """The plan's price, with more given away than all its roundings."""
    return noise.price * (1.0 + 2.0**-40)


def _evidence(block: Block, law: WorstCase) -> dict[str, Array]:
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


# How little noise all queries of a plan need together, also where they do not share it.
#
# A lower bound for each query by itself leaves out that one person is in all of them. Queries that could share a noise
# are one body (`tied_people`), whatever noise they have: a law on its people bounds every Gaussian noise for all of
# them.


def least_price(plan: Plan) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price: the best bound that is known."""
    mu = plan.guarantee.mu
    least = {id(each): plan.worth_of(each) * each.lower_bound * (each.bound_mu / mu) ** 2 for each in plan.noises}
    if len(least) == 1 or plan.neighbours == ADD_REMOVE:
        alone = sum(least.values())
        return max(alone, bound_together(plan)) if len(least) > 1 and not plan.is_narrowed else alone
    found = []
    for members, bound in () if plan.is_narrowed else _loose_tables(plan):
        each = sum(least.pop(id(_noise_of(plan.queries[i]))) for i in members)
        found.append(([plan.queries[i] for i in members], max(each, bound / mu**2 * (1.0 - 2.0**-45))))
    for noise in plan.noises:
        own = [noise] if isinstance(noise, Query) else [plan.queries[i] for i in noise.members]
        found += [(own, least[id(noise)])] if id(noise) in least else []
    # What is read from other columns changes with a sign of its own; what is read from one column changes together.
    families: list[tuple[set[str], float]] = []
    for queries, bound in found:
        columns = {name for query in queries for name in columns_changed(query)}
        bound += sum(each for names, each in families if not names.isdisjoint(columns))
        columns = columns.union(*(names for names, _ in families if not names.isdisjoint(columns)))
        families = [(names, each) for names, each in families if names.isdisjoint(columns)] + [(columns, bound)]
    return square_down(sum(math.sqrt(bound) for _, bound in families) * (1 - 2.0**-45))


MAX_FEATURES = 600
"""Limit on the features of queries with noise of their own that are bounded together for a print: two medians. The
bound takes the singular values of a matrix of so many columns."""


def is_quickly_bounded(plan: Plan) -> bool:
    """Whether `least_price` takes no longer than the plan did, by the sizes of its queries alone."""
    own = [query.block.problem for query in plan.untied]
    own = [problem for problem in own if problem.features.marginals is None and problem.features.targets is None]
    few = len(own) < 2 or sum(problem.domain.dimension for problem in own) <= MAX_FEATURES
    return all(tie.is_bound_quick for tie in plan.ties) and (few or plan.neighbours != ADD_REMOVE)


Least = dict[int, float]
"""The least price of noises at μ = 1, by their identity, where it was proven anew."""


def bound_together(plan: Plan, law: WorstCase | None = None, lower: float = 0.0, proven: Least | None = None) -> float:
    """No Gaussian noise with the plan's guarantee has a smaller price for all queries; 0 where nothing is known.

    Queries that cannot share a noise have laws of their own beside that of the others where nothing binds them: where a
    person can be anything in each, whatever it is elsewhere. Other queries add their own bounds. So do tables of the
    same keys: nobody is in any cell of each, and as parts of one body they would be bounded by more than they need.
    Guarantee: rounded down. Proof: docs/theory.md, statements 44 and 68. A `law` may be given with what it
    proves, and what was `proven` of each noise.
    """
    if law is None:
        law = plan.together
        lower = 0.0 if law is None else law.lower
    if law is None:
        return 0.0
    if law.kind == IN_GROUPS:
        taken = {i for members in _repeated(plan) for i in members}
        rest = [query for i, query in enumerate(plan.queries) if i not in taken and not query.is_public]
        lower += sum(_alone(plan, query, proven) for query in _one_each(rest))
        return lower / plan.guarantee.mu**2 * (1.0 - 2.0**-45)
    held = {plan.ties[k].members for k in _told_tables(law)}
    apart = sum(bound for tables, bound in _keyed(plan, proven) if tables not in held)
    apart += sum(_alone(plan, plan.queries[i], proven) for i in _apart(plan, law))
    return (lower + apart) / plan.guarantee.mu**2 * (1.0 - 2.0**-45)


def law_together(plan: Plan) -> WorstCase | None:
    """A law on what a person is in all queries at once that can be bounded together; None where nothing is known."""
    if plan.neighbours != ADD_REMOVE:
        return None
    found = [law for law in (_law_at_once(plan), _law_in_groups(plan)) if law is not None]
    return max(found, key=lambda law: bound_together(plan, law, law.lower), default=None)


def _law_in_groups(plan: Plan) -> WorstCase | None:
    """Laws on the people of one group, for queries that are by the same groups; None where there are no such queries.

    With people e_i ⊗ x, a law on x proves Σ w_i T₁ for queries by the same groups (docs/theory.md, statement 78).
    """
    numbers: dict[str, Array] = {}
    for k, members in enumerate(_repeated(plan)):
        one = plan_of_one_group(plan, members)
        own = law_together(one) if len(one.provable) > 1 else None
        if own is not None:
            numbers |= {f"{k} {name}": values for name, values in own.numbers.items()}
    if not _repeated(plan):
        return None
    law = WorstCase(IN_GROUPS, 0.0, numbers)
    return replace(law, lower=_proven_in_groups(plan, law))


def _proven_in_groups(plan: Plan, law: WorstCase, proven: Least | None = None) -> float:
    """What laws on the people of one group prove at μ = 1, for all groups; rounded down."""
    total = 0.0
    for k, members in enumerate(_repeated(plan)):
        one, times = plan_of_one_group(plan, members), weight_of(one_choice([plan.queries[i] for i in members]))
        known = None if proven is None else _proven_inside(plan, members, one, proven, times)
        least = sum(_alone(one, each, known) for each in _one_each(one.queries))
        head = f"{k} "
        own = {name[len(head) :]: values for name, values in law.numbers.items() if name.startswith(head)}
        if own:
            told = WorstCase(TOGETHER, 0.0, own)
            told = replace(told, lower=proven_together(one, told))
            least = max(least, bound_together(one, told, told.lower, known) * one.guarantee.mu**2)
        total += least * times
    return total * (1.0 - 2.0**-40)


def _proven_inside(plan: Plan, members: Sequence[int], one: Plan, proven: Least, times: float) -> Least:
    """What was proven of each noise, for one group: of noise that queries share, over all groups before."""
    pairs = [(plan.queries[i], query) for i, query in zip(members, one.queries, strict=True)]
    return {
        id(_noise_of(query)): proven[id(_noise_of(outer))] / (1.0 if outer.tie is None else times)
        for outer, query in pairs
    }


def _one_each(queries: Sequence[Query]) -> list[Query]:
    """One query of every noise."""
    return list({id(_noise_of(query)): query for query in queries}.values())


def _repeated(plan: Plan) -> list[tuple[int, ...]]:
    """Sets of queries by the same groups whose noise is theirs alone."""
    found = []
    for members in by_one_key(plan.queries):
        ties = {
            id(tie): tie for i in members if (tie := plan.queries[i].tie or plan.queries[i].block.lender) is not None
        }
        if all({*tie.members, *tie.lent_to} <= {*members} for tie in ties.values()):
            if all(tie.groups is not None for tie in ties.values()):
                found.append(members)
    return found


def plan_of_one_group(plan: Plan, members: Sequence[int]) -> Plan:
    """The plan of queries by the same groups as it is in one of them: each with its noise there."""
    queries = [inside(plan.queries[i]) for i in members]
    for tie in {id(query.tie): query.tie for query in queries if query.tie is not None}.values():
        assert isinstance(tie, JointNoise)
        places = tuple(members.index(i) for i in tie.members)
        moved = replace(tie, groups=None, members=places, borrowers=tuple(members.index(i) for i in tie.borrowers))
        for k, place in zip(places, tie.places, strict=True):
            queries[k] = tied(queries[k], moved, place)
        for k in moved.borrowers:
            queries[k] = replace(queries[k], block=replace(queries[k].block, lender=moved))
    return type(plan)(plan.guarantee, plan.neighbours, tuple(queries), ())


def _law_at_once(plan: Plan) -> WorstCase | None:
    """A law on what a person is in all queries at once, those by groups among them; None where nothing is known."""
    scales = _scales(plan)
    keyed = {i for tables, _ in _keyed(plan) for i in tables}
    rest = [i for i in range(len(plan.queries)) if i not in keyed]
    where = _everybody(plan, rest)
    parts = {i: _parts(plan.queries[i], where, scales[i]) for i in rest}
    if any(each is None and plan.queries[i].tie is not None for i, each in parts.items()):
        return None
    found = [i for i, each in parts.items() if each is not None]
    loose = [(i, plan.queries[i], scales[i]) for i, each in parts.items() if each is None]
    ways = possible_people(plan.queries, scales, found, where) if found else [[]]
    laws = [each for sets in ways if (each := _law_of_sets(plan, sets, loose, where)) is not None]
    return max(laws, key=lambda law: bound_together(plan, law, law.lower), default=None)


def _law_of_sets(
    plan: Plan, sets: Sequence[JointPeople], loose: Sequence[tuple[int, Query, float]], where: str | None
) -> WorstCase | None:
    """A law on queries in sets, the first beside queries that borrow and tables; None where doubles cannot hold it."""
    people = next((each for each in sets if each.times == 1.0), NO_PEOPLE)
    rest = [each for each in sets if each is not people]
    members, body = people.members, people.body
    borrowers = [each for each in find_borrowers(loose, where) if _is_free(plan, each.place, members, where)]
    beside: list[Borrower] = []
    for each in borrowers:
        if _is_free(plan, each.place, [other.place for other in beside], where):
            beside.append(each)
    others, tables = [*members, *(b.place for b in beside)], {}
    for k, tie in enumerate(plan.ties):
        one = isinstance(tie, CrossedNoise) and len(tie.cross.possible) == 1
        if one and all(_is_free(plan, i, others, where) for i in tie.members):
            tables[f"{TABLES}{k}"] = tie.bounding_law.numbers["weights"]
            others += tie.members
    if not members and len(beside) + len(tables) < 2:
        beside, tables = [], {}  # its own bound is as good
    try:
        with within_doubles():
            numbers = {"members": np.array(members, float), "beside": np.array([b.place for b in beside], float)}
            numbers |= tables
            for k, other in enumerate(rest):
                own = types_numbers(other.law(plan.neighbours), f"of {SET}{k} ")
                numbers |= {f"{SET}{k}": np.array(other.members, float)} | own
            raised = body
            if beside:
                lending = find_centres(beside, partial(_raised_total, body))
                raised = replace(body, people_weight=body.people_weight + lending.energy)
                for b, centred in zip(beside, lending.centred, strict=True):
                    numbers |= {f"{b.place} {name}": values for name, values in centred.law.numbers.items()}
            numbers |= types_numbers(replace(people, body=raised).law(plan.neighbours))
            law = WorstCase(TOGETHER, 0.0, numbers)
            return replace(law, lower=proven_together(plan, law))
    except PlanError:
        return None


def proven_together(plan: Plan, law: WorstCase, proven: Least | None = None) -> float:
    """What a law on all that a person is proves at μ = 1 for the queries it is about; rounded down.

    Refuses a law that binds what a person is in one query to what it is in another. Queries by the same groups add what
    was `proven` of their noises.
    """
    check_law(law.kind in (TOGETHER, IN_GROUPS) and plan.neighbours == ADD_REMOVE)
    if law.kind == IN_GROUPS:
        return _proven_in_groups(plan, law, proven)
    scales = _scales(plan)
    members, beside = ([int(i) for i in law.numbers[name]] for name in ("members", "beside"))
    chosen, sets = [*members, *beside], _told_sets(law)
    told = [*chosen, *(i for each in sets.values() for i in each)]
    check_law(len(set(told)) == len(told) and all(0 <= i < len(plan.queries) for i in told))
    keyed = {i for tables, _ in _keyed(plan) for i in tables}
    check_law(keyed.isdisjoint(told))
    where = _everybody(plan, [i for i in range(len(plan.queries)) if i not in keyed])
    people = people_of(plan.queries, scales, members, where) if members else NO_PEOPLE
    if people is None or people.times != 1.0:
        raise refused_law()
    borrowers = {b.place: b for b in find_borrowers([(i, plan.queries[i], scales[i]) for i in beside], where)}
    check_law(set(borrowers) == set(beside))
    laws = []
    for k, i in enumerate(beside):
        check_law(_is_free(plan, i, [*members, *beside[:k]], where))
        head = f"{i} "
        own = {name[len(head) :]: values for name, values in law.numbers.items() if name.startswith(head)}
        check_law(not borrowers[i].everybody or "present" not in own)
        laws.append(_law_beside(plan.queries[i], WorstCase("together", 0.0, own), scales[i]))
    for k in _told_tables(law):
        tie = plan.ties[k]
        check_law(isinstance(tie, CrossedNoise) and len(tie.cross.possible) == 1)
        assert isinstance(tie, CrossedNoise)
        check_law(all(_is_free(plan, i, chosen, where) for i in tie.members))
        chosen += tie.members
        laws.append(tables_beside(tie.cross.tables, law.numbers[f"{TABLES}{k}"]))
    lower = people.proven(types_of(law, len(people.body.parts)), plan.neighbours, laws)
    for name, own_members in sets.items():
        other = people_of(plan.queries, scales, own_members, where)
        if other is None:
            raise refused_law()
        types = types_of(law, len(other.body.parts), f"of {name} ")
        lower += other.proven(types, plan.neighbours)
    return lower * (1.0 - (len(sets) + 1) * 2.0**-52) if sets else lower


SET = "set "
"""What the names of further sets of queries begin with; a number follows. Each has a law on people of its own."""

NO_PEOPLE = JointPeople((), Body(()))


def _told_sets(law: WorstCase) -> dict[str, list[int]]:
    """The further sets of queries that a law speaks of, by their names."""
    return {name: [int(i) for i in values] for name, values in law.numbers.items() if name.startswith(SET)}


TABLES = "tables "
"""What the names of weights of tables of the same keys begin with; the place of their noise follows."""


def _told_tables(law: WorstCase) -> list[int]:
    """The places of noises of tables of the same keys that a law speaks of."""
    return [int(name[len(TABLES) :]) for name in law.numbers if name.startswith(TABLES)]


def _law_beside(query: Query, law: WorstCase, scale: float) -> Beside:
    problem = query.block.problem
    if isinstance(problem.domain, Moments):
        found = moments_beside(cast("Problem[Moments]", problem), replace(law, kind="moments"))
    else:
        kind = "cells" if problem.features.marginals is None else "even"
        found = cells_beside(cast("Problem[Cells]", problem), replace(law, kind=kind))
    root = math.sqrt(scale) * (1.0 - 2.0**-52)
    return replace(found, points=found.points * root, alone=found.alone * root, root=found.root * root)


def _raised_total(body: Body, worth: float) -> tuple[float, float]:
    """The total of the best noise where the number of everybody is worth more, and the variance of that number."""
    found = solve(replace(body, people_weight=body.people_weight + worth), ADD_REMOVE)
    return found.total, found.lift.people_variance


def _apart(plan: Plan, law: WorstCase) -> list[int]:
    """The queries that a law says nothing about, and that are not tables of the same keys."""
    told = {int(i) for name in ("members", "beside", *_told_sets(law)) for i in law.numbers[name]}
    told |= {i for tables, _ in _keyed(plan) for i in tables}
    return [i for i in range(len(plan.queries)) if i not in told]


def _everybody(plan: Plan, rest: Sequence[int]) -> str | None:
    rules = [plan.queries[i].row_rule or RowRule(()) for i in rest]
    return everybody_of(rules, None, plan.neighbours).where if rules else None


def _is_free(plan: Plan, i: int, others: Sequence[int], where: str | None) -> bool:
    """Whether a person can be anything in query i, whatever it is in others: they are about other columns."""
    rules = [plan.queries[j].row_rule or RowRule(()) for j in (i, *others)]
    common = where if all(rule.where == where for rule in rules) else None  # whom all are about
    own, *rest = (columns_asked(rule, common) for rule in rules)
    apart = all(own.isdisjoint(each) for each in rest)
    return apart and all(are_free([plan.queries[i], plan.queries[j]]) for j in others)


def _keyed(plan: Plan, proven: Least | None = None) -> list[tuple[tuple[int, ...], float]]:
    """Tables of the same keys and their least price together at μ = 1."""
    ties = [tie for tie in plan.ties if tie.how == KIND]
    crossed = [(tie.members, (proven or {}).get(id(tie)) or tie.bounding_law.lower) for tie in ties]
    return [*crossed, *_loose_tables(plan, proven)]


def _scales(plan: Plan) -> list[float]:
    return [query.scale if query.place is None else query.place.scale for query in plan.queries]


def _loose_tables(plan: Plan, proven: Least | None = None) -> Iterator[tuple[tuple[int, ...], float]]:
    """Tables of the same keys that do not share their noise, and their least price together at μ = 1."""
    own = [i for i, query in enumerate(plan.queries) if query.tie is None or query.tie.members == (i,)]
    for members, bound in bound_tables(plan.queries, _scales(plan), plan.neighbours, own):
        yield members, sum(_alone(plan, plan.queries[i], proven) for i in members) if bound is None else bound


def _noise_of(query: Query) -> Query | AnyTie:
    return query if query.tie is None else query.tie


def _alone(plan: Plan, query: Query, proven: Least | None = None) -> float:
    """The least price of a query that does not share its noise, at μ = 1."""
    noise = _noise_of(query)
    if proven is not None and id(noise) in proven:
        return plan.worth_of(noise) * proven[id(noise)]
    return plan.worth_of(noise) * noise.lower_bound * noise.bound_mu**2


def _parts(query: Query, where: str | None, scale: float) -> tuple[JointPart, ...] | None:
    """What a person adds to a query; None where it is not one of groups and columns, or has targets."""
    if query.block.problem.features.targets is not None:
        return None
    try:
        with within_doubles():
            return parts_of(query, where, scale)
    except PlanError:
        return None
