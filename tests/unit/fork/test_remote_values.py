"""Values that no chain has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from entresol._native import keccak256
from entresol.errors import (
    RemoteMalformed,
)
from entresol.fork.table_feed import remote_snapshot
from tests.support.fork.remote_node import (
    ACCOUNT,
    CONTRACT,
    HOLDER,
    RemoteNode,
    slots_of,
    wanted,
)

if TYPE_CHECKING:
    pass


HOSTILE: list[tuple[str, Any]] = [
    ("eth_getStorageAt", "0x" + "11" * 33),
    ("eth_getStorageAt", "0x" + "00" * 33),
    ("eth_getStorageAt", 7),
    ("eth_getStorageAt", None),
    ("eth_getStorageAt", "0xzz"),
    ("eth_getTransactionCount", hex(1 << 64)),
    ("eth_getBalance", hex(1 << 256)),
    ("eth_getBalance", {}),
    ("eth_getCode", "0x" + "00" * ((1 << 20) + 1)),
    ("eth_getCode", "0x123"),
]


@pytest.mark.parametrize(("method", "result"), HOSTILE, ids=lambda it: str(it)[:20])
def test_a_value_that_no_chain_has_is_malformed(node: RemoteNode, method: str, result: Any) -> None:
    with node.fork() as remote:
        node.proxy.lies[method] = lambda *_: result
        keys = slots_of([1]) if method == "eth_getStorageAt" else [ACCOUNT]
        failure = wanted(remote.table, keys)
        assert isinstance(failure, RemoteMalformed)
        assert method in str(failure)
        assert len(str(failure)) < 500


def test_code_over_24_kib_is_legal(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_getCode"] = lambda *_: "0x" + "5b" * 500_000
        assert wanted(remote.table, [ACCOUNT]) is None
        account = remote_snapshot(remote.table).account(bytes(HOLDER))
        assert account is not None
        assert account.code_hash == keccak256(b"\x5b" * 500_000)


def test_code_that_does_not_have_its_hash_is_malformed(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_getCode"] = lambda *_: "0x60"
        failure = wanted(remote.table, [("account", bytes(CONTRACT)), *slots_of(range(5))])
        assert isinstance(failure, RemoteMalformed)
        assert "does not have the hash" in str(failure)
