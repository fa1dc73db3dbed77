"""State files there and back between a real anvil and the development L1; rollback, reorg and reset beside anvil's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcClient, RpcError

pytestmark = pytest.mark.peer

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
STRANGER = "0x" + "ab" * 20
ROOT = Path(__file__).resolve().parents[2]
# What `work` and `view` returned at an earlier anvil, and its dump.
EARLIER = sorted((ROOT / "tests" / "vectors" / "state_files").iterdir())
# Stores 5 at slot 0, logs, and returns a byte of code.
CREATION = "0x6005600055600160006000a160016000f3"


class Layers(NamedTuple):
    """Both layers of a node."""

    l1: HttpRpcClient
    l2: HttpRpcClient


@pytest.fixture
def layers(tmp_path: Path) -> Iterator[Layers]:
    info = tmp_path / "node.json"
    with inprocess_node(
        "--config-out", str(info), "--l1-delay", "0", "--no-settle", info=info
    ) as node:
        l1 = HttpRpcClient(json.loads(info.read_text())["l1"]["http_url"])
        l2 = HttpRpcClient(node.url)
        yield Layers(l1, l2)
        l1.close()
        l2.close()


@pytest.fixture(scope="module")
def kept() -> Iterator[Anvil]:
    with running_anvil() as anvil:
        yield anvil


def work(peer: RpcClient) -> str:
    """Send transfers of three types, a creation and one without a signature; return the created contract."""
    for pays in ({"gasPrice": hex(3 * 10**9)}, {"gasPrice": hex(3 * 10**9), "accessList": []}):
        peer("eth_sendTransactionSync", {"from": ALICE, "to": BOB, "value": "0x7", **pays})
    receipt = peer("eth_sendTransactionSync", {"from": ALICE, "to": BOB, "value": "0x7"})
    created = peer("eth_sendTransactionSync", {"from": ALICE, "data": CREATION, "gas": "0x30d40"})
    peer("anvil_setBalance", STRANGER, hex(10**18))
    peer("eth_sendUnsignedTransaction", {"from": STRANGER, "to": BOB, "value": "0x1"})
    assert receipt["status"] == created["status"] == "0x1"
    contract: str = created["contractAddress"]
    return contract


def view(peer: RpcClient, contract: str) -> dict[str, Any]:
    """Return what clients see of the chain: head, blocks, receipts, logs, code, storage, accounts."""
    head = int(peer("eth_blockNumber"), 16)
    blocks = [peer("eth_getBlockByNumber", hex(number), False) for number in range(head + 1)]
    sent = [transaction for block in blocks[1:] for transaction in block["transactions"]]
    signed = [
        transaction
        for transaction in sent
        if peer("eth_getTransactionByHash", transaction) is not None
    ]
    receipts = [peer("eth_getTransactionReceipt", name) for name in signed[:4]]
    logs = peer("eth_getLogs", {"fromBlock": "0x0", "address": contract})
    return {
        "hashes": [block["hash"] for block in blocks],
        "receipts": [
            {key: receipt[key] for key in ("transactionHash", "blockHash", "status", "gasUsed")}
            for receipt in receipts
        ],
        "logs": [
            {key: log[key] for key in ("address", "topics", "data", "blockHash")} for log in logs
        ],
        "code": peer("eth_getCode", contract, "latest"),
        "slot": peer("eth_getStorageAt", contract, "0x0", "latest"),
        "accounts": [
            [
                peer("eth_getBalance", entry, "latest"),
                peer("eth_getTransactionCount", entry, "latest"),
            ]
            for entry in (ALICE, BOB, STRANGER)
        ],
    }


def test_the_l1_reads_what_anvil_writes(layers: Layers) -> None:
    with running_anvil() as anvil:
        contract = work(anvil)
        theirs = view(anvil, contract)
        assert layers.l1("anvil_loadState", anvil("anvil_dumpState")) is True
    assert view(layers.l1, contract) == theirs
    with pytest.raises(RpcError, match="is not known"):
        layers.l1("eth_getBalance", ALICE, "0x1")
    # The chain goes on, and so does the bridge, from the start.
    work(layers.l1)
    assert layers.l2("eth_blockNumber") == "0x0"


@pytest.mark.parametrize("recorded", EARLIER, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_anvil_is_read(layers: Layers, recorded: Path) -> None:
    anvil = json.loads(recorded.read_text())
    assert layers.l1("anvil_loadState", anvil["dump"]) is True
    assert view(layers.l1, anvil["contract"]) == anvil["view"]
    work(layers.l1)


def test_the_page_has_the_versions_whose_files_are_read() -> None:
    (row,) = re.findall(r"\| 55 \|.*", (ROOT / "docs" / "anvil.md").read_text())
    with running_anvil() as anvil:
        current = anvil("web3_clientVersion")
    versions = [json.loads(path.read_text())["client"] for path in EARLIER] + [current]
    assert re.findall(r"[\d.]+\d", row.partition("before 1.3")[2].partition("|")[0]) == [
        version.removeprefix("anvil/v") for version in versions
    ]


def test_transactions_without_a_signature_have_the_hashes_of_anvil(layers: Layers) -> None:
    with running_anvil() as anvil:
        sent = []
        for sender in (STRANGER, "0x" + "cd" * 20):
            anvil("anvil_setBalance", sender, hex(10**18))
            anvil("anvil_impersonateAccount", sender)
            for price in ({}, {"gasPrice": hex(3 * 10**9)}):
                call = {"from": sender, "to": BOB, "value": "0x1", "gas": "0x5208", **price}
                sent.append(anvil("eth_sendTransaction", call))
        dump = anvil("anvil_dumpState")
        expected = [anvil("eth_getTransactionByHash", transaction) for transaction in sent]
    assert layers.l1("anvil_loadState", dump)
    fields = ("hash", "from", "nonce", "blockNumber", "r", "s")
    loaded = [layers.l1("eth_getTransactionByHash", transaction) for transaction in sent]
    assert [[transaction[key] for key in fields] for transaction in loaded] == [
        [line[key] for key in fields] for line in expected
    ]
    assert [
        layers.l1("eth_getTransactionReceipt", transaction)["from"] for transaction in sent
    ] == [line["from"] for line in expected]


def test_states_of_earlier_blocks_are_read(layers: Layers) -> None:
    with running_anvil() as anvil:
        work(anvil)
        theirs = [anvil("eth_getBalance", ALICE, hex(number)) for number in range(4)]
        layers.l1("anvil_loadState", anvil("anvil_dumpState", True))
    assert [layers.l1("eth_getBalance", ALICE, hex(number)) for number in range(4)] == theirs


@pytest.mark.parametrize("historical", [False, True])
def test_anvil_reads_what_the_l1_writes(layers: Layers, historical: bool) -> None:
    contract = work(layers.l1)
    with running_anvil() as anvil:
        assert anvil("anvil_loadState", layers.l1("anvil_dumpState", historical)) is True
        assert view(anvil, contract) == view(layers.l1, contract)
        if historical:
            before = [peer("eth_getBalance", ALICE, "0x1") for peer in (anvil, layers.l1)]
            assert before[0] == before[1]
        work(anvil)


def test_anvil_starts_with_a_file_of_the_l1_and_back(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "l1.json", tmp_path / "anvil.json"
    with inprocess_node(
        "--l1-state",
        str(ours),
        "--no-settle",
        "--config-out",
        str(tmp_path / "i"),
        info=tmp_path / "i",
    ) as node:
        l1 = HttpRpcClient(json.loads((tmp_path / "i").read_text())["l1"]["http_url"])
        contract = work(l1)
        before = view(l1, contract)
        l1.close()
        assert node.stop() == 0
    with running_anvil("--load-state", str(ours), "--dump-state", str(theirs)) as anvil:
        assert view(anvil, contract) == before
    info = tmp_path / "j"
    with inprocess_node(
        "--l1-load-state", str(theirs), "--no-settle", "--config-out", str(info), info=info
    ):
        l1 = HttpRpcClient(json.loads(info.read_text())["l1"]["http_url"])
        assert view(l1, contract) == before
        l1.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("anvil_rollback", [1]),
        ("anvil_rollback", [None]),
        ("anvil_rollback", [2]),
        ("anvil_rollback", [99]),
        ("anvil_reorg", [2, []]),
        ("anvil_reorg", [99, []]),
        ("anvil_reorg", [2, [[{"from": ALICE, "to": BOB, "value": "0x5"}, 1]]]),
        ("anvil_reorg", [1, [[{"from": ALICE, "to": BOB}, 3]]]),
        ("anvil_reset", []),
        ("anvil_reset", [None]),
        ("anvil_reset", [{}]),
        ("anvil_loadState", ["0x12"]),
    ],
)
def test_the_same_request_has_the_same_effect(
    layers: Layers, kept: Anvil, method: str, params: list[Any]
) -> None:
    if method == "anvil_reset":
        # It forgets the snapshot that would bring the other one back.
        with running_anvil() as anvil:
            compare((layers.l1, anvil), method, params)
    else:
        with kept.isolated():
            compare((layers.l1, kept), method, params)


def compare(peers: tuple[HttpRpcClient, Anvil], method: str, params: list[Any]) -> None:
    """Check that a request has the same result and the same effect on both."""
    results = []
    for peer in peers:
        for _ in range(4):
            peer("eth_sendTransactionSync", {"from": ALICE, "to": BOB, "value": "0x7"})
        try:
            result = peer(method, *params)
        except RpcError as error:
            result = error.code, error.message[:40]
        head = peer("eth_getBlockByNumber", "latest", True)
        results.append(
            (
                result,
                head["number"],
                [transaction["value"] for transaction in head["transactions"]],
                peer("eth_getTransactionCount", ALICE, "latest"),
                int(peer("eth_getBalance", BOB, "latest"), 16) % 10**6,
            )
        )
    ours, theirs = results
    if method == "anvil_loadState":
        # Ours also says what is wrong.
        assert ours[0][1].startswith(theirs[0][1])
        assert ours[1:] == theirs[1:]
    else:
        assert ours == theirs
