"""The publications of a chain on L1, read by clients of both layers, and compared with what the L2 says of its blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from entresol._native import keccak256
from entresol.l1.availability.batch_data import BATCH_DATA
from entresol.l1.availability.genesis_parts import GENESIS_DATA
from entresol.primitives import abi
from entresol.primitives.published.body import PublishedBatch, PublishedBlock, decode_body
from entresol.primitives.published.compression import decompress
from entresol.primitives.published.genesis import PublishedGenesis
from entresol.primitives.published.limits import MAX_GENESIS_BYTES
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.primitives.values import Hash32
from entresol.rollup.commitments import StoredBatchInfo
from tests.support.polling import eventually

Request = Callable[..., Any]


class PublishedOnL1(NamedTuple):
    """The publications of the chain that a client of the L2 asks for."""

    l1: Request
    l2: Request

    def batches(self) -> dict[int, PublishedBatch]:
        return {number: _decoded(data) for number, data, _ in self._batch_logs()}

    def genesis(self) -> PublishedGenesis:
        parts = [
            abi.decode("(uint256,bytes)", bytes.fromhex(log["data"][2:]))[1]
            for log in self._logs(GENESIS_DATA)
        ]
        encoded = decompress(b"".join(parts), max_bytes=MAX_GENESIS_BYTES)
        root = Hash32(bytes.fromhex(self._block(0)["stateRoot"][2:]))
        stored = StoredBatchInfo.genesis(root, Hash32(keccak256(encoded)))
        call = {
            "to": self.l2("zks_getMainContract"),
            "data": f"0x{abi.encode_call('storedBatchHash(uint256)', 0).hex()}",
        }
        assert self.l1("eth_call", call, "latest") == str(stored.hash())
        return PublishedGenesis.decode(encoded)

    def genesis_blocks(self) -> list[int]:
        return [int(log["blockNumber"], 16) for log in self._logs(GENESIS_DATA)]

    def wait(self) -> None:
        head = int(self.l2("eth_blockNumber"), 16)
        eventually(lambda: self._finalized() >= head)

    def check(self) -> dict[int, PublishedBatch]:
        """Check that the batches are consecutive, and say of each block what the L2 says; return them."""
        batches = self.batches()
        assert sorted(batches) == list(range(1, len(batches) + 1))
        following = 1
        for number in sorted(batches):
            header = batches[number].header
            assert (header.number, header.first_block) == (number, following)
            self._check_batch(batches[number])
            following += len(batches[number].blocks)
        return batches

    def _check_batch(self, batch: PublishedBatch) -> None:
        first = batch.header.first_block
        before = self._block(first - 1)
        assert before["hash"] == str(batch.header.parent_hash)
        for number, published in enumerate(batch.blocks, first):
            block = self._block(number)
            self._check_block(published, block, before)
            before = block
        assert before["hash"] == str(batch.last_hash)

    def _check_block(
        self, published: PublishedBlock, block: dict[str, Any], before: dict[str, Any]
    ) -> None:
        step = int(block["timestamp"], 16) - int(before["timestamp"], 16)
        assert published.timestamp_step == step
        types = [int(transaction["type"], 16) for transaction in block["transactions"]]
        assert published.deposits == sum(kind in PRIORITY_TYPES for kind in types)
        assert bool(published.roots) == (SYSTEM_TYPE in types)
        own = [
            self.l2("eth_getRawTransactionByHash", it["hash"])
            for it, kind in zip(block["transactions"], types, strict=True)
            if kind not in PRIORITY_TYPES | {SYSTEM_TYPE}
        ]
        assert [f"0x{transaction.hex()}" for transaction in published.transactions] == own

    def _block(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.l2("eth_getBlockByNumber", hex(number), True)
        return found

    def _finalized(self) -> int:
        return int(self.l2("eth_getBlockByNumber", "finalized", False)["number"], 16)

    def _batch_logs(self) -> list[tuple[int, bytes, int]]:
        return [
            (
                int(log["topics"][1], 16),
                abi.decode("(bytes)", bytes.fromhex(log["data"][2:]))[0],
                int(log["blockNumber"], 16),
            )
            for log in self._logs(BATCH_DATA)
        ]

    def _logs(self, topic: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.l1(
            "eth_getLogs",
            {"address": self.l2("zks_getMainContract"), "topics": [str(topic)], "fromBlock": "0x0"},
        )
        return found


def _decoded(data: bytes) -> PublishedBatch:
    return decode_body(decompress(data))
