"""Commit, proof and execution of batches, and every check that the proof does not cover."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import abi

from entresol._native import keccak256
from tests.support.contracts.batch_operator import Operator
from tests.support.contracts.batches import (
    INTEROP_ROOTS,
    PRIORITY_OPS,
    STORED,
    Batch,
    commit_data,
    execute_data,
    fold,
    prove_data,
    stored,
)
from tests.support.contracts.engine import NOW, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    DAY,
    DEPLOYER,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
)
from tests.support.contracts.merkle_trees import EMPTY


@pytest.fixture
def operator(l1: Deployed) -> Operator:
    return Operator(l1, l1.chain, [l1.genesis])


def rejected(error: str) -> Any:
    return pytest.raises(Reverted, match=rf"^{error}\(")


# --- The way of a batch ---


def test_a_batch_is_committed(operator: Operator) -> None:
    batch = operator.commit(first_block=1, last_block=9)
    assert operator.totals() == (1, 0, 0)
    chain, engine = operator.chain, operator.l1.engine
    assert engine.read(chain, "storedBatchHash", 1) == keccak256(stored(batch.stored()))
    published, reported, committed = engine.events(chain)
    assert published.name == "BatchData"
    assert reported.name == "ReportCommittedBatchRangeZKsyncOS"
    assert list(reported.fields.values()) == [1, 1, 9]
    assert committed.name == "BlockCommit"
    assert list(committed.fields.values()) == [1, batch.state_hash, batch.commitment()]


def test_a_batch_is_proven(operator: Operator) -> None:
    operator.prove(operator.commit())
    assert operator.totals() == (1, 1, 0)
    (event,) = operator.l1.engine.events(operator.chain)
    assert (event.name, *event.fields.values()) == ("BlocksVerification", 0, 1)


def test_a_batch_is_executed(operator: Operator) -> None:
    batch = operator.settle()
    assert operator.totals() == (1, 1, 1)
    (event,) = operator.l1.engine.events(operator.chain)
    assert event.name == "BlockExecution"
    assert list(event.fields.values()) == [1, batch.state_hash, batch.commitment()]
    assert operator.l1.engine.read(operator.chain, "l2LogsRootHash", 1) == batch.logs_root


def test_several_batches_are_proven_and_executed_at_once(operator: Operator) -> None:
    batches = [operator.commit() for _ in range(3)]
    operator.prove(*batches)
    operator.execute(*batches)
    assert operator.totals() == (3, 3, 3)


def test_batches_that_were_not_executed_are_reverted(operator: Operator) -> None:
    operator.settle()
    operator.prove(operator.commit())
    operator.commit()
    operator.revert(1)
    assert operator.totals() == (1, 1, 1)
    (event,) = operator.l1.engine.events(operator.chain)
    assert (event.name, *event.fields.values()) == ("BlocksRevert", 1, 1, 1)
    assert operator.l1.engine.read(operator.chain, "storedBatchHash", 2) == bytes(32)
    operator.settle(state=b"\x22" * 32)
    assert operator.totals() == (2, 2, 2)


# --- Commits that are rejected ---


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"chain_id": OTHER_CHAIN_ID}, "IncorrectBatchChainId"),
        ({"first_block": 3, "last_block": 2}, "InvalidBlockRange"),
        ({"first_timestamp": NOW, "last_timestamp": NOW - 1}, "InvalidTimestampRange"),
        ({"first_timestamp": NOW - 3 * DAY - 1}, "TimestampTooOld"),
        ({"last_timestamp": NOW + 3601}, "L2TimestampTooBig"),
        ({"logs_root": bytes(32)}, "EmptyLogsTreeRoot"),
        ({"da_scheme": 1}, "MismatchDACommitmentScheme"),
        ({"da_scheme": 4}, "MismatchDACommitmentScheme"),
        ({"pubdata": bytes(4096 * 31 + 1)}, "InvalidDAInputLength"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_wrong_batch_is_not_committed(
    operator: Operator, fields: dict[str, Any], error: str
) -> None:
    with rejected(error):
        operator.commit(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"first_timestamp": NOW - 3 * DAY},
        {"last_timestamp": NOW + 3600},
        {"first_block": 2, "last_block": 2},
        {"first_timestamp": NOW, "last_timestamp": NOW},
        {"pubdata": b""},
        {"pubdata": bytes(4096 * 31)},
    ],
    ids="-".join,
)
def test_a_batch_at_the_limit_is_committed(operator: Operator, fields: dict[str, Any]) -> None:
    operator.commit(**fields)


DA_INPUT = 13
DA_COMMITMENT = 7


@pytest.mark.parametrize(
    ("place", "change", "error"),
    [
        (DA_COMMITMENT, lambda _: bytes(32), "InvalidDACommitment"),
        (DA_INPUT, lambda _: b"", "InvalidDAInputLength"),
        (DA_INPUT, lambda it: it[:129], "InvalidDAInputLength"),
        (DA_INPUT, lambda it: b"\1" + it[1:], "InvalidDAHeader"),
        (DA_INPUT, lambda it: it[:64] + b"\2" + it[65:], "InvalidDAHeader"),
        (DA_INPUT, lambda it: it[:96] + b"\1" + it[97:], "InvalidDAHeader"),
        (DA_INPUT, lambda it: it[:97] + b"\1" + it[98:], "InvalidPubdataSource"),
        (DA_INPUT, lambda it: it[:98] + b"Pubdata" + it[105:], "InvalidPubdataHash"),
        (DA_INPUT, lambda it: it[:98] + it[99:], "InvalidPubdataHash"),
    ],
    ids=[
        "commitment", "empty", "short", "state differences", "two blobs", "blob", "source", "content",
        "missing byte",
    ],
)  # fmt: skip
def test_a_batch_without_its_data_is_not_committed(
    operator: Operator, place: int, change: Any, error: str
) -> None:
    fields = list(Batch(number=1).committed())
    fields[place] = change(fields[place])
    data = commit_data(operator.batches[0].stored(), [tuple(fields)])
    with rejected(error):
        operator.call("commit", 1, 1, data)


def test_a_batch_out_of_turn_is_not_committed(operator: Operator) -> None:
    with rejected("BatchRangeMismatch"):
        operator.commit(Batch(number=2))
    data = Batch(number=2).commit_data(operator.batches[0])
    with rejected("BatchNumberMismatch"):
        operator.call("commit", 1, 1, data)


def test_a_batch_after_another_batch_is_not_committed(operator: Operator) -> None:
    forged = replace(operator.batches[0], state=b"\x66" * 32)
    with rejected("BatchHashMismatch"):
        operator.call("commit", 1, 1, Batch(number=1).commit_data(forged))
    operator.commit()
    with rejected("BatchNumberMismatch"):
        operator.call("commit", 2, 2, Batch(number=2).commit_data(operator.batches[0]))


@pytest.mark.parametrize("count", [0, 2])
def test_batches_are_committed_one_by_one(operator: Operator, count: int) -> None:
    batches = [Batch(number=n + 1).committed() for n in range(count)]
    with rejected("CanOnlyProcessOneBatch"):
        operator.call("commit", 1, 1, commit_data(operator.batches[0].stored(), batches))


@pytest.mark.parametrize(("step", "expected"), [("commit", 3), ("prove", 1), ("execute", 2)])
def test_data_of_another_version_is_rejected(operator: Operator, step: str, expected: int) -> None:
    with rejected("EmptyData"):
        operator.call(step, 1, 1, b"")
    with pytest.raises(Reverted) as rejection:
        operator.call(step, 1, 1, b"\4" + bytes(64))
    assert rejection.value.args == ("IncompatibleEncodingVersion", expected, 4)
    with rejected("nothing"):
        operator.call(step, 1, 1, bytes([expected]))


# --- Proofs that are rejected ---


def test_a_batch_that_was_not_committed_is_not_proven(operator: Operator) -> None:
    with rejected("VerifiedBatchesExceedsCommittedBatches"):
        operator.prove(Batch(number=1))


def test_a_batch_is_not_proven_twice(operator: Operator) -> None:
    batch = operator.commit()
    operator.prove(batch)
    with rejected("BatchRangeMismatch"):
        operator.prove(batch)


def test_a_proof_of_no_batches_is_rejected(operator: Operator) -> None:
    with rejected("EmptyBatchRange"):
        operator.call("prove", 1, 0, prove_data(operator.batches[0], [], [3, 0, 13, 0]))
    with rejected("EmptyBatchRange"):
        operator.call("execute", 1, 0, execute_data([]))


def test_another_batch_than_the_committed_is_not_proven(operator: Operator) -> None:
    batch = operator.commit()
    with rejected("BatchHashMismatch"):
        operator.prove(replace(batch, state=b"\x66" * 32))


def test_a_batch_is_not_proven_from_another_state(operator: Operator) -> None:
    batch = operator.commit()
    forged = replace(operator.batches[0], state=b"\x66" * 32)
    with rejected("BatchHashMismatch"):
        operator.call("prove", 1, 1, prove_data(forged, [batch]))


@pytest.mark.parametrize(
    ("proof", "error"),
    [
        (lambda _: [], "NotAFakeProof"),
        (lambda _: [3, 0, 13], "NotAFakeProof"),
        (lambda it: [3, 0, 13, it, 0], "NotAFakeProof"),
        (lambda it: [2, 0, 13, it], "NotAFakeProof"),
        (lambda it: [3, 1, 13, it], "NotAFakeProof"),
        (lambda it: [3, 0, 12, it], "NotAFakeProof"),
        (lambda it: [3, 0, 13, it + 1], "PublicInputMismatch"),
        (lambda _: [3, 0, 13, 0], "PublicInputMismatch"),
    ],
)
def test_the_development_verifier_rejects_what_is_no_fake_proof(
    operator: Operator, proof: Any, error: str
) -> None:
    batch = operator.commit()
    genesis = operator.batches[0]
    with rejected(error):
        operator.call(
            "prove", 1, 1, prove_data(genesis, [batch], proof(batch.public_input(genesis)))
        )


def test_a_proof_of_several_batches_covers_all_of_them(operator: Operator) -> None:
    first, second = operator.commit(), operator.commit()
    genesis = operator.batches[0]
    inputs = [first.public_input(genesis), second.public_input(first)]
    for wrong in (inputs[0], inputs[1], fold([inputs[1], inputs[0]])):
        with rejected("PublicInputMismatch"):
            operator.call("prove", 1, 2, prove_data(genesis, [first, second], [3, 0, 13, wrong]))
    data = prove_data(genesis, [first, second], [3, 0, 13, fold(inputs)])
    operator.call("prove", 1, 2, data)


# --- Executions that are rejected ---


def test_a_batch_that_was_not_proven_is_not_executed(operator: Operator) -> None:
    with rejected("CantExecuteUnprovenBatches"):
        operator.execute(operator.commit())


def test_a_batch_is_not_executed_twice(operator: Operator) -> None:
    batch = operator.settle()
    with rejected("BatchRangeMismatch"):
        operator.execute(batch)


def test_another_batch_than_the_committed_is_not_executed(operator: Operator) -> None:
    batch = operator.commit()
    operator.prove(batch)
    with rejected("BatchHashMismatch"):
        operator.execute(replace(batch, logs_root=b"\x66" * 32))


def test_a_batch_may_not_skip_a_request(operator: Operator) -> None:
    requests = tuple(operator.request() for _ in range(3))
    batch = operator.commit(requests=requests[1:2], first_request=1, all_requests=requests)
    operator.prove(batch)
    with rejected("PriorityTreeRootUnknown"):
        operator.execute(batch)


def test_a_batch_may_not_invent_a_request(operator: Operator) -> None:
    operator.request()
    invented = (b"\x66" * 32,)
    batch = operator.commit(requests=invented, all_requests=invented)
    operator.prove(batch)
    with rejected("PriorityTreeRootUnknown"):
        operator.execute(batch)


def test_a_batch_may_not_use_an_inner_node_as_a_request(operator: Operator) -> None:
    first, second = operator.request(), operator.request()
    node = (keccak256(first + second),)
    batch = operator.commit(requests=node, all_requests=node)
    operator.prove(batch)
    with rejected("PriorityTreeRootUnknown"):
        operator.execute(batch)


@pytest.mark.parametrize("later", [0, 1], ids=["no request yet", "a request that came later"])
def test_a_batch_may_not_use_an_empty_leaf_as_a_request(operator: Operator, later: int) -> None:
    requests = (*(operator.request() for _ in range(3)), EMPTY)
    for _ in range(later):
        operator.request()
    batch = operator.commit(requests=requests, all_requests=requests)
    operator.prove(batch)
    with rejected("PriorityTreeItemEmpty"):
        operator.execute(batch)


def execute_with(
    operator: Operator, batch: Batch, ops: list[tuple[object, ...]], roots: object
) -> None:
    kinds = [f"{STORED}[]", f"{PRIORITY_OPS}[]", f"{INTEROP_ROOTS[2]}[][]"]
    data = b"\2" + abi.encode(kinds, [[batch.stored()], ops, roots])
    operator.call("execute", 1, 1, data)


def test_the_requests_of_a_batch_are_those_it_committed_to(operator: Operator) -> None:
    requests = (operator.request(), operator.request())
    batch = operator.commit(requests=requests, all_requests=requests)
    operator.prove(batch)
    with rejected("NumberOfLayer1TxsMismatch"):
        execute_with(operator, batch, [([], [], [])], [[]])
    with rejected("NumberOfLayer1TxsMismatch"):
        execute_with(operator, batch, [([], [], [*requests, EMPTY])], [[]])
    swapped = replace(batch, requests=requests[::-1], all_requests=requests[::-1])
    with rejected("PriorityTreeRootUnknown"):
        execute_with(operator, batch, [swapped.priority_ops()], [[]])
    operator.execute(batch)


def test_a_rolling_hash_that_is_not_of_the_requests_is_rejected(operator: Operator) -> None:
    requests = (operator.request(),)
    fields = list(Batch(number=1).committed())
    fields[2] = 1
    commitment_of = Batch(number=1)
    operator.call("commit", 1, 1, commit_data(operator.batches[0].stored(), [tuple(fields)]))
    committed = operator.l1.engine.events(operator.chain)[-1].fields["commitment"]
    batch = list(commitment_of.stored())
    batch[3], batch[8] = 1, committed
    claim = operator.batches[0].state_hash + commitment_of.state_hash + committed
    proof = [3, 0, 13, int.from_bytes(keccak256(claim)) >> 32]
    kinds = [STORED, f"{STORED}[]", "uint256[]"]
    arguments = [operator.batches[0].stored(), [tuple(batch)], proof]
    operator.call("prove", 1, 1, b"\1" + abi.encode(kinds, arguments))
    kinds = [f"{STORED}[]", f"{PRIORITY_OPS}[]", f"{INTEROP_ROOTS[2]}[][]"]
    data = b"\2" + abi.encode(kinds, [[tuple(batch)], [([], [], list(requests))], [[]]])
    with rejected("PriorityOperationsRollingHashMismatch"):
        operator.call("execute", 1, 1, data)


@pytest.mark.parametrize(
    ("paths", "error"),
    [
        (([EMPTY], []), "MerklePathLengthMismatch"),
        (([EMPTY] * 256, [EMPTY] * 256), "MerklePathTooLong"),
        (([], []), "MerkleIndexOutOfBounds"),
    ],
)
def test_malformed_paths_are_rejected(operator: Operator, paths: Any, error: str) -> None:
    requests = (operator.request(), operator.request())
    batch = operator.commit(requests=requests, all_requests=requests)
    operator.prove(batch)
    with rejected(error):
        execute_with(operator, batch, [(*paths, list(requests))], [[]])


def test_roots_that_l1_never_had_are_rejected(operator: Operator) -> None:
    batch = operator.commit()
    operator.prove(batch)
    with rejected("InteropRootMismatch"):
        operator.call("execute", 1, 1, execute_data([batch], roots=[(1, 1, 1, [b"\1" * 32])]))


def test_a_batch_that_declares_other_roots_than_it_has_committed_to_is_rejected(
    operator: Operator,
) -> None:
    batch = operator.commit(dependency_roots=b"\1" * 32)
    operator.prove(batch)
    with rejected("DependencyRootsRollingHashMismatch"):
        operator.execute(batch)


def test_an_execution_needs_data_for_every_batch(operator: Operator) -> None:
    batch = operator.commit()
    operator.prove(batch)
    with rejected("InvalidBatchesDataLength"):
        execute_with(operator, batch, [], [[]])
    with rejected("InvalidBatchesDataLength"):
        execute_with(operator, batch, [([], [], [])], [])


# --- Taking back ---


def test_an_executed_batch_is_not_reverted(operator: Operator) -> None:
    operator.settle()
    operator.commit()
    with rejected("CantRevertExecutedBatch"):
        operator.revert(0)


@pytest.mark.parametrize("last", [1, 2])
def test_reverting_no_batch_is_rejected(operator: Operator, last: int) -> None:
    operator.commit()
    with rejected("RevertedBatchNotAfterNewLastBatch"):
        operator.revert(last)


# --- Who may ---


def test_a_batch_of_one_chain_is_not_settled_on_another(operator: Operator) -> None:
    # The chain trusts the timelock, and is still called with the address of the chain that is meant.
    operator.l1.engine.send(DEPLOYER, operator.chain, "setValidator", OPERATOR, True)
    data = Batch(number=1).commit_data(operator.batches[0])
    with rejected("WrongChainAddress"):
        operator.l1.engine.send(
            OPERATOR, operator.chain, "commitBatchesSharedBridge", ALICE, 1, 1, data
        )


def test_an_operator_of_one_chain_does_not_settle_another(l1: Deployed) -> None:
    other = l1.add_chain()
    l1.engine.send(DEPLOYER, l1.timelock, "removeValidator", other.address, OPERATOR)
    with pytest.raises(Reverted, match="Unauthorized"):
        Operator(l1, other, [l1.genesis]).commit(chain_id=OTHER_CHAIN_ID)
    Operator(l1, l1.chain, [l1.genesis]).commit()


def test_a_batch_is_executed_only_after_the_delay(operator: Operator) -> None:
    engine = operator.l1.engine
    engine.send(DEPLOYER, operator.l1.timelock, "setExecutionDelay", 100)
    batch = operator.commit()
    operator.prove(batch)
    engine.timestamp += 99
    with pytest.raises(Reverted) as rejection:
        operator.execute(batch)
    assert rejection.value.args == ("TimeNotReached", NOW + 100, NOW + 99)
    engine.timestamp += 1
    operator.execute(batch)


def test_a_batch_that_is_committed_again_waits_again(operator: Operator) -> None:
    engine = operator.l1.engine
    engine.send(DEPLOYER, operator.l1.timelock, "setExecutionDelay", 100)
    operator.commit()
    engine.timestamp += 99
    operator.revert(0)
    batch = operator.commit()
    operator.prove(batch)
    engine.timestamp += 1
    with pytest.raises(Reverted) as rejection:
        operator.execute(batch)
    assert rejection.value.args == ("TimeNotReached", NOW + 199, NOW + 100)
