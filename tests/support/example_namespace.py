"""A namespace with a method for every way to declare one, and a caller of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import Annotated, Any

import msgspec
from msgspec import Raw

from entresol.errors import ExecutionReverted, NonceTooLow, UnknownBlock
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import ByteArray, JsonModel
from entresol.rpc.types.block_id import LATEST, PENDING, BlockId, BlockNumber
from entresol.server.handler import ClientConnection, LocalConnection

ALICE = "0x36615cf349d7f6344891b1e7ca7c72883f5dc049"


class ToyCall(JsonModel, frozen=True, kw_only=True):
    """A call object."""

    from_: Address | None = None
    to: Address | None = None
    gas_limit: Quantity64 | None = None
    data: Data | None = None
    factory_deps: list[ByteArray] | None = None


class ToyBlock(JsonModel, frozen=True, kw_only=True):
    """A result with fields of all kinds."""

    block_hash: Hash32
    size: Quantity
    index: int
    code: ByteArray
    parent: Hash32 | None = None


class Toy:
    """Methods that return their parameters."""

    prefix = "toy"

    def __init__(self) -> None:
        self.heard: list[str] = []

    @method()
    def chain_id(self) -> Quantity:
        """Return the id of the chain."""
        return Quantity(270)

    @method(UnknownBlock, NonceTooLow)
    def get_balance(self, address: Address, block: BlockId = LATEST) -> str:
        """Return the parameters.

        A second paragraph.
        """
        return f"{address}@{block}"

    @method()
    def get_block(self, block_number: BlockNumber, *, full: bool = False) -> ToyBlock | None:
        """Return a block."""
        if block_number.number != 1:
            return None
        code = ByteArray(b"\x00\xff" if full else b"")
        return ToyBlock(block_hash=Hash32.zero(), size=Quantity(5), index=7, code=code)

    @method()
    def call(
        self,
        request: ToyCall,
        block: BlockId = PENDING,
        overrides: dict[Address, ToyCall] | None = None,
    ) -> list[Any]:
        """Return the call."""
        return [request, block, len(overrides or {})]

    @method()
    def numbers(self, count: int, weights: list[float] | None = None) -> list[Any]:
        """Return numbers, which stay JSON numbers."""
        return [count, weights]

    @method()
    def anything(self, value: Any = None) -> Any:
        """Return what was given."""
        return value

    @method()
    def cached(self) -> Annotated[Raw, ToyBlock] | None:
        """Return bytes that are JSON already."""
        return Raw(b'{ "cached": 1.0 }')

    @method(ExecutionReverted)
    def revert(self, data: Data, reason: str | None = None) -> None:
        """Revert."""
        raise ExecutionReverted(data, reason)

    @method(NonceTooLow)
    def fail(self, kind: str) -> None:
        """Fail in the way that `kind` says."""
        raise NonceTooLow(expected=5, got=3) if kind == "nonce" else RuntimeError("secret: " + kind)

    @method()
    def remember(self, word: str) -> None:
        """Remember a word."""
        self.heard.append(word)

    @method()
    async def wait(self, word: str, turns: int = 1) -> str:
        """Return `word` some turns of the loop later."""
        for _ in range(min(turns, 1000)):
            await asyncio.sleep(0)
        if word == "boom":
            raise RuntimeError(word)
        self.heard.append(word)
        return word

    @method()
    def thread(self, word: str) -> Offload[list[Any]]:
        """Return whether this runs on the main thread."""
        return Offload(lambda: self._on_thread(word))

    def _on_thread(self, word: str) -> list[Any]:
        if word == "boom":
            raise UnknownBlock(1)
        return [word, current_thread() is main_thread()]

    @method()
    def maybe_later(self, *, heavy: bool = False) -> bool | Offload[bool]:
        """Return whether this ran on the main thread."""
        return Offload(self._on_main) if heavy else self._on_main()

    @method()
    def who(self, word: str, connection: ClientConnection, more: str = "") -> str:
        """Return something about the caller."""
        return word + connection.transport + more

    @method(name="toy_signTypedData_v4")
    def sign_typed_data(self, text: str) -> str:
        """Return a text."""
        return text

    @method()
    def long(self, length: int) -> str:
        """Return a text of some length."""
        return "x" * min(length, 100_000)

    def not_a_method(self) -> int:
        """Return something that is not a method."""
        return 1

    def _on_main(self) -> bool:
        return current_thread() is main_thread()


def request(name: str, *params: object, **more: object) -> bytes:
    """Return the body of a call."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": params} | more).encode()


def dispatch(dispatcher: Dispatcher, body: bytes, connection: ClientConnection | None = None) -> bytes | None:  # fmt: skip
    """Return the response to `body`, also if it comes later."""

    async def handle() -> bytes | None:
        given = dispatcher.handle(body, connection or LocalConnection())
        return given if isinstance(given, bytes | None) else await given

    return asyncio.run(handle())


def caller(*, limits: RequestLimits | None = None) -> Callable[..., Any]:
    """Return a function that sends bytes to a fresh dispatcher, and decodes what comes back."""
    dispatcher = Dispatcher([Toy()], limits=limits or RequestLimits())

    def send(body: bytes, path: str = "/") -> Any:
        response = dispatch(dispatcher, body, LocalConnection(path))
        return response and msgspec.json.decode(response)

    return send
