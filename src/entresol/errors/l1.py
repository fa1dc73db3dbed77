"""Errors of requests to L1."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class LayerOneFailed(EntresolError):
    """A request to L1 failed."""


class LayerOneUnreachable(LayerOneFailed):
    """L1 cannot be reached or does not respond in time; a retry may help."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"L1 at {url} cannot be reached: {problem}")
        self.url = url
        self.problem = problem


class LayerOneRejected(LayerOneFailed):
    """L1 responded with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"L1 rejected {method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.message = message


class LayerOneMismatch(LayerOneFailed):
    """L1 is not, or no longer, the one that the chain settles on."""
