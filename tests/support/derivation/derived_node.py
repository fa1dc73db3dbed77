"""A chain that `entresol derive` has built, beside the operator's: in every response, and in every row of the store."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from entresol.cli.exit_codes import SUCCEEDED
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.every_read import Call
from tests.support.derivation.node_traffic import ADDRESSES
from tests.support.node_process import ENTRESOL
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import RpcClient, RpcError

_BLOCK_READS: Final = (
    "eth_getBlockReceipts",
    "debug_getRawBlock",
    "debug_getRawReceipts",
)
_NUMBERED_READS: Final = (
    "zks_getBlockDetails",
    "zks_getRawBlockTransactions",
    "zks_getBlockMetadataByNumber",
)
_TRANSACTION_READS: Final = (
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "zks_getTransactionDetails",
)
_REQUESTS: Final = 100

# A revert deletes batches at once; rows of blocks stay above the head, and what states refer to by hash stays anywhere.
_BATCHES: Final = (tables.BATCH, tables.BATCH_LOGS, tables.BATCH_DATA, tables.SETTLED)
_BY_NUMBER: Final = (tables.RECORD, tables.HASH_OF_NUMBER, tables.PRICES, tables.RULES)
_SHARED_META: Final = (tables.HEAD, tables.CHAIN_ID, tables.IDENTITY, tables.DEPOSITS)


def derive_command(l1_url: str, bridgehub: object, directory: Path) -> list[str]:
    """Return the command that derives a chain into a directory."""
    return [
        *(*ENTRESOL, "derive", "--l1-url", l1_url),
        *("--bridgehub", str(bridgehub), "--data-dir", str(directory)),
    ]


def derive_with_kills(command: Sequence[str], kills: int, choice: random.Random) -> tuple[str, int]:
    """Derive, killed again and again at random, until nobody kills it; return what it printed, and the kills."""
    killed = 0
    for _ in range(kills):
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            # It prints a line a second: it is within some batch then, at any point.
            for _ in range(choice.randint(1, 4)):
                process.stderr.readline()
            try:
                process.wait(choice.random())
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=30 * PATIENCE_SECONDS, check=False
    )
    assert ran.returncode == SUCCEEDED, ran.stderr
    return ran.stdout, killed


def compare_responses(derived: RpcClient, operated: RpcClient) -> int:
    """Compare everything that two nodes say of their blocks, transactions, states and batches; return how much."""
    count, reads = 0, _reads(operated)
    while calls := list(islice(reads, _REQUESTS)):
        found, expected = (_outcomes(node, calls) for node in (derived, operated))
        for call, ours, theirs in zip(calls, found, expected, strict=True):
            assert ours == theirs, (call, ours, theirs)
        count += len(calls)
    return count


def _outcomes(node: RpcClient, calls: Sequence[Call]) -> list[Any]:
    return [str(call) if isinstance(call, RpcError) else call for call in node.batch(calls)]


def _reads(node: RpcClient) -> Iterator[Call]:
    head = int(node("eth_blockNumber"), 16)
    for number in range(head + 1):
        tag = hex(number)
        block = node("eth_getBlockByNumber", tag, False)
        yield "eth_getBlockByNumber", [tag, True]
        for name in _BLOCK_READS:
            yield name, [tag]
        # No block has the prices of the genesis, so a node shows those of now.
        for name in _NUMBERED_READS if number else ():
            yield name, [number]
        yield "eth_getLogs", [{"blockHash": block["hash"]}]
        yield "eth_getProof", [str(ADDRESSES[number % len(ADDRESSES)]), ["0x0", "0x1"], tag]
        for transaction in block["transactions"]:
            for name in _TRANSACTION_READS:
                yield name, [transaction]
            yield "zks_getL2ToL1LogProof", [transaction, 0]
    for address in ADDRESSES:
        yield "eth_getProof", [str(address), ["0x0", "0x1"], "latest"]
        yield "eth_getCode", [str(address), "latest"]
    for batch in range(1, int(node("zks_L1BatchNumber"), 16) + 1):
        yield "zks_getL1BatchDetails", [batch]
        yield "zks_getL1BatchBlockRange", [batch]
    for tag in ("latest", "safe", "finalized"):
        yield "eth_getBlockByNumber", [tag, True]


def compare_stores(derived: Path, operated: Path) -> int:
    """Compare all rows of two directories that no node has open, byte for byte; return how many there are."""
    found, expected = (_rows(node) for node in (derived, operated))
    head = int.from_bytes(expected[tables.HEAD])
    assert [key for key in expected.keys() - found.keys() if _is_needed(key, head)] == []
    assert found.keys() - expected.keys() == set()
    assert {key: (it, expected[key]) for key, it in found.items() if it != expected[key]} == {}
    return len(found)


def _is_needed(key: bytes, head: int) -> bool:
    """Return whether a row is not one that reverted blocks have left."""
    table, number = key[:1], int.from_bytes(key[1:])
    return key in _SHARED_META or table in _BATCHES or (table in _BY_NUMBER and number <= head)


def _rows(path: Path) -> dict[bytes, bytes]:
    store = Store.open(path)
    try:
        return {
            key: value
            for key, value in store._db.scan(b"")
            if key in _SHARED_META or key[:1] not in (tables.META, tables.DERIVED_AT)
        }
    finally:
        store.close()
