"""The root of the error tree."""

from __future__ import annotations


class EntresolError(Exception):
    """A failure that is part of normal operation."""
