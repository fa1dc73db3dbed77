"""`LayerOne` over JSON-RPC and HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from entresol._native import keccak256
from entresol.errors import LayerOneMalformed, LayerOneRejected
from entresol.l1.layer_one import (
    DEFAULT_SENDER,
    L1Block,
    L1Fees,
    L1Finality,
    L1Log,
    L1Receipt,
)
from entresol.l1.remote.json_rpc_client import UNEXPECTED_RESPONSE, JsonRpcClient
from entresol.l1.remote.log_range import LogRange
from entresol.l1.remote.results import (
    block_decoder,
    decode_balance,
    decode_block_number,
    decode_chain_id,
    decode_fee,
    decode_gas,
    decode_nonce,
    logs_decoder,
    receipt_decoder,
)
from entresol.l1.urls import Endpoint
from entresol.primitives.values import Address, Data, Hash32

MAX_ATTEMPTS: Final = 5
TIMEOUT_SECONDS: Final = 20.0
FALLBACK_TIP: Final = 10**9

_HASHES_ONLY: Final = False
_KNOWN: Final = ("already known", "known transaction", "already imported")


class RemoteLayerOne:
    """A `LayerOne` behind a URL.

    Remembers: a connection, and the block range that `eth_getLogs` accepts. Persists: nothing. Fails:
    with `LayerOneUnreachable` after several attempts with increasing delays, and with `LayerOneMalformed` for a
    result that is not what was requested.
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
