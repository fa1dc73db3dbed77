"""Two chains that are reverted together."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest
from msgspec import structs

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.errors import (
    BelowSettledBatch,
    InvalidParams,
    InvalidStateFile,
    MalformedValue,
    NotPossible,
    RollbackRejected,
)
from entresol.features.dev.control import DevControl
from entresol.features.dev.node_chains import NodeChains, NodeHeads, close_all
from entresol.features.dev.reverts import Checkpoints, Reverts
from entresol.features.dev.state_file.node_state import NodeState
from entresol.primitives.anchor import Anchor
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.root_table import BatchPath, RootCursor
from tests.support.chain.dev_chain import (
    ALICE,
    NOBODY,
    balance,
    deposit,
    open_chain,
    open_importing,
    roots,
    stored_root,
    transaction,
)
from tests.support.chain.state_files import anvil_file, layer_one
from tests.support.coroutines import completed
from tests.support.fork.fake_remote import FakeRemote
from tests.support.fork.forked_chain import (
    ANCHOR,
    HASH,
    NUMBER,
    REMOTE_ID,
    STORAGE,
    STORAGE_CODE,
    block_json,
    call,
    genesis,
    open_fork,
    remote,
    seal,
    slot,
    waiting,
)


@pytest.fixture
def chains() -> Iterator[tuple[Chain, Chain]]:
    opened = open_chain(), open_chain()
    yield opened
    for chain in opened:
        chain.close()


def test_the_other_chain_goes_back_to_where_it_was(chains: tuple[Chain, Chain]) -> None:
    first, second = chains
    node_chains = NodeChains(Reverts(first), Reverts(second))
    for chain in (first, second, first, second, first):
        chain.builder.seal()
    node_chains.plan_roll_back(second, 1).apply()
    assert (first.number, second.number) == (2, 1)
    node_chains.plan_roll_back(first, 2).apply()
    assert (first.number, second.number) == (0, 0)


def test_transactions_of_blocks_that_are_gone_are_not_pending_again(
    chains: tuple[Chain, Chain],
) -> None:
    chain, _ = chains
    node_chains = NodeChains(Reverts(chain))
    InlineSequencer(chain).send(transaction(0))
    time = chain.blocks.header(0).timestamp
    node_chains.plan_roll_back(chain, 1).apply()
    assert (chain.number, balance(chain, NOBODY), len(chain.pool)) == (0, 0, 0)
    assert chain.clock.now() == time


def test_no_more_blocks_go_than_there_are(chains: tuple[Chain, Chain]) -> None:
    chain, _ = chains
    chain.builder.seal()
    with pytest.raises(InvalidParams, match="current height 1, depth 2"):
        NodeChains(Reverts(chain)).plan_roll_back(chain, 2).apply()


def test_blocks_before_the_start_stay_if_there_is_another_layer(
    chains: tuple[Chain, Chain],
) -> None:
    first, second = chains
    first.builder.seal()
    first.builder.seal()
    with pytest.raises(RollbackRejected, match="evm_snapshot"):
        NodeChains(Reverts(first), Reverts(second)).plan_roll_back(first, 1).apply()
    NodeChains(Reverts(first)).plan_roll_back(first, 1).apply()
    assert first.number == 1


def test_a_batch_on_a_foreign_l1_stays(chains: tuple[Chain, Chain]) -> None:
    chain, _ = chains
    batcher = Batcher(chain.blocks, chain.batches)
    node_chains = NodeChains(Reverts(chain), foreign_l1=True)
    for _ in range(2):
        chain.builder.seal()
    completed(batcher.seal(0.0))
    chain.builder.seal()
    node_chains.plan_roll_back(chain, 1).apply()
    with pytest.raises(BelowSettledBatch, match="batch 1 ends at block 2"):
        node_chains.plan_roll_back(chain, 1).apply()
    with pytest.raises(BelowSettledBatch):
        node_chains.reset()
    assert chain.number == 2


def test_a_batch_is_not_settled_once_l1_is_rolled_back(chains: tuple[Chain, Chain]) -> None:
    l1, l2 = chains
    node_chains = NodeChains(Reverts(l1), Reverts(l2))
    l2.builder.seal()
    completed(Batcher(l2.blocks, l2.batches).seal(0.0))
    for step in SettlementStep:
        l1.builder.seal()
        done = SettlementTransaction(Hash32(bytes([step]) * 32), l1.number, 0)
        l2.batches.settle([1], step, done)
    l2.set_finality(1, 1)
    l2.schedule.seal_on_request()
    l2.enqueue(deposit(0))
    node_chains.plan_roll_back(l1, 1).apply()
    assert (l1.number, l2.number) == (2, 1)
    assert [l2.batches.last_settled(step) for step in SettlementStep] == [1, 1, 0]
    assert (l2.finality.safe, l2.finality.finalized) == (1, 0)
    assert not l2.filler.has_work


@pytest.fixture
def several() -> Iterator[tuple[Chain, Chain, Chain]]:
    opened = open_chain(), open_chain(), open_chain()
    yield opened
    for chain in opened:
        chain.close()


def test_one_of_several_l2s_is_rolled_back_alone_if_l1_has_none_of_its_blocks(
    several: tuple[Chain, Chain, Chain],
) -> None:
    l1, first, second = several
    node_chains = NodeChains(*map(Reverts, several))
    first.builder.seal()
    completed(Batcher(first.blocks, first.batches).seal(0.0))
    for chain in (first, l1, second, first):
        chain.builder.seal()
    node_chains.plan_roll_back(first, 2).apply()
    assert (l1.number, first.number, second.number) == (1, 1, 1)
    # Further: L1 may have the batch.
    node_chains.plan_roll_back(first, 1).apply()
    assert (l1.number, first.number, second.number) == (0, 0, 1)


def test_an_l2_goes_back_to_before_its_first_deposit_since_if_l1_has_to(
    several: tuple[Chain, Chain, Chain],
) -> None:
    l1, first, second = several
    node_chains = NodeChains(*map(Reverts, several))
    second.enqueue(deposit(0))
    second.builder.seal()
    first.builder.seal()
    completed(Batcher(first.blocks, first.batches).seal(0.0))
    l1.builder.seal()
    second.builder.seal()
    for number in (1, 2):
        second.enqueue(deposit(number))
        second.builder.seal()
    node_chains.plan_roll_back(first, 1).apply()
    assert (l1.number, first.number, second.number) == (0, 0, 2)
    assert second.blocks.next_priority_id() == 1


def test_an_l2_goes_back_to_before_its_first_root_since_if_l1_has_to() -> None:
    l1, first, second = open_chain(), open_chain(), open_importing()
    try:
        node_chains = NodeChains(*map(Reverts, (l1, first, second)))
        second.filler.roots.extend(roots(1))
        second.builder.seal()
        first.builder.seal()
        completed(Batcher(first.blocks, first.batches).seal(0.0))
        l1.builder.seal()
        second.builder.seal()
        for number in (2, 3):
            second.filler.roots.extend(roots(1, first=number))
            second.builder.seal()
        second.filler.roots.extend(roots(1, first=4))
        node_chains.plan_roll_back(first, 1).apply()
        assert (l1.number, first.number, second.number) == (0, 0, 2)
        assert any(stored_root(second, 1))
        assert not any(stored_root(second, 2))
        assert not len(second.filler.roots)
    finally:
        for chain in (l1, first, second):
            chain.close()


def test_a_rollback_of_l1_drops_roots_in_the_queue_and_paths_of_what_is_gone() -> None:
    l1, l2 = open_chain(), open_importing()
    try:
        node_chains = NodeChains(*map(Reverts, (l1, l2)))
        l1.builder.seal()
        l1.builder.seal()
        l2.filler.roots.extend(roots(2))
        table = l2.batches.roots
        paths = [
            (number, BatchPath(number, Hash32.zero(), Hash32.zero(), 0, b"")) for number in (1, 2)
        ]
        table.update(1, RootCursor(2, Hash32.zero(), b""), paths=paths)
        node_chains.plan_roll_back(l1, 1).apply()
        assert not len(l2.filler.roots)
        assert table.path(1) is not None
        assert table.path(2) is None
    finally:
        l1.close()
        l2.close()


def test_what_operators_have_in_the_pool_of_l1_is_dropped_when_an_l2_is_rolled_back(
    chains: tuple[Chain, Chain],
) -> None:
    l1, l2 = chains
    node_chains = NodeChains(*map(Reverts, chains), operators=[ALICE])
    l1.schedule.seal_on_request()
    l2.builder.seal()
    for nonce in range(2):
        InlineSequencer(l1).send(transaction(nonce))
    assert len(l1.pool) == 2
    node_chains.plan_roll_back(l2, 1).apply()
    assert len(l1.pool) == 0


def test_a_reset_leaves_nothing_but_the_genesis(chains: tuple[Chain, Chain]) -> None:
    reverts = [Reverts(it) for it in chains]
    node_chains, checkpoints = NodeChains(*reverts), Checkpoints(*reverts)
    snapshot = checkpoints.create()
    genesis = [chain.ledger.head_hash for chain in chains]
    instances = [chain.instance_id for chain in chains]
    for chain in chains:
        InlineSequencer(chain).send(transaction(0))
        chain.schedule.seal_on_request()
        InlineSequencer(chain).send(transaction(1))
        chain.enqueue(deposit(0))
        chain.edit(ALICE, lambda it: it.set_balance(ALICE, 1))
    node_chains.reset()
    for chain, genesis_hash, instance in zip(chains, genesis, instances, strict=True):
        assert (chain.number, chain.ledger.head_hash) == (0, genesis_hash)
        assert not chain.filler.has_work
        assert len(chain.pool) == 0
        assert balance(chain, ALICE) == balance(chain, ALICE, 0) > 1
        assert chain.instance_id != instance
    assert not checkpoints.restore(snapshot)


def test_a_snapshot_of_a_block_that_is_gone_on_one_chain_is_gone_on_both(
    chains: tuple[Chain, Chain],
) -> None:
    first, second = chains
    reverts = [Reverts(chain) for chain in chains]
    node_chains, checkpoints = NodeChains(*reverts), Checkpoints(*reverts)
    second.builder.seal()
    snapshot = checkpoints.create()
    first.builder.seal()
    node_chains.plan_roll_back(second, 1).apply()
    second.builder.seal()
    assert not checkpoints.restore(snapshot)
    assert (first.number, second.number) == (0, 1)


@pytest.fixture
def added() -> Iterator[Chain]:
    with contextlib.closing(open_chain()) as chain:
        yield chain


def test_a_chain_that_is_added_is_in_later_snapshots_alone(
    chains: tuple[Chain, Chain], added: Chain
) -> None:
    l1, _ = chains
    control = DevControl(*chains)
    before = control.checkpoints.create()
    control.add(added)
    assert control.checkpoints.blocks(l1) == {}
    after = control.checkpoints.create()
    for chain in (*chains, added):
        chain.builder.seal()
    with pytest.raises(RollbackRejected, match="added after this snapshot"):
        control.checkpoints.restore(before)
    assert control.checkpoints.restore(after)
    assert [it.number for it in (*chains, added)] == [0, 0, 0]
    control.close()


def test_l1_is_not_rolled_back_to_before_a_chain_was_added(
    chains: tuple[Chain, Chain], added: Chain
) -> None:
    l1, _ = chains
    control = DevControl(*chains)
    l1.builder.seal()
    control.add(added)
    l1.builder.seal()
    with pytest.raises(RollbackRejected, match="a chain was added"):
        control.node_chains.plan_roll_back(l1, 2)
    control.node_chains.plan_roll_back(l1, 1).apply()
    assert l1.number == 1
    control.close()


def test_a_chain_that_is_added_has_the_time_of_its_l1(
    chains: tuple[Chain, Chain], added: Chain
) -> None:
    l1, l2 = chains
    control = DevControl(*chains)
    l1.clock.increase(1000)
    control.add(added)
    assert added.clock.state.offset == 1000
    added.clock.increase(1000)
    assert [it.clock.state.offset for it in (l1, l2)] == [2000, 2000]
    control.close()


def test_an_added_chain_is_not_reset_to_a_genesis_whose_l1_does_not_know_it(
    chains: tuple[Chain, Chain], added: Chain
) -> None:
    control = DevControl(*chains)
    control.add(added)
    added.builder.seal()
    with pytest.raises(RollbackRejected, match="does not know it"):
        control.node_chains.reset()
    assert added.number == 1
    control.close()


def test_a_reset_that_was_prepared_before_a_chain_was_added_changes_nothing(
    chains: tuple[Chain, Chain], added: Chain
) -> None:
    l1, _ = chains
    control = DevControl(*chains)
    l1.builder.seal()
    stores = control.node_chains.build_reset()
    control.add(added)
    with pytest.raises(RollbackRejected, match="was added to the node, and the genesis"):
        control.node_chains.apply_reset(stores)
    close_all(stores)
    assert l1.number == 1
    control.close()


def test_the_last_moment_of_a_block_is_found_from_either_chain(chains: tuple[Chain, Chain]) -> None:
    first, second = chains
    journal = NodeHeads(chains)
    for chain in (first, second, second, first, second):
        chain.builder.seal()
    assert [journal.at(first, number) for number in range(3)] == [(0, 0), (1, 2), (2, 3)]
    assert [journal.at(second, number) for number in range(4)] == [(1, 0), (1, 1), (2, 2), (2, 3)]
    assert journal.at(second, 4) is None


def test_what_was_reverted_is_forgotten(chains: tuple[Chain, Chain]) -> None:
    first, second = chains
    journal = NodeHeads(chains)
    for chain in (first, second, first, second):
        chain.builder.seal()
    Reverts(second).plan_roll_back(1).apply()
    Reverts(first).plan_roll_back(1).apply()
    second.builder.seal()
    assert journal.at(second, 1) == (1, 1)
    assert journal.at(second, 2) == (1, 2)
    assert journal.at(first, 2) is None


def test_the_oldest_are_dropped(chains: tuple[Chain, Chain]) -> None:
    first, _ = chains
    journal = NodeHeads(chains, max_cuts=4)
    for _ in range(6):
        first.builder.seal()
    assert journal.at(first, 0) is None
    assert journal.at(first, 6) == (6, 0)


@pytest.fixture
def source() -> Iterator[FakeRemote]:
    with remote() as it:
        yield it


@pytest.fixture
def chain(source: FakeRemote) -> Iterator[Chain]:
    chain = open_fork(source)
    with waiting():
        yield chain
    chain.close()


def dumped(chain: Chain) -> bytes:
    return NodeState(NodeChains(Reverts(chain))).dump(chain, packed=False)()


def load(chain: Chain, data: bytes) -> None:
    state = NodeState(NodeChains(Reverts(chain)))
    prepared = state.prepare({chain: data})
    state.apply(prepared)
    prepared.close()


def test_a_fork_is_rolled_back_to_its_anchor_and_no_further(chain: Chain) -> None:
    node_chains = NodeChains(Reverts(chain))
    for nonce in (3, 4):
        seal(chain, call(nonce, 1, nonce))
    node_chains.plan_roll_back(chain, 2).apply()
    assert (chain.number, chain.ledger.head_hash, slot(chain, 1)) == (NUMBER, HASH, 11)
    with pytest.raises(InvalidParams, match=f"the chain begins with block {NUMBER}"):
        node_chains.plan_roll_back(chain, 1)


def test_a_reset_leaves_the_anchor(chain: Chain) -> None:
    seal(chain, call(3, 1, 100))
    NodeChains(Reverts(chain)).reset()
    assert (chain.number, chain.ledger.head_hash, slot(chain, 1)) == (NUMBER, HASH, 11)
    assert chain.ledger.anchor == ANCHOR
    seal(chain, call(3, 2, 200))
    assert [slot(chain, it) for it in (1, 2)] == [11, 200]


def test_a_dump_names_its_anchor_and_is_loaded_on_it(chain: Chain) -> None:
    seal(chain, call(3, 1, 100, wei=1), call(4, 2, 0))
    chain.edit(STORAGE, lambda it: it.set_slot(STORAGE, (3).to_bytes(32), (9).to_bytes(32)))
    data = dumped(chain)
    (part,) = json.loads(data)["entresol"]["chains"]
    assert part["anchor"] == {"chainId": REMOTE_ID, "number": NUMBER, "hash": str(HASH)}
    with remote() as unread:
        other = open_fork(unread)
        load(other, data)
        assert [slot(other, it) for it in (1, 2, 3)] == [100, 0, 9]
        account = other.latest.account(STORAGE)
        assert account is not None
        assert other.latest.code(account.code_hash) == STORAGE_CODE
        # All of it was in the file.
        assert not unread.asked
        assert other.ledger.head_hash == chain.ledger.head_hash
        seal(other, call(5, 4, 44))
        assert slot(other, 4) == 44
        other.close()


def test_a_dump_with_another_code_or_another_hash_is_rejected(chain: Chain) -> None:
    seal(chain, call(3, 1, 100))
    document = json.loads(dumped(chain))
    (part,) = document["entresol"]["chains"]
    (row,) = [it for it in part["rows"] if it[1] == "0x" + STORAGE_CODE.hex()]
    row[1] = "0x00"
    with pytest.raises(InvalidStateFile, match="code of another hash"):
        load(chain, json.dumps(document).encode())
    document = json.loads(dumped(chain))
    (part,) = document["entresol"]["chains"]
    # The first record with another hash for the anchor.
    part["records"][0] = part["records"][0].replace(HASH.hex(), "a6" * 32)
    with pytest.raises(MalformedValue, match="an anchor's"):
        load(chain, json.dumps(document).encode())
    assert slot(chain, 1) == 100


def test_a_dump_of_a_fork_is_named_where_there_is_no_such_chain(chain: Chain) -> None:
    seal(chain, call(3, 1, 100))
    rules = structs.replace(ChainRules.layer_1(), chain_id=4242)
    plain = Chain.open(None, rules, Genesis.development(4242, [], 0))
    with pytest.raises(
        NotPossible, match=rf"fork of block {NUMBER} .*, and the chain here is 4242"
    ):
        load(plain, dumped(chain))
    plain.close()


def test_a_dump_of_another_anchor_is_rejected_with_both(source: FakeRemote, chain: Chain) -> None:
    anchor = Anchor.of_json(REMOTE_ID, block_json(hash="0x" + "a6" * 32))
    other = open_fork(source, start=genesis(anchor))
    with pytest.raises(NotPossible) as caught:
        load(chain, dumped(other))
    other.close()
    assert str(anchor) in str(caught.value)
    assert str(ANCHOR) in str(caught.value)


def test_a_dump_of_a_fork_is_rejected_where_there_is_none(chain: Chain) -> None:
    plain = layer_one()
    with pytest.raises(NotPossible, match=r"a fork of block .* in the file, and no fork here"):
        load(plain, dumped(chain))
    with pytest.raises(NotPossible, match="no fork in the file, and a fork of block"):
        load(chain, dumped(plain))
    plain.close()


def test_a_file_of_another_node_is_merged_into_a_fork(chain: Chain) -> None:
    document = anvil_file()
    load(chain, json.dumps(document).encode())
    address, expected = next(iter(document["accounts"].items()))
    account = chain.latest.account(bytes.fromhex(address[2:]))
    assert account is not None
    assert hex(account.balance) == expected["balance"]
    assert (chain.number, slot(chain, 1)) == (NUMBER, 11)
