"""Route calls on a fork: where something is that a client names, and who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from entresol.chain.finality import BlockTag
from entresol.errors import RemoteFailed
from entresol.features.fork.past.passing import PassedReads, UnknownHash
from entresol.offload import is_awaitable
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Named, Past
from entresol.rpc.jsonrpc.served_method import Method, NamedParameter

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.fork.past.remote import PastChain
    from entresol.rpc.services.rendered_chain import PendingTransactions


Place: TypeAlias = int | UnknownHash | None
"""The number of a block of the past, a hash that may be of the past, or None for what is ours."""


class Places:
    """Tells what is of the past. Assumes: the event loop."""

    def __init__(self, remote: PastChain, chain: Chain, pending: PendingTransactions) -> None:
        self._remote = remote
        self._chain = chain
        self._pending = pending

    @property
    def anchor(self) -> int:
        """The number of the block that the fork stands on."""
        return self._remote.anchor.number

    def of(self, kind: Named, value: Any, last: int) -> Place:
        """Return where something is, if the past ends with the block `last`."""
        match kind:
            case Named.BLOCK:
                return self._of_block(value, last)
            case Named.CONTEXT:
                named = None if value is None else value.block_number
                return None if named is None else self._of_block(named, last)
            case Named.NUMBER:
                return self._of_number(int(value), last)
            case Named.BLOCK_HASH:
                return self._of_block_hash(Hash32(value), last)
            case Named.TRANSACTION:
                return self._of_transaction(Hash32(value))
            case _:
                raise TypeError(f"a {kind.value} is not a single place")

    def _of_block(self, block: Any, last: int) -> Place:
        if block.tag is BlockTag.EARLIEST:
            # Whatever the first block here is: that of a chain is the first one of all.
            return self._of_number(0, last)
        if block.tag is not None:
            # A fork without blocks of its own has the anchor for its latest one.
            return self._of_number(self._chain.resolve(block.tag), last)
        if block.block_hash is not None:
            return self._of_block_hash(block.block_hash, last)
        return self._of_number(block.number, last)

    def _of_number(self, number: int, last: int) -> int | None:
        return number if number <= last else None

    def _of_block_hash(self, block_hash: Hash32, last: int) -> Place:
        if block_hash == self._remote.anchor.hash:
            return self._of_number(self.anchor, last)
        if self._chain.blocks.block_number(block_hash) is not None:
            return None
        return UnknownHash(block_hash, is_transaction=False)

    def _of_transaction(self, transaction_hash: Hash32) -> Place:
        if self._pending.get(transaction_hash) is not None:
            return None
        if self._chain.blocks.locate_transaction(transaction_hash) is not None:
            return None
        return UnknownHash(transaction_hash, is_transaction=True)


Function: TypeAlias = Callable[..., Any]
"""The function of a method: its arguments in order, its result now or later."""
Execution: TypeAlias = "Callable[[PastCall], Awaitable[Any]]"
Split: TypeAlias = Callable[[Function, Sequence[Any]], Any]
"""Answers a call whose range the anchor may divide: takes the function, for what is above it, and the arguments."""

MAX_WAITING: Final = 4_096
"""How many calls wait for the remote at most; a client that asks without end gets an error, and others theirs."""


class PastCall(NamedTuple):
    """A call of a method that names something of the block `number`, which is of the past."""

    method: Method
    function: Function
    arguments: Sequence[Any]
    number: int

    def run(self) -> Any:
        """Call the function as the client meant it."""
        return self.function(*self.arguments)

    def run_by_number(self) -> Any:
        """Call the function with the block by its number, whatever the client named it by."""
        position, kind = self._named
        arguments = list(self.arguments)
        if kind is Named.BLOCK:
            arguments[position] = type(arguments[position])(number=self.number)
        elif kind is Named.CONTEXT:
            context = arguments[position]
            named = type(context.block_number)(number=self.number)
            arguments[position] = msgspec.structs.replace(context, block_number=named)
        return self.function(*arguments)

    @property
    def _named(self) -> NamedParameter:
        assert self.method.named is not None
        return self.method.named


class PastRouter:
    """Routes the calls of a fork's methods by what they declare.

    Remembers: how many calls wait for the remote. Assumes: the event loop, and that a chain's anchor
    does not change while it is open. Fails: with `RemoteFailed`, towards the call alone.
    """

    def __init__(
        self,
        remote: PastChain,
        places: Places,
        *,
        splits: Mapping[str, Split] | None = None,
        executions: Mapping[Past, Execution] | None = None,
        overlays: Mapping[str, Split] | None = None,
    ) -> None:
        """Route by where `places` says that something is.

        `splits` answer methods with ranges, by name, and `executions` those that execute something, by their kind;
        `overlays` call methods, by name, that would prove more of the fork's own blocks than it has.
        """
        self._remote = remote
        self._places = places
        self._passed = PassedReads(remote)
        self._splits = splits or {}
        self._executions = executions or {}
        self._overlays = overlays or {}
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many calls wait for the remote."""
        return self._waiting

    def routed(self, method: Method) -> Method:
        """Return a method of a fork, which does something else with the past if it declares that."""
        overlay = self._overlays.get(method.name)
        if overlay is not None:
            method = method.routed(lambda function: partial(_through, overlay, function))
            method.reads_natively = False
        if method.past is None or method.past is Past.LOCAL:
            return method
        route = self._split if method.past is Past.SPLIT else self._route
        routed = method.routed(lambda function: partial(route, method, function))
        routed.reads_natively = method.reads_natively and method.past is not Past.SPLIT
        return routed

    def _split(self, method: Method, function: Function, *arguments: Any) -> Any:
        split = self._splits.get(method.name)
        result = function(*arguments) if split is None else split(function, arguments)
        return self._counted(result) if is_awaitable(result) else result

    def _route(self, method: Method, function: Function, *arguments: Any) -> Any:
        if method.named is None:
            return function(*arguments)
        position, kind = method.named
        # States of the anchor are ours; its block and what is in it are the remote's.
        is_ours = method.past in _STATES and not names_transaction(arguments)
        last = self._places.anchor - is_ours
        place = self._places.of(kind, arguments[position], last)
        if place is None:
            return function(*arguments)
        return self._counted(self._answer(method, function, arguments, place))

    async def _answer(
        self, method: Method, function: Function, arguments: Sequence[Any], place: Place
    ) -> Any:
        found: Any = None
        if method.past is Past.REMOTE and isinstance(place, UnknownHash):
            found = await self._passed.by_hash(method, arguments, place)
        else:
            number = await self._number(place)
            if number is not None:
                return await self._at(method, function, arguments, number)
        # What is not there is not there in the way that the method says it of its own blocks.
        return function(*arguments) if found is None else found

    async def _at(
        self, method: Method, function: Function, arguments: Sequence[Any], number: int
    ) -> Any:
        if method.past is Past.REMOTE:
            return await self._passed.by_number(method, arguments, number)
        if method.past is Past.STATE and not (self._remote.verifies and method.name in _PROVEN):
            return await self._passed.state(method, arguments, number)
        assert method.past is not None
        call = PastCall(method, function, arguments, number)
        kind = Past.EXECUTE if method.past is Past.STATE else method.past
        return await self._executions[kind](call)

    async def _number(self, place: Place) -> int | None:
        if not isinstance(place, UnknownHash):
            return place
        if place.is_transaction:
            return await self._passed.place_of(place.hash)
        block = await self._remote.past_block(place.hash)
        return None if block is None else block.number

    async def _counted(self, answer: Awaitable[Any]) -> Any:
        if self._waiting >= MAX_WAITING:
            getattr(answer, "close", bool)()
            raise RemoteFailed("too many requests wait for the remote: try again later")
        self._waiting += 1
        try:
            return await answer
        finally:
            self._waiting -= 1


def names_transaction(arguments: Sequence[Any]) -> bool:
    """Say whether a call starts between the transactions of its block."""
    for argument in arguments:
        if getattr(argument, "tx_index", None) is not None:
            return True
        index = getattr(argument, "transaction_index", None)
        if index is not None and index.count is not None:
            return True
    return False


def _through(overlay: Split, function: Function, *arguments: Any) -> Any:
    return overlay(function, arguments)


_PROVEN: Final = frozenset(
    {"eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt"}
)
"""Reads of states that are proven if they are read as executions read them (`--fork-verify`)."""
_STATES: Final = frozenset({Past.STATE, Past.EXECUTE})
