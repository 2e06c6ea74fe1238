"""`audit`: tries to refute what a plan, a request, a catalogue entry or a function claims."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from gaussmith.audit.callables import audit_callable
from gaussmith.audit.effort import SAMPLES, Effort
from gaussmith.audit.entries import audit_entry, is_entry
from gaussmith.audit.plans import audit_plan
from gaussmith.audit.verdict import ERROR, Attempt, Verdict
from gaussmith.charged_release import read_request
from gaussmith.checks import check_number, check_whole
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.plans import Plan
from gaussmith.problem import Domain
from gaussmith.requests.request import Request

LEAST_SAMPLES = 2_000

DATA = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".zst")
"""How the names of data files end: their first byte may be that of a plan."""


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
    `gaussian=False` to the stated (ε, δ) alone. A true claim is refuted with probability at most `error`.

    >>> import gaussmith as gm
    >>> verdict = audit(gm.catalogue.rank_one(dimension=10, epsilon=1, delta=1e-5), samples=2_000)
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
    said, claim, mu, (attempts, bound) = _attempt(
        target, domain, guarantee, (check(neighbours), gaussian), error, effort
    )
    return Verdict(said, claim, tuple(attempts), error, mu, bound, time.perf_counter() - began)


def _attempt(
    target: Any,
    domain: Domain | None,
    guarantee: Guarantee | None,
    told: tuple[str, bool],
    error: float,
    effort: Effort,
) -> tuple[str, str, float | None, tuple[list[Attempt], float]]:
    if isinstance(target, str | os.PathLike):
        target = _read(os.fspath(target))
    if isinstance(target, Request):
        plan, made = target.plan, None
        if plan.staging is not None:
            made = _stages(plan)
        return "a request", _claim(plan), plan.spends.mu, audit_plan(plan, error, effort, made)
    if isinstance(target, Plan):
        if target.staging is not None and target.staging.planner is None:
            raise RequestError(
                "the plan of a request in stages",
                "its later stages are planned by the request it came from",
                "audit the request itself, its .toml file",
                code="audit-of-staged-plan",
            )
        made = None if target.staging is None else _stages(target)
        return "a plan", _claim(target), target.spends.mu, audit_plan(target, error, effort, made)
    if is_entry(target):
        claimed = target.claimed
        return f"catalogue: {target.name}", str(claimed), claimed.mu, audit_entry(target, error, effort)
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
        found = audit_callable(target, domain, guarantee, error, effort, *told)
        return f"function {name}", said, guarantee.mu, found
    raise RequestError(
        f"{type(target).__name__} as the target of an audit",
        "it must be a plan, a request, an entry of the catalogue or a function",
        "write audit(plan)",
        code="audit-of-something-else",
    )


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

        raise RequestError(
            f"{without_secrets(path)!r} cannot be read",
            "an audit takes a request (.toml) or a plan written by gaussmith plan --save (.json)",
            "check the path",
            code="audit-target-unreadable",
        ) from None


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
    from gaussmith.staged_release import release_stages

    staging = plan.staging
    assert staging is not None

    def made(frame: Any) -> Any:
        def prepare(one: Plan) -> Any:
            return mechanism.prepare_request(one, frame, is_made_up=True)

        return release_stages(plan, prepare(staging.first), prepare)

    return made
