"""Compares responses with what their methods declare: every member known, every value written as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from entresol.errors import MalformedValue
from entresol.rpc.jsonrpc.codec import encode_hook
from entresol.rpc.jsonrpc.method import Method


def check_response(methods: Mapping[str, Method], request: Any, response: Any) -> None:
    """Check a response, or those of a batch, against the declarations of the methods."""
    if isinstance(request, list) and isinstance(response, list):
        names = {it["id"]: it["method"] for it in request if isinstance(it, dict) and "id" in it}
        for it in response:
            if it["id"] in names:
                _check(methods.get(names[it["id"]]), it)
    elif isinstance(request, dict) and isinstance(response, dict):
        _check(methods.get(request.get("method", "")), response)


def _check(method: Method | None, response: dict[str, Any]) -> None:
    if method is None or "result" not in response:
        return
    try:
        msgspec.convert(response["result"], method.result, dec_hook=_strictly)
    except msgspec.ValidationError as error:
        raise AssertionError(f"{method.name} declares another result: {error}") from None


def _strictly(kind: type[Any], value: object) -> Any:
    """Parse a value, which must be written as the encoder writes it; `object` is any value."""
    if kind is object:
        return value
    try:
        parsed = kind.parse(value)
    except MalformedValue as error:
        raise ValueError(error.problem) from None
    if encode_hook(parsed) != value:
        raise ValueError(f"{kind.__name__} is not written as {value!r}")
    return parsed
