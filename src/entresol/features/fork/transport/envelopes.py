"""Requests and responses of JSON-RPC, and the checks of what a remote sends that may be hostile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from entresol.features.fork.errors import RemoteMalformed, RemoteRejected
from entresol.features.fork.transport import rejections
from entresol.features.fork.transport.endpoints import RemoteEndpoint
from entresol.l1.json_rpc_client import NoResponse, PostResponse

UNEXPECTED: Final = 0
"""The code of a rejection that has none of its own."""
_UNAVAILABLE: Final = 503
_ENTITY_TOO_LARGE: Final = 413
_TOO_MANY_REQUESTS: Final = 429


class Call(NamedTuple):
    """A request for one method."""

    method: str
    params: Sequence[object]


class TooLarge(Exception):  # noqa: N818  # halves the batch
    """The remote does not take so large a batch, or none at all."""

    def __init__(self, rejection: RemoteRejected) -> None:
        super().__init__(str(rejection))
        self.rejection = rejection


class RateLimited(Exception):  # noqa: N818  # waits
    """The remote has had too many requests."""

    def __init__(self, seconds: float | None, problem: str) -> None:
        super().__init__(problem)
        self.seconds = seconds


class _Answer(msgspec.Struct):
    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


_one: Final = msgspec.json.Decoder(_Answer)
_many: Final = msgspec.json.Decoder(list[_Answer])


def encode(calls: Sequence[Call], first_id: int) -> bytes:
    """Return the body of a request: an array if there are several calls."""
    members = [
        {"jsonrpc": "2.0", "id": first_id + n, "method": call.method, "params": call.params}
        for n, call in enumerate(calls)
    ]
    return msgspec.json.encode(members if len(members) > 1 else members[0])


def decode(
    endpoint: RemoteEndpoint,
    calls: Sequence[Call],
    first_id: int,
    response: PostResponse,
    now: float,
) -> list[msgspec.Raw | RemoteRejected | RateLimited]:
    """Return the outcome of each call.

    Raises `RateLimited` or `TooLarge` for all of them, `NoResponse` for a body that is cut or not JSON, and
    `RemoteMalformed` for one that lies: other ids, members that are missing, JSON without end.
    """
    name = name_of(calls)
    _check_status(endpoint, name, response, now)
    body = response.body.lstrip()
    try:
        # A copy only of what has more than ASCII.
        _ = body.isascii() or body.decode()
        if len(calls) == 1 or not body.startswith(b"["):
            answer = _one.decode(body)
            if answer.error is None and answer.result is msgspec.UNSET:
                _check_client_error(endpoint, name, response)
            return _single(endpoint, calls, first_id, answer)
        answers = _many.decode(body)
    except UnicodeDecodeError as error:
        raise NoResponse("the response is not UTF-8") from error
    except RecursionError as error:
        raise RemoteMalformed(endpoint.host, name, "the JSON is nested too deeply") from error
    except msgspec.ValidationError as error:
        _check_client_error(endpoint, name, response)
        raise RemoteMalformed(endpoint.host, name, f"it is not JSON-RPC: {error}") from error
    except msgspec.DecodeError as error:
        _check_client_error(endpoint, name, response)
        raise NoResponse(f"HTTP status {response.status} without JSON") from error
    return _members(endpoint, calls, first_id, answers)


def name_of(calls: Sequence[Call]) -> str:
    """Return what errors call a request: its method, with the number of calls if there are several."""
    if len(calls) == 1:
        return calls[0].method
    names = sorted({call.method for call in calls})
    shown = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
    return f"{shown} ({len(calls)} calls)"


def _single(
    endpoint: RemoteEndpoint, calls: Sequence[Call], first_id: int, answer: _Answer
) -> list[msgspec.Raw | RemoteRejected | RateLimited]:
    """Return the outcome of one call; an object as the response to a batch is an error for all of it."""
    name = name_of(calls)
    if len(calls) > 1 or (answer.error is not None and answer.id != first_id):
        if answer.error is None:
            raise RemoteMalformed(endpoint.host, name, "a batch has one response")
        outcome = _outcome(endpoint, Call(name, ()), answer)
        if isinstance(outcome, RateLimited):
            raise outcome
        if len(calls) > 1 and isinstance(outcome, RemoteRejected):
            if rejections.is_too_large(outcome.code, outcome.message):
                raise TooLarge(outcome)
            raise outcome
        return [outcome]
    if answer.id != first_id or isinstance(answer.id, bool):
        raise RemoteMalformed(endpoint.host, name, "the response has another id than the request")
    return [_outcome(endpoint, calls[0], answer)]


def _members(
    endpoint: RemoteEndpoint, calls: Sequence[Call], first_id: int, answers: list[_Answer]
) -> list[msgspec.Raw | RemoteRejected | RateLimited]:
    name = name_of(calls)
    found: dict[int, _Answer] = {}
    for answer in answers:
        position = answer.id - first_id if type(answer.id) is int else -1
        if not 0 <= position < len(calls) or position in found:
            if len(answers) == 1 and answer.error is not None:
                return _single(endpoint, calls, first_id, answer)
            raise RemoteMalformed(endpoint.host, name, "a response has an id of no request")
        found[position] = answer
    if len(found) < len(calls):
        missing = len(calls) - len(found)
        raise RemoteMalformed(
            endpoint.host, name, f"{missing} of {len(calls)} responses are missing"
        )
    return [_outcome(endpoint, call, found[n]) for n, call in enumerate(calls)]


def _outcome(
    endpoint: RemoteEndpoint, call: Call, answer: _Answer
) -> msgspec.Raw | RemoteRejected | RateLimited:
    error = answer.error
    if error is None:
        if answer.result is msgspec.UNSET:
            raise RemoteMalformed(endpoint.host, call.method, "neither result nor error")
        return answer.result
    if not isinstance(error, dict) or type(error.get("code", 0)) is not int:
        # A gateway in front of the node, for instance one that checks keys, may not speak JSON-RPC.
        return _rejected(endpoint, call.method, UNEXPECTED, endpoint.redact(str(error)))
    code, message = error.get("code", UNEXPECTED), endpoint.redact(str(error.get("message", "")))
    if rejections.is_rate_limit(code, message):
        is_said = bool(message) and endpoint.is_quoted
        return RateLimited(None, message if is_said else f"code {code}")
    return _rejected(endpoint, call.method, code, message)


def _rejected(endpoint: RemoteEndpoint, method: str, code: int, message: str) -> RemoteRejected:
    """Return the error of what a remote said; quoted only if it was not a client who named the remote."""
    return RemoteRejected(endpoint.host, method, code, message, is_quoted=endpoint.is_quoted)


def _check_status(endpoint: RemoteEndpoint, name: str, response: PostResponse, now: float) -> None:
    status = response.status
    if status == _TOO_MANY_REQUESTS or (
        status == _UNAVAILABLE and response.retry_after is not None
    ):
        seconds = rejections.seconds_of(response.retry_after, now)
        asked = "" if seconds is None else f", which asks to wait for {seconds:g} seconds"
        raise RateLimited(seconds, f"HTTP status {status}{asked}")
    if status == _ENTITY_TOO_LARGE:
        raise TooLarge(RemoteRejected(endpoint.host, name, status, "the request is too large"))
    if 300 <= status < 400:
        raise RemoteRejected(
            endpoint.host, name, status, "it redirects to another URL, which is not followed"
        )
    if status >= 500:
        raise NoResponse(f"HTTP status {status}")


def _check_client_error(endpoint: RemoteEndpoint, name: str, response: PostResponse) -> None:
    if 400 <= response.status < 500:
        text = response.body[:200].decode(errors="replace")
        problem = f"HTTP status {response.status}" + (f": {text}" if endpoint.is_quoted else "")
        raise _rejected(endpoint, name, response.status, endpoint.redact(problem))
