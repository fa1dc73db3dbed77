"""Commit, proof and execution of batches, every check that the proof does not cover, and the verifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import abi

from entresol._native import Account, keccak256
from entresol.primitives.values import Address
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
from tests.support.contracts.engine import L1_CHAIN_ID, NOW, Contract, Reverted, find, reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    DAY,
    DEPLOYER,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
)
from tests.support.contracts.merkle_trees import EMPTY
from tests.support.contracts.requests import Operator


@pytest.fixture
def operator(l1: Deployed) -> Operator:
    return Operator(l1, l1.chain, [l1.genesis])


def rejected(error: str) -> Any:
    return pytest.raises(Reverted, match=rf"^{error}\(")


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


def test_a_batch_is_executed(operator: Operator) -> None:
    batch = operator.settle()
    assert operator.totals() == (1, 1, 1)
    (event,) = operator.l1.engine.events(operator.chain)
    assert event.name == "BlockExecution"
    assert list(event.fields.values()) == [1, batch.state_hash, batch.commitment()]
    assert operator.l1.engine.read(operator.chain, "l2LogsRootHash", 1) == batch.logs_root


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
    with reverted("IncompatibleEncodingVersion", expected, 4):
        operator.call(step, 1, 1, b"\4" + bytes(64))
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
    kinds = [f"{STORED}[]", f"{PRIORITY_OPS}[]", f"{INTEROP_ROOTS}[][]"]
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
    kinds = [f"{STORED}[]", f"{PRIORITY_OPS}[]", f"{INTEROP_ROOTS}[][]"]
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


def test_an_executed_batch_is_not_reverted(operator: Operator) -> None:
    operator.settle()
    operator.commit()
    with rejected("CantRevertExecutedBatch"):
        operator.revert(0)


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
    with reverted("TimeNotReached", NOW + 100, NOW + 99):
        operator.execute(batch)
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
    with reverted("TimeNotReached", NOW + 199, NOW + 100):
        operator.execute(batch)


ETHEREUM = [1, 11155111, 17000, 560048]
SIDE_CHAINS = [100, 10200, 56, 97, 137, 80002, 43114, 250, 146, 42220, 25]
ROLLUPS = [42161, 42170, 421614, 10, 11155420, 8453, 84532, 5000, 81457, 130]
ZK_ROLLUPS = [324, 300, 9075, 2741, 232, 59144, 534352, 1101, 167000]
PUBLIC = [*ETHEREUM, *SIDE_CHAINS, *ROLLUPS, *ZK_ROLLUPS]
PRIVATE = [1337, L1_CHAIN_ID, 9, 270, 260, 32382, 3151908, 2**64 - 1]

PROOF = ([7], [3, 0, 13, 7])


@pytest.mark.parametrize("chain_id", PUBLIC)
def test_it_is_not_deployed_on_a_public_network(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    with reverted("FakeProofsOnPublicNetwork", chain_id):
        l1.engine.deploy("DevelopmentVerifier", sender=DEPLOYER)


@pytest.mark.parametrize("chain_id", PUBLIC)
def test_it_verifies_nothing_where_its_code_got_onto_a_public_network(
    l1: Deployed, chain_id: int
) -> None:
    l1.engine.chain_id = chain_id
    with reverted("FakeProofsOnPublicNetwork", chain_id):
        l1.engine.send(DEPLOYER, l1.verifier, "verify", *PROOF)


@pytest.mark.parametrize("chain_id", PRIVATE)
def test_it_accepts_fake_proofs_on_a_network_for_development(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    verifier = l1.engine.deploy("DevelopmentVerifier", sender=DEPLOYER)
    assert l1.engine.send(DEPLOYER, verifier, "verify", *PROOF) is True


@pytest.fixture
def fork_verifier(l1: Deployed) -> Contract:
    """Return the verifier for forks, whose code a node writes into the state."""
    artifact, address = find("ForkVerifier"), Address(b"\xf0" * 20)
    code = bytes(artifact.runtime)
    l1.engine.overlay.set_code(address, code)
    l1.engine.overlay.set_account(address, Account(1, 0, keccak256(code)))
    return Contract(address, artifact)


@pytest.mark.parametrize("chain_id", [*PUBLIC, *PRIVATE])
def test_no_transaction_deploys_the_verifier_for_forks(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    with reverted("OnlyOnAFork"):
        l1.engine.deploy("ForkVerifier", sender=DEPLOYER)


def test_what_would_deploy_the_verifier_for_forks_does_not_have_its_code() -> None:
    artifact = find("ForkVerifier")
    assert bytes(artifact.runtime) not in bytes(artifact.bytecode)


@pytest.mark.parametrize("chain_id", [1, 8453, 31337])
def test_the_verifier_for_forks_accepts_fake_proofs_on_a_copy_of_any_network(
    l1: Deployed, fork_verifier: Contract, chain_id: int
) -> None:
    l1.engine.chain_id = chain_id
    assert l1.engine.send(DEPLOYER, fork_verifier, "verify", *PROOF) is True


@pytest.mark.parametrize(
    ("inputs", "proof", "error"),
    [
        ([], [3, 0, 13, 7], ("NoPublicInput",)),
        ([7], [3, 0, 13], ("NotAFakeProof",)),
        ([7], [2, 0, 13, 7], ("NotAFakeProof",)),
        ([7], [3, 1, 13, 7], ("NotAFakeProof",)),
        ([7], [3, 0, 12, 7], ("NotAFakeProof",)),
        ([7], [3, 0, 13, 8], ("PublicInputMismatch", 7, 8)),
    ],
)
def test_the_verifier_for_forks_rejects_what_the_one_for_development_rejects(
    l1: Deployed,
    fork_verifier: Contract,
    inputs: list[int],
    proof: list[int],
    error: tuple[object, ...],
) -> None:
    for verifier in (l1.verifier, fork_verifier):
        with reverted(*error):
            l1.engine.send(DEPLOYER, verifier, "verify", inputs, proof)
