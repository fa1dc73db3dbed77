"""Refunds of deposits that failed on L2: proven, and once."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import abi

from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, Contract, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    OPERATOR,
    Deployed,
    asset_id,
    burn_data,
    two_bridges,
)
from tests.support.contracts.merkle_trees import proof_of

AMOUNT = 7 * ETHER
RECOVER = "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])"


def deposit(l1: Deployed, token: Contract, *, legacy: bool) -> Hash32:
    l1.engine.send(ALICE, token, "approve", l1.router.address, AMOUNT)
    if legacy:
        data = abi.encode(["address", "uint256", "address"], [token.address, AMOUNT, BOB])
    else:
        inner = burn_data(AMOUNT, BOB, token.address)
        data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token.address), inner])
    asked = two_bridges(l1.router.address, data)
    answer = l1.engine.send(
        ALICE, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER
    )
    return Hash32(answer)


def status_proof(l1: Deployed, tx_hash: Hash32, *, succeeded: bool = False) -> tuple[Any, ...]:
    logs = (L2ToL1Log.of_status(0, tx_hash, succeeded=succeeded),)
    return (tx_hash, l1.settle(*logs), 0, 0, proof_of(logs, 0))


def recover(l1: Deployed, token: Contract, proof: tuple[Any, ...], *, sender: Address = ALICE,
            amount: int = AMOUNT, by: Contract | None = None) -> None:  # fmt: skip
    l1.engine.send(
        OPERATOR, by or l1.router, RECOVER, CHAIN_ID, sender,
        asset_id(token.address), burn_data(amount, BOB, token.address), *proof,
    )  # fmt: skip


def claim(l1: Deployed, token: Contract, proof: tuple[Any, ...], amount: int = AMOUNT) -> None:
    l1.engine.send(
        OPERATOR, l1.router, "claimFailedDeposit", CHAIN_ID, ALICE, token.address, amount, *proof
    )


def owned(l1: Deployed, token: Contract) -> int:
    balance: int = l1.engine.read(token, "balanceOf", ALICE)
    return balance


@pytest.mark.parametrize("legacy", [False, True])
def test_a_failed_deposit_is_refunded(l1: Deployed, legacy: bool) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit(l1, token, legacy=legacy))
    assert owned(l1, token) == 993 * ETHER
    recover(l1, token, proof)
    assert owned(l1, token) == 1000 * ETHER
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 0


def test_the_nullifier_accepts_the_claim_as_well(l1: Deployed) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit(l1, token, legacy=False))
    recover(l1, token, proof, by=l1.nullifier)
    assert owned(l1, token) == 1000 * ETHER


def test_a_legacy_deposit_is_claimed_by_token_and_amount(l1: Deployed) -> None:
    token = l1.token()
    claim(l1, token, status_proof(l1, deposit(l1, token, legacy=True)))
    assert owned(l1, token) == 1000 * ETHER


@pytest.mark.parametrize("legacy", [False, True])
def test_a_deposit_is_not_refunded_twice(l1: Deployed, legacy: bool) -> None:
    token = l1.token()
    deposit(l1, token, legacy=legacy)
    proof = status_proof(l1, deposit(l1, token, legacy=legacy))
    recover(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        claim(l1, token, proof)


def test_a_deposit_that_succeeded_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit(l1, token, legacy=False), succeeded=True)
    with pytest.raises(Reverted, match="InvalidProof"):
        recover(l1, token, proof)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("false", [{"sender": BOB}, {"amount": AMOUNT + 1}], ids=str)
def test_a_claim_that_differs_from_its_deposit_is_rejected(
    l1: Deployed, legacy: bool, false: dict[str, Any]
) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit(l1, token, legacy=legacy))
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof, **false)


def test_another_token_is_not_refunded(l1: Deployed) -> None:
    token, other = l1.token(), l1.token()
    deposit(l1, other, legacy=False)
    proof = status_proof(l1, deposit(l1, token, legacy=False))
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, other, proof)


def test_a_failed_transaction_that_was_no_deposit_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    deposit(l1, token, legacy=False)
    proof = status_proof(l1, Hash32(b"\x11" * 32))
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof)


def test_a_deposit_whose_failure_is_not_proven_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    tx_hash, batch, index, number, path = status_proof(l1, deposit(l1, token, legacy=False))
    forged = [*path[:-1], b"\1" * 32]
    with pytest.raises(Reverted, match="InvalidProof"):
        recover(l1, token, (tx_hash, batch, index, number, forged))
    with pytest.raises(Reverted, match="ProofTooShort"):
        recover(l1, token, (tx_hash, batch, index, number, path[:-1]))
    with pytest.raises(Reverted, match="InvalidProof"):
        recover(l1, token, (tx_hash, batch, index, number + 1, path))


def test_an_unknown_token_cannot_be_claimed(l1: Deployed) -> None:
    token = l1.token()
    with pytest.raises(Reverted, match="TokenNotRegistered"):
        claim(l1, token, (bytes(32), 1, 0, 0, []))
