"""The contracts on anvil: deployment, deposit, settlement, withdrawal."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.primitives.values import Address, Data, Hash32
from tests.support.anvil import Anvil
from tests.support.contracts.engine import ETHER, GWEI, Contract, Done, Engine, Reverted, error_of
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPLOYER,
    L2_BASE_TOKEN,
    OPERATOR,
    Deployed,
    deploy_on,
    direct,
)
from tests.support.contracts.merkle_trees import proof_of
from tests.support.rollup.messages import message_log
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.peer


class AnvilEngine(Engine):
    """The interface of the project's engine, on a running anvil."""

    def __init__(self, anvil: Anvil) -> None:
        super().__init__()
        self.anvil = anvil
        for account in (DEPLOYER, OPERATOR, ALICE):
            anvil("anvil_setBalance", str(account), hex(1000 * ETHER))
            anvil("anvil_impersonateAccount", str(account))

    def read(self, contract: Contract, function: str, *arguments: object) -> Any:
        """Call a function without changing anything."""
        call = {
            "to": str(contract.address),
            "data": str(Data(contract.encode(function, *arguments))),
        }
        output = self.anvil("eth_call", call, "latest")
        return contract.decode(function, Data.parse(output))

    def balance(self, address: Address) -> int:
        """Return the balance of an account."""
        return int(self.anvil("eth_getBalance", str(address), "latest"), 16)

    def nonce(self, address: Address) -> int:
        """Return an account's next nonce."""
        return int(self.anvil("eth_getTransactionCount", str(address), "latest"), 16)

    def _run(self, sender: Address, to: Address | None, data: bytes, value: int) -> Done:
        # The fee of a request, and so its hash, depend on the gas price.
        message = {"from": str(sender), "data": str(Data(data)), "value": hex(value)}
        message["gasPrice"] = hex(3 * GWEI)
        if to is not None:
            message["to"] = str(to)
        try:
            output = self.anvil("eth_call", message, "latest")
            gas = self.anvil("eth_estimateGas", message)
        except RpcError as rejection:
            raise error_of(Data.parse(rejection.data)) from None
        receipt = self.anvil.receipt(self.anvil("eth_sendTransaction", message | {"gas": gas}))
        assert receipt["status"] == "0x1"
        logs = [
            (
                bytes(Address.parse(log["address"])),
                tuple(bytes(Hash32.parse(topic)) for topic in log["topics"]),
                bytes(Data.parse(log["data"])),
            )
            for log in receipt["logs"]
        ]
        self.last = Done(Data.parse(output), logs, int(receipt["gasUsed"], 16))
        return self.last


def at_the_time_of(anvil: Anvil, l1: Deployed) -> None:
    """Set the clock of anvil to the time of the batches."""
    anvil("evm_setNextBlockTimestamp", l1.engine.timestamp)
    anvil("evm_mine")


def test_a_deposit_and_a_withdrawal_go_through(anvil: Anvil) -> None:
    engine = AnvilEngine(anvil)
    l1 = deploy_on(engine, DEPLOYER, OPERATOR)
    at_the_time_of(anvil, l1)
    asked = direct(mint_value=10 * ETHER, l2_value=ETHER)
    tx_hash = engine.send(
        ALICE, l1.bridgehub, "requestL2TransactionDirect", asked, value=10 * ETHER
    )
    (*_, last) = engine.events(l1.chain)
    assert (last.name, last.fields["txHash"]) == ("NewPriorityRequest", tx_hash)

    message = bytes.fromhex("6c0960f9") + BOB + ETHER.to_bytes(32)
    logs = (message_log(0, L2_BASE_TOKEN, message),)
    batch = l1.settle(*logs)
    claim = (CHAIN_ID, batch, 0, L2_BASE_TOKEN, 0, message, proof_of(logs, 0))
    engine.send(OPERATOR, l1.nullifier, "finalizeDeposit", claim)
    assert engine.balance(BOB) == ETHER
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        engine.send(OPERATOR, l1.nullifier, "finalizeDeposit", claim)
