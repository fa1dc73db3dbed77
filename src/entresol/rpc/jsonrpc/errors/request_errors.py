"""Errors of requests that reach no method, or whose response cannot be sent."""

from __future__ import annotations

from entresol.errors import EntresolError


class RequestError(EntresolError):
    """A request cannot be served; `detail` says more than the standard text."""

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


class ParseError(RequestError):
    """The body is not JSON."""

    def __init__(self, detail: str) -> None:
        super().__init__("Parse error", detail)


class InvalidRequestError(RequestError):
    """The body is JSON, but no request."""

    def __init__(self, detail: str) -> None:
        super().__init__("Invalid request", detail)


class MethodNotFoundError(RequestError):
    """No method has this name."""

    def __init__(self, name: str) -> None:
        # Clients match on this very text.
        super().__init__(f"the method {name[:70]} does not exist/is not available")


class InvalidParamsError(RequestError):
    """A parameter is not what the method takes; the text says which."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class BatchSizeError(RequestError):
    """A batch has more calls than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__("The batch request was too large", f"Exceeded max limit of {limit}")


class ResponseSizeError(RequestError):
    """A result is longer than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__("Response is too big", f"Exceeded max limit of {limit}")


class BatchResponseSizeError(RequestError):
    """The results of a batch are longer than allowed together."""

    def __init__(self, limit: int) -> None:
        super().__init__("The batch response was too large", f"Exceeded max limit of {limit}")
