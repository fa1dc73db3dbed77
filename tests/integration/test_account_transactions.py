"""Paymasters and contract accounts over JSON-RPC, on a real node that is killed and started again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol._native import address_of, public_key
from entresol.primitives.transactions import Paymaster, ZkTransaction
from entresol.primitives.values import Address
from tests.support.contracts.accounts import GENERAL, TOKEN, approval_based, sign_by
from tests.support.contracts.layer_two import artifact_for_tests, calldata, encode
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

OWNERS = [b"\x21" * 32, b"\x22" * 32]
FIRST, SECOND = (Address(address_of(public_key(secret))) for secret in OWNERS)
NOBODY = "0x" + "99" * 20
ETHER = 10**18


class World:
    """A client of a node, with a token, a paymaster that takes it, and an account of two owners."""

    def __init__(self, client: HttpRpcClient) -> None:
        self.client = client
        self.alice = client("eth_accounts")[0]
        arguments = encode("(string,string,uint8)", "Crown", "CRWN", 18)
        self.token = self.deploy(TOKEN.bytecode + arguments)
        paymaster = artifact_for_tests("TokenPaymaster").bytecode
        self.paymaster = self.deploy(paymaster + encode("(address)", self.token))
        multisig = artifact_for_tests("MultisigAccount").bytecode
        owners = encode("(address[],uint256)", [FIRST, SECOND], 2)
        self.multisig = self.deploy(multisig + owners)
        for address in (self.paymaster, self.multisig):
            self.send(to=str(address), value=hex(ETHER))
        for holder in (FIRST, self.multisig):
            self.send(to=str(self.token), data=hexed(calldata("mint(address,uint256)", holder, 50)))

    def send(self, **fields: str) -> dict[str, Any]:
        """Send a transaction of the first account."""
        sent = self.client("eth_sendTransaction", {"from": self.alice, **fields})
        receipt = self.client.receipt(sent)
        assert receipt["status"] == "0x1"
        return receipt

    def deploy(self, code: bytes) -> Address:
        """Deploy a contract."""
        return Address.parse(self.send(data=hexed(code))["contractAddress"])

    def tokens(self, holder: Address) -> int:
        """Return how many tokens somebody has."""
        data = hexed(calldata("balanceOf(address)", holder))
        return int(self.client("eth_call", {"to": str(self.token), "data": data}, "latest"), 16)

    def ether(self, holder: object) -> int:
        """Return how much ether somebody has."""
        return int(self.client("eth_getBalance", str(holder), "latest"), 16)

    def nonce(self, sender: Address) -> int:
        """Return the next nonce."""
        return int(self.client("eth_getTransactionCount", str(sender), "pending"), 16)

    def transaction(self, sender: Address, *secrets: bytes, **fields: Any) -> str:
        """Return a signed transaction, with the gas that the node estimates."""
        payload = ZkTransaction(
            nonce=self.nonce(sender),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=int(self.client("eth_gasPrice"), 16),
            gas_limit=0,
            to=Address.parse(NOBODY),
            chain_id=270,
            sender=sender,
            gas_per_pubdata_limit=50_000,
        )
        payload = msgspec.structs.replace(payload, **fields)
        if not payload.gas_limit:
            payload = msgspec.structs.replace(payload, gas_limit=self.estimate(payload))
        return hexed(sign_by(payload, *secrets).encode())

    def estimate(self, payload: ZkTransaction) -> int:
        """Return the estimate of a transaction."""
        meta: dict[str, Any] = {"gasPerPubdata": hex(payload.gas_per_pubdata_limit)}
        if payload.paymaster is not None:
            named = payload.paymaster
            meta["paymasterParams"] = {
                "paymaster": str(named.address),
                "paymasterInput": list(named.input),
            }
        call = {
            "from": str(payload.sender),
            "to": str(payload.to),
            "value": hex(payload.value),
            "data": hexed(payload.data),
            "type": "0x71",
            "eip712Meta": meta,
        }
        gas = int(self.client("eth_estimateGas", call), 16)
        assert int(self.client("zks_estimateFee", call)["gas_limit"], 16) == gas
        return gas

    def submit(self, raw: str) -> dict[str, Any]:
        """Send a raw transaction, and return its receipt."""
        return self.client.receipt(self.client("eth_sendRawTransaction", raw))


def hexed(data: bytes) -> str:
    """Return bytes as JSON has them."""
    return "0x" + data.hex()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory."""
    return tmp_path_factory.mktemp("node")


@pytest.fixture(scope="module")
def world(directory: Path) -> Iterator[World]:
    """Return the client of a node that ends by a kill."""
    with (
        inprocess_node("--data-dir", str(directory)) as node,
        closing(HttpRpcClient(node.url)) as client,
    ):
        yield World(client)


def test_a_token_pays_the_fee(world: World) -> None:
    before = world.ether(world.paymaster)
    raw = world.transaction(
        FIRST, OWNERS[0], paymaster=Paymaster(world.paymaster, approval_based(world.token, 1))
    )
    receipt = world.submit(raw)
    assert (receipt["status"], receipt["type"]) == ("0x1", "0x71")
    assert receipt["from"] == str(FIRST)
    assert world.tokens(FIRST) == 49
    assert world.tokens(world.paymaster) == 1
    assert world.ether(FIRST) == 0
    price = int(receipt["effectiveGasPrice"], 16)
    paid = before - world.ether(world.paymaster)
    assert paid == int(receipt["gasUsed"], 16) * price


def test_owners_send_from_their_account(world: World) -> None:
    start, tokens = world.nonce(world.multisig), world.tokens(world.multisig)
    raw = world.transaction(
        world.multisig,
        *OWNERS,
        value=7_000_000_000,
        paymaster=Paymaster(world.paymaster, approval_based(world.token, 1)),
    )
    before, receiver = world.ether(world.multisig), world.ether(NOBODY)
    receipt = world.submit(raw)
    assert (receipt["status"], receipt["contractAddress"]) == ("0x1", None)
    assert world.ether(world.multisig) == before - 7_000_000_000
    assert world.ether(NOBODY) == receiver + 7_000_000_000
    assert world.tokens(world.multisig) == tokens - 1
    assert world.nonce(world.multisig) == start + 1
    details = world.client("zks_getTransactionDetails", receipt["transactionHash"])
    assert details["initiatorAddress"] == str(world.multisig)
    trace = world.client(
        "debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"}
    )
    assert len(trace["calls"]) == 5


def test_a_wrong_token_is_rejected_in_both_ways(world: World) -> None:
    paymaster = Paymaster(world.paymaster, approval_based(Address.parse(NOBODY), 1))
    with pytest.raises(RpcError, match="failed pre-paymaster preparation"):
        world.transaction(FIRST, OWNERS[0], paymaster=paymaster)
    raw = world.transaction(FIRST, OWNERS[0], paymaster=paymaster, gas_limit=300_000)
    with pytest.raises(RpcError, match="Pre-paymaster preparation error"):
        world.client("eth_sendRawTransaction", raw)


def test_the_node_sends_with_a_paymaster(world: World) -> None:
    paymaster = world.client("zks_getTestnetPaymaster")
    before = world.ether(world.alice)
    meta = {
        "gasPerPubdata": "0xc350",
        "paymasterParams": {"paymaster": paymaster, "paymasterInput": list(GENERAL)},
    }
    world.send(to=NOBODY, value="0x5", eip712Meta=meta)  # type: ignore[arg-type]
    assert world.ether(world.alice) == before - 5


def test_a_killed_node_has_the_same_blocks_and_nonces(directory: Path, world: World) -> None:
    head = int(world.client("eth_blockNumber"), 16)
    blocks = hashes(world.client, head)
    nonce = world.nonce(world.multisig)
    trace = [world.client("debug_traceBlockByNumber", hex(n), {}) for n in range(1, head + 1)]
    with (
        inprocess_node("--data-dir", str(copied(directory))) as node,
        closing(HttpRpcClient(node.url)) as again,
    ):
        assert hashes(again, head) == blocks
        assert int(again("eth_getTransactionCount", str(world.multisig), "latest"), 16) == nonce
        # Tracing executes the blocks again.
        assert [again("debug_traceBlockByNumber", hex(n), {}) for n in range(1, head + 1)] == trace


def hashes(client: HttpRpcClient, head: int) -> list[str]:
    """Return the hashes of all blocks."""
    return [client("eth_getBlockByNumber", hex(n), False)["hash"] for n in range(head + 1)]


def copied(directory: Path) -> Path:
    """Return a copy of a directory that is in use, as a killed node leaves it."""
    target = directory.with_name("copy")
    shutil.copytree(directory, target)
    return target
