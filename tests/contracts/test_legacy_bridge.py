"""Deposits of tokens through the legacy bridge, and their refunds."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.create2 import alias
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Contract, Reverted, error_of
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OPERATOR,
    Deployed,
    asset_id,
    two_bridges,
)
from tests.support.contracts.requests import payload, status_proof

AMOUNT = 7 * ETHER
SHORT = "deposit(address,address,uint256,uint256,uint256)"
LONG = "deposit(address,address,uint256,uint256,uint256,address)"
GAS = (1_000_000, 800)


def approved(l1: Deployed, name: str = "TestERC20", amount: int = AMOUNT) -> Contract:
    token = l1.token(name)
    l1.engine.send(ALICE, token, "approve", l1.legacy_bridge.address, amount)
    return token


def deposit(
    l1: Deployed, token: Contract, amount: int = AMOUNT, *refund: Address, value: int = ETHER
) -> Hash32:
    function = LONG if refund else SHORT
    asked = (BOB, token.address, amount, *GAS, *refund)
    return Hash32(l1.engine.send(ALICE, l1.legacy_bridge, function, *asked, value=value))


def held(l1: Deployed, token: Contract) -> tuple[int, int, int]:
    """Return what depositor, bridge and vault have."""
    holders = (ALICE, l1.legacy_bridge.address, l1.vault.address)
    alice, bridge, vault = (l1.engine.read(token, "balanceOf", holder) for holder in holders)
    return alice, bridge, vault


def test_a_token_is_deposited_as_by_the_bridgehub(l1: Deployed) -> None:
    token = approved(l1)
    tx_hash = deposit(l1, token)
    sent = payload(l1)
    assert sent.hash() == tx_hash
    assert (sent.sender, sent.to) == (alias(l1.router.address), L2_ASSET_ROUTER)
    assert (sent.to_mint, sent.refund_recipient) == (ETHER, ALICE)
    assert held(l1, token) == (993 * ETHER, 0, AMOUNT)
    asset = asset_id(token.address)
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset) == AMOUNT
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(ETH_TOKEN)) == ETHER
    allowance = l1.engine.read(token, "allowance", l1.legacy_bridge.address, l1.router.address)
    assert allowance == 0


def test_l2_sees_the_depositor_and_not_the_bridge(l1: Deployed) -> None:
    token = approved(l1)
    deposit(l1, token)
    chain_id, asset, data = abi.decode(["uint256", "bytes32", "bytes"], payload(l1).data[4:])
    assert (chain_id, asset) == (L1_CHAIN_ID, asset_id(token.address))
    caller, receiver, origin, amount, metadata = abi.decode(
        ["address", "address", "address", "uint256", "bytes"], data
    )
    assert (caller, receiver) == (str(ALICE), str(BOB))
    assert (origin, amount) == (str(token.address), AMOUNT)
    assert metadata == l1.engine.read(l1.vault, "getERC20Getters", token.address, L1_CHAIN_ID)


def test_a_deposit_is_recorded_and_emitted(l1: Deployed) -> None:
    token = approved(l1)
    tx_hash = deposit(l1, token)
    recorded = (ALICE, token.address, tx_hash)
    assert l1.engine.read(l1.legacy_bridge, "depositAmount", *recorded) == AMOUNT
    (event,) = l1.engine.events(l1.legacy_bridge)
    assert event.name == "DepositInitiated"
    assert event.fields == {
        "l2DepositTxHash": tx_hash,
        "from": str(ALICE),
        "to": str(BOB),
        "l1Token": str(token.address),
        "amount": AMOUNT,
    }
    named = abi.encode(["address", "address", "uint256"], [ALICE, token.address, AMOUNT])
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) == keccak256(named)


def test_the_recipient_of_the_refund_can_be_chosen(l1: Deployed) -> None:
    token = approved(l1)
    deposit(l1, token, 1, BOB)
    assert payload(l1).refund_recipient == BOB
    deposit(l1, token, 1, l1.vault.address)
    assert payload(l1).refund_recipient == alias(l1.vault.address)


def test_the_alias_of_a_contract_gets_the_refund(l1: Deployed) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    token = l1.token(holder=actor.address)
    approval = token.encode("approve", l1.legacy_bridge.address, AMOUNT)
    l1.engine.send(ALICE, actor, "act", token.address, approval)
    data = l1.legacy_bridge.encode(SHORT, BOB, token.address, AMOUNT, *GAS)
    l1.engine.send(ALICE, actor, "act", l1.legacy_bridge.address, data, value=ETHER)
    assert payload(l1).refund_recipient == alias(actor.address)


# --- Rejected ---


def test_nobody_deposits_the_tokens_of_another(l1: Deployed) -> None:
    token = approved(l1)
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        l1.engine.send(BOB, l1.legacy_bridge, SHORT, BOB, token.address, 1, *GAS, value=ETHER)


def test_a_token_with_a_transfer_fee_is_rejected(l1: Deployed) -> None:
    token = l1.token("FeeToken")
    l1.engine.send(ALICE, token, "approve", l1.legacy_bridge.address, AMOUNT)
    with pytest.raises(Reverted, match="TokensWithFeesNotSupported"):
        deposit(l1, token)


def test_a_token_that_deposits_again_during_a_deposit_is_rejected(l1: Deployed) -> None:
    token = l1.token("ReentrantToken")
    l1.engine.send(ALICE, token, "approve", l1.legacy_bridge.address, 2**256 - 1)
    again = l1.legacy_bridge.encode(SHORT, BOB, token.address, 1, *GAS)
    l1.engine.send(ALICE, token, "arm", l1.legacy_bridge.address, again)
    deposit(l1, token)
    assert l1.engine.read(token, "succeeded") is False
    assert error_of(l1.engine.read(token, "returnData")).error == "Reentrancy"
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == AMOUNT


def test_others_do_not_name_a_depositor(l1: Deployed) -> None:
    """The fourth word of the legacy encoding counts for the legacy bridge only."""
    token = l1.token(holder=BOB)
    l1.engine.send(BOB, token, "approve", l1.router.address, AMOUNT)
    words = [token.address, AMOUNT, BOB, ALICE]
    data = abi.encode(["address", "uint256", "address", "address"], words)
    asked = two_bridges(l1.router.address, data)
    tx_hash = l1.engine.send(
        BOB, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER
    )
    named = abi.encode(["address", "address", "uint256"], [BOB, token.address, AMOUNT])
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) == keccak256(named)


# --- Refunds ---


def claim(l1: Deployed, token: Contract, proof: tuple[Any, ...], sender: Address = ALICE) -> None:
    l1.engine.send(OPERATOR, l1.legacy_bridge, "claimFailedDeposit", sender, token.address, *proof)


def claim_by_router(l1: Deployed, token: Contract, proof: tuple[Any, ...]) -> None:
    asked = (CHAIN_ID, ALICE, token.address, AMOUNT, *proof)
    l1.engine.send(OPERATOR, l1.router, "claimFailedDeposit", *asked)


@pytest.mark.parametrize("claimed", [claim, claim_by_router])
def test_a_failed_deposit_is_refunded_once_to_the_depositor(l1: Deployed, claimed: Any) -> None:
    token = approved(l1, amount=2 * AMOUNT)
    deposit(l1, token)
    proof = status_proof(l1, deposit(l1, token))
    claimed(l1, token, proof)
    assert held(l1, token) == (993 * ETHER, 0, AMOUNT)
    with pytest.raises(Reverted, match=r"EmptyDeposit|DepositDoesNotExist"):
        claim(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        claim_by_router(l1, token, proof)


def test_another_persons_or_tokens_deposit_is_not_refunded(l1: Deployed) -> None:
    token, other = approved(l1), approved(l1)
    deposit(l1, other)
    proof = status_proof(l1, deposit(l1, token))
    with pytest.raises(Reverted, match="EmptyDeposit"):
        claim(l1, token, proof, sender=BOB)
    with pytest.raises(Reverted, match="EmptyDeposit"):
        claim(l1, other, proof)


def test_a_token_that_claims_again_while_being_refunded_is_not_paid_twice(l1: Deployed) -> None:
    token = l1.token("ReentrantToken")
    l1.engine.send(ALICE, token, "approve", l1.legacy_bridge.address, 2 * AMOUNT)
    deposit(l1, token)
    proof = status_proof(l1, deposit(l1, token))
    again = l1.legacy_bridge.encode("claimFailedDeposit", ALICE, token.address, *proof)
    l1.engine.send(ALICE, token, "arm", l1.legacy_bridge.address, again)
    claim(l1, token, proof)
    assert error_of(l1.engine.read(token, "returnData")).error == "Reentrancy"
    assert held(l1, token) == (993 * ETHER, 0, AMOUNT)
