"""Developer methods on a fork: rollbacks down to the anchor, resets to it, and state files that name it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from msgspec import structs

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.dev.node_chains import NodeChains
from entresol.dev.reverts import Reverts
from entresol.dev.state_file.node_state import NodeState
from entresol.errors import InvalidParams, InvalidStateFile, MalformedValue, NotPossible
from entresol.primitives.anchor import Anchor
from tests.support.chain.state_files import anvil_file, layer_one
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
