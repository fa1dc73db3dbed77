"""What a chain publishes on L1: the data of its batches, and its genesis."""

from __future__ import annotations

from typing import Any

import pytest

from entresol import contracts
from entresol._native import keccak256
from entresol.primitives.values import Address
from tests.support.contracts.batch_operator import Operator
from tests.support.contracts.batches import Batch, commit_data, stored
from tests.support.contracts.engine import Contract, Event, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    DEPLOYER,
    ETH_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
)

MAX_DATA = 126_976
MAX_PART = 100_000
MAX_RUNTIME = 24_000
DA_INPUT = 13


@pytest.fixture
def operator(l1: Deployed) -> Operator:
    return Operator(l1, l1.chain, [l1.genesis])


def genesis_hash(l1: Deployed) -> bytes:
    return keccak256(stored(l1.genesis.stored()))


def data_of(l1: Deployed, chain: Contract) -> list[Event]:
    """Return the events with data of the last transaction."""
    return [event for event in l1.engine.events(chain) if event.name == "BatchData"]


def rejected(error: str) -> Any:
    return pytest.raises(Reverted, match=rf"^{error}\(")


# --- Data of batches ---


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 100, MAX_DATA])
def test_a_commit_publishes_exactly_the_bytes_of_the_batch(operator: Operator, size: int) -> None:
    pubdata = bytes(1 + place % 255 for place in range(size))
    operator.commit(pubdata=pubdata)
    (event,) = data_of(operator.l1, operator.chain)
    assert event.fields == {"batchNumber": 1, "data": pubdata}
    words = -(-size // 32)
    assert event.data == (32).to_bytes(32) + size.to_bytes(32) + pubdata.ljust(words * 32, b"\0")


def test_what_follows_the_data_in_the_call_is_not_published(operator: Operator) -> None:
    fields = list(Batch(number=1, pubdata=b"abc").committed())
    given = fields[DA_INPUT]
    assert isinstance(given, bytes)
    fields[DA_INPUT] = given[:-32] + b"\xff" * 32
    operator.call("commit", 1, 1, commit_data(operator.batches[0].stored(), [tuple(fields)]))
    (event,) = data_of(operator.l1, operator.chain)
    assert event.fields["data"] == b"abc"


def test_every_byte_before_and_in_the_data_counts(operator: Operator) -> None:
    plain = list(Batch(number=1, pubdata=b"published").committed())
    given = plain[DA_INPUT]
    assert isinstance(given, bytes)
    for place in range(len(given) - 32):
        changed = given[:place] + bytes([given[place] ^ 1]) + given[place + 1 :]
        fields = (*plain[:DA_INPUT], changed)
        with rejected("Invalid(DAHeader|PubdataSource|PubdataHash|DACommitment)"):
            operator.call("commit", 1, 1, commit_data(operator.batches[0].stored(), [fields]))


def test_more_data_than_the_limit_is_not_committed(operator: Operator) -> None:
    with rejected("InvalidDAInputLength"):
        operator.commit(pubdata=bytes(MAX_DATA + 1))


def test_the_data_comes_before_the_other_events_of_its_commit(operator: Operator) -> None:
    operator.commit()
    names = [event.name for event in operator.l1.engine.events(operator.chain)]
    assert names == ["BatchData", "ReportCommittedBatchRangeZKsyncOS", "BlockCommit"]


def test_a_chain_that_publishes_nothing_has_no_such_event(l1: Deployed) -> None:
    validium = Operator(l1, l1.add_chain(da=1), [l1.genesis])
    validium.commit(da_scheme=1, chain_id=OTHER_CHAIN_ID)
    assert data_of(l1, validium.chain) == []


def test_data_of_the_other_kind_of_chain_is_not_committed(l1: Deployed, operator: Operator) -> None:
    with rejected("MismatchDACommitmentScheme"):
        operator.commit(da_scheme=1)
    validium = Operator(l1, l1.add_chain(da=1), [l1.genesis])
    with rejected("MismatchDACommitmentScheme"):
        validium.commit(da_scheme=3, chain_id=OTHER_CHAIN_ID)


def test_a_batch_that_was_reverted_is_published_again(operator: Operator) -> None:
    operator.commit(pubdata=b"first")
    operator.revert(0)
    operator.commit(pubdata=b"second")
    (event,) = data_of(operator.l1, operator.chain)
    assert event.fields == {"batchNumber": 1, "data": b"second"}


def test_a_commit_within_calls_of_other_contracts_publishes_its_data(l1: Deployed) -> None:
    inner = l1.engine.deploy("Actor", sender=DEPLOYER)
    outer = l1.engine.deploy("Actor", sender=DEPLOYER)
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", l1.chain.address, inner.address)
    batch = Batch(number=1)
    commit = l1.timelock.encode(
        "commitBatchesSharedBridge", l1.chain.address, 1, 1, batch.commit_data(l1.genesis)
    )
    nested = inner.encode("act", l1.timelock.address, commit)
    l1.engine.send(ALICE, outer, "act", inner.address, nested)
    (event,) = data_of(l1, l1.chain)
    assert event.address == l1.chain.address
    assert event.fields == {"batchNumber": 1, "data": batch.pubdata}


@pytest.mark.parametrize("scheme", [0, 2, 4, 255])
def test_no_chain_has_a_scheme_that_nothing_can_be_committed_with(
    l1: Deployed, scheme: int
) -> None:
    with pytest.raises(Reverted) as rejection:
        l1.new_chain(da=scheme)
    assert rejection.value.args == ("UnknownDAScheme", scheme)


@pytest.mark.parametrize("scheme", [1, 3])
def test_a_chain_says_how_its_data_is_published(l1: Deployed, scheme: int) -> None:
    chain = l1.new_chain(da=scheme)
    assert l1.engine.read(chain, "getDAValidatorPair") == (str(chain.address), scheme)


# --- The genesis ---


def test_the_admin_publishes_the_genesis_in_parts(l1: Deployed) -> None:
    for part, data in enumerate([b"\1" * MAX_PART, b"\2"]):
        l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", part, 2, data)
        (event,) = l1.engine.events(l1.chain)
        assert event.name == "GenesisData"
        assert event.fields == {"part": part, "parts": 2, "data": data}


@pytest.mark.parametrize("sender", [ALICE, OPERATOR], ids=["stranger", "operator"])
def test_nobody_else_publishes_a_genesis(l1: Deployed, sender: Address) -> None:
    with rejected("Unauthorized"):
        l1.engine.send(sender, l1.chain, "publishGenesis", 0, 1, b"genesis")


def test_a_genesis_is_published_after_a_commit_too(l1: Deployed, operator: Operator) -> None:
    """A reorg may put the commit before it: if it could not be published then, it never could."""
    operator.settle()
    l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", 0, 1, b"genesis")
    (event,) = l1.engine.events(l1.chain)
    assert event.fields == {"part": 0, "parts": 1, "data": b"genesis"}


def test_no_genesis_is_published_before_the_chain_is_registered(l1: Deployed) -> None:
    """Readers begin with the block of the registration, and would not find it."""
    chain = l1.new_chain()
    with rejected("NotRegistered"):
        l1.engine.send(DEPLOYER, chain, "publishGenesis", 0, 1, b"genesis")
    l1.engine.send(
        DEPLOYER, l1.bridgehub, "registerChain",
        OTHER_CHAIN_ID, l1.manager.address, chain.address, asset_id(ETH_TOKEN), genesis_hash(l1),
    )  # fmt: skip
    l1.engine.send(DEPLOYER, chain, "publishGenesis", 0, 1, b"genesis")
    assert [event.name for event in l1.engine.events(chain)] == ["GenesisData"]


@pytest.mark.parametrize(
    ("part", "parts", "size"),
    [(0, 0, 1), (1, 1, 1), (2, 1, 1), (0, 17, 1), (16, 17, 1), (0, 1, MAX_PART + 1)],
)
def test_a_part_that_no_genesis_has_is_rejected(
    l1: Deployed, part: int, parts: int, size: int
) -> None:
    with pytest.raises(Reverted) as rejection:
        l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", part, parts, bytes(size))
    assert rejection.value.args == ("InvalidGenesisPart", part, parts, size)


def test_as_many_parts_as_there_may_be_are_published(l1: Deployed) -> None:
    l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", 15, 16, b"")
    (event,) = l1.engine.events(l1.chain)
    assert event.fields == {"part": 15, "parts": 16, "data": b""}


# --- Room ---


@pytest.mark.parametrize("name", contracts.names())
def test_a_contract_leaves_room_below_the_limit_of_code(name: str) -> None:
    assert len(contracts.artifact(name).runtime) <= MAX_RUNTIME
