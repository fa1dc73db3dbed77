"""System calls: the history contract of EIP-2935, on an L1 whose headers have its fork's fields."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol._native import Overlay
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.execution.block_executor import (
    BEACON_ROOTS,
    HISTORY_STORAGE,
    SYSTEM_ADDRESS,
    make_system_calls,
)
from entresol.primitives.values import Address, Hash32
from tests.support.evm.assembler import assemble
from tests.support.evm.programs import BEACON_CODE, HISTORY_CODE

# Stores what it is called with in slot 7.
RECORDER = assemble("0 calldataload 7 sstore")


def open_chain(
    fork: str, code: bytes = HISTORY_CODE, beacon: bytes = assemble("number 3 sstore")
) -> Chain:
    contracts = {
        HISTORY_STORAGE: GenesisAccount(code=code, nonce=1),
        BEACON_ROOTS: GenesisAccount(code=beacon, nonce=1),
    }
    rules = msgspec.structs.replace(ChainRules.layer_1(), fork=fork)
    genesis = Genesis.development(31337, [Address(b"\1" * 20)], 10**18, contracts)
    return Chain.open(None, rules, genesis, clock=Clock(lambda: 1_000.0))


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = open_chain("prague")
    yield chain
    chain.close()


def slot(chain: Chain, address: Address, number: int) -> int:
    return int.from_bytes(chain.latest.slot(address, number.to_bytes(32)))


def test_the_hash_of_each_parent_is_stored(chain: Chain) -> None:
    for _ in range(3):
        chain.builder.seal()
    for number in range(3):
        stored = chain.latest.slot(HISTORY_STORAGE, number.to_bytes(32))
        assert stored == chain.blocks.block_hash(number)


def test_a_system_call_leaves_no_trace_of_its_sender(chain: Chain) -> None:
    chain.builder.seal()
    assert chain.latest.account(SYSTEM_ADDRESS) is None
    record = chain.blocks.record(1)
    assert {change.address for change in record.changes} == {HISTORY_STORAGE, BEACON_ROOTS}
    assert record.header().gas_used == 0


def test_the_call_is_in_the_pending_block(chain: Chain) -> None:
    head = chain.ledger.head_hash
    assert chain.builder.pending().overlay.slot(HISTORY_STORAGE, bytes(32)) == head
    assert slot(chain, HISTORY_STORAGE, 0) == 0


@pytest.mark.parametrize(
    ("fork", "history", "beacon"), [("shanghai", 0, 0), ("cancun", 0, 1), ("prague", 1, 1)]
)
def test_each_fork_makes_its_calls(fork: str, history: int, beacon: int) -> None:
    chain = open_chain(fork, RECORDER)
    chain.builder.seal()
    parent = int.from_bytes(chain.blocks.block_hash(0) or b"")
    assert slot(chain, HISTORY_STORAGE, 7) == history * parent
    assert slot(chain, BEACON_ROOTS, 3) == beacon
    chain.close()


def test_a_contract_that_reverts_does_not_stop_the_block() -> None:
    chain = open_chain("prague", assemble("0 0 revert"))
    chain.builder.seal()
    assert chain.number == 1
    chain.close()


@pytest.mark.parametrize("root", [Hash32.zero(), Hash32(b"\5" * 32)])
@pytest.mark.parametrize("number", [1, 8_191, 8_192, 20_000_000])
def test_what_is_written_is_what_the_contracts_would_write(number: int, root: Hash32) -> None:
    """A copy that ends in one more byte has another hash, so it is called."""
    found = []
    for suffix in (b"", b"\0"):
        chain = open_chain("prague", HISTORY_CODE + suffix, BEACON_CODE + suffix)
        env = chain.ledger.next_block_env(1_700_000_000 + number)
        fields = msgspec.structs.replace(env.fork_fields, parent_beacon_block_root=root)
        env = msgspec.structs.replace(env, number=number, fork_fields=fields)
        overlay = Overlay(chain.ledger.latest)
        make_system_calls(overlay, chain.rules.evm_rules(), env, Hash32(b"\7" * 32))
        found.append({account.address: account.storage for account in overlay.changes().accounts})
        chain.close()
    assert found[0] == found[1]
    assert found[0].keys() == {HISTORY_STORAGE, BEACON_ROOTS}
