"""`LayerOne` over JSON-RPC and HTTP."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from entresol._native import keccak256
from entresol.errors import (
    ExecutionReverted,
    LayerOneFailed,
    LayerOneRejected,
    LayerOneUnreachable,
    MalformedValue,
)
from entresol.execution.reverts import revert_reason
from entresol.l1.layer_one import (
    DEFAULT_SENDER,
    L1Block,
    L1Fees,
    L1Finality,
    L1Log,
    L1Receipt,
)
from entresol.l1.log_range import LogRange, exceeds_range_limit
from entresol.l1.urls import Endpoint
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

T = TypeVar("T")

MAX_ATTEMPTS: Final = 5
FIRST_RETRY_SECONDS: Final = 0.1
TIMEOUT_SECONDS: Final = 20.0
MAX_RESPONSE_BYTES: Final = 64 << 20
MAX_READ_BYTES: Final = 4 << 20
"""How long a response to `read` may be, whose method and parameters a client chose."""
FALLBACK_TIP: Final = 10**9

_PIECE_BYTES: Final = 64 << 10
_REVERTED: Final = 3
_HASHES_ONLY: Final = False
_UNEXPECTED_RESPONSE: Final = 0
_OVERLOADED: Final = frozenset({-32005, -32016, 429})
_UNKNOWN_BLOCK: Final = re.compile(r"\bnot found\b|\bunknown block\b|\bno block\b")
_KNOWN: Final = ("already known", "known transaction", "already imported")


class _Response(msgspec.Struct):
    """A response, whose result is decoded by those who need it."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class RemoteLayerOne:
    """A `LayerOne` behind a URL.

    Remembers: a connection, and the block range that `eth_getLogs` accepts. Persists: nothing. Fails:
    with `LayerOneUnreachable` after several attempts with increasing delays.
    """

    def __init__(
        self,
        url: str,
        *,
        attempts: int = MAX_ATTEMPTS,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = Endpoint(url)
        self.name = self._endpoint.redacted
        self.reorg_level = logging.WARNING
        self._attempts = attempts
        self._timeout = timeout
        self._sleep = sleep
        self._session: ClientSession | None = None
        self._range = LogRange()

    async def chain_id(self) -> int:
        """Return the chain id."""
        return await self._fetch(_number, "eth_chainId")

    async def block_number(self, tag: L1Finality = "latest") -> int:
        """Return the number of the latest block, or of the last safe or finalized one."""
        if tag == "latest":
            return await self._fetch(_number, "eth_blockNumber")
        return (await self._tagged(tag)).number

    async def block(self, number: int) -> L1Block | None:
        """Return a block by its number."""
        return await self._fetch(_block, "eth_getBlockByNumber", hex(number), _HASHES_ONLY)

    async def head(self) -> L1Block:
        """Return the latest block."""
        return await self._tagged("latest")

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        """Return the logs of a contract in a range of blocks, in order, by their first topics."""
        criteria = {"address": str(address), "topics": [str(topic) for topic in topics]}
        found: list[L1Log] = []
        while first <= last:
            until = min(last, first + self._range.blocks - 1)
            query = criteria | {"fromBlock": hex(first), "toBlock": hex(until)}
            try:
                found += await self._fetch(_logs, "eth_getLogs", query)
            except LayerOneRejected as rejection:
                self._range.on_rejection(until - first + 1, rejection)
                continue
            self._range.on_success(until - first + 1)
            first = until + 1
        return found

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        """Return the output of a call on the latest block, or on another one by its number or hash."""
        request = {"from": str(sender), "to": str(to), "data": str(Data(data))}
        return await self._fetch(Data.parse, "eth_call", request, _block_id(block))

    async def estimate_gas(
        self, sender: Address, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> int:
        """Return the gas that a transaction needs after the latest block, or after another one."""
        request = {"from": str(sender), "data": str(Data(data))}
        if to is not None:
            request["to"] = str(to)
        return await self._fetch(_number, "eth_estimateGas", request, _block_id(block))

    async def send(self, raw: bytes) -> Hash32:
        """Send a signed transaction; succeeds if L1 has it already."""
        transaction_hash = Hash32(keccak256(raw))
        try:
            await self._request("eth_sendRawTransaction", str(Data(raw)))
        except LayerOneRejected as error:
            # L1 may have received, and even included, an attempt that timed out.
            if any(text in error.message.lower() for text in _KNOWN):
                return transaction_hash
            if await self.receipt(transaction_hash) is None:
                raise
        return transaction_hash

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of a transaction, or None if it is in no block."""
        return await self._fetch(_receipt, "eth_getTransactionReceipt", str(transaction_hash))

    async def nonce(self, address: Address, block: Hash32 | None = None) -> int:
        """Return the nonce of an account after the latest block, or after another one."""
        return await self._fetch(_number, "eth_getTransactionCount", str(address), _block_id(block))

    async def balance(self, address: Address) -> int:
        """Return the balance of an account in wei."""
        return await self._fetch(_number, "eth_getBalance", str(address), "latest")

    async def code(self, address: Address, block: int | None = None) -> bytes:
        """Return the code of an account after the latest block, or after an older one."""
        return await self._fetch(Data.parse, "eth_getCode", str(address), _block_id(block))

    async def fees(self) -> L1Fees:
        """Return the current gas prices."""
        head = await self.head()
        try:
            tip = await self._fetch(_number, "eth_maxPriorityFeePerGas")
        except LayerOneRejected:
            tip = FALLBACK_TIP
        return L1Fees(head.base_fee, tip)

    async def read(self, method: str, *params: object) -> msgspec.Raw:
        """Return the result of any method as it came, if it is not long, from one attempt."""
        try:
            return self._result(method, await self._post(method, params, MAX_READ_BYTES))
        except _NoResponseError as error:
            raise LayerOneUnreachable(self.name, self._endpoint.redact(str(error))) from error

    async def wait_for_block(self, seconds: float) -> None:
        """Wait for the next block, up to so many seconds."""
        await self._sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _tagged(self, tag: L1Finality) -> L1Block:
        block = await self._fetch(_block, "eth_getBlockByNumber", tag, _HASHES_ONLY)
        if block is None:
            problem = f"there is no {tag} block; see --l1-finality"
            raise LayerOneRejected("eth_getBlockByNumber", _UNEXPECTED_RESPONSE, problem)
        return block

    async def _fetch(self, read: Callable[[Any], T], method: str, *params: object) -> T:
        """Return the result of a method, parsed by `read`."""
        result = await self._request(method, *params)
        try:
            return read(result)
        except (MalformedValue, KeyError, TypeError, AttributeError) as error:
            problem = f"unexpected response: {error!r}"
            raise LayerOneRejected(method, _UNEXPECTED_RESPONSE, problem) from error

    async def _request(self, method: str, *params: object) -> Any:
        """Return the result of a method; retry while L1 is unreachable, overloaded or behind."""
        delay = FIRST_RETRY_SECONDS
        failure: LayerOneFailed | None = None
        for attempt in range(self._attempts):
            if attempt:
                await self._sleep(delay)
                delay *= 2
            try:
                response = await self._post(method, params, MAX_RESPONSE_BYTES)
                return _decode(self._result(method, response))
            except _NoResponseError as error:
                failure = LayerOneUnreachable(self.name, self._endpoint.redact(str(error)))
            except LayerOneRejected as rejection:
                if not _may_lag(params, rejection):
                    raise
                failure = rejection
        assert failure is not None, "there is at least one attempt"
        raise failure

    def _result(self, method: str, response: _Response) -> msgspec.Raw:
        error = response.error
        if error is None:
            return response.result
        if not isinstance(error, dict) or not isinstance(error.get("code", 0), int):
            # A gateway in front of the node, for instance one that checks keys, may not speak JSON-RPC.
            raise LayerOneRejected(method, _UNEXPECTED_RESPONSE, self._endpoint.redact(str(error)))
        code, message = error.get("code", 0), self._endpoint.redact(str(error.get("message", "")))
        # Some providers use the same code for too many requests and for too many logs.
        if code in _OVERLOADED and not (
            method == "eth_getLogs" and exceeds_range_limit(code, message)
        ):
            raise _NoResponseError(message)
        if code == _REVERTED or "execution reverted" in message:
            data = _revert_data(error.get("data"))
            raise ExecutionReverted(data, revert_reason(data) or _after_colon(message))
        raise LayerOneRejected(method, code, message)

    async def _post(self, method: str, params: Sequence[object], max_bytes: int) -> _Response:
        # Imported here, since a node with the embedded L1 does not need it.
        import aiohttp  # noqa: PLC0415

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout)
            self._session = aiohttp.ClientSession(timeout=timeout)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.post(
                self._endpoint.url, data=msgspec.json.encode(request), headers=headers
            ) as response:
                if response.status == 429 or response.status >= 500:
                    raise _NoResponseError(f"HTTP status {response.status}")
                text = (await _read_bounded(response, max_bytes)).decode()
        except TimeoutError as error:
            raise _NoResponseError(f"no response in {self._timeout:g} seconds") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _NoResponseError(str(error) or type(error).__name__) from error
        except UnicodeDecodeError as error:
            raise _NoResponseError("the response is not UTF-8") from error
        try:
            return msgspec.json.decode(text, type=_Response)
        except msgspec.ValidationError as error:
            raise _NoResponseError("the response is not JSON-RPC") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise _NoResponseError(f"HTTP status {response.status} without JSON") from error


class _NoResponseError(Exception):
    """L1 did not respond; a retry may succeed."""


def _decode(result: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(result)
    except msgspec.DecodeError as error:
        raise _NoResponseError(f"the result cannot be read: {error}") from error


async def _read_bounded(response: ClientResponse, max_bytes: int) -> bytes:
    """Return the body of a response, unless it is too long."""
    body = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        body += piece
        if len(body) > max_bytes:
            raise _NoResponseError(f"the response has more than {max_bytes} bytes")
    return bytes(body)


def _may_lag(params: Sequence[object], rejection: LayerOneRejected) -> bool:
    """Say whether a block that was named by its hash is unknown: another node behind the URL may have it."""
    is_named = any(isinstance(it, dict) and "blockHash" in it for it in params)
    return is_named and _UNKNOWN_BLOCK.search(rejection.message.lower()) is not None


def _revert_data(data: object) -> bytes:
    try:
        return bytes(Data.parse(data))
    except MalformedValue:
        return b""


def _after_colon(message: str) -> str | None:
    return message.partition("execution reverted: ")[2] or None


def _block_id(block: int | Hash32 | None) -> object:
    """Return a block as the parameter of a method (EIP-1898)."""
    if block is None:
        return "latest"
    return hex(block) if isinstance(block, int) else {"blockHash": str(block)}


def _number(text: object) -> int:
    return int(Quantity.parse(text))


def _block(found: dict[str, Any] | None) -> L1Block | None:
    if found is None:
        return None
    return L1Block(
        number=_number(found["number"]),
        hash=Hash32.parse(found["hash"]),
        parent_hash=Hash32.parse(found["parentHash"]),
        timestamp=_number(found["timestamp"]),
        base_fee=_number(found.get("baseFeePerGas", "0x0")),
    )


def _receipt(found: dict[str, Any] | None) -> L1Receipt | None:
    if found is None or found.get("blockNumber") is None:
        return None
    return L1Receipt(
        transaction_hash=Hash32.parse(found["transactionHash"]),
        block_number=_number(found["blockNumber"]),
        block_hash=Hash32.parse(found["blockHash"]),
        succeeded=_number(found["status"]) == 1,
        gas_used=_number(found["gasUsed"]),
    )


def _logs(found: list[dict[str, Any]]) -> list[L1Log]:
    return [_log(item) for item in found]


def _log(found: dict[str, Any]) -> L1Log:
    return L1Log(
        address=Address.parse(found["address"]),
        topics=tuple(Hash32.parse(topic) for topic in found["topics"]),
        data=bytes(Data.parse(found["data"])),
        block_number=_number(found["blockNumber"]),
        block_hash=Hash32.parse(found["blockHash"]),
        transaction_hash=Hash32.parse(found["transactionHash"]),
        index=_number(found["logIndex"]),
    )
