"""A method as a dispatcher serves it: its name, its function, and what its signature says."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from functools import cache, cached_property, partial, reduce
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Raw

from entresol.errors import ForeignOrigin
from entresol.offload import Offload, is_awaitable
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.method import MARK, Mark, Named, Namespace, Order
from entresol.rpc.jsonrpc.metrics import MethodMetrics
from entresol.rpc.jsonrpc.model import camel
from entresol.rpc.jsonrpc.params import REQUIRED, Parameter, ParamsReader
from entresol.server.handler import ClientConnection

Route: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Returns the function that a method calls in place of another."""

_LATER: Final = (Offload, Awaitable)


class Method:
    """A method, compiled from its signature when something needs that: most methods of a node are never called."""

    def __init__(
        self, name: str, function: Callable[..., Any], mark: Mark, *, acknowledged: bool = False
    ) -> None:
        self.name = name
        self.errors = mark.errors
        self.is_cached = mark.cached
        self.is_getter = mark.getter
        self.served_by = mark.served_by
        self.past = mark.past
        self.names_url = ForeignOrigin in mark.errors
        self.reads_natively = True
        """Whether the crate may read by itself what a plain call asks for."""
        self.is_grouped = mark.order is Order.GROUPED
        self.is_last = mark.order is Order.LAST
        self.waits = mark.waits
        self.metrics = MethodMetrics()
        self._declared = function
        self._long = mark.long
        self._routes: tuple[Route, ...] = ()
        self._acknowledged = acknowledged
        self._may_offload = mark.order not in {Order.GROUPED, Order.IN_TURN}
        self._may_be_long = not mark.short

    def routed(self, route: Route) -> Method:
        """Return the method with another function in place of its own, whose result may be awaited."""
        other = copy(self)
        # Made of its own function once it is called.
        vars(other).pop("function", None)
        other._routes = (*self._routes, route)  # noqa: SLF001 - of this class
        other.may_be_awaited = True
        return other

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that is called: with all arguments by position."""
        function = _positional(self._declared, self._signature)
        if self._is_acknowledged:
            function = _acknowledging(function)
        for route in self._routes:
            function = route(function)
        return function

    @cached_property
    def may_be_awaited(self) -> bool:
        """Whether a result may be an awaitable."""
        return self._signature.may_be_awaited

    @property
    def takes_long(self) -> Callable[[Raw], Awaitable[Any]] | None:
        """The function that takes long parameters, which are not decoded here then."""
        if self._long is None:
            return None
        return partial(self._long, getattr(self._declared, "__self__", None))

    @property
    def named(self) -> NamedParameter | None:
        """The parameter that names a block, a transaction or a range."""
        return self._signature.named

    @property
    def doc(self) -> str:
        """The docstring."""
        return self._signature.doc

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return self.doc.partition("\n")[0]

    @property
    def result(self) -> Any:
        """The type of the result."""
        return bool if self._is_acknowledged else self._signature.result

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters that a call may have."""
        return self._signature.parameters

    @cached_property
    def takes_data(self) -> bool:
        """Whether data alone, of any length, is a valid list of parameters."""
        return _takes_data(self.parameters) and not self.needs_connection

    @cached_property
    def cached_arguments(self) -> Callable[[bytes], tuple[Any, ...] | None]:
        """Return the arguments that were decoded from these bytes before."""
        # Arguments with a connection among them are not the same for the next call.
        is_cached = not self.needs_connection and not self.is_grouped
        return self.reader.cached if is_cached else _not_cached

    @property
    def needs_connection(self) -> bool:
        """Whether calls depend on the connection they come from."""
        return self._signature.connection_at is not None

    def is_repeatable(self, arguments: tuple[Any, ...]) -> bool:
        """Say whether the same arguments mean the same blocks in the next call; a tag does not."""
        return all(getattr(argument, "is_fixed", True) for argument in arguments)

    def arguments(self, params: Raw, connection: ClientConnection) -> tuple[Any, ...]:
        """Decode the arguments of the function, or raise InvalidParamsError."""
        return self.with_connection(self.reader.read(params), connection)

    def with_connection(
        self, values: tuple[Any, ...], connection: ClientConnection
    ) -> tuple[Any, ...]:
        """Return the arguments of the function: `values`, with the connection where it wants it."""
        index = self._signature.connection_at
        if index is None:
            return values
        return (*values[:index], connection, *values[index:])

    @cached_property
    def _signature(self) -> _Signature:
        return _signature(getattr(self._declared, "__func__", self._declared))

    @cached_property
    def reader(self) -> ParamsReader:
        """The reader of parameters."""
        return ParamsReader(
            self.parameters,
            may_offload=self._may_offload,
            may_be_long=self._may_be_long,
            may_repeat=not self.is_grouped,
        )

    @property
    def _is_acknowledged(self) -> bool:
        return self._acknowledged and self._signature.result is type(None)


def methods_of(namespaces: Iterable[Namespace]) -> dict[str, Method]:
    """Return the methods of all `namespaces` by name."""
    found: dict[str, Method] = {}
    for namespace in namespaces:
        for attribute, mark in _marked(type(namespace)):
            pattern = mark.name or f"{{prefix}}_{camel(attribute)}"
            name = pattern.format(prefix=namespace.prefix)
            if name in found:
                raise TypeError(f"{name} is declared twice")
            acknowledged = getattr(namespace, "acknowledges", False)
            found[name] = Method(
                name, getattr(namespace, attribute), mark, acknowledged=acknowledged
            )
    return found


@cache
def _marked(kind: type) -> tuple[tuple[str, Mark], ...]:
    """Return the marked functions of a class, inherited ones first, in the order of definition."""
    found: dict[str, object] = {}
    for ancestor in reversed(kind.__mro__):
        found |= vars(ancestor)
    marks = ((name, getattr(value, MARK, None)) for name, value in found.items())
    return tuple((name, mark) for name, mark in marks if isinstance(mark, Mark))


class NamedParameter(NamedTuple):
    """An argument of a method that names something, and what it names."""

    position: int
    kind: Named


def named_by(hint: Any) -> tuple[Any, Named | None]:
    """Return a type without the annotation that says what its values name, and what they name."""
    if get_origin(hint) is Annotated and isinstance(kind := get_args(hint)[1], Named):
        return get_args(hint)[0], kind
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    found = getattr(kinds[0], "names", None) if len(kinds) == 1 else None
    return hint, found if isinstance(found, Named) else None


class _Signature(msgspec.Struct, frozen=True):
    """A method as its function declares it, without the object that it is bound to."""

    parameters: list[Parameter]
    named: NamedParameter | None
    connection_at: int | None
    keywords: tuple[str, ...]
    """The names of keyword-only parameters, which are the last ones."""
    result: Any
    doc: str
    may_be_awaited: bool


@cache
def _signature(function: Callable[..., Any]) -> _Signature:
    # Once a process, for the methods of both layers and of every chain.
    hints = get_type_hints(function, include_extras=True)
    declared = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    wire = [parameter for parameter in declared if hints[parameter.name] is not ClientConnection]
    return _Signature(
        [_parameter(parameter, hints) for parameter in wire],
        _named([hints[parameter.name] for parameter in wire]),
        _position(declared, hints),
        tuple(p.name for p in declared if p.kind is p.KEYWORD_ONLY),
        _result_hint(hints["return"]),
        inspect.getdoc(function) or "",
        inspect.iscoroutinefunction(function) or _may_be_awaited(hints["return"]),
    )


def _positional(function: Callable[..., Any], signature: _Signature) -> Callable[..., Any]:
    """Return a function that takes all arguments by position, also keyword-only ones."""
    named = signature.keywords
    if not named:
        return function
    count = len(signature.parameters) + (signature.connection_at is not None)
    split = count - len(named)

    def adapted(*arguments: Any) -> Any:
        return function(*arguments[:split], **dict(zip(named, arguments[split:], strict=True)))

    return adapted


def _acknowledging(function: Callable[..., Any]) -> Callable[..., Any]:
    def adapted(*arguments: Any) -> Any:
        result = function(*arguments)
        if type(result) is Offload:
            return Offload(lambda: result.work() is None)
        return _acknowledged(result) if is_awaitable(result) else True

    return adapted


async def _acknowledged(result: Awaitable[None]) -> bool:
    await result
    return True


def _parameter(parameter: inspect.Parameter, hints: dict[str, Any]) -> Parameter:
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    return Parameter(parameter.name, named_by(hints[parameter.name])[0], default)


def _named(hints: list[Any]) -> NamedParameter | None:
    """Return the first parameter that names a block, a transaction or a range."""
    kinds = ((index, named_by(hint)[1]) for index, hint in enumerate(hints))
    return next((NamedParameter(index, kind) for index, kind in kinds if kind is not None), None)


def _may_be_awaited(hint: Any) -> bool:
    return get_origin(hint) is Awaitable or any(map(_may_be_awaited, get_args(hint)))


def _takes_data(parameters: list[Parameter]) -> bool:
    return (
        bool(parameters)
        and parameters[0].hint is Data
        and not any(parameter.required for parameter in parameters[1:])
    )


def _not_cached(_params: bytes) -> None:
    return None


def _position(signature: Sequence[inspect.Parameter], hints: dict[str, Any]) -> int | None:
    kinds = [hints[parameter.name] for parameter in signature]
    return kinds.index(ClientConnection) if ClientConnection in kinds else None


def _result_hint(hint: Any) -> Any:
    """Return the type of the result: what work for a thread or an awaitable returns, and a model in place of what it annotates.

    Rendered JSON that comes later is what the annotated one is, which stands beside it.
    """
    if get_origin(hint) in {Union, UnionType}:
        merged = reduce(or_, (_result_hint(kind) for kind in get_args(hint)))
        is_union = get_origin(merged) in {Union, UnionType}
        kinds = dict.fromkeys(get_args(merged) if is_union else (merged,))
        if kinds.keys() - {Raw, type(None)}:
            kinds.pop(Raw, None)
        return reduce(or_, kinds)
    if get_origin(hint) in _LATER:
        return _result_hint(get_args(hint)[0])
    if get_origin(hint) is Annotated and not isinstance(get_args(hint)[1], Meta):
        return get_args(hint)[1]
    return hint
