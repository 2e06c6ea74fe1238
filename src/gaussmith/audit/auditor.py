"""`audit`: tries to refute what a plan, a request, a catalogue entry or a function claims."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from gaussmith.audit import exact
from gaussmith.audit.attacks import nearest_centre
from gaussmith.audit.bounds import at_least, lower_bound
from gaussmith.audit.callables import audit_callable
from gaussmith.audit.noise_tests import BLOCK, NUMBERS, check_noise, half_normal, true_delta
from gaussmith.audit.plan_samples import sample_plan
from gaussmith.audit.pure_samples import sample_pure
from gaussmith.audit.scenes import Pair, fixed_choices, scene_of, watch, worst_pair
from gaussmith.audit.verdict import ERROR, EXACT, SAMPLED, SAMPLES, UNTRIED, Attempt, Effort, Verdict, shares
from gaussmith.checks import check_number, check_whole, checks_arguments
from gaussmith.domains.domain import Domain
from gaussmith.errors import GaussmithError, RequestError
from gaussmith.papers.entry import GaussianEntry
from gaussmith.papers.mean_estimators import StagedEntry
from gaussmith.papers.rank_one_noise import RankOne
from gaussmith.pipeline.release import read_request
from gaussmith.planning.plan import Plan
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, check
from gaussmith.requests.request import Request

# The audit of a catalogue entry: its claim against its true δ, computed here anew, and samples of its noise.

MAX_SAMPLED = 100_000
"""Draws of rank-one noise: its claim is refuted by quadrature where it is false, and guesses only show it again."""


def is_entry(target: Any) -> bool:
    """Whether it is a mechanism of the catalogue."""
    return isinstance(target, RankOne | StagedEntry) or (hasattr(target, "claimed") and hasattr(target, "true_delta"))


def audit_entry(entry: Any, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    """All attempts on an entry, and the largest lower bound on μ."""
    if isinstance(entry, RankOne):
        return _audit_rank_one(entry, error, effort)
    attempts = [_check_claim(entry)]
    if isinstance(entry, GaussianEntry):
        attempts.append(_check_noise(entry, error, effort))
        return attempts, entry.true_mu
    return attempts, 0.0


def _check_claim(entry: Any) -> Attempt:
    """The claimed (ε, δ) against the curve of the true μ, to 50 digits; or the claimed ρ against the true one."""
    name, claimed = "claim against the true curve, 50 digits", entry.claimed
    true_mu = getattr(entry, "true_mu", None)
    if true_mu is None:
        said = "the sum of its steps is what is claimed" if entry.holds else "its steps spend more than is claimed"
        return Attempt("steps", EXACT, not entry.holds, said)
    if claimed.epsilon is None or claimed.delta is None:
        said = f"the true μ is {true_mu:.6g}, claimed is {claimed.mu:.6g}"
        return Attempt(name, EXACT, true_mu > claimed.mu, said, claimed.mu, true_mu)
    delta = exact.gaussian_delta(claimed.epsilon, true_mu)
    said = f"the true δ at ε={claimed.epsilon:g} is {float(delta):.6g}, claimed is {claimed.delta:g}"
    return Attempt(name, EXACT, bool(delta > claimed.delta), said, claimed.delta, float(delta))


def _check_noise(entry: GaussianEntry, error: float, effort: Effort) -> Attempt:
    n, covariance = effort.samples, entry.covariance()
    size = max(2, min(BLOCK, NUMBERS // len(covariance)))
    blocks = (entry.sample(min(size, n - at)) for at in range(0, n, size))
    return check_noise("noise, whitened", blocks, covariance, error, n, effort.report)


def _audit_rank_one(entry: RankOne, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    claimed, M, sigma = entry.claimed, entry.dimension, entry.sigma
    assert claimed.epsilon is not None and claimed.delta is not None
    delta = true_delta(M, claimed.epsilon, half_normal(sigma), sigma, entry.sensitivity)
    said = f"the true δ at ε={claimed.epsilon:g} is {delta:.4g} by quadrature, claimed is {claimed.delta:g}"
    attempts = [Attempt("true δ by quadrature", EXACT, delta > claimed.delta * 1.001, said, claimed.delta, delta)]
    own = entry.true_delta(claimed.epsilon)
    differ = abs(own / delta - 1) > 1e-3
    said = f"the catalogue states {own:.6g}: {'another number' if differ else 'the same to three digits'}"
    attempts.append(Attempt("the catalogue's own δ", EXACT, differ, said, own, delta))
    (share,) = shares(error, (1,))
    n = min(MAX_SAMPLED, effort.samples) // 2
    centres = np.zeros((2, M))
    centres[1, 0] = entry.sensitivity
    one, other = entry.sample(n), entry.sample(n) + centres[1]
    found = nearest_centre(one, other, (centres[0], centres[1]), share)
    said = f"right in {100 * found.right:.2f} % of {found.trials:,} guesses: {at_least(found.mu)}"
    # A claimed (ε, δ) allows every test whose trade-off lies above its two lines: right at most (e^ε + δ)/(1 + e^ε).
    e = float(np.exp(claimed.epsilon))
    limit = (e + claimed.delta) / (1 + e)
    least = lower_bound(round(found.right * found.trials), found.trials, share)
    attempts.append(Attempt("nearest centre", SAMPLED, least > limit, said, limit, least, share, found.trials))
    return attempts, found.mu


# The audit of a plan or a request: exact attempts first, then samples of what it would release.


def audit_plan(
    plan: Plan, error: float, effort: Effort, made: Callable[[Any], Any] | None = None
) -> tuple[list[Attempt], float]:
    """All attempts on a plan, and the largest lower bound on μ, or on a pure ε.

    Of a choice the noise around one cell is audited.
    """
    with fixed_choices():
        return _audit_plan(plan, error, effort, made)


def _audit_plan(
    plan: Plan, error: float, effort: Effort, made: Callable[[Any], Any] | None
) -> tuple[list[Attempt], float]:
    attempts = [exact.check_guarantee(plan), exact.check_certificate(plan), *exact.check_keys(plan)]
    effort.report(0.05)
    if plan.guarantee.is_pure and any(each.refutes for each in attempts):
        return attempts, 0.0
    try:
        scene = scene_of(plan, made)
        watch(lambda: scene.make(scene.others), zero=True)
    except GaussmithError as refusal:
        return [*attempts, Attempt("tables", UNTRIED, False, f"no table could be made up ({refusal})")], 0.0
    if made is not None:
        attempts.append(exact.check_stages(plan, scene))
        attempts += exact.check_replay(scene, Pair(scene.others, scene.others, Fraction(0), 0))
        first = plan.staging.first if plan.staging is not None else plan
        inner, bound = _audit_plan(first, error, effort, None)
        return [*attempts, *inner], bound
    pair = worst_pair(scene)
    effort.report(0.2)
    attempts += [exact.check_worst(pair), *exact.check_replay(scene, pair)]
    effort.report(0.3)
    claimed = float(plan.guarantee.pure_epsilon) or plan.spends.mu
    if any(each.refutes for each in attempts):
        return attempts, pair.ratio * claimed
    sample = sample_pure if plan.guarantee.is_pure else sample_plan
    sampled, bound = sample(plan, scene, pair, error, effort)
    return [*attempts, *sampled], max(bound, min(1.0, pair.ratio) * claimed)


LEAST_SAMPLES = 2_000

DATA = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".zst")
"""How the names of data files end: their first byte may be that of a plan."""


@checks_arguments
def audit(
    target: Any,
    domain: Domain | None = None,
    guarantee: Guarantee | None = None,
    *,
    neighbours: str = ADD_REMOVE,
    gaussian: bool = True,
    error: float = ERROR,
    samples: int = SAMPLES,
    processes: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Try to refute a claim of privacy, and say what was tried, what was found and what would have been noticed.

    `target` is a plan, a request (or its .toml file, or a plan's .json file), an entry of the catalogue, or a function
    of an array of records. A function needs `domain`, what one record can be, and `guarantee`, what is claimed. No data
    is read: tables are made up. A function is held to the μ of the guarantee, as Gaussian noise is; with
    `gaussian=False`, or where ε is stated alone, to the stated (ε, δ). A true claim is refuted with probability at most
    `error`.

    >>> import gaussmith as gm
    >>> verdict = audit(gm.papers.rank_one(dimension=10, epsilon=1, delta=1e-5), samples=2_000)
    >>> verdict.survived, verdict.refuted_by[0].found.__round__(3)
    (False, 0.181)
    """
    error = check_number(
        "error", error, above=0, below=0.5, rule="it is a probability above 0 and below 0.5", remedy="write error=1e-5",
        error=RequestError,
    )  # fmt: skip
    rule = f"an audit draws {LEAST_SAMPLES:,} samples or more"
    samples = check_whole(
        "samples", samples, LEAST_SAMPLES, rule=rule, remedy="write samples=400_000", error=RequestError
    )
    effort = Effort(samples, processes, progress)
    began = time.perf_counter()
    said, claim, stated, (attempts, bound) = _attempt(
        target, domain, guarantee, (check(neighbours), gaussian), error, effort
    )
    seconds, is_pure = time.perf_counter() - began, stated.is_pure
    epsilon = stated.epsilon if is_pure and said.startswith("a ") else None  # of functions μ is bounded
    mu = None if is_pure else stated.mu
    return Verdict(said, claim, tuple(attempts), error, mu, bound, seconds, epsilon)


def _attempt(
    target: Any,
    domain: Domain | None,
    guarantee: Guarantee | None,
    told: tuple[str, bool],
    error: float,
    effort: Effort,
) -> tuple[str, str, Guarantee, tuple[list[Attempt], float]]:
    if isinstance(target, str | os.PathLike):
        target = _read(os.fspath(target))
    if isinstance(target, Request):
        plan, made = target.plan, None
        if plan.staging is not None:
            made = _stages(plan)
        return "a request", _claim(plan), plan.spends, audit_plan(plan, error, effort, made)
    if isinstance(target, Plan):
        if target.staging is not None and target.staging.planner is None:
            what, rule = "the plan of a request in stages", "its later stages are planned by the request it came from"
            raise RequestError(what, rule, "audit the request itself, its .toml file", code="audit-of-staged-plan")
        made = None if target.staging is None else _stages(target)
        return "a plan", _claim(target), target.spends, audit_plan(target, error, effort, made)
    if is_entry(target):
        claimed = target.claimed
        return f"catalogue: {target.name}", str(claimed), claimed, audit_entry(target, error, effort)
    if callable(target):
        if domain is None or guarantee is None:
            raise RequestError(
                "a function without its claim",
                "an audit of a function must know what one record can be and what is claimed",
                "write audit(f, domain=gaussmith.Box([0], [1]), guarantee=gaussmith.Guarantee(epsilon=1, delta=1e-5))",
                code="audit-without-claim",
            )
        name = getattr(target, "__name__", type(target).__name__)
        said = f"{guarantee}, {told[0]}"
        neighbours, gaussian = told
        gaussian &= not guarantee.is_pure  # which has no μ
        found = audit_callable(target, domain, guarantee, error, effort, neighbours, gaussian)
        return f"function {name}", said, guarantee, found
    what = f"{type(target).__name__} as the target of an audit"
    rule, remedy = "it must be a plan, a request, an entry of the catalogue or a function", "write audit(plan)"
    raise RequestError(what, rule, remedy, code="audit-of-something-else")


def _claim(plan: Plan) -> str:
    keys = f", with keys shown wrongly with probability at most {float(plan.keys_delta):g}" if plan.finds_keys else ""
    return f"{plan.guarantee}, {plan.neighbours}{keys}"


def _read(path: str) -> Plan | Request:
    if path.endswith(".toml"):
        return read_request(path)
    try:
        with open(path, encoding="utf-8") as file:
            if path.lower().endswith(DATA) or (not path.endswith(".json") and file.read(1) != "{"):
                raise _other_file(path)  # data, for example: no more of it is read
            file.seek(0)
            return Plan.from_json(file.read())
    except UnicodeDecodeError:
        raise _other_file(path) from None
    except OSError:
        from gaussmith.engines.addresses import without_secrets

        what = f"{without_secrets(path)!r} cannot be read"
        rule = "an audit takes a request (.toml) or a plan written by gaussmith plan --save (.json)"
        remedy = "check the path"
        raise RequestError(what, rule, remedy, code="audit-target-unreadable") from None


def _other_file(path: str) -> RequestError:
    from gaussmith.engines.addresses import without_secrets

    what = f"{without_secrets(path)!r} as the target of an audit"
    return RequestError(
        f"a file of data, {what}" if path.lower().endswith(DATA) else what,
        "audit takes a request (.toml) or a plan (.json)",
        "write gaussmith audit request.toml; no data is needed",
        code="audit-of-another-file",
    )


def _stages(plan: Plan) -> Callable[[Any], Any]:
    """Releases a made-up table in stages."""
    from gaussmith import mechanism
    from gaussmith.pipeline.staged_release import release_stages

    staging = plan.staging
    assert staging is not None

    def made(frame: Any) -> Any:
        def prepare(one: Plan) -> Any:
            return mechanism.prepare_request(one, frame, is_made_up=True)

        return release_stages(plan, prepare(staging.first), prepare)

    return made
