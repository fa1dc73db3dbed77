"""Dumping and loading state files over RPC."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event
from typing import Any, TypeVar

import pytest

from entresol.features.dev.methods import state_files
from entresol.features.dev.methods.revert_runner import RevertRunner
from entresol.features.dev.methods.state_files import DUMP_ATTEMPTS, AnvilState
from entresol.features.dev.node_chains import NodeChains
from entresol.features.dev.reverts import Reverts
from entresol.features.dev.state_file.node_state import NodeState
from entresol.features.dev.state_file.writing import ChainDump
from entresol.offload import POLICY
from entresol.rpc.threads.client_threads import LoopThreads
from entresol.server.handler import completed
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, LOGGER, NOBODY, transaction
from tests.support.chain.state_files import anvil_file
from tests.support.hex_data import hexed, unhex
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import LeavingClient, NamespaceClient, RpcError

T = TypeVar("T")

DUMP = b'{"jsonrpc":"2.0","id":1,"method":"anvil_dumpState"}'
SENT = b'{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["%b"]}'

prefixes = pytest.mark.parametrize("prefix", ["anvil", "hardhat"])


@prefixes
def test_a_chain_is_restored_with_its_blocks_states_and_edits(
    client: ApiClient, prefix: str
) -> None:
    for nonce in range(3):
        send(client, nonce, to=LOGGER, data=b"hello", wei=0)
    client("anvil_setBalance", str(NOBODY), "0x99")
    blocks = [client("eth_getBlockByNumber", hex(number), True) for number in range(4)]
    logs = client("eth_getLogs", {"fromBlock": "0x0"})
    dump = client(f"{prefix}_dumpState")
    client("anvil_reset")
    assert client(f"{prefix}_loadState", dump) is True
    assert [client("eth_getBlockByNumber", hex(number), True) for number in range(4)] == blocks
    assert client("eth_getLogs", {"fromBlock": "0x0"}) == logs
    assert client("eth_getBalance", str(NOBODY)) == "0x99"
    assert client("eth_getTransactionCount", str(ALICE), "0x1") == "0x1"
    send(client, 3)
    client.chain.verify()


class RevertingThreads(LoopThreads):
    """Rolls a chain back before each of its first works, as other requests do while a worker is busy."""

    def __init__(self, reverts: Reverts, times: int) -> None:
        self._reverts = reverts
        self._times = times

    async def run(self, work: Callable[[], T], *, ends_with_client: bool = False) -> T:
        """Roll back if it is time, and return what `work` returns."""
        if self._times > 0:
            self._times -= 1
            self._reverts.plan_roll_back(self._reverts.chain.number - 1).apply()
        return await super().run(work, ends_with_client=ends_with_client)


def dumped_while_reverted(client: ApiClient, times: int) -> Any:
    """Return the state file of a dump that so many reverts interrupt."""
    for _ in range(DUMP_ATTEMPTS):
        client("evm_mine")
    reverts = Reverts(client.chain)
    threads = RevertingThreads(reverts, times)
    states = NodeState(NodeChains(reverts))
    with closing(
        NamespaceClient(AnvilState(client.chain, states, RevertRunner(threads, []), threads))
    ) as dumping:
        return json.loads(gzip.decompress(unhex(dumping("anvil_dumpState"))))


def test_a_dump_starts_again_if_the_chain_is_reverted_meanwhile(client: ApiClient) -> None:
    document = dumped_while_reverted(client, DUMP_ATTEMPTS - 1)
    assert document["best_block_number"] == len(document["blocks"]) - 1 == client.chain.number == 1


def test_a_dump_that_is_interrupted_again_and_again_fails_with_the_reason(
    client: ApiClient,
) -> None:
    with pytest.raises(RpcError, match="the chain was reverted while it was dumped") as rejection:
        dumped_while_reverted(client, DUMP_ATTEMPTS)
    assert rejection.value.code == -32000


class EndlessDumps:
    """Dumps that go on until they are cancelled."""

    def __init__(self) -> None:
        self.begun = Event()
        self.ended = Event()

    def written(self, _others: object, *, historical: bool) -> Iterator[bytes]:  # noqa: ARG002
        """Yield pieces for ever."""
        self.begun.set()
        try:
            while True:
                yield b" "
        finally:
            self.ended.set()


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> EndlessDumps:
    dumps = EndlessDumps()
    monkeypatch.setattr(ChainDump, "written", dumps.written)
    return dumps


async def dumping(client: ApiClient, connection: LeavingClient) -> asyncio.Task[bytes | None]:
    """Ask for a dump."""
    response = client.api.dispatcher.handle(DUMP, connection)
    assert not isinstance(response, bytes | None)
    return asyncio.get_running_loop().create_task(completed(response))


async def test_a_dump_ends_with_its_client(client: ApiClient, endless: EndlessDumps) -> None:
    connection = LeavingClient()
    dump = await dumping(client, connection)
    await asyncio.to_thread(endless.begun.wait, PATIENCE_SECONDS)
    connection.disconnect_now()
    assert b"the client is gone" in (await dump or b"")


def test_dumps_of_many_clients_leave_others_their_threads(
    client: ApiClient, endless: EndlessDumps
) -> None:
    async def send_beside() -> bytes:
        connections = [LeavingClient() for _ in range(POLICY.threads + 1)]
        dumps = [await dumping(client, connection) for connection in connections]
        await asyncio.to_thread(endless.begun.wait, PATIENCE_SECONDS)
        raw = transaction(0, data=bytes(POLICY.data_bytes), gas=5_000_000).raw
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await client.handle(SENT % hexed(raw).encode())
        finally:
            for connection in connections:
                connection.disconnect_now()
            await asyncio.gather(*dumps)

    assert b"result" in asyncio.run(send_beside())


def test_a_dump_has_a_deadline(
    client: ApiClient, endless: EndlessDumps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "MAX_SECONDS", 0.0)
    with pytest.raises(RpcError, match="the dump took longer than 0 s: --dump-state"):
        client("anvil_dumpState")
    assert endless.ended.is_set()


async def test_a_dump_has_ended_before_its_chain_is_closed(
    client: ApiClient, endless: EndlessDumps
) -> None:
    dump = await dumping(client, LeavingClient())
    await asyncio.to_thread(endless.begun.wait, PATIENCE_SECONDS)
    await client.api.services.end_calls()
    assert endless.ended.is_set()
    assert b"error" in (await dump or b"")


def test_accounts_without_blocks_are_edits(client: ApiClient) -> None:
    client("evm_mine")
    accounts = {
        str(NOBODY): {"nonce": 5, "balance": "0x7", "code": "0x00", "storage": {"0x1": "0x2"}}
    }
    client("anvil_loadState", "0x" + json.dumps({"accounts": accounts}).encode().hex())
    assert client.chain.number == 1
    assert client("eth_getAccountInfo", str(NOBODY)) == {
        "nonce": "0x5",
        "balance": "0x7",
        "code": "0x00",
    }
    assert int(client("eth_getStorageAt", str(NOBODY), "0x1"), 16) == 2
    client("evm_mine")
    client.chain.verify()


def test_a_file_of_another_chain_replaces_the_blocks(client: ApiClient) -> None:
    document = {**anvil_file(), "historical_states": None}
    send(client)
    client("anvil_loadState", "0x" + gzip.compress(json.dumps(document).encode()).hex())
    (entry,) = [
        transaction for transaction in document["transactions"] if transaction["block_number"] == 2
    ]
    receipt = client("eth_getTransactionReceipt", entry["info"]["transaction_hash"])
    assert (
        receipt["blockHash"]
        == entry["block_hash"]
        == client("eth_getBlockByNumber", "latest", False)["hash"]
    )
    assert receipt["contractAddress"] == entry["info"]["contract_address"]
    assert len(receipt["logs"]) == len(entry["receipt"]["logs"]) == 1
    with pytest.raises(RpcError, match="the state after block 1 is not known") as rejection:
        client("eth_getBalance", str(ALICE), "0x1")
    assert rejection.value.code == -32000
    with pytest.raises(RpcError, match="cannot be executed again"):
        client("debug_executionWitness", "0x2")
    client("evm_mine")
    client.chain.verify()
    assert client("debug_executionWitness", "0x3")["headers"]


@pytest.mark.parametrize(
    ("state", "text", "code"),
    [
        ("0x12", "Failed to decode state dump", -32602),
        ("0x", "Failed to decode state dump", -32602),
        ("0x" + json.dumps({"best_block_number": 7}).encode().hex(), "Best hash not found for best number 7", -32000),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_changes_nothing(
    client: ApiClient, state: str, text: str, code: int
) -> None:
    send(client)
    head = client.chain.ledger.head_hash
    with pytest.raises(RpcError, match=text) as rejection:
        client("anvil_loadState", state)
    assert rejection.value.code == code
    assert client.chain.ledger.head_hash == head


def test_snapshots_from_before_a_load_revert_to_the_chain_of_that_time(client: ApiClient) -> None:
    send(client, 0)
    dump = client("anvil_dumpState")
    send(client, 1)
    before = client("evm_snapshot")
    head = client("eth_getBlockByNumber", "latest", False)
    send(client, 2)
    client("anvil_loadState", dump)
    assert client("eth_blockNumber") == "0x1"
    send(client, 1)
    loaded = client("evm_snapshot")
    send(client, 2)
    assert client("evm_revert", loaded) is True
    assert client("eth_blockNumber") == "0x2"
    assert client("evm_revert", before) is True
    assert client("eth_getBlockByNumber", "latest", False) == head
    assert client("eth_getTransactionCount", str(ALICE), "latest") == "0x2"
    assert client("evm_revert", loaded) is False
    send(client, 2)
    assert client("eth_blockNumber") == "0x3"
