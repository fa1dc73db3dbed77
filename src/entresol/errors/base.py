"""The root of every error this package raises on purpose."""

from __future__ import annotations


class EntresolError(Exception):
    """A failure that is part of normal operation."""
