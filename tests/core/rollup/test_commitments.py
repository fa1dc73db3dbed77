"""Batch commitments and call data, compared with the layouts of the protocol."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from eth_abi.abi import decode
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.primitives.batches import DataScheme
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.values import Address, Hash32
from entresol.rollup.commitments import (
    CommitBatchInfo,
    StoredBatchInfo,
    calldata_commitment,
    calldata_input,
    commit_data,
    encode_call,
    execute_data,
    fake_proof,
    proof_data,
    public_input,
)
from entresol.rollup.priority_tree import EMPTY_LEAF, PriorityOpsBatchInfo

DATA = b"published"


def test_the_commitment_to_calldata_is_the_hash_of_the_header_before_it() -> None:
    header = bytes(32) + keccak256(DATA) + b"\x01" + bytes(32)
    assert calldata_commitment(DATA) == keccak256(header)


def test_the_input_is_the_header_and_then_the_data_between_where_it_is_and_no_blob() -> None:
    found = calldata_input(DATA)
    assert keccak256(found[:97]) == calldata_commitment(DATA)
    assert found[97:] == b"\0" + DATA + bytes(32)


STORED = "(uint64,bytes32,uint64,uint256,bytes32,bytes32,bytes32,uint256,bytes32)"
COMMITTED = (
    "(uint64,bytes32,uint256,bytes32,bytes32,bytes32,uint8,bytes32,"
    "uint64,uint64,uint64,uint64,uint256,bytes)"
)
ZERO = bytes(32)
GENESIS = StoredBatchInfo.genesis(Hash32(b"\x90" * 32))


def statement(number: int = 1, **changes: Any) -> CommitBatchInfo:
    plain = CommitBatchInfo(
        chain_id=270,
        number=number,
        first_block=number * 10,
        last_block=number * 10 + 4,
        first_timestamp=1_000 * number,
        last_timestamp=1_000 * number + 8,
        state_root=Hash32(keccak256(b"state" + bytes([number]))),
        message_root=Hash32(b"\xaa" * 32),
        l1_transactions=2,
        priority_hash=Hash32(b"\xbb" * 32),
    )
    return msgspec.structs.replace(plain, **changes)


def stored_words(batch: StoredBatchInfo) -> tuple[Any, ...]:
    return (
        batch.number,
        batch.state_root,
        0,
        batch.l1_transactions,
        batch.priority_hash,
        batch.dependency_hash,
        batch.message_root,
        0,
        batch.commitment,
    )


def test_the_commitment_is_the_keccak_of_the_packed_fields() -> None:
    batch = statement()
    packed = (
        (270).to_bytes(32)
        + (1_000).to_bytes(8)
        + (1_008).to_bytes(8)
        + (1).to_bytes(32)
        + ZERO
        + (2).to_bytes(32)
        + b"\xbb" * 32
        + b"\xaa" * 32
        + ZERO
        + ZERO
    )
    assert len(packed) == 32 * 8 + 16
    assert batch.commitment() == keccak256(packed)


def test_batch_0_is_that_of_the_chain_registration() -> None:
    assert stored_words(GENESIS) == (
        0,
        b"\x90" * 32,
        0,
        0,
        EMPTY_LEAF,
        ZERO,
        ZERO,
        0,
        b"\0" * 31 + b"\1",
    )


def test_batch_0_of_a_chain_that_publishes_commits_to_its_genesis() -> None:
    data_hash = Hash32(b"\x0d" * 32)
    published = StoredBatchInfo.genesis(GENESIS.state_root, data_hash)
    assert published == msgspec.structs.replace(GENESIS, commitment=data_hash)


def test_a_batch_is_stored_by_what_commits_to_its_data_and_not_by_the_data() -> None:
    changes: dict[str, Any] = {
        "data_scheme": DataScheme.CALLDATA,
        "data_commitment": Hash32(b"\xdd" * 32),
    }
    with_input = statement(**changes, data_input=b"input")
    assert with_input.stored() == statement(**changes).stored()
    assert with_input.words()[6:8] == (3, b"\xdd" * 32)
    assert with_input.words()[-1] == b"input"


def test_the_stored_batch_hash_is_the_keccak_of_nine_words() -> None:
    batch = statement(dependency_hash=Hash32(b"\xcc" * 32)).stored()
    words = b"".join(
        word.to_bytes(32) if isinstance(word, int) else word for word in stored_words(batch)
    )
    assert len(words) == 9 * 32
    assert batch.hash() == keccak256(words)


def test_commit_data_is_version_3_the_previous_batch_and_one_batch() -> None:
    payload = commit_data(GENESIS, statement(dependency_hash=Hash32(b"\xcc" * 32)))
    assert payload[0] == 3
    previous, batches = decode([STORED, f"{COMMITTED}[]"], payload[1:])
    assert previous == stored_words(GENESIS)
    assert batches == (
        (
            1,
            statement().state_root,
            2,
            b"\xbb" * 32,
            b"\xcc" * 32,
            b"\xaa" * 32,
            1,
            ZERO,
            1_000,
            10,
            1_008,
            14,
            270,
            ZERO,
        ),
    )


def test_proof_data_is_version_1_the_batches_and_a_fake_proof_of_their_public_input() -> None:
    batches = [statement(number).stored() for number in (1, 2)]
    payload = proof_data(GENESIS, batches)
    assert payload[0] == 1
    previous, proven, proof = decode([STORED, f"{STORED}[]", "uint256[]"], payload[1:])
    assert previous == stored_words(GENESIS)
    assert proven == tuple(map(stored_words, batches))
    assert list(proof) == fake_proof(GENESIS, batches)


def test_public_inputs_are_shifted_and_those_of_several_batches_folded() -> None:
    first, second = (statement(number).stored() for number in (1, 2))
    one = int.from_bytes(keccak256(GENESIS.state_root + first.state_root + first.commitment)) >> 32
    other = public_input(first, second)
    both = int.from_bytes(keccak256(one.to_bytes(32) + other.to_bytes(32))) >> 32
    assert public_input(GENESIS, first) == one
    assert fake_proof(GENESIS, [first]) == [3, 0, 13, one]
    assert fake_proof(GENESIS, [first, second]) == [3, 0, 13, both]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_execute_data_is_version_2_and_the_priority_transactions_and_roots_of_each_batch(
    counts: list[int],
) -> None:
    batches = [statement(number + 1).stored() for number in range(len(counts))]
    operations = [
        PriorityOpsBatchInfo(
            tuple(Hash32(bytes([1]) * 32) for _ in range(count)),
            tuple(Hash32(bytes([2]) * 32) for _ in range(count)),
            tuple(Hash32(bytes([3]) * 32) for _ in range(count)),
        )
        for count in counts
    ]
    imported = [
        [InteropRoot.of(9, 5 + number, 7, Hash32(b"\4" * 32)) for number in range(count)]
        for count in reversed(counts)
    ]
    payload = execute_data(batches, operations, imported)
    assert payload[0] == 2
    kinds = [
        *(f"{STORED}[]", "(bytes32[],bytes32[],bytes32[])[]"),
        "(uint256,uint256,uint256,bytes32[])[][]",
    ]
    executed, proofs, roots = decode(kinds, payload[1:])
    assert executed == tuple(map(stored_words, batches))
    assert proofs == tuple(
        (operation.left_path, operation.right_path, operation.hashes) for operation in operations
    )
    assert roots == tuple(map(tuple, imported))


@pytest.mark.parametrize(
    ("step", "selector"), [("commit", "0db9eb87"), ("prove", "9271e450"), ("execute", "a085344d")]
)
def test_each_step_has_the_selector_of_the_protocol(step: str, selector: str) -> None:
    call = encode_call(step, Address(b"\x11" * 20), 3, 5, b"payload")
    assert call[:4].hex() == selector
    arguments = decode(["address", "uint256", "uint256", "bytes"], call[4:])
    assert arguments == ("0x" + "11" * 20, 3, 5, b"payload")
