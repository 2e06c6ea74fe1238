"""Which of its pairs each person keeps: the m with the largest weights, whole numbers, no two of a person alike.

A person, the weight of a pair and its place are packed into one word of 64 bits, so that words are sorted and nothing
else: numpy sorts words in a fifth of the time in which it finds an order. People who do not fit are packed by a hash;
those who share one are ranked again by themselves, so that what is kept never depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.engine import Words

if TYPE_CHECKING:
    import polars as pl

WORD = 63
"""Bits of a word without its sign."""

PIECE = 1 << 15
"""Words that get their places at a time, in the cache of a processor core."""

INTEGERS = {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"}
"""Types of ids whose differences are words, if they are small."""


def find_kept(
    people: Sequence[pl.Series],
    weights: Iterator[Words],
    heaviest: int,
    most: int,
    room: Callable[[int], Words] | None = None,
) -> Words:
    """The places of the pairs that are among the `most` heaviest of their person, and whose weight is not 0.

    Pairs come in pieces: their people, and their weights, none above `heaviest`. A piece is packed while it is in the
    processor's cache, into room for so many words: new memory costs more than all that is done in it.

    >>> import polars as pl
    >>> people, weights = [pl.Series([7, 7]), pl.Series([7, 8, 8])], [np.array([3, 5]), np.array([4, 0, 1])]
    >>> [sorted(find_kept(people, iter(weights), 5, most).tolist()) for most in (1, 2)]
    [[1, 4], [1, 2, 4]]
    """
    rows = sum(map(len, people))
    size, heavy = rows.bit_length(), heaviest.bit_length()
    span = _span(people)
    if span is None or (span[1] - span[0]).bit_length() + heavy + size > WORD:
        return _find_by_codes(_together(people), np.concatenate([np.empty(0, np.int64), *weights]), most)
    words, at = np.empty(rows, np.int64) if room is None else room(rows), 0
    for who, weight in zip(people, weights, strict=True):
        codes = who.to_numpy()
        for start in range(0, len(codes), PIECE):
            own = slice(start, start + PIECE)
            piece = words[at : at + len(codes[own])]
            np.subtract(codes[own], span[0], out=piece, dtype=np.int64)
            piece <<= heavy
            piece += (1 << heavy) - 1
            piece -= weight[own]
            piece <<= size
            piece += np.arange(at, at + len(piece))
            at += len(piece)
    words.sort()
    return np.concatenate([np.empty(0, np.int64), *_first_words(words, heavy, size, most)])


def _first_words(words: Words, heavy: int, size: int, most: int) -> Iterator[Words]:
    """The places in the first `most` of the sorted words of each person, but for weights of 0; piece by piece."""
    for start in range(0, len(words), PIECE):
        piece = words[start : start + PIECE]
        codes = words[max(0, start - most) : start + PIECE] >> (heavy + size)
        is_first = np.ones(len(piece), bool)
        behind = len(codes) - most  # words that have `most` before them
        if behind > 0:
            is_first[len(piece) - behind :] = codes[most:] != codes[:-most]
        first = piece[is_first]
        yield first[(~first >> size) & ((1 << heavy) - 1) != 0] & ((1 << size) - 1)


def _span(people: Sequence[pl.Series]) -> tuple[int, int] | None:
    """The least and the largest of people who are integers, if there are any."""
    if not people or str(people[0].dtype) not in INTEGERS:
        return None
    ends: list[Any] = [(each.min(), each.max()) for each in people if len(each)]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


def _together(people: Sequence[pl.Series]) -> pl.Series:
    import polars as pl

    return pl.concat(people, rechunk=False)


def _find_by_codes(people: pl.Series, weights: Words, most: int) -> Words:
    """As `find_kept`, of people who are no integers, or far apart."""
    room, heavy = WORD - len(weights).bit_length(), int(weights.max(initial=0)).bit_length()
    if heavy > room:
        return _rank(people, weights, most)
    small = _small_codes(people, room)
    codes = _hashes(people, room, heavy) if small is None else small
    codes, order = _sort(codes, weights, room, heavy)
    is_kept = np.ones(len(codes), bool)
    is_kept[most:] = codes[most:] != codes[:-most]
    found = order[is_kept]
    if small is None:
        clashing = _clashing(people, codes, order)
        again = order[clashing]
        found = np.append(order[is_kept & ~clashing], again[_rank(people.gather(again), weights[again], most)])
    return found if weights.min(initial=1) > 0 else np.asarray(found[weights[found] > 0])


def _small_codes(people: pl.Series, bits: int) -> Words | None:
    """People who are integers close to each other, as words of so many bits."""
    if str(people.dtype) not in INTEGERS or not len(people):
        return None
    words = people.to_numpy()
    low, high = int(words.min()), int(words.max())
    return np.subtract(words, low, dtype=np.int64) if (high - low).bit_length() <= bits else None


def _hashes(people: pl.Series, room: int, heavy: int) -> Words:
    """Hashes of people that leave room for the weight, if few people will share one; else as long as can be sorted."""
    few = 2 * len(people).bit_length()
    bits = room - heavy if room - heavy >= few else room
    return (people.hash().to_numpy() >> np.uint64(64 - bits)).astype(np.int64)


def _sort(codes: Words, weights: Words, room: int, heavy: int) -> tuple[Words, Words]:
    """The codes in order, and where each was: of one code the heaviest comes first. Overwrites the codes."""
    size, mask = WORD - room, (1 << (WORD - room)) - 1
    if int(codes.max(initial=0)).bit_length() + heavy <= room:
        codes <<= heavy
        codes += (1 << heavy) - 1
        codes -= weights
        words = _sorted_with_places(codes, size)
        return words >> (heavy + size), words & mask
    by_weight = _sorted_with_places((1 << heavy) - 1 - weights, size) & mask
    words = _sorted_with_places(codes[by_weight], size)
    return words >> size, by_weight[words & mask]


def _sorted_with_places(words: Words, bits: int) -> Words:
    """Each word with its place in the lower bits, in order. Overwrites them: new memory costs as much as sorting."""
    words <<= bits
    for start in range(0, len(words), PIECE):
        piece = words[start : start + PIECE]
        piece += np.arange(start, start + len(piece))
    words.sort()
    return words


def _clashing(people: pl.Series, codes: Words, order: Words) -> npt.NDArray[np.bool_]:
    """Which of the sorted codes are those of more than one person."""
    owners = people.gather(order)
    is_other = (owners.slice(1) != owners.slice(0, max(0, len(owners) - 1))).to_numpy()
    shared = codes[1:][is_other & (codes[1:] == codes[:-1])]
    return np.isin(codes, shared) if len(shared) else np.zeros(len(codes), bool)


def _rank(people: pl.Series, weights: Words, most: int) -> Words:
    """As `find_kept`, of any people and weights."""
    import polars as pl

    place = pl.col("w").rank("ordinal", descending=True).over("u")
    ranked = pl.DataFrame({"u": people, "w": weights}).select((place <= most) & (pl.col("w") > 0))
    return np.asarray(ranked.to_series().arg_true().to_numpy().astype(np.int64))
