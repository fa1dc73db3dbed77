"""Paymasters over JSON-RPC, on a real node; tests/clients has accounts and paymasters by unmodified clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest

from entresol._native import address_of, public_key
from entresol.primitives.transactions import Paymaster
from entresol.primitives.values import Address
from tests.support.contracts.accounts import GENERAL, TOKEN, approval_based, fill, sign_by
from tests.support.contracts.layer_two import artifact_for_tests, calldata, encode
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

OWNER = b"\x21" * 32
SENDER = Address(address_of(public_key(OWNER)))
NOBODY = "0x" + "99" * 20
ETHER = 10**18


class World:
    """A client of a node, a token that a sender without ether has, and a paymaster that takes it."""

    def __init__(self, client: HttpRpcClient) -> None:
        self.client = client
        self.alice = client("eth_accounts")[0]
        arguments = encode("(string,string,uint8)", "Crown", "CRWN", 18)
        self.token = self._deploy(TOKEN.bytecode + arguments)
        paymaster = artifact_for_tests("TokenPaymaster").bytecode
        self.paymaster = self._deploy(paymaster + encode("(address)", self.token))
        self.send(to=str(self.paymaster), value=hex(ETHER))
        self.send(to=str(self.token), data=hexed(calldata("mint(address,uint256)", SENDER, 50)))

    def send(self, **fields: Any) -> dict[str, Any]:
        """Send a transaction of the first account."""
        receipt = self.client.receipt(
            self.client("eth_sendTransaction", {"from": self.alice, **fields})
        )
        assert receipt["status"] == "0x1"
        return receipt

    def _deploy(self, code: bytes) -> Address:
        return Address.parse(self.send(data=hexed(code))["contractAddress"])

    def tokens(self, holder: Address) -> int:
        """Return how many tokens somebody has."""
        data = hexed(calldata("balanceOf(address)", holder))
        return int(self.client("eth_call", {"to": str(self.token), "data": data}, "latest"), 16)

    def ether(self, holder: object) -> int:
        """Return how much ether somebody has."""
        return int(self.client("eth_getBalance", str(holder), "latest"), 16)

    def transaction(self, paymaster: Paymaster, gas: int | None = None) -> str:
        """Return a transaction of the sender, with the gas that the node estimates if none is given."""
        meta = {
            "gasPerPubdata": hex(50_000),
            "paymasterParams": {
                "paymaster": str(paymaster.address),
                "paymasterInput": list(paymaster.input),
            },
        }
        call = {"from": str(SENDER), "to": NOBODY, "type": "0x71", "eip712Meta": meta}
        if gas is None:
            gas = int(self.client("eth_estimateGas", call), 16)
            assert int(self.client("zks_estimateFee", call)["gas_limit"], 16) == gas
        payload = fill(
            SENDER,
            nonce=int(self.client("eth_getTransactionCount", str(SENDER), "pending"), 16),
            max_fee_per_gas=int(self.client("eth_gasPrice"), 16),
            gas_limit=gas,
            to=Address.parse(NOBODY),
        )
        return hexed(sign_by(msgspec.structs.replace(payload, paymaster=paymaster), OWNER).encode())


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with inprocess_node() as node, closing(HttpRpcClient(node.url)) as client:
        yield World(client)


def test_a_token_pays_the_fee(world: World) -> None:
    before = world.ether(world.paymaster)
    raw = world.transaction(Paymaster(world.paymaster, approval_based(world.token, 1)))
    receipt = world.client.receipt(world.client("eth_sendRawTransaction", raw))
    assert (receipt["status"], receipt["type"]) == ("0x1", "0x71")
    assert receipt["from"] == str(SENDER)
    assert (world.tokens(SENDER), world.tokens(world.paymaster)) == (49, 1)
    assert world.ether(SENDER) == 0
    price = int(receipt["effectiveGasPrice"], 16)
    assert before - world.ether(world.paymaster) == int(receipt["gasUsed"], 16) * price


def test_a_wrong_token_is_rejected_in_both_ways(world: World) -> None:
    paymaster = Paymaster(world.paymaster, approval_based(Address.parse(NOBODY), 1))
    with pytest.raises(RpcError, match="failed pre-paymaster preparation"):
        world.transaction(paymaster)
    with pytest.raises(RpcError, match="Pre-paymaster preparation error"):
        world.client("eth_sendRawTransaction", world.transaction(paymaster, gas=300_000))


def test_the_node_sends_with_a_paymaster(world: World) -> None:
    paymaster = world.client("zks_getTestnetPaymaster")
    before = world.ether(world.alice)
    params = {"paymaster": paymaster, "paymasterInput": list(GENERAL)}
    meta = {"gasPerPubdata": "0xc350", "paymasterParams": params}
    world.send(to=NOBODY, value="0x5", eip712Meta=meta)
    assert world.ether(world.alice) == before - 5
