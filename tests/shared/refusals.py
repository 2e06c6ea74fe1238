"""What a test expects of a refusal: its code and the values it speaks of, not its words.

The words are in `tests/sentences/errors.md`, where a change of them is reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gaussmith.errors import GaussmithError


@contextmanager
def refused(
    code: str, /, error: type[GaussmithError] = GaussmithError, match: str | None = None, **fields: object
) -> Iterator[pytest.ExceptionInfo[GaussmithError]]:
    """What is done inside raises an error with this code and these fields, of this class, in words that match."""
    with pytest.raises(error, match=match) as caught:
        yield caught
    check_refusal(caught.value, code, **fields)


def check_refusal(found: GaussmithError, code: str, /, **fields: object) -> None:
    """The error has this code and, under these names, these fields."""
    assert found.code == code, f"{found.code} instead of {code}: {found}"
    seen = {name: found.fields.get(name, "(no such field)") for name in fields}
    assert seen == fields, f"other fields of {code}: {found}"
