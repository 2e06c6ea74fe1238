"""Random bits: a few straight from the operating system, many from AES-256 in counter mode under a key fresh from it.

A keystream is made inside the call that uses it and dies with that call. No two calls share one, and nothing of one
is kept in the module, so threads, forked and spawned workers and retried tasks cannot repeat each other's bits.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gaussmith.errors import GaussmithError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

    from gaussmith.noise.law import Law
    from gaussmith.noise.reals import Integers

FEW = 1 << 10
"""Words that the operating system gives itself; a small release does without the cipher, which takes 3 ms to import."""


class Keystream:
    """Uniform 64-bit words under a key of its own; refuses to serve any process but the one that made it.

    Guarantee: a few words are those of `os.urandom`; many come from a 256-bit key of it, and no two keystreams have the
    same. A copy that a fork carries into another process would repeat its parent's words there, so it raises instead.
    Requires (owed): a sound `os.urandom`; that AES-256 in counter mode cannot be told from uniform bits.

    >>> len(Keystream().words(3))
    3
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._zeros = b""

    @cached_property
    def _cipher(self) -> CipherContext:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # The counter may start at zero because no key is ever used twice.
        return Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """The next `size` words of the stream."""
        if os.getpid() != self._process:
            raise GaussmithError(
                f"keystream of process {self._process} used in process {os.getpid()}",
                "a keystream works only in the process that made it, so that no two processes draw the same noise",
                "draw the noise in the process that needs it",
                code="keystream-of-another-process",
                made_in=self._process,
                used_in=os.getpid(),
            )
        if size <= FEW:
            return np.frombuffer(bytearray(os.urandom(8 * size)), np.uint64)
        if len(self._zeros) < 8 * size:
            self._zeros = bytes(8 * size)  # kept: allocating them anew took four times as long as enciphering them
        stream = np.empty(8 * size, dtype=np.uint8)
        self._cipher.update_into(memoryview(self._zeros)[: 8 * size], stream.data)
        return stream.view(np.uint64)


def pure_integers(law: Law, blocks: int) -> Integers:
    """So many independent blocks of noise of this law, one row each, from fresh randomness at every call."""
    return law.sample(blocks, Keystream().words)
