"""A fork that checks what it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from entresol._native import keccak256, rlp_encode
from entresol.errors import (
    ProofsUnavailable,
    RemoteFailed,
    RemoteLied,
    RemoteMalformed,
)
from entresol.primitives.anchor import header_of_block
from entresol.primitives.values import Hash32
from tests.support.chain.api_client import running_api, send
from tests.support.chain.dev_chain import LOGGER
from tests.support.fork.remote_node import (
    ACCOUNT,
    CONTRACT,
    NOBODY,
    OTHER_HASH,
    RemoteNode,
    doubled,
    read,
    remote_node,
    slots_of,
    value,
    wanted,
)

if TYPE_CHECKING:
    pass


def test_everything_that_is_read_is_proven(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        keys = [
            ACCOUNT,
            ("account", bytes(CONTRACT)),
            ("account", bytes(NOBODY)),
            *slots_of([0, 4]),
        ]
        assert wanted(remote.table, [*keys, ("hash", 3)]) is None
        assert node.proxy.methods["eth_getStorageAt"] == node.proxy.methods["eth_getBalance"] == 0
        assert value(remote, 4) == 8
        assert wanted(remote.table_at(5), [ACCOUNT]) is None


LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "balance": ("eth_getProof", lambda it: it | {"balance": "0x1"}),
    "nonce": ("eth_getProof", lambda it: it | {"nonce": "0x5"}),
    "code": ("eth_getCode", lambda _: "0x6003"),
    "codeHash": ("eth_getProof", lambda it: it | {"codeHash": OTHER_HASH}),
    "slot": ("eth_getProof", lambda it: it | {"storageProof": doubled(it)}),
    "proof": ("eth_getProof", lambda it: it | {"accountProof": it["accountProof"][:-1]}),
}


@pytest.fixture
def spending() -> Iterator[RemoteNode]:
    """Return a chain whose first block has two transactions, one with a log."""
    with running_api() as api:
        api("evm_setAutomine", False)
        send(api, 0, to=LOGGER, data=b"hello")
        send(api, 0, by=1)
        api("evm_mine")
        with remote_node(api) as served:
            yield served


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_caught(node: RemoteNode, name: str) -> None:
    method, lie = LIES[name]
    with node.fork(verify=True) as remote:
        node.proxy.lies[method] = lambda _, it: lie(it)
        failure = wanted(remote.table, [("account", bytes(CONTRACT)), *slots_of([4])])
        assert isinstance(failure, RemoteLied)
        assert "false" in str(failure)


def test_an_anchor_whose_header_does_not_have_its_hash_fails_the_start(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: it | {"stateRoot": OTHER_HASH}
    with pytest.raises(ProofsUnavailable, match="does not have the hash"), node.fork(verify=True):
        pass


def test_a_remote_without_proofs_fails_the_start_and_says_why(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with pytest.raises(ProofsUnavailable, match="does not serve eth_getProof"):
        node.fork(verify=True).__enter__()


def test_a_header_of_the_past_that_does_not_have_its_hash_is_a_lie(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        for method in ("eth_getBlockByHash", "eth_getBlockByNumber"):
            node.proxy.lies[method] = lambda _, it: it | {"stateRoot": OTHER_HASH}
        with pytest.raises(RemoteLied, match="does not have the hash"):
            asyncio.run(remote.past_block(5))
        with pytest.raises(RemoteLied, match="does not have the hash"):
            read(remote, "eth_getBlockByNumber", "0x5", True)
        failure = wanted(remote.table_at(6), [ACCOUNT])
        assert isinstance(failure, RemoteLied)


def test_a_block_that_is_no_ancestor_of_the_anchor_is_a_lie(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        other = asyncio.run(remote.past_block(4))
        assert other is not None
        true = msgspec.json.decode(other.json)
        # A true header, with the number of another block: its hash is not the one that the state proves.
        forged = true | {"number": "0x5"}
        forged["hash"] = _hash_of(forged)
        for method in ("eth_getBlockByHash", "eth_getBlockByNumber"):
            node.proxy.lies[method] = lambda params, it: (
                forged if params[0] in ("0x5", forged["hash"]) else it
            )
        failure = wanted(remote.table_at(5), [ACCOUNT])
        assert isinstance(failure, RemoteLied | RemoteMalformed)
        assert "ancestor" in str(failure) or "its child names" in str(failure)


def _hash_of(block: dict[str, Any]) -> str:
    return str(Hash32(keccak256(rlp_encode(header_of_block(block).to_rlp()))))


def test_receipts_have_the_root_of_their_block(spending: RemoteNode) -> None:
    with spending.fork(verify=True) as remote:
        (receipt, *_) = receipts = read(remote, "eth_getBlockReceipts", "0x1")
        assert len(receipts) == 2
        assert read(remote, "eth_getTransactionReceipt", receipt["transactionHash"]) == receipt
        assert read(remote, "eth_getTransactionReceipt", OTHER_HASH) is None


@pytest.mark.parametrize(
    "lie",
    [
        lambda it: it | {"status": "0x0"},
        lambda it: it | {"cumulativeGasUsed": "0x1"},
        lambda it: it | {"logs": [{"address": "0x" + "11" * 20, "topics": [], "data": "0x"}]},
        lambda it: it | {"logs": 7},
    ],
    ids=["status", "gas", "log", "shape"],
)
def test_a_false_receipt_is_a_lie(spending: RemoteNode, lie: Callable[[Any], Any]) -> None:
    with spending.fork(verify=True) as remote:
        (first, *_) = read(remote, "eth_getBlockReceipts", "0x1")
        spending.proxy.lies["eth_getTransactionReceipt"] = lambda _, it: lie(it)
        with pytest.raises(RemoteFailed, match="eth_getTransactionReceipt"):
            read(remote, "eth_getTransactionReceipt", first["transactionHash"])
        spending.proxy.lies["eth_getBlockReceipts"] = lambda _, it: [lie(it[0]), *it[1:]]
        with pytest.raises(RemoteLied, match="eth_getBlockReceipts"):
            read(remote, "eth_getBlockReceipts", "0x1")


def test_a_block_without_its_receipts_is_a_lie(spending: RemoteNode) -> None:
    with spending.fork(verify=True) as remote:
        spending.proxy.lies["eth_getBlockReceipts"] = lambda _, it: []  # noqa: ARG005
        with pytest.raises(RemoteLied, match="do not have the root"):
            read(remote, "eth_getBlockReceipts", "0x1")


def test_a_receipt_of_another_transaction_is_a_lie(spending: RemoteNode) -> None:
    with spending.fork(verify=True) as remote:
        first, second = read(remote, "eth_getBlockReceipts", "0x1")
        spending.proxy.lies["eth_getTransactionReceipt"] = lambda _, it: second  # noqa: ARG005
        with pytest.raises(RemoteLied, match="is not that of"):
            read(remote, "eth_getTransactionReceipt", first["transactionHash"])


def test_another_block_than_the_one_that_was_asked_for_is_a_lie(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        other = read(remote, "eth_getBlockByNumber", "0x4", False)
        node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: other  # noqa: ARG005
        with pytest.raises(RemoteLied, match="and not 0x5"):
            read(remote, "eth_getBlockByNumber", "0x5", False)


def test_a_forged_header_with_a_hash_of_its_own_is_a_lie(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        forged = read(remote, "eth_getBlockByNumber", "0x5", False) | {"stateRoot": OTHER_HASH}
        forged["hash"] = _hash_of(forged)
        node.proxy.lies["eth_getBlockByNumber"] = lambda params, it: (
            forged if params[0] == "0x5" else it
        )
        for reading in (
            lambda: read(remote, "eth_getBlockByNumber", "0x5", False),
            lambda: asyncio.run(remote.past_block(5)),
        ):
            with pytest.raises(RemoteFailed, match=r"ancestor|its child names"):
                reading()
