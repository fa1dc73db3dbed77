"""Methods that newer peers serve: on both layers through a worker, and on a fork of a real anvil."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.blobs import BLOB_GAS, sample_sidecar
from tests.support.clients.layers import running_layers
from tests.support.fork.remote_anvil import ANVIL, STRANGER, RemoteAnvil, remote_anvil
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

ALICE: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB: Final = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
RANDAO: Final = "0x" + "07" * 32


class Layer(NamedTuple):
    """A layer, and a transaction of block 1 or later that stores and calls."""

    client: HttpRpcClient
    number: str
    sent: str


@pytest.fixture(scope="module")
def layers() -> Iterator[dict[str, Layer]]:
    with running_layers("embedded", "--l1-delay", "0", "--workers", "1") as running:
        clients = {"L1": CheckedRpcClient(running.l1_url), "L2": CheckedRpcClient(running.url)}
        try:
            yield {name: used(client) for name, client in clients.items()}
        finally:
            for client in clients.values():
                client.close()


def used(client: HttpRpcClient) -> Layer:
    client("anvil_setCode", STRANGER, "0x5f54600101805f555f5260205ff3")
    sent = client("eth_sendTransaction", {"from": ALICE, "to": STRANGER})
    number = client("eth_getTransactionReceipt", sent)["blockNumber"]
    return Layer(client, number, sent)


@pytest.fixture(params=["L1", "L2"])
def layer(request: pytest.FixtureRequest, layers: dict[str, Layer]) -> Layer:
    return layers[request.param]


def signed(client: HttpRpcClient, **more: str) -> str:
    wanted = {"from": ALICE, "to": BOB, "value": "0x1", "gas": "0x7530", **more}
    raw: str = client("eth_signTransaction", wanted)["raw"]
    return raw


def test_a_worker_reads_within_blocks(layer: Layer) -> None:
    client, number, sent = layer
    index = int(client("eth_getTransactionReceipt", sent)["transactionIndex"], 16)
    block = client("eth_getBlockByNumber", number, False)
    last = len(block["transactions"]) - 1
    within = client("debug_accountInfoAt", number, last, ALICE)
    assert within == client("eth_getAccountInfo", ALICE, number)
    raws = client("debug_getRawTransactions", number)
    assert raws[index] == client("debug_getRawTransaction", sent)
    changed = client("debug_getModifiedAccountsByNumber", number)
    assert {ALICE, STRANGER} <= set(changed)
    assert client("debug_getModifiedAccountsByHash", block["hash"]) == changed
    traced = client("trace_blockOpcodeGas", number)["transactions"][index]
    assert traced == client("trace_transactionOpcodeGas", sent)
    assert {"SLOAD", "SSTORE"} <= {it["opcode"] for it in traced["opcodeGas"]}


def test_capabilities_have_the_head(layer: Layer) -> None:
    head = layer.client("eth_getBlockByNumber", "latest", False)
    said = layer.client("eth_capabilities")
    assert said["head"] == {"number": head["number"], "hash": head["hash"]}
    assert said["blocks"] == {"disabled": False, "oldestBlock": "0x0"}


def test_a_bundle_runs_and_a_block_is_built_on_the_head(layer: Layer) -> None:
    client = layer.client
    head, raw = client("eth_getBlockByNumber", "latest", False), signed(client)
    number = int(head["number"], 16) + 1
    ran = client("eth_callBundle", {"txs": [raw], "blockNumber": hex(number)})
    assert (ran["results"][0]["fromAddress"], ran["totalGasUsed"]) == (ALICE, 21_000)
    attributes = {
        "timestamp": hex(int(head["timestamp"], 16) + 5),
        "prevRandao": RANDAO,
        "suggestedFeeRecipient": BOB,
    }
    built = client("testing_buildBlockV1", head["hash"], attributes, [raw])["executionPayload"]
    assert (built["blockNumber"], built["transactions"]) == (hex(number), [raw])
    assert ("withdrawals" in built) is ("withdrawalsRoot" in head)
    assert client("eth_blockNumber") == head["number"]


def test_blobs_of_a_built_block_are_beside_it(layers: dict[str, Layer]) -> None:
    client, sidecar = layers["L1"].client, sample_sidecar(1, 2)
    head = client("eth_getBlockByNumber", "latest", False)
    attributes = {
        "timestamp": hex(int(head["timestamp"], 16) + 5),
        "prevRandao": RANDAO,
        "suggestedFeeRecipient": BOB,
        "parentBeaconBlockRoot": RANDAO,
    }
    given = {"from": ALICE, "to": BOB, "gas": "0x7530", **sidecar.json()}
    signed_with_blobs = client("eth_signTransaction", given)["raw"]
    built = client("testing_buildBlockV1", head["hash"], attributes, [signed_with_blobs])
    assert built["blobsBundle"] == sidecar.json()
    payload = built["executionPayload"]
    assert payload["blobGasUsed"] == hex(2 * BLOB_GAS)
    with pytest.raises(RpcError, match="missing sidecar"):
        client("testing_buildBlockV1", head["hash"], attributes, payload["transactions"])
    ran = client("eth_callBundle", {"txs": [signed_with_blobs], "blockNumber": "0x9"})
    assert ran["results"][0]["value"] == "0x"


def test_a_worker_forwards_what_waits(layer: Layer) -> None:
    client = layer.client
    client("evm_setAutomine", False)
    try:
        given = {"from": ALICE, "to": BOB, "value": "0x1", "gas": "0x7530"}
        sent = client("eth_sendTransaction", given)
        pending = client("eth_getTransactionByHash", sent)
        price = hex(3 * int(pending["maxFeePerGas"], 16))
        again = client("eth_resend", {**given, "nonce": pending["nonce"]}, price)
        assert client("eth_getTransactionByHash", sent) is None
        assert client("eth_getTransactionByHash", again)["maxFeePerGas"] == price
        assert client("debug_clearTxpool") is None
        assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    finally:
        client("evm_setAutomine", True)
    client("anvil_setNextBlockPrevRandao", RANDAO)
    known = {STRANGER: {"0x0": client("eth_getStorageAt", STRANGER, "0x0", "latest")}}
    sent = client("eth_sendRawTransactionConditional", signed(client), {"knownAccounts": known})
    block = client("eth_getTransactionReceipt", sent)["blockNumber"]
    assert client("eth_getBlockByNumber", block, False)["mixHash"] == RANDAO
    with pytest.raises(RpcError) as rejection:
        client("eth_sendRawTransactionConditional", signed(client), {"blockNumberMax": "0x0"})
    assert rejection.value.code == -32003


def test_unstable_reads_have_an_answer(layers: dict[str, Layer]) -> None:
    client, chain_id = layers["L2"].client, int(layers["L1"].client("eth_chainId"), 16)
    assert client("unstable_gasPerPubdata") == client("zks_gasPerPubdata")
    assert client("unstable_l1ToL2TxsStatus") == {
        "l1ToL2TxsInMempool": 0,
        "l1ToL2TxsPaused": False,
    }
    assert client("unstable_unconfirmedTxsCount") in range(4)
    assert client("unstable_supportsUnsafeDepositFilter") is False
    assert client("unstable_gatewayMigrationStatus") == {
        "latestNotification": None,
        "state": "notInProgress",
        "settlementLayer": {"type": "L1", "chain_id": chain_id},
    }
    assert client("unstable_getDataAvailabilityDetails", 1) is None
    raw = signed(client)
    sent = client("unstable_sendRawTransactionWithDetailedOutput", raw)["transactionHash"]
    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"


@pytest.mark.parametrize(
    "name",
    [
        "getTransactionExecutionInfo",
        "getTeeProofs",
        "getAirbenderProof",
        "getChainLogProof",
        "getChainLogProofUntilMsgRoot",
    ],
)
def test_what_is_of_a_prover_or_a_gateway_is_rejected(layers: dict[str, Layer], name: str) -> None:
    with pytest.raises(RpcError, match="does not exist/is not available: ") as rejection:
        layers["L2"].client(f"unstable_{name}", 1)
    assert rejection.value.code == -32601


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil() as found:
        yield found


@pytest.fixture(scope="module")
def fork(remote: RemoteAnvil) -> Iterator[Anvil]:
    """Return a fork of a real anvil, with a call above its anchor."""
    flags = ("-f", f"{remote.url}@{remote.number}", "--no-storage-caching")
    with running_anvil(*flags, program=ANVIL) as node:
        node("eth_sendTransaction", {"from": remote.accounts[0], "to": remote.counter})
        yield node


@pytest.mark.peer
def test_a_fork_reads_within_the_blocks_of_its_remote(remote: RemoteAnvil, fork: Anvil) -> None:
    for sent in remote.calls[:-1]:
        receipt = remote.node("eth_getTransactionReceipt", sent)
        number, sender = receipt["blockNumber"], receipt["from"]
        info = fork("debug_accountInfoAt", number, 0, sender)
        assert info["balance"] == remote.node("eth_getBalance", sender, number)
        assert info["nonce"] == remote.node("eth_getTransactionCount", sender, number)
        assert fork("debug_getRawTransactions", number) == [
            remote.node("eth_getRawTransactionByHash", sent)
        ]
        traced = fork("trace_transactionOpcodeGas", sent)
        assert fork("trace_blockOpcodeGas", receipt["blockHash"])["transactions"] == [traced]


@pytest.mark.peer
def test_opcodes_of_the_past_are_those_of_the_remote(remote: RemoteAnvil, fork: Anvil) -> None:
    for sent in remote.calls[:-1]:
        used_gas = sum(
            it["gasUsed"] for it in fork("trace_transactionOpcodeGas", sent)["opcodeGas"]
        )
        gas = int(remote.node("eth_getTransactionReceipt", sent)["gasUsed"], 16)
        assert used_gas + 21_000 == gas


@pytest.mark.peer
def test_a_bundle_runs_on_the_state_of_the_past(remote: RemoteAnvil, fork: Anvil) -> None:
    sender = remote.accounts[1]
    nonce = remote.node("eth_getTransactionCount", sender, "0x1")
    given = {"from": sender, "to": remote.counter, "gas": "0x186a0", "nonce": nonce}
    raw = remote.node(
        "eth_signTransaction", {**given, "gasPrice": "0x12a05f200", "chainId": "0x63"}
    )
    for block, count in (("0x1", 1), ("0x3", 3), (hex(remote.number), 4), ("latest", 5)):
        bundle = {"txs": [raw], "blockNumber": hex(remote.number + 9), "stateBlockNumber": block}
        (ran,) = fork("eth_callBundle", bundle)["results"]
        assert int(ran["value"], 16) == count


@pytest.mark.peer
def test_a_fork_says_what_it_has_itself(remote: RemoteAnvil, fork: Anvil) -> None:
    anchor = hex(remote.number)
    assert fork("eth_capabilities")["state"]["oldestBlock"] == anchor
    assert remote.counter in fork("debug_getModifiedAccountsByNumber", "latest")
    for below in (hex(remote.number - 1), anchor):
        with pytest.raises(RpcError):
            fork("debug_getModifiedAccountsByNumber", below)


@pytest.mark.peer
def test_opcode_gas_is_what_steps_of_a_real_anvil_cost() -> None:
    with running_anvil("--steps-tracing") as node, running_anvil(program=ANVIL) as ours:
        counted = [opcode_gas(it) for it in (node, ours)]
    assert counted[0] == counted[1]


def opcode_gas(node: Anvil) -> dict[str, tuple[int, int]]:
    """Return how often each opcode ran and its gas, by the method if the node has it, else by its steps."""
    sender = node("eth_accounts")[0]
    node("anvil_setCode", STRANGER, "0x5f54600101805f555f5260205ff3")
    sent = node("eth_sendTransaction", {"from": sender, "to": STRANGER, "gas": "0x186a0"})
    try:
        traced = node("trace_transactionOpcodeGas", sent)["opcodeGas"]
    except RpcError:
        steps: list[dict[str, Any]] = node("debug_traceTransaction", sent)["structLogs"]
        gas: Counter[str] = Counter()
        for step in steps:
            gas[step["op"]] += step["gasCost"]
        counts = Counter(step["op"] for step in steps)
        return {opcode: (count, gas[opcode]) for opcode, count in counts.items()}
    return {it["opcode"]: (it["count"], it["gasUsed"]) for it in traced}
