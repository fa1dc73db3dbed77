"""Calls at the end of a block, and the requests that they return, on an L1 whose genesis has their contracts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.execution.block_executor import (
    CONSOLIDATION_REQUESTS,
    SYSTEM_ADDRESS,
    WITHDRAWAL_REQUESTS,
)
from entresol.primitives.headers import NO_REQUESTS
from entresol.primitives.values import Address, Hash32
from tests.support.chain import dev_chain
from tests.support.evm.assembler import assemble
from tests.support.fork.running_fork import RunningApi, open_fork, remote_of

# Collects a word from anybody, and returns it once to the system, as the contracts do with more.
COLLECTOR = assemble(
    f"caller {SYSTEM_ADDRESS} eq @system jumpi 0 calldataload 0 sstore stop "
    "system: 0 sload dup1 0 mstore 0 0 sstore iszero @none jumpi 32 0 return none: stop"
)


def rules_of(fork: str) -> ChainRules:
    return msgspec.structs.replace(ChainRules.layer_1(270), fork=fork)


def genesis_with(code: bytes) -> Genesis:
    contract = GenesisAccount(code=code, nonce=1)
    contracts = dict.fromkeys((WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS), contract)
    return Genesis.development(270, [dev_chain.ALICE], 10**20, contracts)


def open_chain(fork: str = "prague", code: bytes = COLLECTOR) -> Chain:
    clock = Clock(lambda: 1_000.0)
    return Chain.open(None, rules_of(fork), genesis_with(code), clock=clock)


@pytest.fixture
def chain() -> Iterator[Chain]:
    found = open_chain()
    found.schedule.seal_on_request()
    yield found
    found.close()


def request(chain: Chain, nonce: int, to: Address, word: int) -> None:
    sent = dev_chain.transaction(nonce, to=to, data=word.to_bytes(32), tip=10**9)
    chain.add(sent)


def hash_of(*requests: bytes) -> Hash32:
    return Hash32(sha256(b"".join(sha256(it).digest() for it in requests)).digest())


def test_requests_are_in_the_hash_of_their_block_and_of_no_other(chain: Chain) -> None:
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    request(chain, 0, CONSOLIDATION_REQUESTS, 5)
    request(chain, 1, WITHDRAWAL_REQUESTS, 7)
    chain.builder.seal()
    assert [result.succeeded for result in chain.blocks.record(2).results] == [True, True]
    words = [kind + word.to_bytes(32) for kind, word in ((b"\1", 7), (b"\2", 5))]
    assert chain.head.requests_hash == hash_of(*words)
    assert chain.latest.slot(WITHDRAWAL_REQUESTS, bytes(32)) == bytes(32)
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    chain.verify()


def test_a_pending_block_keeps_its_requests_for_the_one_that_is_sealed(chain: Chain) -> None:
    request(chain, 0, WITHDRAWAL_REQUESTS, 7)
    pending = chain.builder.pending()
    first, second = (pending.finish(chain.ledger.trie) for _ in range(2))
    chain.builder.seal()
    expected = hash_of(b"\1" + (7).to_bytes(32))
    assert {it.header.requests_hash for it in (first, second)} == {expected}
    assert chain.head.requests_hash == expected


@pytest.mark.parametrize("code", [b"", assemble("0 0 revert")])
def test_without_a_contract_that_responds_there_are_no_requests(code: bytes) -> None:
    chain = open_chain(code=code)
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    chain.close()


def test_before_prague_nothing_is_called() -> None:
    chain = open_chain("cancun", assemble("1 0 sstore"))
    chain.builder.seal()
    assert chain.head.requests_hash is None
    assert chain.latest.slot(WITHDRAWAL_REQUESTS, bytes(32)) == bytes(32)
    chain.close()


def test_a_fork_does_not_take_the_requests_of_its_remote() -> None:
    chain = open_fork(remote_of(genesis_with(assemble("32 0 return"))), rules_of("prague"))
    with closing(chain), closing(RunningApi(chain)) as api:
        assert api("eth_getCode", str(WITHDRAWAL_REQUESTS), "latest") != "0x"
        api("evm_mine")
        assert chain.head.requests_hash == NO_REQUESTS
