"""How many items a page has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import AccountsNotIndexed, MalformedValue

if TYPE_CHECKING:
    from entresol.rpc.types.number import Number
    from entresol.storage.account_index import AccountIndex

MAX_PAGE: Final = 100
DEFAULT_PAGE: Final = 25


def page_size(limit: Number | None) -> int:
    """Return how many items are wanted; reject a page that is empty or too long."""
    size = DEFAULT_PAGE if limit is None else int(limit)
    if not 1 <= size <= MAX_PAGE:
        raise MalformedValue(f"from 1 to {MAX_PAGE}, got {size}", field="limit")
    return size


def check_indexed(index: AccountIndex) -> None:
    """Raise `AccountsNotIndexed` if the node keeps no index."""
    if not index.is_on:
        raise AccountsNotIndexed
