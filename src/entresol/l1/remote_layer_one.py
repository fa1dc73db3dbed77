"""`LayerOne` over JSON-RPC and HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

import msgspec

from entresol._native import keccak256
from entresol.errors import LayerOneMalformed, LayerOneRejected, MalformedValue
from entresol.l1.json_rpc_client import UNEXPECTED_RESPONSE, JsonRpcClient, exceeds_range_limit
from entresol.l1.layer_one import DEFAULT_SENDER, L1Block, L1Fees, L1Finality, L1Log, L1Receipt
from entresol.l1.urls import Endpoint
from entresol.primitives.values import Address, Data, Hash32, Quantity

log = logging.getLogger(__name__)

MAX_RANGE: Final = 10_000
SUCCESSES_TO_GROW: Final = 8
"""How many requests must succeed in a row before a wider range is tried."""

T = TypeVar("T")

MAX_BLOCK: Final = 2**40 - 1
"""No L1 has so many blocks: with a block a millisecond they take 34 years."""
MAX_TIMESTAMP: Final = 2**63 - 1
"""Developers move the clock of an L1 as far as they like."""
MAX_CHAIN_ID: Final = 2**64 - 1
MAX_NONCE: Final = 2**64 - 2
"""EIP-2681."""
MAX_GAS: Final = 2**63 - 1
MAX_FEE: Final = 2**64 - 1
"""Eighteen ether for a unit of gas."""
MAX_BALANCE: Final = 2**256 - 1
MAX_LOG_INDEX: Final = 2**32 - 1
MAX_TOPICS: Final = 4
MAX_ATTEMPTS: Final = 5
TIMEOUT_SECONDS: Final = 20.0
FALLBACK_TIP: Final = 10**9
_HASHES_ONLY: Final = False
_KNOWN: Final = ("already known", "known transaction", "already imported")


class LogRange:
    """The number of blocks that the provider is likely to accept in one request.

    Limits may be of blocks or of results, so the number that is accepted differs along the chain.
    """

    def __init__(self) -> None:
        self.blocks = MAX_RANGE
        self._successes = 0

    def on_rejection(self, blocks: int, rejection: LayerOneRejected) -> None:
        """Halve a range that was too wide; raise any other rejection."""
        # A single block is within every limit.
        if blocks == 1 or not exceeds_range_limit(rejection.code, rejection.message):
            raise rejection
        self.blocks, self._successes = blocks // 2, 0
        log.info("requesting logs of %d blocks at a time: %s", self.blocks, rejection)

    def on_success(self, blocks: int) -> None:
        """Double the range after enough successes with the full one."""
        if blocks < self.blocks or self.blocks == MAX_RANGE:
            return
        self._successes += 1
        if self._successes == SUCCESSES_TO_GROW:
            self.blocks, self._successes = min(2 * self.blocks, MAX_RANGE), 0


def quantity(maximum: int) -> Callable[[object], int]:
    """Return a decoder of quantities up to a maximum."""

    def decode(result: object) -> int:
        number = int(Quantity.parse(result))
        if number > maximum:
            raise MalformedValue(f"{number:#x} is more than {maximum:#x}")
        return number

    return decode


decode_block_number: Final = quantity(MAX_BLOCK)
decode_chain_id: Final = quantity(MAX_CHAIN_ID)
decode_nonce: Final = quantity(MAX_NONCE)
decode_gas: Final = quantity(MAX_GAS)
decode_fee: Final = quantity(MAX_FEE)
decode_balance: Final = quantity(MAX_BALANCE)
_decode_timestamp: Final = quantity(MAX_TIMESTAMP)
_decode_log_index: Final = quantity(MAX_LOG_INDEX)
_decode_status: Final = quantity(1)


def block_decoder(number: int | None = None) -> Callable[[object], L1Block | None]:
    """Return a decoder of the block with a number, or of any; the result is None if L1 does not have it."""

    def decode(result: object) -> L1Block | None:
        if result is None:
            return None
        fields = _object(result)
        block = L1Block(
            number=_member(fields, "number", decode_block_number),
            hash=_member(fields, "hash", Hash32.parse),
            parent_hash=_member(fields, "parentHash", Hash32.parse),
            timestamp=_member(fields, "timestamp", _decode_timestamp),
            base_fee=_member(fields, "baseFeePerGas", decode_fee, 0),
        )
        if number is not None and block.number != number:
            raise MalformedValue(f"it is block {block.number}, and not {number}")
        return block

    return decode


def receipt_decoder(transaction: Hash32) -> Callable[[object], L1Receipt | None]:
    """Return a decoder of the receipt of a transaction; the result is None while it is pending or unknown."""

    def decode(result: object) -> L1Receipt | None:
        fields = {} if result is None else _object(result)
        if fields.get("blockNumber") is None and (result is None or "blockNumber" in fields):
            return None
        receipt = L1Receipt(
            transaction_hash=_member(fields, "transactionHash", Hash32.parse),
            block_number=_member(fields, "blockNumber", decode_block_number),
            block_hash=_member(fields, "blockHash", Hash32.parse),
            succeeded=_member(fields, "status", _decode_status) == 1,
            gas_used=_member(fields, "gasUsed", decode_gas),
        )
        if receipt.transaction_hash != transaction:
            raise MalformedValue(f"it is the receipt of {receipt.transaction_hash}")
        return receipt

    return decode


def logs_decoder(
    address: Address, topics: Sequence[Hash32], first: int, last: int
) -> Callable[[object], list[L1Log]]:
    """Return a decoder of the logs of a contract in a range of blocks, in their order."""

    def decode(result: object) -> list[L1Log]:
        if not isinstance(result, list):
            raise MalformedValue("logs are an array")
        found = [_log(item) for item in result]
        for log in found:
            if log.address != address or log.topics[: len(topics)] != tuple(topics):
                raise MalformedValue("a log is of another contract or event")
            if not first <= log.block_number <= last:
                raise MalformedValue(f"a log is in block {log.block_number}")
        positions = [(log.block_number, log.index) for log in found]
        if any(left >= right for left, right in pairwise(positions)):
            raise MalformedValue("the logs are not in order")
        return found

    return decode


def _log(item: object) -> L1Log:
    fields = _object(item)
    if fields.get("removed") is True:
        raise MalformedValue("a log was removed by a reorg")
    return L1Log(
        address=_member(fields, "address", Address.parse),
        topics=_member(fields, "topics", _topics),
        data=bytes(_member(fields, "data", Data.parse)),
        block_number=_member(fields, "blockNumber", decode_block_number),
        block_hash=_member(fields, "blockHash", Hash32.parse),
        transaction_hash=_member(fields, "transactionHash", Hash32.parse),
        index=_member(fields, "logIndex", _decode_log_index),
    )


def _topics(value: object) -> tuple[Hash32, ...]:
    if not isinstance(value, list) or len(value) > MAX_TOPICS:
        raise MalformedValue(f"topics are an array of up to {MAX_TOPICS}")
    return tuple(map(Hash32.parse, value))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedValue("an object is expected")
    return value


def _member(
    fields: dict[str, Any], name: str, decode: Callable[[object], T], default: T | None = None
) -> T:
    if name not in fields:
        if default is not None:
            return default
        raise MalformedValue(f"{name} is missing")
    try:
        return decode(fields[name])
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error


class RemoteLayerOne:
    """A `LayerOne` behind a URL.

    Remembers: a connection, and the block range that `eth_getLogs` accepts. Fails: with `LayerOneUnreachable` after
    several attempts with increasing delays, and with `LayerOneMalformed` for a result that is not what was requested.
    """

    def __init__(
        self,
        url: str,
        *,
        attempts: int = MAX_ATTEMPTS,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        client: JsonRpcClient | None = None,
    ) -> None:
        endpoint = Endpoint(url)
        self.name = endpoint.redacted
        self.reorg_level = logging.WARNING
        self._client = client or JsonRpcClient(
            endpoint, attempts=attempts, timeout=timeout, sleep=sleep
        )
        self._sleep = sleep
        self._range = LogRange()

    async def chain_id(self) -> int:
        """Return the chain id."""
        return await self._client.fetch(decode_chain_id, "eth_chainId")

    async def block_number(self, tag: L1Finality = "latest") -> int:
        """Return the number of the latest block, or of the last safe or finalized one.

        Of two responses the lower one counts: nothing is final because one of them says so.
        """
        if tag == "latest":
            return await self._client.fetch(decode_block_number, "eth_blockNumber")
        return min([(await self._tagged(tag)).number for _ in range(2)])

    async def block(self, number: int) -> L1Block | None:
        """Return a block by its number."""
        return await self._client.fetch(
            block_decoder(number), "eth_getBlockByNumber", hex(number), _HASHES_ONLY
        )

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
                decode = logs_decoder(address, topics, first, until)
                found += await self._client.fetch(decode, "eth_getLogs", query)
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
        return await self._client.fetch(Data.parse, "eth_call", request, _block_id(block))

    async def estimate_gas(
        self, sender: Address, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> int:
        """Return the gas that a transaction needs after the latest block, or after another one."""
        request = {"from": str(sender), "data": str(Data(data))}
        if to is not None:
            request["to"] = str(to)
        return await self._client.fetch(decode_gas, "eth_estimateGas", request, _block_id(block))

    async def send(self, raw: bytes) -> Hash32:
        """Send a signed transaction; succeeds if L1 has it already."""
        transaction_hash = Hash32(keccak256(raw))
        try:
            await self._client.request("eth_sendRawTransaction", str(Data(raw)))
        except LayerOneRejected as error:
            # L1 may have received, and even included, an attempt that timed out.
            if any(text in error.message.lower() for text in _KNOWN):
                return transaction_hash
            if await self.receipt(transaction_hash) is None:
                raise
        return transaction_hash

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of a transaction, or None if it is in no block."""
        return await self._client.fetch(
            receipt_decoder(transaction_hash), "eth_getTransactionReceipt", str(transaction_hash)
        )

    async def nonce(self, address: Address, block: Hash32 | None = None) -> int:
        """Return the nonce of an account after the latest block, or after another one."""
        return await self._client.fetch(
            decode_nonce, "eth_getTransactionCount", str(address), _block_id(block)
        )

    async def balance(self, address: Address) -> int:
        """Return the balance of an account in wei."""
        return await self._client.fetch(decode_balance, "eth_getBalance", str(address), "latest")

    async def code(self, address: Address, block: int | None = None) -> bytes:
        """Return the code of an account after the latest block, or after an older one."""
        return await self._client.fetch(Data.parse, "eth_getCode", str(address), _block_id(block))

    async def fees(self) -> L1Fees:
        """Return the current gas prices."""
        head = await self.head()
        try:
            tip = await self._client.fetch(decode_fee, "eth_maxPriorityFeePerGas")
        except (LayerOneRejected, LayerOneMalformed):
            tip = FALLBACK_TIP
        return L1Fees(head.base_fee, tip)

    async def read(self, method: str, *params: object) -> msgspec.Raw:
        """Return the result of any method as it came, if it is not long, from one attempt."""
        return await self._client.read(method, *params)

    async def wait_for_block(self, seconds: float) -> None:
        """Wait for the next block, up to so many seconds."""
        await self._sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _tagged(self, tag: L1Finality) -> L1Block:
        block = await self._client.fetch(block_decoder(), "eth_getBlockByNumber", tag, _HASHES_ONLY)
        if block is None:
            problem = f"there is no {tag} block; see --l1-finality"
            raise LayerOneRejected("eth_getBlockByNumber", UNEXPECTED_RESPONSE, problem)
        return block


def _block_id(block: int | Hash32 | None) -> object:
    """Return a block as the parameter of a method (EIP-1898)."""
    if block is None:
        return "latest"
    return hex(block) if isinstance(block, int) else {"blockHash": str(block)}
