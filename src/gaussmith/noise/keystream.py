"""Random bits: AES-256 in counter mode under a key fresh from the operating system.

A keystream is made inside the call that uses it and dies with that call. No two calls share one, and nothing of one
is kept in the module, so threads, forked and spawned workers and retried tasks cannot repeat each other's bits.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from gaussmith.errors import GaussmithError


class Keystream:
    """Uniform 64-bit words under a key of its own; refuses to serve any process but the one that made it.

    Guarantee: the words of two keystreams come from two 256-bit keys of `os.urandom`. A copy that a fork carries into
    another process would repeat its parent's words there, so it raises instead.
    Requires (owed): a sound `os.urandom`; that AES-256 in counter mode cannot be told from uniform bits.

    >>> len(Keystream().words(3))
    3
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        # The counter may start at zero because no key is ever used twice.
        self._cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        self._zeros = b""

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """The next `size` words of the stream."""
        if os.getpid() != self._process:
            raise GaussmithError(
                f"keystream of process {self._process} used in process {os.getpid()}",
                "a keystream serves only the process that made it, or two processes would draw the same noise",
                "draw the noise in the process that needs it",
                code="keystream-of-another-process",
                made_in=self._process,
                used_in=os.getpid(),
            )
        if len(self._zeros) < 8 * size:
            self._zeros = bytes(8 * size)  # kept: allocating them anew took four times as long as enciphering them
        stream = np.empty(8 * size, dtype=np.uint8)
        self._cipher.update_into(memoryview(self._zeros)[: 8 * size], stream.data)
        return stream.view(np.uint64)
