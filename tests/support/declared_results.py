"""Compares responses with what their methods declare: every member known and there, every value written as it should be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from entresol.errors import MalformedValue
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.rpc.jsonrpc.codec import encode, encode_hook
from entresol.rpc.jsonrpc.model import Choice
from entresol.rpc.jsonrpc.served_method import Method
from entresol.rpc.models.chain_objects import Notification


@cache
def declared_methods() -> dict[str, Method]:
    async def read() -> dict[str, Method]:
        node = build_node(NodeConfig(chain=ChainConfig(timestamp=0)))
        served = [service.api.dispatcher.methods for service in node.services]
        await node.stop()
        return {name: it for methods in served for name, it in methods.items()}

    return asyncio.run(read())


_ZERO_HASH: Final = f"0x{'00' * 32}"


def check_response(methods: Mapping[str, Method], request: Any, response: Any) -> list[str]:
    """Check a response, or those of a batch, against the declarations; return the methods whose results it checked."""
    if isinstance(request, list) and isinstance(response, list):
        calls = {
            entry["id"]: entry for entry in request if isinstance(entry, dict) and "id" in entry
        }
        pairs = [(calls[entry["id"]], entry) for entry in response if entry["id"] in calls]
    elif isinstance(request, dict) and isinstance(response, dict):
        pairs = [(request, response)]
    else:
        pairs = []
    return [name for call, it in pairs for name in _check(methods, call, it)]


def check_notification(kind: str, result: Any) -> None:
    try:
        _Strict(None).check(result, Notification.shapes[kind])
    except msgspec.ValidationError as error:
        raise AssertionError(f"{kind} declares another notification: {error}") from None


def _check(
    methods: Mapping[str, Method], request: Mapping[str, Any], response: Mapping[str, Any]
) -> Iterator[str]:
    method = methods.get(request.get("method", ""))
    if method is None or "result" not in response:
        return
    try:
        _Strict(request.get("params")).check(response["result"], method.result)
    except msgspec.ValidationError as error:
        raise AssertionError(f"{method.name} declares another result: {error}") from None
    yield method.name


class _Strict:
    """Decodes a result; the parameters of the request choose the shape where several are possible."""

    def __init__(self, params: Any) -> None:
        # The zero hash has struct logs with every tracer.
        self._options = (
            []
            if isinstance(params, list) and params[:1] == [_ZERO_HASH]
            else list(_objects(params))
        )

    def check(self, value: Any, kind: Any) -> None:
        """Fail unless a value is of a type, with all members that it has and with no others."""
        decoded = msgspec.convert(value, kind, dec_hook=self._parse)
        written = msgspec.json.decode(encode(decoded))
        if written != value:
            raise msgspec.ValidationError(f"it is written as {written!r}, not as {value!r}")

    def _parse(self, kind: type[Any], value: object) -> Any:
        """Parse a value, which must be written as the encoder writes it; `object` is any value."""
        if kind is object:
            return value
        if issubclass(kind, Choice):
            self.check(value, kind.shapes[self._chosen(kind)])
            return kind(value)
        try:
            parsed = kind.parse(value)
        except MalformedValue as error:
            raise ValueError(error.problem) from None
        if encode_hook(parsed) != value:
            raise ValueError(f"{kind.__name__} is not written as {value!r}")
        return parsed

    def _chosen(self, kind: type[Choice]) -> str:
        if kind.__name__ == "TracerResult":
            tracer = next(
                (option["tracer"] for option in self._options if option.get("tracer")), None
            )
            return "no tracer" if tracer is None else f"`{tracer}`"
        if kind.__name__ == "Prestate":
            is_difference = any(option.get("diffMode") for option in self._options)
            return "`diffMode`" if is_difference else "no `diffMode`"
        raise AssertionError(f"say here what chooses the shape of {kind.__name__}")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a JSON value and all within it, if they are objects."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)
