"""What is proven of an L2, and what is paid back on L1 for it, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, Contract, Reverted, reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
)
from tests.support.contracts.merkle_trees import METADATA, message_log, path_of, proof_of, root_of
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


@pytest.mark.parametrize("extra", [b"", ALICE, ALICE + b"a message"], ids=["", "sender", "message"])
def test_ether_is_paid_out(l1: Deployed, extra: bytes) -> None:
    deposit_ether(l1)
    params = claim(l1, ether_message(BOB, 3 * ETHER, extra), L2_BASE_TOKEN)
    before = l1.engine.balance(BOB)
    finalize(l1, params)
    assert l1.engine.balance(BOB) == before + 3 * ETHER
    assert l1.engine.balance(l1.vault.address) == 7 * ETHER
    assert [event.name for event in l1.engine.events(l1.router, l1.vault)] == [
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
def test_a_false_claim_is_not_paid(l1: Deployed, changes: dict[str, Any]) -> None:
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
    with reverted("WrongMessageChainId", CHAIN_ID, OTHER_CHAIN_ID):
        finalize(l1, claim(l1, message, L2_ASSET_ROUTER))


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


# The worked example of the protocol's description.
SENDER = Address((0x800A).to_bytes(20))
MESSAGE = bytes.fromhex(
    "6c0960f936615cf349d7f6344891b1e7ca7c72883f5dc049" + (10**15).to_bytes(32).hex()
)
PRIORITY_TX = Hash32(keccak256(b"priority-tx"))
LOGS = (
    L2ToL1Log.of_status(0, PRIORITY_TX, succeeded=True),
    message_log(1, SENDER, MESSAGE),
    message_log(2, Address((0x1234).to_bytes(20)), b"hello"),
)
BATCH_ROOT = bytes.fromhex("312af259f31040b79a03132288c63155d21e9d94dd3f4181d1c35f08b9e134a1")


def proven(
    l1: Deployed,
    proof: list[bytes],
    *,
    batch: int = 1,
    index: int = 1,
    tx_number: int = 1,
    sender: Address = SENDER,
    message: bytes = MESSAGE,
    chain_id: int = CHAIN_ID,
) -> bool:
    sent = (tx_number, sender, message)
    answer: bool = l1.engine.read(
        l1.bridgehub, "proveL2MessageInclusion", chain_id, batch, index, sent, proof
    )
    return answer


def test_the_worked_example_has_the_root_of_the_protocol() -> None:
    assert root_of(LOGS) == BATCH_ROOT
    assert root_of([]).hex() == "692f35c99f9c698852289ffecf07f6dd45770904521149d79aa85aae598fa375"
    assert METADATA.hex() == "010f0001" + "00" * 28


@pytest.mark.parametrize(("status", "expected"), [(1, True), (0, False)])
def test_the_status_of_a_priority_transaction_is_proven(
    l1: Deployed, status: int, expected: bool
) -> None:
    batch, proof = l1.settled_proof(*LOGS, index=0)
    claimed = (PRIORITY_TX, batch, 0, 0, proof, status)
    proves = "proveL1ToL2TransactionStatus"
    assert l1.engine.read(l1.chain, proves, *claimed) is expected
    assert l1.engine.read(l1.bridgehub, proves, CHAIN_ID, *claimed) is expected


@pytest.mark.parametrize("word", range(1, 16))
@pytest.mark.parametrize("bit", [0, 255])
def test_a_flipped_bit_in_any_word_proves_nothing(l1: Deployed, word: int, bit: int) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    flipped = int.from_bytes(proof[word]) ^ 1 << bit
    proof[word] = flipped.to_bytes(32)
    assert not proven(l1, proof)


def test_a_proof_is_invalid_for_another_batch(l1: Deployed) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    l1.settle(LOGS[1])
    assert not proven(l1, proof, batch=2)


def test_a_proof_is_invalid_for_another_chain(l1: Deployed) -> None:
    other = l1.add_chain()
    _, proof = l1.settled_proof(*LOGS, index=1)
    l1.settle(LOGS[1], chain=other)
    assert not proven(l1, proof, chain_id=OTHER_CHAIN_ID)


Forgery = Callable[[list[bytes]], list[bytes]]


@pytest.mark.parametrize(
    ("forge", "error"),
    [
        (lambda _: [], "ProofIsEmpty"),
        (lambda proof: proof[:1], "ProofTooShort"),
        (lambda proof: proof[:-1], "ProofTooShort"),
        (lambda proof: [*proof, bytes(32)], "ProofTooLong"),
        (lambda proof: [b"\x02" + proof[0][1:], *proof[1:]], "UnsupportedProofMetadataVersion"),
        (lambda proof: [b"\x00" + proof[0][1:], *proof[1:]], "UnsupportedProofMetadataVersion"),
        (lambda proof: [b"\x01\x0f\x01\x01" + bytes(28), *proof[1:]],
         "InvalidProofLengthForFinalNode"),
        (lambda proof: [b"\x01\x0f\x00\x00" + bytes(28), *proof[1:]], "ProofTooShort"),
        (lambda proof: [b"\x01\x0f\x00\x00" + bytes(28), *proof[1:], *[bytes(32)] * 3],
         "LocalRootMustBeZero"),
        (lambda _: [b"\x01\x00\x00\x01" + bytes(28)], "MerkleIndexOutOfBounds"),
        (lambda _: [b"\x01" * 32] * 256, "MerklePathTooLong"),
    ],
    ids=["empty", "metadata only", "truncated", "too long", "version 2", "version 0", "batch path",
         "not final", "not final here", "no path", "huge"],
)  # fmt: skip
def test_a_malformed_proof_is_rejected(l1: Deployed, forge: Forgery, error: str) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    with pytest.raises(Reverted, match=error):
        proven(l1, forge(proof))


def test_an_index_beyond_the_path_is_rejected(l1: Deployed) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    with reverted("MerkleIndexOutOfBounds", 1 + 2**15, 15):
        proven(l1, proof, index=1 + 2**15)


def test_the_default_leaf_is_rejected(l1: Deployed) -> None:
    batch, _ = l1.settled_proof(*LOGS, index=1)
    nothing = (0, False, 0, Address.zero(), bytes(32), bytes(32))
    proof = [METADATA, *path_of(LOGS, 3), bytes(32)]
    with pytest.raises(Reverted, match="HashedLogIsDefault"):
        l1.engine.read(l1.chain, "proveL2LogInclusion", batch, 3, nothing, proof)


def test_a_batch_that_was_not_executed_proves_nothing(l1: Deployed) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    with reverted("BatchNotExecuted", 2):
        proven(l1, proof, batch=2)


def test_the_genesis_batch_proves_nothing(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="LocalRootIsZero"):
        proven(l1, proof_of(LOGS, 1), batch=0)


def test_an_unknown_chain_proves_nothing(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="ChainIdNotRegistered"):
        proven(l1, proof_of(LOGS, 1), chain_id=999)


# --- A chain that settles on another ---

BATCH_LEAF = keccak256(b"zkSync:BatchLeaf")
CHAIN_LEAF = keccak256(b"zkSync:ChainIdLeaf")


def nested_proof(l1: Deployed, layer: Contract) -> list[bytes]:
    """Settle on `layer` a batch that contains batch 5 of the chain, and return the proof of its message."""
    neighbour = keccak256(b"another batch")
    batch_leaf = keccak256(BATCH_LEAF + root_of(LOGS) + (5).to_bytes(32))
    chain_root = keccak256(neighbour + batch_leaf)
    chain_leaf = keccak256(CHAIN_LEAF + chain_root + CHAIN_ID.to_bytes(32))
    other_chain, local_root = keccak256(b"another chain"), keccak256(b"local")
    # The tree of chains is to the right of the layer's own logs.
    root = keccak256(local_root + keccak256(chain_leaf + other_chain))
    number = l1.settle_root(root, layer)
    return [
        bytes([1, 15, 1, 0]) + bytes(28),
        *proof_of(LOGS, 1)[1:],
        (1).to_bytes(32),
        neighbour,
        (number << 128 | 2).to_bytes(32),
        OTHER_CHAIN_ID.to_bytes(32),
        bytes([1, 2, 0, 1]) + bytes(28),
        other_chain,
        local_root,
    ]


def test_a_proof_through_a_settlement_layer_is_valid(l1: Deployed) -> None:
    proof = nested_proof(l1, l1.add_chain())
    l1.engine.send(DEPLOYER, l1.bridgehub, "registerSettlementLayer", OTHER_CHAIN_ID, True)
    assert proven(l1, proof, batch=5)
    assert not proven(l1, proof, batch=5, message=b"other")
    assert not proven(l1, proof, batch=6)


def test_a_chain_that_is_no_settlement_layer_proves_nothing_for_others(l1: Deployed) -> None:
    proof = nested_proof(l1, l1.add_chain())
    with reverted("InvalidSettlementLayer", OTHER_CHAIN_ID):
        proven(l1, proof, batch=5)


def test_a_chain_does_not_settle_on_itself(l1: Deployed) -> None:
    # Its operator could otherwise prove batches that L1 has never seen.
    l1.engine.send(DEPLOYER, l1.bridgehub, "registerSettlementLayer", CHAIN_ID, True)
    proof = nested_proof(l1, l1.chain)
    proof[proof.index(OTHER_CHAIN_ID.to_bytes(32))] = CHAIN_ID.to_bytes(32)
    with reverted("InvalidSettlementLayer", CHAIN_ID):
        proven(l1, proof, batch=5)
