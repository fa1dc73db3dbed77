"""Numbers with their nouns, as people read them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 batch`, `1,200 batches`; the plural has an `s` unless it is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def batches(count: int) -> str:
    """Return a number of batches."""
    return counted(count, "batch", "batches")
