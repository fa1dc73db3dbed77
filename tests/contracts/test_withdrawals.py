"""What is paid back on L1, once: proven withdrawals, and deposits that failed on L2."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, Contract, Reverted, error_of
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
)
from tests.support.contracts.merkle_trees import proof_of
from tests.support.contracts.requests import (
    FILLER,
    claim,
    deposit_ether,
    deposit_token,
    ether_message,
    finalize,
    status_proof,
    token_message,
)


def legacy_message(token: Contract, receiver: Address, amount: int) -> bytes:
    return bytes.fromhex("11a2ccc1") + receiver + token.address + amount.to_bytes(32)


def legacy_ether_message(receiver: Address, amount: int) -> bytes:
    return bytes.fromhex("11a2ccc1") + receiver + ETH_TOKEN + amount.to_bytes(32)


# --- Paid ---


@pytest.mark.parametrize("extra", [b"", ALICE, ALICE + b"a message"], ids=["", "sender", "message"])
def test_ether_is_paid_out(l1: Deployed, extra: bytes) -> None:
    deposit_ether(l1)
    params = claim(l1, ether_message(BOB, 3 * ETHER, extra), L2_BASE_TOKEN)
    before = l1.engine.balance(BOB)
    finalize(l1, params)
    assert l1.engine.balance(BOB) == before + 3 * ETHER
    assert l1.engine.balance(l1.vault.address) == 7 * ETHER
    assert [event.name for event in l1.engine.events(*l1.all)] == [
        "DepositFinalizedAssetRouter",
        "BridgeMint",
    ]


@pytest.mark.parametrize("message", [token_message, legacy_message])
def test_a_token_is_paid_out(l1: Deployed, message: Any) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    finalize(l1, claim(l1, message(token, BOB, 4), L2_ASSET_ROUTER))
    assert l1.engine.read(token, "balanceOf", BOB) == 4
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 5


def test_all_bridges_return_whether_a_withdrawal_was_finalized(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    params = claim(l1, token_message(token, BOB, 4), L2_ASSET_ROUTER)
    _, batch, index, *_ = params

    def answers() -> list[bool]:
        return [
            l1.engine.read(l1.nullifier, "isWithdrawalFinalized", CHAIN_ID, batch, index),
            l1.engine.read(l1.router, "isWithdrawalFinalized", CHAIN_ID, batch, index),
            l1.engine.read(l1.legacy_bridge, "isWithdrawalFinalized", batch, index),
        ]

    assert answers() == [False] * 3
    finalize(l1, params)
    assert answers() == [True] * 3


def test_older_clients_withdraw_through_the_shared_bridge(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    for message, sender in (
        (ether_message(BOB, 1), L2_BASE_TOKEN),
        (token_message(token, BOB, 1), L2_ASSET_ROUTER),
        (legacy_message(token, BOB, 1), L2_ASSET_ROUTER),
    ):
        chain, batch, index, _, number, _, proof = claim(l1, message, sender)
        arguments = (chain, batch, index, number, message, proof)
        l1.engine.send(OPERATOR, l1.router, "finalizeWithdrawal", *arguments)
        with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
            l1.engine.send(OPERATOR, l1.router, "finalizeWithdrawal", *arguments)
    assert l1.engine.read(token, "balanceOf", BOB) == 2


# --- Rejected ---


def test_a_withdrawal_is_not_paid_twice(l1: Deployed) -> None:
    deposit_ether(l1)
    params = claim(l1, ether_message(BOB, ETHER), L2_BASE_TOKEN)
    finalize(l1, params)
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        finalize(l1, params)


def test_a_withdrawal_is_not_paid_again_by_a_bare_path(l1: Deployed) -> None:
    deposit_ether(l1)
    *claimed, proof = claim(l1, ether_message(BOB, ETHER), L2_BASE_TOKEN)
    finalize(l1, (*claimed, proof[1:]))
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        finalize(l1, (*claimed, proof))


@pytest.mark.parametrize(
    "changes",
    [
        {"index": 0},
        {"tx_number": 8},
        {"message": ether_message(BOB, 2 * ETHER)},
        {"message": ether_message(ALICE, ETHER)},
        {"proof": proof_of([FILLER], 0)},
    ],
    ids=["index", "transaction", "amount", "receiver", "proof"],
)
def test_a_false_claim_is_not_paid(l1: Deployed, changes: dict[str, object]) -> None:
    deposit_ether(l1)
    params = claim(l1, ether_message(BOB, ETHER), L2_BASE_TOKEN, **changes)
    with pytest.raises(Reverted, match="InvalidProof"):
        finalize(l1, params)


@pytest.mark.parametrize(
    ("message", "sender", "error"),
    [
        (ether_message(BOB, ETHER), ALICE, "WrongL2Sender"),
        # A claim may name the router, but the base token has to be the sender.
        (ether_message(BOB, ETHER), L2_ASSET_ROUTER, "InvalidProof"),
        (legacy_ether_message(BOB, ETHER), ALICE, "WrongL2Sender"),
        (legacy_ether_message(BOB, ETHER), L2_BASE_TOKEN, "WrongL2Sender"),
    ],
    ids=["stranger", "router as base token", "stranger's token", "base token as router"],
)
def test_a_message_of_another_sender_is_not_paid(
    l1: Deployed, message: bytes, sender: Address, error: str
) -> None:
    deposit_ether(l1)
    with pytest.raises(Reverted, match=error):
        finalize(l1, claim(l1, message, sender))


def test_clients_may_name_the_router_for_any_withdrawal(l1: Deployed) -> None:
    deposit_ether(l1)
    named = claim(l1, ether_message(BOB, 3 * ETHER), L2_BASE_TOKEN, sender=L2_ASSET_ROUTER)
    before = l1.engine.balance(BOB)
    finalize(l1, named)
    assert l1.engine.balance(BOB) == before + 3 * ETHER
    honest = (*named[:3], L2_BASE_TOKEN, *named[4:])
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        finalize(l1, honest)


def test_a_message_for_another_chain_is_not_paid(l1: Deployed) -> None:
    token = l1.token()
    deposit_token(l1, token, 9)
    message = token_message(token, BOB, 4, chain_id=OTHER_CHAIN_ID)
    with pytest.raises(Reverted) as rejection:
        finalize(l1, claim(l1, message, L2_ASSET_ROUTER))
    assert rejection.value.args == ("WrongMessageChainId", CHAIN_ID, OTHER_CHAIN_ID)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"", "L2WithdrawalMessageWrongLength"),
        (b"\x6c\x09\x60", "L2WithdrawalMessageWrongLength"),
        (ether_message(BOB, 1)[:-1], "L2WithdrawalMessageWrongLength"),
        (ether_message(BOB, 1, b"\0"), "L2WithdrawalMessageWrongLength"),
        (ether_message(BOB, 1, bytes(19)), "L2WithdrawalMessageWrongLength"),
        (bytes.fromhex("9c884fd1") + bytes(63), "L2WithdrawalMessageWrongLength"),
        (bytes.fromhex("11a2ccc1") + bytes(71), "L2WithdrawalMessageWrongLength"),
        (bytes.fromhex("11a2ccc1") + bytes(73), "L2WithdrawalMessageWrongLength"),
        (b"\xde\xad\xbe\xef" + bytes(52), "InvalidSelector"),
    ],
)
def test_a_message_that_is_no_withdrawal_is_rejected(
    l1: Deployed, message: bytes, error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        finalize(l1, claim(l1, message, L2_ASSET_ROUTER))


def test_an_asset_that_is_not_registered_is_not_paid(l1: Deployed) -> None:
    message = token_message(l1.token(), BOB, 4)
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        finalize(l1, claim(l1, message, L2_ASSET_ROUTER))


def test_a_chain_cannot_withdraw_the_deposits_of_another(l1: Deployed) -> None:
    l1.add_chain()
    deposit_ether(l1, chain_id=OTHER_CHAIN_ID)
    deposit_ether(l1, ETHER)
    with pytest.raises(Reverted, match="InsufficientChainBalance"):
        finalize(l1, claim(l1, ether_message(BOB, ETHER + 1), L2_BASE_TOKEN))


def test_a_reentrant_receiver_is_not_paid_twice(l1: Deployed) -> None:
    deposit_ether(l1)
    actor = l1.engine.deploy("Actor", sender=ALICE)
    params = claim(l1, ether_message(actor.address, ETHER), L2_BASE_TOKEN)
    again = l1.nullifier.encode("finalizeDeposit", params)
    l1.engine.send(ALICE, actor, "arm", l1.nullifier.address, again)
    finalize(l1, params)
    assert l1.engine.balance(actor.address) == ETHER
    assert l1.engine.read(actor, "succeeded") is False
    assert error_of(l1.engine.read(actor, "returnData")).error == "Reentrancy"


def test_a_reentrant_token_is_not_paid_twice(l1: Deployed) -> None:
    token = l1.token("ReentrantToken")
    deposit_token(l1, token, 9)
    params = claim(l1, token_message(token, BOB, 4), L2_ASSET_ROUTER)
    again = l1.nullifier.encode("finalizeDeposit", params)
    l1.engine.send(ALICE, token, "arm", l1.nullifier.address, again)
    finalize(l1, params)
    assert error_of(l1.engine.read(token, "returnData")).error == "Reentrancy"
    assert l1.engine.read(token, "balanceOf", BOB) == 4


def test_a_receiver_that_rejects_ether_leaves_the_withdrawal_open(l1: Deployed) -> None:
    deposit_ether(l1)
    params = claim(l1, ether_message(l1.router.address, ETHER), L2_BASE_TOKEN)
    with pytest.raises(Reverted, match="WithdrawFailed"):
        finalize(l1, params)
    paid = l1.engine.read(l1.nullifier, "isWithdrawalFinalized", CHAIN_ID, params[1], params[2])
    assert paid is False


# --- Deposits that failed ---


AMOUNT = 7 * ETHER
RECOVER = "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])"


def recover(l1: Deployed, token: Contract, proof: tuple[Any, ...], *, sender: Address = ALICE,
            amount: int = AMOUNT, by: Contract | None = None) -> None:  # fmt: skip
    l1.engine.send(
        OPERATOR, by or l1.router, RECOVER, CHAIN_ID, sender,
        asset_id(token.address), burn_data(amount, BOB, token.address), *proof,
    )  # fmt: skip


def claim_by_token(
    l1: Deployed, token: Contract, proof: tuple[Any, ...], amount: int = AMOUNT
) -> None:
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
    claim_by_token(l1, token, status_proof(l1, deposit_token(l1, token, AMOUNT, legacy=True)))
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
        claim_by_token(l1, token, proof)


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
        claim_by_token(l1, token, (bytes(32), 1, 0, 0, []))
