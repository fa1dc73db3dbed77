"""Proofs of messages and logs, as the chain's contract checks them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import Contract, Reverted
from tests.support.contracts.l1_contracts import CHAIN_ID, DEPLOYER, OTHER_CHAIN_ID, Deployed
from tests.support.contracts.merkle_trees import METADATA, path_of, proof_of, root_of
from tests.support.rollup.messages import message_log

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


def test_a_message_is_proven(l1: Deployed) -> None:
    batch, proof = l1.settled_proof(*LOGS, index=1)
    assert (batch, len(proof)) == (1, 16)
    assert l1.engine.read(l1.chain, "l2LogsRootHash", 1) == BATCH_ROOT
    assert proven(l1, proof)
    sent = (1, SENDER, MESSAGE)
    assert l1.engine.read(l1.chain, "proveL2MessageInclusion", 1, 1, sent, proof)


def test_a_bare_path_proves_a_message_as_well(l1: Deployed) -> None:
    l1.settle(*LOGS)
    assert proven(l1, proof_of(LOGS, 1)[1:])


# --- Rejected ---


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
    with pytest.raises(Reverted) as rejection:
        proven(l1, proof, index=1 + 2**15)
    assert rejection.value.args == ("MerkleIndexOutOfBounds", 1 + 2**15, 15)


def test_the_default_leaf_is_rejected(l1: Deployed) -> None:
    batch, _ = l1.settled_proof(*LOGS, index=1)
    nothing = (0, False, 0, Address.zero(), bytes(32), bytes(32))
    proof = [METADATA, *path_of(LOGS, 3), bytes(32)]
    with pytest.raises(Reverted, match="HashedLogIsDefault"):
        l1.engine.read(l1.chain, "proveL2LogInclusion", batch, 3, nothing, proof)


def test_a_batch_that_was_not_executed_proves_nothing(l1: Deployed) -> None:
    _, proof = l1.settled_proof(*LOGS, index=1)
    with pytest.raises(Reverted) as rejection:
        proven(l1, proof, batch=2)
    assert rejection.value.args == ("BatchNotExecuted", 2)


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
    with pytest.raises(Reverted) as rejection:
        proven(l1, proof, batch=5)
    assert rejection.value.args == ("InvalidSettlementLayer", OTHER_CHAIN_ID)


def test_a_chain_does_not_settle_on_itself(l1: Deployed) -> None:
    # Its operator could otherwise prove batches that L1 has never seen.
    l1.engine.send(DEPLOYER, l1.bridgehub, "registerSettlementLayer", CHAIN_ID, True)
    proof = nested_proof(l1, l1.chain)
    proof[proof.index(OTHER_CHAIN_ID.to_bytes(32))] = CHAIN_ID.to_bytes(32)
    with pytest.raises(Reverted) as rejection:
        proven(l1, proof, batch=5)
    assert rejection.value.args == ("InvalidSettlementLayer", CHAIN_ID)
