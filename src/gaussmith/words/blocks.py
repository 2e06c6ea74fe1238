"""A block in plain words: its noise, how good it is, and its errors as rows of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gaussmith.statistics import ONE
from gaussmith.statistics.moment import REFERENCE
from gaussmith.texts import printable
from gaussmith.words.numbers import figure
from gaussmith.workloads import Marginals

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.plans import Block

MAX_ROWS = 24
"""Limit on the answers that a table in a terminal shows."""

LARGE_DELTA = 1e-3
"""A larger δ gets a warning."""

LARGE_EPSILON, LARGE_MU = 10.0, 3.0
"""A larger ε, or a larger μ where no ε is stated, gets a warning."""

_SHAPES = {
    "lifted box": "noise on each column's distance from the middle of its bounds, and on the number of records",
    "lifted ball": "round noise on each record's distance from the centre, and on the number of records",
    "round": "the same noise in every direction",
    "elliptical": "independent noise, more on wide columns and less on narrow ones",
    "solved": "correlated noise, solved numerically for exactly these records",
    "wide": "correlated noise on the widest columns, solved numerically; noise on each other column's distance from "
    "the middle of its bounds, and on the number of records",
    "count": "noise on the number of records",
    "clipped": "columns scaled by how much they are expected to vary, records clipped, noise of the same shape",
    "people": "noise on sums over rows, on the number of rows and on the number of people, in proportion to what one "
    "person can change in each",
    "people first": "noise on the number of people in each group, by which it is shown or not, and on each column's "
    "distance from the middle of its bounds",
    "two-level": "one noise size on the sum of all counts, and another on their differences",
    "water-filled": "independent noise, more on coordinates that one record can change more",
    "even": "the same noise on every cell",
    "residuals": "a separate noise size for what each marginal adds to the smaller ones",
    "reflected": "correlated noise whose strength falls with the distance of cells, in closed form",
    "levelled": "one noise size per level of the tree, on how its nodes split into their parts",
    "tied": "one noise shared by all questions and groups: it hides what one person can change in all answers at once, "
    "which takes less noise than hiding each by itself",
    "centred": "noise on what a person adds less a centre; the centre is added for everybody who is counted, by a "
    "noisy number that other answers use too",
    "isotropic": "the standard Gaussian mechanism: equal noise on every answer, in units of its weight",
}

_WEIGHTING = {"equal": "", "relative": " (each error relative to its range)", "given": " (weighted as given)"}


def describe_shape(name: str) -> str:
    """A shape in plain words."""
    return _SHAPES.get(name, name)


def describe_optimality(block: Block) -> str:
    """How close to the limit a plan is, in plain words.

    >>> import gaussmith as gm
    >>> describe_optimality(gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1)).block)
    'as good as any Gaussian noise can be'
    """
    if block.lender is not None:
        return "judged with all answers together"
    return describe_factor(block.optimality)


def describe_factor(optimality: float) -> str:
    """How close to the limit a price is that is so many times the bound."""
    if not math.isfinite(optimality):
        return "at an unknown distance from the best Gaussian noise"
    if optimality >= 1.1:
        return f"within a factor {optimality:.3g} of the lower bound for any Gaussian noise"
    gap = 100 * (optimality - 1)
    return "as good as any Gaussian noise can be" if gap < 0.005 else f"within {gap:.2g} % of the best Gaussian noise"


def _describe_bound(block: Block) -> str:
    if not math.isfinite(block.optimality):
        return "no lower bound for other noise is known"
    return f"no Gaussian noise with this guarantee can go below {block.lower_bound:.6g}"


def describe_spectrum(block: Block) -> str:
    """The sizes of the noise over its directions, in plain words; empty if there is only one direction.

    >>> import gaussmith as gm
    >>> describe_spectrum(gm.plan(gm.Cells(8), gm.Guarantee(mu=1), neighbours="replace-one").block)
    'In its 8 directions the noise has standard deviations from 0 to 1.414; the standard Gaussian has 1.414 in all.'
    """
    from gaussmith.plans.standard_gaussian import MAX_DIRECTIONS, spectrum

    if block.answers.size < 2 or block.answers.size > MAX_DIRECTIONS or block.answers.over_rows:
        return ""
    sizes, standard = spectrum(block)
    low = 0.0 if sizes.min() < 1e-7 * sizes.max() else float(sizes.min())
    text = (
        f"In its {len(sizes)} directions the noise has standard deviations from {figure(low)} to {figure(sizes.max())}"
    )
    return text + ("." if standard is None else f"; the standard Gaussian has {figure(standard)} in all.")


def describe_gain(block: Block) -> str:
    """What the shape saves compared with the standard Gaussian mechanism, in plain words; empty if it saves nothing.

    >>> import gaussmith as gm
    >>> describe_gain(gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(mu=1)).block)
    'errors are 62 % of those of the standard Gaussian mechanism'
    """
    from gaussmith.plans.standard_gaussian import share_of_standard

    share = share_of_standard(block)
    if share is None or share > 0.995:
        return ""
    return f"errors are {100 * share:.0f} % of those of the standard Gaussian mechanism"


def explain_choice(block: Block) -> str:
    """What was chosen, what the alternatives would have cost, and why."""
    what = "total squared error"
    if block.problem.features.targets is not None:
        what = "largest squared error, relative to its squared target,"
    judged = f"{_describe_bound(block)}: the plan is {describe_optimality(block)}"
    if block.lender is not None:
        judged = f"it is {describe_optimality(block)}"
    lines = [
        f"Chosen: {block.shape.name}, that is, {describe_shape(block.shape.name)}.",
        f"Its {what}{_WEIGHTING[block.answers.weighting]} is {block.price:.6g}; {judged}.",
    ]
    if block.alternatives:
        lines.append("Considered and not chosen:")
        for name, price in sorted(block.alternatives, key=lambda pair: pair[1]):
            times = price * block.noise_scale**2 / block.price
            lines.append(f"  {name}: {times:.3g} × the {what.rstrip(',')} ({describe_shape(name)})")
    if block.domain.product_pairs is not None:
        lines.append(
            "Answers are read from noisy sums, squares and products of distances from the middle of the bounds, and "
            "the number of records."
        )
    elif block.answers.any_divided:
        public = block.public_count and not block.answers.over_rows
        lines.append(
            "A mean is the noisy sum of distances from the middle of the bounds, divided by the "
            f"{'public' if public else 'noisy'} number of {counted_in(block)}."
        )
    lines += [text for text in (block.domain.note(block.problem),) if text]
    if block.problem.features.is_linear or not block.domain.has_standard_shape(block.problem):
        lines += [text for text in (describe_spectrum(block),) if text]
    lines.append("The choice used the bounds and the guarantee, never the data.")
    return "\n".join(lines)


N_IS = "n is the number of "


def describe_divided(block: Block) -> list[str]:
    """What n is under the errors of means, with an example; and for which means they hold."""
    error = float(block.standard_errors[block.answers.divided][0])
    example = f"for n = 10,000, {figure(error)} / n is ± {figure(error / 10_000)}"
    return [f"{N_IS}{counted_in(block)}: {example}", *describe_means(block)]


def describe_means(block: Block) -> list[str]:
    """For which means the stated errors hold; empty where they are the same for all.

    >>> import gaussmith as gm
    >>> describe_means(gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1), answers="means").block)
    ['errors of means are at most these, for means anywhere within their bounds']
    """
    if block.domain.product_pairs is not None:
        return [
            "errors of variances and covariances are at most these; those of standard deviations, correlations and "
            f"coefficients hold on average, for columns with a standard deviation of {REFERENCE:g} of half their range"
        ]
    if block.public_count and not block.answers.over_rows:
        return []
    stated = block.answers.stated[block.answers.divided]
    said = ["where mean_within says they lie"] if stated.any() else []
    where = said if stated.all() else [block.domain.means_lie, *said]
    return [f"errors of means are at most these, for means {', or '.join(where)}"]


def guarantee_notes(guarantee: Guarantee) -> list[str]:
    """A guarantee in one line, and a warning where its δ or its ε promises little.

    >>> from gaussmith.guarantee import Guarantee
    >>> guarantee_notes(Guarantee(epsilon=1, delta=0.5))[1]
    'δ = 0.5 promises little: keep it far below 1 / (number of people)'
    >>> guarantee_notes(Guarantee(epsilon=50, delta=1e-6))[1]
    'ε = 50 hardly protects: guessing whether a person is in the data may be right up to 99.93 % of the time'
    """
    delta = guarantee.delta
    large = delta is not None and delta > LARGE_DELTA
    warning = [f"δ = {delta:g} promises little: keep it far below 1 / (number of people)"] if large else []
    epsilon, mu = guarantee.epsilon, guarantee.mu
    if epsilon > LARGE_EPSILON if epsilon is not None else mu > LARGE_MU:
        stated = f"μ = {mu:g}" if epsilon is None else f"ε = {epsilon:g}"
        right = math.ceil(5000 * (1 + math.erf(mu / math.sqrt(8)))) / 100
        often = f"up to {right:g} % of the time" if right < 100 else "nearly always"
        warning.append(f"{stated} hardly protects: guessing whether a person is in the data may be right {often}")
    return [str(guarantee), *warning]


def counted_in(block: Block) -> str:
    """What the means of a plan are over: records (people), or rows."""
    return "rows" if block.answers.over_rows or block.domain.records_are_rows else "records"


RANKS = "errors of quantiles are in ranks: so many people lie between an estimate and the quantile"

PLAN_HEADER = ("answer", "± error", "standard Gaussian", "ratio")


def block_rows(
    block: Block, rows: int | None = None, most: int = MAX_ROWS, standard_scale: float = 1.0
) -> list[tuple[str, ...]]:
    """answer · ± error · the standard Gaussian's · their ratio; an error of a mean is over n unless `rows` is given."""
    from gaussmith.plans.standard_gaussian import compare_block

    if block.problem.features.marginals is not None:
        return _marginal_rows(block, block.problem.features.marginals, most)
    found: list[tuple[str, ...]] = []
    comparisons = compare_block(block, rows, most, standard_scale)
    for c in comparisons:
        over = " / n" if c.mean and not rows else ""
        if c.name == "count" and block.public_count and c is comparisons[-1] and block.answers.count:
            found.append((printable(c.name), "exact", "exact", ""))
            continue
        if c.error == 0:  # known from the public number of records
            found.append((printable(c.name), "exact", "", ""))
            continue
        other = "" if c.standard is None else f"{figure(c.standard)}{over}"
        ratio = "" if c.share is None else f"{100 * c.share:.0f} %"
        found.append((printable(c.name), f"{figure(c.error)}{over}", other, ratio))
    return found


def _marginal_rows(block: Block, work: Marginals, most: int) -> list[tuple[str, ...]]:
    """One row per marginal: all of its cells have the same error."""
    from gaussmith.plans.standard_gaussian import standard_errors_of_standard

    attributes = block.domain.attribute_names
    errors, standard = block.standard_errors, standard_errors_of_standard(block)
    found: list[tuple[str, ...]] = []
    for way, size, at in list(zip(work.ways, work.sizes, work.offsets, strict=True))[:most]:
        name = " × ".join(attributes[i] for i in way) or "all"
        other, ratio = "", ""
        if standard is not None:
            other, ratio = figure(standard[at]), f"{100 * errors[at] / standard[at]:.0f} %"
        named = printable(f"{name} ({size:,} cells)" if size > 1 else name)
        exact = ("exact", "", "")
        found.append((named, *(exact if errors[at] == 0 else (figure(errors[at]), other, ratio))))
    if block.count_standard_error is not None:
        error = "exact" if block.public_count else figure(block.count_standard_error)
        found.append(("count", error, "exact" if block.public_count else "", ""))
    return found


def block_notes(
    block: Block, rows: int | None, lead: str = "", protected: str | None = None, finds: bool = False
) -> list[str]:
    """What stands below the errors of a block; where it `finds` keys, the noise alone is not the guarantee."""
    notes, of = [], counted_in(block)
    if block.answers.any_divided and rows:
        notes = [f"means over {rows:,} {of}", *describe_means(block)]
    elif block.answers.any_divided:
        notes = describe_divided(block)
    if block.answers.any_inverted:
        notes.append(RANKS)
    shares = [] if rows is None else [f"{printable(name)} ± {share:.3g} %" for name, share in _shares(block, rows)]
    if shares:
        told = f"{', '.join(shares[:4])}{', …' if shares[4:] else ''}"
        notes.append(f"relative to the largest possible total of {rows:,} records: {told}")
    lead += "planned together, " if block.whole is not None and block.tie is None else ""
    noise = "the noise is " if block.tie is None else "one noise for everything asked, "
    optimal = f"{lead}{noise}{describe_optimality(block)}"
    if block.lender is not None:
        optimal = "noise of its own, and a noisy number of everybody that other answers use too"
    undeclared = [text for text in (block.domain.undeclared,) if text]
    kept = [f"noise in each group: μ={block.guarantee.mu:.4g}"] if finds else guarantee_notes(block.guarantee)
    return [*notes, optimal, *kept, f"protects {protected or block.protects}", *undeclared]


def _shares(block: Block, rows: int) -> list[tuple[str, float]]:
    """The errors of sums and the count in percent of the most that so many records add up to."""
    answers, index = block.answers, block.problem.features.index
    if answers.over_rows:
        return []  # these rows are not people, whose number is not guessed
    largest = block.domain.largest_values
    known = largest is not None and not block.problem.features.is_linear
    found = []
    for name, lead, plain, error in zip(
        answers.names, answers.leads.tolist(), answers.plain.tolist(), block.standard_errors.tolist(), strict=True
    ):
        if lead == ONE and plain and error:
            found.append((name, 100 * error / rows))
        elif lead != ONE and plain and known:
            assert largest is not None
            found.append((name, 100 * float(error / (largest[index[lead]] * rows))))
    return found
