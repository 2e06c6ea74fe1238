"""Keys of groups as Python writes them, and which group was meant by a key that no group has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.errors import PlanError, nearest

if TYPE_CHECKING:
    from gaussmith.releases.release import Release

Label = tuple[Any, ...]


def in_brackets(label: Label) -> str:
    """What stands between the brackets of `release[…]` for a group.

    >>> in_brackets(("Central", "crime")), in_brackets((2024,))
    ('"Central", "crime"', '2024')
    """
    return ", ".join(f'"{key}"' if isinstance(key, str) and '"' not in key else repr(key) for key in label)


def shown_labels(labels: Sequence[Label]) -> list[str]:
    """Groups in a list: the key itself, or all keys in round brackets."""
    return [str(label[0]) if len(label) == 1 else f"({in_brackets(label)})" for label in labels]


def nearest_group(wanted: Label, labels: Sequence[Label]) -> str:
    """As `nearest`, with several keys as they are written.

    >>> nearest_group(("north", "g"), [("north", "f"), ("south", "m")])
    'did you mean ("north", "f")?'
    >>> nearest_group(("nort",), [("north",), ("south",)])
    "did you mean 'north'?"
    """
    shown = shown_labels(labels)
    if not labels or len(labels[0]) == 1:
        return nearest(" · ".join(map(str, wanted)), shown)
    import difflib  # which is left out of start-up

    joined = {" · ".join(map(str, label)): text for label, text in zip(labels, shown, strict=True)}
    close = difflib.get_close_matches(" · ".join(map(str, wanted)), joined, n=1)
    return f"did you mean {joined[close[0]]}?" if close else nearest("", shown)


def unknown_group(release: Release, key: Any) -> PlanError:
    """The reason for refusing a key that no group in view has, and the one to write."""
    wanted, labels, groups = key if isinstance(key, tuple) else (key,), release.labels, release.groups
    assert groups is not None
    columns = groups.columns
    if len(wanted) != len(columns) and len(columns) > 1:
        having = [label for label in labels if all(each in label for each in wanted)]
        joined = [label for label in labels if " · ".join(map(str, label)) == key]
        remedy = f"write release[{in_brackets([*joined, *having, *labels][0])}]"
        if having and len(wanted) == 1 and not release.shows_found_keys:
            column = columns[having[0].index(key)]
            remedy += f", or release.total({column}={in_brackets(wanted)}) for all of them together"
        return PlanError(
            f"group {key!r}",
            f"each group has {len(columns)} keys: {', '.join(columns)}",
            remedy,
            code="group-with-too-few-keys",
            group=key,
            columns=columns,
        )
    if release.shows_found_keys:
        remedy = nearest_group(wanted, labels)
        return PlanError(f"group {key!r}", "it was not shown", remedy, code="group-not-shown", group=key)
    remedy = nearest_group(wanted, labels)
    return PlanError(f"group {key!r}", "it was not declared", remedy, code="no-such-group", group=key)
