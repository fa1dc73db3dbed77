"""The parameters of a method: what it declares, and how the `params` of a call are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from entresol.cache_limits import CACHES
from entresol.offload import POLICY
from entresol.primitives.bounded_map import BoundedMap
from entresol.rpc.jsonrpc.codec import decode_hook, locate
from entresol.rpc.jsonrpc.envelope import ABSENT, NULL
from entresol.rpc.jsonrpc.errors import InvalidParamsError
from entresol.rpc.jsonrpc.model import camel

REQUIRED: Final = object()
"""The default of a parameter that has none."""

MAX_OBJECTS: Final = 65_536
"""How many objects and arrays long parameters may have: five times what the other limits allow."""

_NO_PARAMS: Final = Raw(b"[]")

_INDEX: Final = re.compile(r"\[(\d+)\]")

_TOO_FEW: Final = re.compile(r"Expected `array` of at least length \d+, got (\d+)")


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as its method declares it."""

    name: str
    hint: Any
    default: Any = REQUIRED

    @property
    def wire_name(self) -> str:
        """Return the name in camel case."""
        return camel(self.name)

    @property
    def required(self) -> bool:
        """Say whether a call must have it."""
        return self.default is REQUIRED


class ParamsReader:
    """Decodes the `params` of a call into the arguments of its method.

    A missing or null value takes the parameter's default, and surplus values are ignored.

    Remembers: the latest arguments by their JSON if they `may_repeat`, because clients repeat requests, and decoding
    takes as long as many a call. Assumes: that methods do not change their arguments. Fails: with InvalidParamsError.
    """

    def __init__(
        self,
        parameters: list[Parameter],
        *,
        may_offload: bool = False,
        may_be_long: bool = True,
        may_repeat: bool = True,
    ) -> None:
        self._parameters = parameters
        self._may_repeat = may_repeat
        self._may_be_long = may_be_long
        self._may_offload = may_offload
        self.defaults = tuple(None if p.required else p.default for p in parameters)
        """The values of parameters that a call leaves out."""
        self._fills = any(default is not None for default in self.defaults)
        self._decode = _positional(tuple((p.name, p.hint, p.required) for p in parameters)).decode
        self._decode_names = _by_name(tuple(p.name for p in parameters)).decode
        self._cache: BoundedMap[bytes, tuple[Any, ...]] = BoundedMap(CACHES.decoded_params)
        self.cached: Callable[[bytes], tuple[Any, ...] | None] = self._cache.get
        """Return the arguments that were decoded from these bytes before."""

    def read(self, params: Raw) -> tuple[Any, ...]:
        """Return the arguments, or raise InvalidParamsError with the path of the problem."""
        size = memoryview(params).nbytes
        if size > CACHES.cached_params:
            return self._read_long(params, size)
        if not self._may_repeat:
            return self.decode(params)
        text = bytes(params)
        cached = self.cached(text)
        if cached is not None:
            return cached
        arguments = self.decode(params)
        self._cache.put(text, arguments)
        return arguments

    def read_ahead(self, params: Raw) -> tuple[Any, ...] | None:
        """Return long arguments on any thread, or raise InvalidParamsError; None for what `read` decodes anyway."""
        size = memoryview(params).nbytes
        if size <= POLICY.params_bytes or self._may_offload or not self._may_be_long:
            return None
        return self.read_long(params)

    def reads_on_thread(self, params: Raw) -> bool:
        """Say whether parameters would block the event loop, and the order of calls lets a thread decode them."""
        size = memoryview(params).nbytes
        return size > POLICY.params_bytes and self._may_offload and self._may_be_long

    def _read_long(self, params: Raw, size: int) -> tuple[Any, ...]:
        if size <= POLICY.params_bytes:
            return self.decode(params)
        if not self._may_be_long:
            problem = f"at most {POLICY.params_bytes} bytes are allowed, got {size}"
            raise InvalidParamsError("params", problem)
        return self.read_long(params)

    def read_long(self, params: Raw) -> tuple[Any, ...]:
        """Decode long parameters; reject very many objects before they hold the GIL for seconds."""
        text = bytes(params)
        count = text.count(b"{") + text.count(b"[")
        if count > MAX_OBJECTS:
            raise InvalidParamsError("params", f"more than {MAX_OBJECTS} objects and arrays")
        return self.decode(params)

    def decode(self, params: Raw) -> tuple[Any, ...]:
        """Return arguments of any length, or raise InvalidParamsError."""
        try:
            values = astuple(self._decode(_NO_PARAMS if params is ABSENT else params))
        except msgspec.ValidationError as error:
            values = self._read_other(bytes(params), error)
        except (ValueError, RecursionError) as error:
            raise InvalidParamsError("params", str(error)) from None
        if self._fills and None in values:
            pairs = zip(values, self.defaults, strict=True)
            return tuple(default if value is None else value for value, default in pairs)
        return values

    def _read_other(self, params: bytes, error: msgspec.ValidationError) -> tuple[Any, ...]:
        """Read what is not an array of the right types: null, an object, or a mistake."""
        if params == NULL:
            return self.decode(_NO_PARAMS)
        if params[:1] == b"{":
            return self._read_by_name(params)
        if params[:1] in {b"[", b""}:
            self._raise_invalid(error, named=False)
        raise InvalidParamsError("params", "should be an array or an object")

    def _read_by_name(self, params: bytes) -> tuple[Any, ...]:
        try:
            return astuple(self._decode(self._in_order(params)))
        except msgspec.ValidationError as error:
            self._raise_invalid(error, named=True)
        except (ValueError, RecursionError) as error:
            raise InvalidParamsError("params", str(error)) from None

    def _in_order(self, params: bytes) -> bytes:
        """Return an array of the values of an object, with null for missing optional ones."""
        given = astuple(self._decode_names(params))
        count = len(self._parameters)
        values = [NULL] * count
        for index, parameter in enumerate(self._parameters):
            camel_case, snake_case = given[index], given[count + index]
            value = snake_case if camel_case is ABSENT else camel_case
            if value is not ABSENT:
                values[index] = bytes(value)
            elif parameter.required:
                raise InvalidParamsError(f"params.{parameter.wire_name}", "is missing")
        return b"[" + b",".join(values) + b"]"

    def _raise_invalid(self, error: msgspec.ValidationError, *, named: bool) -> NoReturn:
        """Raise the problem and its path, in the words of the type that rejected the value."""
        if few := _TOO_FEW.fullmatch(str(error)):
            index = int(few[1])
            name = self._parameters[index].wire_name
            raise InvalidParamsError(f"params[{index}]", f"{name} is missing") from None
        problem, path = locate(error)
        full_path = "params" + (self._with_name(path) if named else path)
        raise InvalidParamsError(full_path, problem) from None

    def _with_name(self, path: str) -> str:
        return _INDEX.sub(lambda index: f".{self._parameters[int(index[1])].wire_name}", path, 1)


# A decoder is compiled once a process, for the methods of both layers and of every chain.
@cache
def _positional(parameters: tuple[tuple[str, Any, bool], ...]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of positional parameters: name, type, whether required; defaults are filled in later."""
    fields = [
        (name, hint) if required else (name, hint | None, None)
        for name, hint, required in parameters
    ]
    struct = msgspec.defstruct("Positional", fields, array_like=True)
    return msgspec.json.Decoder(struct, dec_hook=decode_hook)


@cache
def _by_name(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of named parameters: their names in camel case, then in snake case."""
    spellings = [camel(name) for name in names]
    # A name of one word is the same in both, and a struct may not have one key twice.
    spellings += [name if name != camel(name) else f"{name} " for name in names]
    fields = [(f"value_{index}", Raw, ABSENT) for index in range(len(spellings))]
    rename = {f"value_{index}": spelling for index, spelling in enumerate(spellings)}
    return msgspec.json.Decoder(msgspec.defstruct("Named", fields, rename=rename))
