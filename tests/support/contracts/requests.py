"""Deposits to L2 and withdrawals from it through the contracts of L1, and the priority transactions that these emit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from eth_abi import abi

from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.batches import Batch, execute_data, prove_data
from tests.support.contracts.engine import ETHER, Contract
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    OPERATOR,
    Deployed,
    asset_id,
    burn_data,
    direct,
    mint_data,
    two_bridges,
)
from tests.support.contracts.merkle_trees import message_log, proof_of

CANONICAL = (
    "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
    "uint256[4],bytes,bytes,uint256[],bytes,bytes)"
)
FILLER = message_log(0, ALICE, b"something else")


def request(
    l1: Deployed, *, sender: Address = ALICE, value: int | None = None, **fields: Any
) -> Hash32:
    asked = direct(**fields)
    paid = asked[1] if value is None else value
    function = "requestL2TransactionDirect"
    return Hash32(l1.engine.send(sender, l1.bridgehub, function, asked, value=paid))


def deposit_ether(l1: Deployed, amount: int = 10 * ETHER, chain_id: int = CHAIN_ID) -> None:
    request(l1, mint_value=amount, chain_id=chain_id)


def new_form(token: Contract, amount: int) -> bytes:
    """Return what the router is told to deposit, by the asset id."""
    inner = burn_data(amount, BOB, token.address)
    return b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token.address), inner])


def old_form(token: Contract, amount: int) -> bytes:
    """Return what the router is told to deposit, by the address of the token."""
    return abi.encode(["address", "uint256", "address"], [token.address, amount, BOB])


def deposit(
    l1: Deployed,
    data: bytes,
    *,
    bridge: Address | None = None,
    value: int | None = None,
    **fields: Any,
) -> Hash32:
    """Deposit an asset of Alice's through a second bridge, which is the router if none is given."""
    asked = two_bridges(bridge or l1.router.address, data, **fields)
    function, value = (
        "requestL2TransactionTwoBridges",
        asked[1] + asked[7] if value is None else value,
    )
    return Hash32(l1.engine.send(ALICE, l1.bridgehub, function, asked, value=value))


def deposit_token(
    l1: Deployed, token: Contract, amount: int, *, legacy: bool = False, **fields: Any
) -> Hash32:
    l1.engine.send(ALICE, token, "approve", l1.router.address, amount)
    return deposit(l1, (old_form if legacy else new_form)(token, amount), **fields)


def requested(l1: Deployed) -> dict[str, Any]:
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    return event.fields


def payload(l1: Deployed) -> PriorityTransaction:
    fields = requested(l1)
    return PriorityTransaction.from_abi(
        abi.encode([CANONICAL], [fields["transaction"]]), fields["factoryDeps"]
    )


def fee(gas_price: int) -> int:
    """Return the price of L2 gas by the formula of the protocol."""
    by_gas = 250_000_000 + 1_000_000 * gas_price // 80_000_000
    by_pubdata = 17 * gas_price + 1_000_000 * gas_price // 120_000
    return max(by_gas, -(-by_pubdata // 800))


def ether_message(receiver: Address, amount: int, extra: bytes = b"") -> bytes:
    return bytes.fromhex("6c0960f9") + receiver + amount.to_bytes(32) + extra


def token_message(
    token: Contract, receiver: Address, amount: int, chain_id: int = CHAIN_ID
) -> bytes:
    mint = mint_data(receiver, token.address, amount)
    return asset_message(asset_id(token.address), mint, chain_id)


def asset_message(asset: Hash32, mint: bytes, chain_id: int = CHAIN_ID) -> bytes:
    return bytes.fromhex("9c884fd1") + chain_id.to_bytes(32) + asset + mint


def claim(
    l1: Deployed, message: bytes, sender: Address, /, chain: Contract | None = None, **changes: Any
) -> tuple[Any, ...]:
    logs = (FILLER, message_log(7, sender, message))
    batch = l1.settle(*logs, chain=chain)
    params = {
        "chain_id": CHAIN_ID,
        "batch": batch,
        "index": 1,
        "sender": sender,
        "tx_number": 7,
        "message": message,
        "proof": proof_of(logs, 1),
    }
    assert changes.keys() <= params.keys()
    return tuple((params | changes).values())


def finalize(l1: Deployed, claimed: tuple[Any, ...]) -> None:
    l1.engine.send(OPERATOR, l1.nullifier, "finalizeDeposit", claimed)


def status_proof(l1: Deployed, tx_hash: Hash32, *, succeeded: bool = False) -> tuple[Any, ...]:
    """Settle a batch that says how a deposit ended, and return its hash with the proof."""
    logs = (L2ToL1Log.of_status(0, tx_hash, succeeded=succeeded),)
    return (tx_hash, l1.settle(*logs), 0, 0, proof_of(logs, 0))


@dataclass
class Operator:
    """Settles batches, and records what was committed."""

    l1: Deployed
    chain: Contract
    batches: list[Batch] = field(default_factory=list)

    def commit(self, batch: Batch | None = None, **fields: Any) -> Batch:
        batch = batch or Batch(number=len(self.batches), **fields)
        self.call("commit", batch.number, batch.number, batch.commit_data(self.batches[-1]))
        self.batches.append(batch)
        return batch

    def prove(self, *batches: Batch) -> None:
        data = prove_data(self.batches[batches[0].number - 1], batches)
        self.call("prove", batches[0].number, batches[-1].number, data)

    def execute(self, *batches: Batch) -> None:
        self.call("execute", batches[0].number, batches[-1].number, execute_data(batches))

    def settle(self, **fields: Any) -> Batch:
        batch = self.commit(**fields)
        self.prove(batch)
        self.execute(batch)
        return batch

    def call(
        self, step: str, first: int, last: int, data: bytes, *, sender: Address = OPERATOR
    ) -> None:
        function = f"{step}BatchesSharedBridge"
        arguments = (self.chain.address, first, last, data)
        self.l1.engine.send(sender, self.l1.timelock, function, *arguments)

    def revert(self, last: int) -> None:
        self.l1.engine.send(
            OPERATOR, self.l1.timelock, "revertBatchesSharedBridge", self.chain.address, last
        )
        del self.batches[last + 1 :]

    def totals(self) -> tuple[int, int, int]:
        committed, verified, executed = (
            self.l1.engine.read(self.chain, f"getTotalBatches{step}")
            for step in ("Committed", "Verified", "Executed")
        )
        return committed, verified, executed

    def request(self) -> bytes:
        answer: bytes = self.l1.engine.send(
            ALICE, self.l1.bridgehub, "requestL2TransactionDirect", direct(), value=ETHER
        )
        return answer
