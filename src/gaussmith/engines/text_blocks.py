"""Text files in blocks of whole lines, so that each block can be read twice: quickly, and by the strict rule."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES, MAX_BLOCK_BYTES, BYTES_PER_COLUMN = 1 << 23, 1 << 26, 1 << 15
"""Bytes read at a time: more of tables with thousands of columns, where each block costs time for every column."""

MAX_BATCH_NUMBERS = 1 << 26
"""Limit on the numbers in a block: half a gigabyte."""

PACKED = (".gz", ".zst")
"""Suffixes of compressed files, which are read by the engine."""


def read_blocks(path: str, skip: int = 0, columns: int = 1, head: bytes = b"") -> Iterator[tuple[bytes, int]]:
    """The lines of a file after the first `skip` in blocks, and how many each has; every block begins with `head`.

    No block holds more lines than fit into a batch of this many columns: a file may be all line breaks.
    """
    most = max(1, MAX_BATCH_NUMBERS // max(1, columns))
    size = min(max(BLOCK_BYTES, columns * BYTES_PER_COLUMN), MAX_BLOCK_BYTES)
    held: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(size):
            while skip and piece:
                end = piece.find(b"\n") + 1
                skip, piece = (skip - 1, piece[end:]) if end else (skip, b"")
            for start, end, lines in _cut(piece, most):
                yield b"".join([head, *held, memoryview(piece)[start:end]]), lines
                held = []
            rest = piece[piece.rfind(b"\n") + 1 :]
            held += [rest] if rest else []
    if held:
        yield b"".join([head, *held]), 1


def _cut(piece: bytes, most: int) -> Iterator[tuple[int, int, int]]:
    """Where parts of whole lines begin and end, and how many lines each has, at most this many."""
    start, last = 0, piece.rfind(b"\n") + 1
    while start < last:
        end, lines = last, piece.count(b"\n", start, last)
        while lines > most:
            end = piece.rfind(b"\n", start, start + (end - start) // 2) + 1 or piece.find(b"\n", start) + 1
            lines = piece.count(b"\n", start, end)
        yield start, end, lines
        start = end
