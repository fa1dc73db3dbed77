"""What a test knows to be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def known(found: T | None) -> T:
    assert found is not None
    return found
