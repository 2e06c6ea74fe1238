"""Plans in plain words and tables: what was chosen, the errors, and how the guarantee is shared."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaussmith.errors import counted, printable
from gaussmith.notations import setting
from gaussmith.planning.block import standard_scale
from gaussmith.planning.joint_people import NAME
from gaussmith.planning.pure_noise import pure_instead
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import protects
from gaussmith.report.keys import describe_groups, describe_shown, guess_of, percent_up, statement, statement_notes
from gaussmith.report.tables import (
    MAX_ROWS,
    N_IS,
    ON_REQUEST,
    PLAN_HEADER,
    block_notes,
    block_rows,
    describe_factor,
    describe_optimality,
    describe_shape,
    explain_choice,
    figure,
    framed,
    guarantee_notes,
    heading,
    html_table,
    note_lines,
    parameter_of,
    text_table,
    wrap_notes,
)

if TYPE_CHECKING:
    from gaussmith.planning.block import Block
    from gaussmith.planning.plan import Plan, Slot
    from gaussmith.planning.query import AnyTie, Query


INDENT = "  "
"""What stands before the lines of one question among several."""

REST_IN = "plan.standard_errors"
"""Where the errors are that a table leaves out."""


def plan_text(plan: Plan, rows: int | None = None, most: int = MAX_ROWS, rest_in: str = REST_IN) -> str:
    """The errors of a plan, question by question; `rows` is an estimate of the number of rows that means are over.

    Of each question `most` errors are shown, and where the others are (`rest_in`).
    """
    if plan.staging is not None and not plan.is_narrowed:
        return "\n".join([*wrap_notes(stage_notes(plan)), "", plan_text(plan.as_guessed, rows, most, rest_in)])
    common = _Common.of(plan)
    if len(plan) == 1:
        last = [*_several(plan), guess_of(plan), *describe_instead(plan)]
        return "\n".join([_question_text(plan, common, rows, most, rest_in), *wrap_notes(last)])
    told = [(q, _question_text(q, common, rows, most, rest_in, 80 - len(INDENT))) for q in plan]
    texts = [f"{printable(q.questions[0])}\n{textwrap.indent(text, INDENT)}\n" for q, text in told]
    return "\n".join([*texts, *wrap_notes([*sharing(plan), *_whole(plan), guess_of(plan), *describe_instead(plan)])])


def plan_html(plan: Plan) -> str:
    """The same for a notebook."""
    return framed(plan_body(plan))


def plan_body(plan: Plan) -> str:
    """The same as a part of a display."""
    if plan.staging is not None and not plan.is_narrowed:
        return note_lines(stage_notes(plan)) + plan_body(plan.as_guessed)
    common = _Common.of(plan)
    if len(plan) == 1:
        return _question_html(plan, common) + note_lines([*_several(plan), guess_of(plan), *describe_instead(plan)])
    tables = [heading(q.questions[0]) + _question_html(q, common) for q in plan]
    return "".join(tables) + note_lines([*sharing(plan), *_whole(plan), guess_of(plan), *describe_instead(plan)])


def stage_notes(plan: Plan) -> list[str]:
    """The stages before the answers of a plan with their shares, and what is guessed of their outcome."""
    assert plan.staging is not None
    rule, first = plan.staging.rule, plan.staging.first
    told = list(rule.describe())
    if first.finds_keys:
        several = len(first) > 1
        told[1:1] = [
            f"{each.questions[0]}: {line}" if several else line for each in first for line in describe_shown(each)
        ]
    return [printable(line) for line in (*told, plan.staging.guess, f"all stages together: {statement(plan)}")]


@dataclass(frozen=True)
class _Common:
    """What all questions of a plan have in common, found once for a print."""

    alone: bool
    """Whether one noise answers everything."""
    roots: dict[int, dict[int, float]]

    @classmethod
    def of(cls, plan: Plan) -> _Common:
        return cls(len(plan.provable) == 1, {})


def _question_text(plan: Plan, common: _Common, rows: int | None, most: int, rest_in: str, width: int = 80) -> str:
    before, table, notes, after = _told(plan, common, rows, most, rest_in)
    below = wrap_notes([*notes, *after], width)
    return "\n".join([*wrap_notes(before, width), text_table(*_columns(plan, table)), *below])


def _question_html(plan: Plan, common: _Common) -> str:
    before, table, notes, after = _told(plan, common, None, MAX_ROWS, REST_IN)
    header, rows = _columns(plan, table)
    return note_lines(before) + html_table(header, rows, notes, left=1) + note_lines(after)


def _columns(plan: Plan, table: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows; pure noise is not compared with the standard Gaussian's."""
    kept = 2 if plan.guarantee.is_pure else len(PLAN_HEADER)
    return PLAN_HEADER[:kept], [row[:kept] for row in table]


def _told(
    plan: Plan, common: _Common, rows: int | None, most: int, rest_in: str
) -> tuple[list[str], list[tuple[str, ...]], list[str], list[str]]:
    """Of one question: what stands above its table, the table, the notes below, and what stands last.

    What is said of all pieces alike is said once.
    """
    table: list[tuple[str, ...]] = []
    told: list[list[str]] = []
    finds = plan.groups is not None and plan.groups.is_found
    for piece in plan.pieces:
        before, lead, after = _about(piece, common)
        found = block_rows(piece.block, rows, max(1, most - len(table)), standard_scale(piece, common.roots))
        table += found
        told.append(_notes(piece, common, rows, lead, finds))
    if finds:
        before, after = _about_found(plan)
    if len(plan.pieces) == 1:
        return before, table, [*_left_out(plan.block, most, rest_in), *told[0]], after
    if len(plan.slots) == 1 and any(query.block.lender is not None for query in plan.queries):
        after = [*after, *_whole(plan)]
    left = len(plan.names) - len(table)
    rest = [f"… and {counted(left, 'more answer')}: {rest_in}"] if left > 0 else []
    return before, table, [*rest, *_said_once(told)], after


def _said_once(told: Sequence[Sequence[str]]) -> list[str]:
    """The notes of several pieces: what n is, what is said of some, then of all; relative errors in one line."""
    common = [line for line in told[0] if all(line in lines for lines in told)]
    examples: dict[str, str] = {}  # one is enough
    relative: dict[str, list[str]] = {}
    rest = []
    for line in dict.fromkeys(line for lines in told for line in lines if line not in common):
        lead, _, said = line.partition(": ")
        if line.startswith(N_IS):
            examples.setdefault(lead, line)
        elif line.startswith("relative to"):
            relative.setdefault(lead, []).append(said)
        else:
            rest.append(line)
    shares = [f"{lead}: {', '.join(said)}" for lead, said in relative.items()]
    return [*examples.values(), *rest, *shares, *common]


def _notes(plan: Plan, common: _Common, rows: int | None, lead: str, finds: bool) -> list[str]:
    """What stands below the errors of a question of one query."""
    if plan.query.is_public:
        return ["the number of all people is public: it gets no noise, and takes nothing of the guarantee"]
    if plan.query.block.domain.chosen:
        judged = f"{describe_optimality(plan.block)}, around a cell"
        notes = block_notes(plan.block, rows, lead, plan.protects, finds, judged, plan.query.guarantee)
        return [describe_choice(plan.query), *notes]
    if plan.query.is_planned_inside and not finds:
        lead = "" if common.alone else "at its share of μ, "
        judged = describe_factor(plan.query.optimality)
        return block_notes(plan.block, rows, lead, plan.protects, finds, judged, plan.query.guarantee)
    return block_notes(plan.block, rows, lead, plan.protects, finds)


def _whole(plan: Plan) -> list[str]:
    """How close to the limit all queries together are; nothing where a choice is among them."""
    if plan.guarantee.is_pure or any(query.block.domain.chosen for query in plan.queries):
        return []
    if len(plan.provable) == 1 and not plan.ties:
        return []
    if len(plan.provable) == 1 and len(plan.ties) == 1:
        (tie,) = plan.ties
        judged = f" are {describe_optimality(plan.queries[tie.members[0]].block)}" if tie.is_bound_quick else None
        return [f"all answers together{judged or f': {ON_REQUEST}'}{describe_saving(tie)}"]
    if not plan.is_bound_quick:
        return [f"all answers together: {ON_REQUEST}"]
    return [f"all answers together are {describe_factor(plan.optimality)}"]


def _several(plan: Plan) -> list[str]:
    """Of one question with several noises, each the best at its share: how close they are together."""
    return _whole(plan) if len(plan.provable) > 1 else []


def _about(plan: Plan, common: _Common) -> tuple[list[str], str, list[str]]:
    """What stands above the errors of a question, before how good they are, and below."""
    query = plan.query
    part = "at its share of ε, " if query.guarantee.is_pure else "at its share of μ, "
    lead = "" if common.alone or query.tie is not None else part
    if query.groups is None:
        return [], lead, []
    which = "in each group"
    if query.by_weight:
        which = "in the groups with the largest errors (all: plan.errors_by_group)"
    before = [f"{counted(query.groups.size, 'group')}, each person in {held(query)}; {which}:"]
    if not query.is_shared or query.is_planned_inside:
        return before, lead, []
    after = [f"all groups together: {query.guarantee}", *guarantee_notes(query.guarantee)[1:]]
    return before, part, after


def _about_found(plan: Plan) -> tuple[list[str], list[str]]:
    """What stands above and below the errors of a question whose keys are found."""
    queries = [plan.queries[i] for i in plan.slot.queries]
    before = [
        f"{describe_groups(queries[0])}, each person in {held(queries[0])}; in each group:",
        *describe_shown(plan),
    ]
    return before, statement_notes(plan) if len(plan.slots) == 1 else []


def held(query: Query) -> str:
    """The number of groups a person is in, in plain words."""
    m = 1 if query.groups is None else query.groups.at_most
    return "one group" if m == 1 else f"at most {m} groups"


def _left_out(block: Block, most: int, rest_in: str) -> list[str]:
    work = block.problem.features.marginals
    if work is not None:
        rest = len(work.ways) - most
        return [f"… and {counted(rest, 'more marginal')}: {rest_in}"] if rest > 0 else []
    rest = block.answers.size - most
    return [f"… and {counted(rest, 'more answer')}: {rest_in}"] if rest > 0 else []


def describe_saving(tie: AnyTie) -> str:
    """What one noise saves against noise of its own for every question, in plain words."""
    share = 100 * (1 - tie.total_variance / tie.apart)
    return f"; their total squared error is {share:.2g} % less than with separate noise for each" if share > 0 else ""


def noise_names(plan: Plan) -> list[tuple[list[str], Guarantee, bool]]:
    """For every noise of a plan the questions it answers, its guarantee, and whether they are tied."""
    if plan.guarantee.is_pure:
        noises = plan.pure_noises
        return [(_named(plan, n.members), n.queries[0].guarantee, len(n.members) > 1) for n in noises]
    own = [((i,), query.guarantee, False) for i, query in enumerate(plan.queries) if query in plan.untied]
    found = [(_named(plan, members), guarantee, tied) for members, guarantee, tied in own]
    for tie in plan.ties:  # one that nothing is asked of counts everybody for others
        found.append((_named(plan, tie.members) or _named(plan, tie.lent_to), tie.guarantee, True))
    return found


def _named(plan: Plan, queries: Sequence[int]) -> list[str]:
    """The questions that some queries answer, as they are called beside their noise."""
    return [_named_in(plan, slot, queries) for slot in plan.slots if _is_in(slot, queries)]


def _is_in(slot: Slot, members: Sequence[int]) -> bool:
    return not set(slot.queries).isdisjoint(members)


def _named_in(plan: Plan, slot: Slot, members: Sequence[int]) -> str:
    """What a question is called beside one noise: by its answers too, where it has several noises."""
    if {i for i in slot.queries if not plan.queries[i].is_public} <= set(members):
        return slot.name
    pieces = [piece for piece in plan[slot.name].pieces if piece.slot.query in members]
    names = [str(name) for piece in pieces for name in piece.names]
    return f"{slot.name} ({', '.join(names[:3])}{', …' if names[3:] else ''})"


def describe_shares(plan: Plan) -> list[str]:
    """Who shares what, one line for each noise."""
    lines = []
    for named, guarantee, tied in noise_names(plan):
        together = "one noise for all, " if tied and len(named) > 1 else "planned together, " if len(named) > 1 else ""
        part = f"{100 * share_of(guarantee, plan.guarantee):.3g} % of the budget ({parameter_of(guarantee)})"
        lines.append(f"{', '.join(named)}: {together}{part}")
    for tie in plan.ties:
        if tie.lent_to:
            lines.append(
                f"{', '.join(_named(plan, tie.lent_to))}: errors are correlated with those of other answers, through a "
                "noisy number of everybody that all of them use"
            )
    public = [slot.name for slot in plan.slots if all(plan.queries[i].is_public for i in slot.queries)]
    return lines + ([f"{', '.join(public)}: public, exact and without noise"] if public else [])


def share_of(guarantee: Guarantee, whole: Guarantee) -> float:
    """The share of μ², or of a pure ε, that a guarantee takes of another."""
    if whole.is_pure:
        return float(guarantee.pure_epsilon / whole.pure_epsilon)
    return (guarantee.mu / whole.mu) ** 2


def describe_instead(plan: Plan) -> list[str]:
    """What pure noise would give under the same (ε, δ), and what it would let be guessed; nothing elsewhere."""
    if plan.guarantee.epsilon is None or plan.guarantee.is_pure or plan.staging is not None or plan.is_narrowed:
        return []
    asked = [plan.queries[i] for i in dict.fromkeys(piece.query for slot in plan.slots for piece in slot.pieces)]
    pure = pure_instead(asked, plan.guarantee)
    if pure is None:
        return []
    scales = [query.scale if query.place is None else query.place.scale for query in asked]
    ours = sum(scale * query.total_variance for scale, query in zip(scales, asked, strict=True))
    theirs = sum(scale * query.total_variance for scale, query in zip(scales, pure, strict=True))
    ratio = math.sqrt(ours / theirs) if theirs else 1.0
    told = f"{figure(ratio, 2)} times less error" if ratio > 1 else f"{figure(1 / ratio, 2)} times the error"
    right = percent_up(Guarantee(epsilon=plan.guarantee.epsilon).guess_bound)
    return [f"pure noise ({setting('noise', 'pure')}) would give {told}; such a guess would be right up to {right}"]


def sharing(plan: Plan) -> list[str]:
    """What applies to all questions together."""
    return [
        *(printable(line) for line in describe_shares(plan)),
        f"all questions together: {statement(plan)}",
        *statement_notes(plan)[1:],
        f"protects {plan.protects}",
    ]


def explain(plan: Plan) -> str:
    """What is protected, what was chosen, what the alternatives would have cost, and why."""
    if len(plan) == 1:
        parts = [_explain_question(plan), *_explain_keys(plan), *_explain_whole(plan, "answers")]
        return "\n".join([*parts, *explain_any_noise(plan)])
    texts = [*describe_shares(plan)]
    for i, query in enumerate(plan.queries):
        named = [_named_in(plan, slot, [i]) for slot in plan.slots if i in slot.queries]
        if query in plan.untied:
            texts.append(f"\n{', '.join(named)}\n{_explain_query(query)}")
    for tie in plan.ties:
        named = [_named_in(plan, slot, tie.members) for slot in plan.slots if _is_in(slot, tie.members)]
        texts.append(f"\n{', '.join(named)}\n{_explain_tie(tie, plan.protects)}")
    texts += _explain_keys(plan)
    texts.append("\nWhat each question costs the others, in their total squared error:")
    texts += [f"  {name}: + {100 * (factor - 1):.3g} %" for name, factor in plan.costs().items()]
    return "\n".join([*texts, *_explain_whole(plan, "questions"), *explain_any_noise(plan)])


def explain_any_noise(plan: Plan) -> list[str]:
    """How far noise of any other law could go; nothing where that is not proven."""
    from gaussmith.planning.certificate import unbiased_factor

    if plan.guarantee.is_pure:
        return []
    factor = unbiased_factor(plan)
    if factor is None:
        return []
    return [
        "Other noise: no unbiased release of these sums and counts that is μ-GDP with the same μ has less than "
        f"1/{math.ceil(factor * 1e4) / 1e4:g} of this total variance."
    ]


def _explain_whole(plan: Plan, of: str) -> list[str]:
    """How close several noises together are to one noise for all; nothing where there is one, or a choice."""
    chooses = any(query.block.domain.chosen for query in plan.queries)
    if len(plan.provable) == 1 or plan.guarantee.is_pure or chooses:
        return []
    return [
        f"\nAll {of} together: the total is {plan.total_variance:.6g}, and no Gaussian noise with the "
        f"whole guarantee can go below {plan.lower_bound:.6g}: within a factor {plan.optimality:.3g} of this bound."
    ]


def _explain_question(plan: Plan) -> str:
    """Each noise of one question once, with the names of its answers where there are several."""
    queries = [plan.queries[i] for i in plan.slot.queries]
    queries = [query for query in queries if not query.is_public] or queries
    noises = {id(query.tie or query): query for query in queries}
    if len(noises) == 1:
        return _explain_query(queries[0])
    texts = []
    for key, query in noises.items():
        some = [p for p in plan.pieces if id(p.query.tie or p.query) == key]
        texts.append(f"{', '.join(name for piece in some for name in piece.names)}\n{_explain_query(query)}")
    return "\n\n".join(texts)


def _explain_keys(plan: Plan) -> list[str]:
    """How keys are found, and what that costs; nothing where none are."""
    if not plan.pays_for_keys:
        return []
    return [
        "\nFound keys: every key that somebody has gets noise, and a group is shown if its noisy number of people "
        "passes a threshold.",
        *(f"{line}." for q in plan if q.groups is not None and q.groups.is_found for line in _shown_of(q, plan)),
        f"All together: {'; '.join(statement_notes(plan))}.",
    ]


def _shown_of(question: Plan, plan: Plan) -> list[str]:
    lead = f"{question.questions[0]}: " if len(plan) > 1 else ""
    return [lead + line for line in describe_shown(question)]


def _explain_tie(tie: AnyTie, protects: str) -> str:
    """One noise for several questions, or for groups that a person can be in several of."""
    return (
        f"Protected: {protects}. How well: {tie.guarantee}.\n"
        f"Chosen: {describe_shape(NAME)}.\n"
        f"Its total squared error (each error taken relative to what one person can change) is "
        f"{tie.total_variance:.6g}; with separate noise for each question or group it would be {tie.apart:.6g}. No "
        f"Gaussian noise with this guarantee can go below {tie.lower_bound:.6g}: the plan is "
        f"{describe_factor(tie.optimality)}.\n"
        "The choice used the bounds and the guarantee, never the data."
    )


def describe_choice(query: Query) -> str:
    """How one quantile is found, in plain words."""
    (name,) = query.block.answers.names
    return f"{printable(name)} is chosen, with a third of μ²; the rest is for noise around it, which its interval needs"


def _explain_query(query: Query) -> str:
    block, groups = query.block, query.groups
    if block.domain.chosen:
        of = "" if groups is None else f"{counted(groups.size, 'declared group')}, each person in {held(query)}.\n"
        how = f"The noise around it, at μ={block.guarantee.mu:.4g}{'' if groups is None else ' in each group'}:"
        text = f"{of}Protected: {protects(query.neighbours)}. How well: {query.guarantee}.\n{describe_choice(query)}.\n"
        return f"{text}{how}\n{explain_choice(block)}"
    if query.tie is not None:
        text = _explain_tie(query.tie, protects(query.neighbours))
        if groups is None:
            return text
        errors = "their errors are correlated" if query.tie.groups is None else "noise is drawn anew in each"
        return f"{counted(groups.size, 'declared group')}, a person in {held(query)}; {errors}.\n{text}"
    text = f"Protected: {protects(query.neighbours)}. {_explain_noise(query)}"
    if groups is None:
        return text
    if groups.is_found:
        lead = (
            f"{describe_groups(query)}, each person in {held(query)}: each group has noise of "
            f"{parameter_of(block.guarantee)}, all groups of a person together {parameter_of(query.guarantee)}."
        )
        return f"{lead}\nIn each group:\n{text}"
    lead = (
        f"{counted(groups.size, 'declared group')}, each person in {held(query)}: "
        f"each group is planned at {parameter_of(block.guarantee)}, so that together they satisfy {query.guarantee}."
    )
    limit = _explain_groups(query) if query.is_shared and not query.guarantee.is_pure else ""
    return f"{lead}\nIn each group:\n{text}{limit}"


def _explain_noise(query: Query) -> str:
    """How well the noise of a query hides, and why it was chosen."""
    block, finds = query.block, query.groups is not None and query.groups.is_found
    if not query.is_planned_inside or finds:
        how = f"Noise: {parameter_of(block.guarantee)}" if finds else f"How well: {block.guarantee}"
        return f"{how}.\n{explain_choice(block)}"
    inside = ""
    if block.guarantee != query.guarantee:
        what = "its group" if query.groups is not None else "the records that are counted"
        inside = (
            f"A changed record may also enter or leave {what}: noise that hides one person added or removed with "
            f"{parameter_of(block.guarantee)} hides this with {parameter_of(query.guarantee)}.\n"
        )
    judged = "all groups are judged together"
    if query.groups is None:
        judged = (
            f"no Gaussian noise with this guarantee can go below {query.lower_bound:.6g}: the plan is "
            f"{describe_factor(query.optimality)}"
        )
    return f"How well: {query.guarantee}.\n{inside}{explain_choice(block, judged)}"


def _explain_groups(query: Query) -> str:
    """How close the noise of all groups is to the limit."""
    what = "total" if query.block.problem.features.targets is None else "largest relative to its squared target"
    return (
        f"\nAll groups together: the {what} is {query.price:.6g}, and no Gaussian noise with the whole "
        f"guarantee can go below {query.lower_bound:.6g}: within a factor {query.optimality:.3g} of this bound."
    )
