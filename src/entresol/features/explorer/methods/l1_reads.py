"""The methods of a remote L1 that the explorer reads, passed on within bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from entresol.errors import LayerOneFailed, LayerOneUnreachable
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.method import Past, method
from entresol.rpc.types.block_id import BlockHash, TransactionHash
from entresol.server.limits import RequestRate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.l1.remote_layer_one import RemoteLayerOne

MAX_CONCURRENT: Final = 8
MAX_PENDING: Final = 64
MAX_PER_SECOND: Final = 100.0
"""Requests a second of all clients together: the L1 counts them, and may charge for them."""
SECONDS: Final = 10.0

_LATEST: Final = "latest"


class L1Reads:
    """Methods that read from a remote L1. No other method reaches it, and its URL reaches no client.

    Remembers: how many requests are in progress. Assumes: one event loop. Fails: with
    `LayerOneFailed`, or with what L1 responded.
    """

    prefix = "eth"

    def __init__(self, l1: RemoteLayerOne, seconds: float = SECONDS) -> None:
        self._l1 = l1
        self._seconds = seconds
        self._rate: RequestRate | None = None
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._pending = 0

    @method()
    async def chain_id(self) -> Any:
        """Return the chain id."""
        return await self._read("eth_chainId")

    @method()
    async def block_number(self) -> Any:
        """Return the number of the latest block."""
        return await self._read("eth_blockNumber")

    @method()
    async def gas_price(self) -> Any:
        """Return the current gas price."""
        return await self._read("eth_gasPrice")

    @method(short=True)
    async def get_block_by_number(self, block: str, full: bool) -> Any:
        """Return a block by number or tag."""
        return await self._read("eth_getBlockByNumber", block, full)

    @method(short=True, past=Past.LOCAL)
    async def get_block_by_hash(self, hash: BlockHash, full: bool) -> Any:
        """Return a block by hash."""
        return await self._read("eth_getBlockByHash", str(hash), full)

    @method(short=True)
    async def get_block_receipts(self, block: str) -> Any:
        """Return the receipts of a block."""
        return await self._read("eth_getBlockReceipts", block)

    @method(short=True, past=Past.LOCAL)
    async def get_transaction_by_hash(self, hash: TransactionHash) -> Any:
        """Return a transaction."""
        return await self._read("eth_getTransactionByHash", str(hash))

    @method(short=True, past=Past.LOCAL)
    async def get_transaction_receipt(self, hash: TransactionHash) -> Any:
        """Return the receipt of a transaction."""
        return await self._read("eth_getTransactionReceipt", str(hash))

    @method(short=True)
    async def get_logs(self, filter: dict[str, Any]) -> Any:
        """Return logs."""
        return await self._read("eth_getLogs", filter)

    @method(short=True)
    async def call(self, transaction: dict[str, Any], block: str = _LATEST) -> Any:
        """Execute a call."""
        return await self._read("eth_call", transaction, block)

    @method(short=True)
    async def get_balance(self, address: Address, block: str = _LATEST) -> Any:
        """Return a balance."""
        return await self._read("eth_getBalance", str(address), block)

    @method(short=True)
    async def get_transaction_count(self, address: Address, block: str = _LATEST) -> Any:
        """Return a nonce."""
        return await self._read("eth_getTransactionCount", str(address), block)

    @method(short=True)
    async def get_code(self, address: Address, block: str = _LATEST) -> Any:
        """Return code."""
        return await self._read("eth_getCode", str(address), block)

    async def _read(self, name: str, *params: str | bool | Mapping[str, Any]) -> Any:
        now = asyncio.get_running_loop().time()
        rate = self._rate = self._rate or RequestRate(MAX_PER_SECOND, now)
        if self._pending >= MAX_PENDING or not rate.allows(now):
            raise LayerOneFailed("too many requests to L1 in a short time: try again later")
        self._pending += 1
        is_sent = False
        try:
            async with asyncio.timeout(self._seconds), self._slots:
                is_sent = True
                return await self._l1.read(name, *params)
        except TimeoutError:
            if not is_sent:
                raise LayerOneFailed(
                    "too many requests to L1 in a short time: try again later"
                ) from None
            problem = f"no response in {self._seconds:g} seconds"
            raise LayerOneUnreachable(self._l1.name, problem) from None
        finally:
            self._pending -= 1
