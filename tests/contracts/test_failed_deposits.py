"""Refunds of deposits that failed on L2: proven, and once."""

from __future__ import annotations

from typing import Any

import pytest

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
)
from tests.support.contracts.requests import deposit_token, status_proof

AMOUNT = 7 * ETHER
RECOVER = "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])"


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
    proof = status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=legacy))
    assert owned(l1, token) == 993 * ETHER
    recover(l1, token, proof)
    assert owned(l1, token) == 1000 * ETHER
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 0


def test_a_legacy_deposit_is_claimed_by_token_and_amount(l1: Deployed) -> None:
    token = l1.token()
    claim(l1, token, status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=True)))
    assert owned(l1, token) == 1000 * ETHER


@pytest.mark.parametrize("legacy", [False, True])
def test_a_deposit_is_not_refunded_twice(l1: Deployed, legacy: bool) -> None:
    token = l1.token()
    deposit_token(l1, token, AMOUNT, legacy=legacy)
    proof = status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=legacy))
    recover(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        claim(l1, token, proof)


def test_a_deposit_that_succeeded_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=False), succeeded=True)
    with pytest.raises(Reverted, match="InvalidProof"):
        recover(l1, token, proof)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("false", [{"sender": BOB}, {"amount": AMOUNT + 1}], ids=str)
def test_a_claim_that_differs_from_its_deposit_is_rejected(
    l1: Deployed, legacy: bool, false: dict[str, Any]
) -> None:
    token = l1.token()
    proof = status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=legacy))
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof, **false)


def test_a_failed_transaction_that_was_no_deposit_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, AMOUNT, legacy=False)
    proof = status_proof(l1, Hash32(b"\x11" * 32))
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        recover(l1, token, proof)


def test_a_deposit_whose_failure_is_not_proven_is_not_refunded(l1: Deployed) -> None:
    token = l1.token()
    tx_hash, batch, index, number, path = status_proof(
        l1, deposit_token(l1, token, AMOUNT, legacy=False)
    )
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
