"""Errors of requests to layer 1."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class LayerOneFailed(EntresolError):
    """L1 did not do what it was asked for."""


class LayerOneUnreachable(LayerOneFailed):
    """Nobody answers where L1 should be, or not in time; waiting may help."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"L1 at {url} cannot be reached: {problem}")
        self.url = url
        self.problem = problem


class LayerOneRejected(LayerOneFailed):
    """L1 answered with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"L1 rejected {method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.message = message


class LayerOneMismatch(LayerOneFailed):
    """L1 is not, or not any more, the one that this chain is tied to."""
