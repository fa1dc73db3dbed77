"""Pass requests about the past through to the remote, and its JSON back as it came."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from entresol.features.fork.errors import (
    AnchorLost,
    NoArchive,
    NotRecorded,
    RemoteMalformed,
    RemoteRejected,
    Unprovable,
)
from entresol.features.fork.past.remote import block_of, hash_of, is_null
from entresol.features.fork.transport.rejections import (
    is_invalid_params,
    is_no_archive,
    is_unknown_block,
)
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.types.number import HexOrInteger, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.features.fork.past.remote import PastChain
    from entresol.rpc.jsonrpc.served_method import Method

_BY_HASH: Final = {
    "eth_getBlockByNumber": "eth_getBlockByHash",
    "eth_getBlockTransactionCountByNumber": "eth_getBlockTransactionCountByHash",
    "eth_getTransactionByBlockNumberAndIndex": "eth_getTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex": "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getUncleCountByBlockNumber": "eth_getUncleCountByBlockHash",
    "eth_getUncleByBlockNumberAndIndex": "eth_getUncleByBlockHashAndIndex",
    "eth_getBlockReceipts": "eth_getBlockReceipts",
    "ots_getBlockDetails": "ots_getBlockDetailsByHash",
}
"""How a block that the remote may still replace is asked for: by its hash, so that it is the one below the fork."""
_WHOLE_BLOCKS: Final = frozenset(
    {
        *("eth_getBlockByHash", "eth_getBlockTransactionCountByHash"),
        *("eth_getBlockReceipts", "ots_getBlockDetailsByHash"),
    }
)
"""Methods that have a result of every block: without one, the remote has replaced it."""
_HEADERS: Final = {
    "eth_getHeaderByNumber": "eth_getBlockByNumber",
    "erigon_getHeaderByNumber": "eth_getBlockByNumber",
    "eth_getHeaderByHash": "eth_getBlockByHash",
}
"""Few nodes serve headers, and every one serves blocks."""
_BODY: Final = frozenset(
    {
        *("transactions", "uncles", "size", "totalDifficulty", "withdrawals"),
        *("sealFields", "l1BatchNumber", "l1BatchTimestamp"),
    }
)
"""The members of a block that are not part of its header."""
_SAY_THEIR_BLOCK: Final = frozenset(
    {"eth_getBlockByHash", "eth_getTransactionByHash", "eth_getTransactionReceipt"}
)
"""Methods whose results say themselves whether they are above the anchor."""
_OF_EVERY_NUMBER: Final = frozenset(
    {"eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber"}
)
"""The same by number: without a result, the remote lags behind."""
_BY_INTEGER: Final = frozenset({"ots_getBlockTransactions"})
"""Methods whose block is a JSON integer, as Otterscan sends it: anvil takes nothing else, and some nodes only hex."""
_TRANSACTION: Final = "eth_getTransactionByHash"
_BLOCK: Final = "eth_getBlockByHash"
_WORDS: Final = {"eth_getStorageAt": 32}
_QUANTITIES: Final = frozenset({"eth_getBalance", "eth_getTransactionCount"})
_DIGITS: Final = re.compile(r"0x[0-9a-fA-F]*")
_MAX_DIGITS: Final = 64

_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_text: Final = msgspec.json.Decoder(str).decode


class UnknownHash(NamedTuple):
    """The hash of a block or a transaction that is not here."""

    hash: Hash32
    is_transaction: bool


class PassedReads:
    """Reads of the past by the remote's own methods; what the remote has above the anchor is hidden.

    Persists: results that never change, in the cache of the remote. Assumes: arguments as the
    method's parameters are typed, or plain bytes and integers of a getter. Fails: with `RemoteFailed`.
    """

    def __init__(self, remote: PastChain) -> None:
        self._remote = remote

    async def by_number(self, method: Method, arguments: Sequence[Any], number: int) -> Raw:
        """Return what the remote has of a block of the past, which is asked for by its hash while it may be replaced."""
        name, block_hash = _HEADERS.get(method.name, method.name), None
        if method.named is not None and method.named.kind is Named.BLOCK_HASH:
            block_hash = Hash32(arguments[method.named.position])
        elif name in _BY_HASH and (block_hash := self._remote.hash_at(number)) is not None:
            name = _BY_HASH[name]
        params = _params(method, arguments, number if block_hash is None else block_hash)
        if number == self._remote.anchor.number and name == _BLOCK and params[1:] == [False]:
            return Raw(self._remote.anchor.json)
        if name in _BY_INTEGER:
            return await self._by_integer(method, params, number)
        may_be_absent = name not in _WHOLE_BLOCKS | _OF_EVERY_NUMBER
        result = await self._read(
            method,
            name,
            params,
            at=number if block_hash is None else None,
            may_be_absent=may_be_absent,
        )
        if is_null(result) and block_hash is not None:
            if name in _WHOLE_BLOCKS:
                raise AnchorLost(self._remote.host, number, block_hash)
            # Perhaps it is the block that is gone.
            result = await self._read(method, name, params, at=number, may_be_absent=may_be_absent)
        if is_null(result) and name in _OF_EVERY_NUMBER:
            raise RemoteMalformed(self._remote.host, name, f"there is no block {number}")
        return result

    async def _by_integer(self, method: Method, params: list[Any], number: int) -> Raw:
        """Return what the remote has of a block that it takes by a JSON integer; by hex digits, if it rejects that."""
        assert method.named is not None
        plain = [
            number if at == method.named.position else argument
            for at, argument in enumerate(params)
        ]
        try:
            return await self._read(method, method.name, plain, at=number)
        except RemoteRejected as error:
            if not is_invalid_params(error.code, error.message):
                raise
        except NotRecorded:
            # Recorded in the other form, or in none, which the error says then.
            pass
        return await self._read(method, method.name, params, at=number)

    async def by_hash(
        self, method: Method, arguments: Sequence[Any], unknown: UnknownHash
    ) -> Raw | None:
        """Return what the remote has of a block or transaction; None if it has none, or only above the anchor."""
        name = _HEADERS.get(method.name, method.name)
        if name not in _SAY_THEIR_BLOCK and not await self._is_past(unknown):
            return None
        params = _params(method, arguments, unknown.hash)
        result = await self._read(method, name, params)
        if is_null(result) or (name in _SAY_THEIR_BLOCK and not self._names_past(result)):
            # What was in a block below the fork is not there either if that block is gone.
            result = await self._read(
                method, name, params, at=self._remote.anchor.number, may_be_absent=True
            )
        if name in _SAY_THEIR_BLOCK and not self._names_past(result):
            self._check_hidden(name, result, unknown)
            return None
        if name in _SAY_THEIR_BLOCK and not self._is_ours(result):
            self._check_transaction(result, unknown)
            return None
        return None if is_null(result) else result

    async def state(self, method: Method, arguments: Sequence[Any], number: int) -> Raw:
        """Return what the remote has of the state after a block; raise `NoArchive` if it has none.

        A block that the remote may still replace is named by its hash; a remote that only takes numbers says
        with the result which block it has there.
        """
        expected = self._remote.hash_at(number)
        try:
            if expected is None:
                result = await self._state(method, arguments, number)
            else:
                result = await self._state_of(method, arguments, number, expected)
        except RemoteRejected as error:
            if is_no_archive(error.message):
                raise NoArchive(self._remote.host, number) from None
            if expected is not None and is_unknown_block(error.message):
                raise AnchorLost(self._remote.host, number, expected) from None
            raise
        return self._typed(method.name, result)

    async def _state_of(
        self, method: Method, arguments: Sequence[Any], number: int, expected: Hash32
    ) -> Raw:
        named = {"blockHash": str(expected), "requireCanonical": False}
        try:
            return await self._state(method, arguments, named)
        except RemoteRejected as error:
            if not is_invalid_params(error.code, error.message):
                raise
        params = _params(method, arguments, number)
        return await self._remote.read(method.name, params, is_final=_is_there, at=number)

    async def _state(self, method: Method, arguments: Sequence[Any], named: object) -> Raw:
        params = _params(method, arguments, named)
        return await self._remote.read(method.name, params, is_final=_is_there)

    async def of_sealed(self, method: Method, arguments: Sequence[Any], number: int) -> Raw:
        """Return what the remote's own method says of a block or a transaction that it has executed."""
        assert method.named is not None
        position, kind = method.named
        is_hash = kind in {Named.TRANSACTION, Named.BLOCK_HASH}
        named = bytes(arguments[position]) if is_hash else number
        params = _params(method, arguments, named)
        return await self._remote.read(
            method.name, params, is_final=_is_there, at=None if is_hash else number
        )

    async def place_of(self, transaction_hash: Hash32) -> int | None:
        """Return the number of the block of a past transaction; None if there is none, or above the anchor."""
        params = [str(transaction_hash)]
        found = await self._remote.read(_TRANSACTION, params, is_final=self._is_ours)
        if not self._names_past(found):
            found = await self._remote.read(
                _TRANSACTION,
                params,
                is_final=self._is_ours,
                is_absent=self._is_hidden,
                at=self._remote.anchor.number,
            )
        if not self._names_past(found):
            unknown = UnknownHash(transaction_hash, is_transaction=True)
            self._check_hidden(_TRANSACTION, found, unknown)
            return None
        self._check_transaction(found, UnknownHash(transaction_hash, is_transaction=True))
        return block_of(found)

    async def _is_past(self, unknown: UnknownHash) -> bool:
        if unknown.is_transaction:
            return await self.place_of(unknown.hash) is not None
        return await self._remote.past_block(unknown.hash) is not None

    async def _read(
        self,
        method: Method,
        name: str,
        params: list[Any],
        *,
        at: int | None = None,
        may_be_absent: bool = False,
    ) -> Raw:
        is_final, is_absent = _is_there, is_null
        if name in _SAY_THEIR_BLOCK:
            is_final, is_absent = self._is_ours, self._is_hidden
        is_header = method.name in _HEADERS
        block = await self._remote.read(
            name,
            [params[0], False] if is_header else params,
            is_final=is_final,
            is_absent=is_absent if may_be_absent else None,
            at=at,
        )
        if not is_header:
            return block
        return _header_of(block, partial(RemoteMalformed, self._remote.host, name))

    def _names_past(self, result: Raw) -> bool:
        number = block_of(result)
        return number is not None and number <= self._remote.anchor.number

    def _is_hidden(self, result: Raw) -> bool:
        """Say whether nothing of a result is at or below the anchor."""
        return not self._names_past(result)

    def _is_ours(self, result: Raw) -> bool:
        """Say whether something is in a block below the fork, and not in one that replaced it."""
        number = block_of(result)
        if number is None or number > self._remote.anchor.number:
            return False
        return self._remote.hash_at(number) in {None, hash_of(result)}

    def _check_hidden(self, name: str, result: Raw, unknown: UnknownHash) -> None:
        """Raise `Unprovable` for a transaction that is said to be above the anchor: it could be below all the same."""
        if self._remote.verifies and unknown.is_transaction and not is_null(result):
            problem = f"nothing shows that transaction {unknown.hash} is only above the anchor"
            raise Unprovable(name, problem)

    def _check_transaction(self, result: Raw, unknown: UnknownHash) -> None:
        """Raise `AnchorLost` if a transaction is in a block that replaced one below the fork."""
        if unknown.is_transaction and not self._is_ours(result):
            number = block_of(result)
            assert number is not None
            expected = self._remote.hash_at(number)
            raise AnchorLost(self._remote.host, number, expected, hash_of(result))

    def _typed(self, name: str, result: Raw) -> Raw:
        """Return a number or a word as this node writes it; other results as they are."""
        if name not in _QUANTITIES and name not in _WORDS:
            return result
        try:
            digits = _text(result)
        except msgspec.DecodeError:
            digits = ""
        if not _DIGITS.fullmatch(digits) or len(digits) - 2 > _MAX_DIGITS:
            raise RemoteMalformed(self._remote.host, name, "a number of up to 32 bytes is expected")
        if name in _QUANTITIES:
            return Raw(b'"0x%x"' % int(digits[2:] or "0", 16))
        return Raw(b'"0x%064x"' % int(digits[2:] or "0", 16))


def _params(method: Method, arguments: Sequence[Any], named: object) -> list[Any]:
    """Return the parameters for the remote, in one form whatever the client's was: so they are a key of the cache."""
    position = method.named.position if method.named is not None else 0
    count = (
        max((at for at, argument in enumerate(arguments) if argument is not None), default=-1) + 1
    )
    return [
        _wire(named if at == position else value, method.parameters[at].hint)
        for at, value in enumerate(arguments[: max(count, position + 1)])
    ]


def _wire(value: Any, hint: Any) -> Any:
    """Return an argument as nodes take it: numbers as JSON integers only where this node does, keys as 32 bytes."""
    match value:
        case None | bool() | str() | float():
            return value
        case bytes():
            return f"0x{value.hex()}"
        case int() if isinstance(hint, type) and issubclass(hint, Number):
            return int(value)
        case int() if hint is HexOrInteger:
            return f"{value:#066x}"
        case int():
            return hex(value)
        case list() if hint == list[Quantity]:
            return [f"{number:#066x}" for number in value]
        case _:
            return msgspec.json.decode(encode(value))


def _is_there(result: Raw) -> bool:
    return not is_null(result)


def _header_of(block: Raw, malformed: Callable[[str], RemoteMalformed]) -> Raw:
    if is_null(block):
        return block
    try:
        members = _members(block)
    except msgspec.DecodeError:
        raise malformed("a block is an object") from None
    return Raw(encode({name: member for name, member in members.items() if name not in _BODY}))
