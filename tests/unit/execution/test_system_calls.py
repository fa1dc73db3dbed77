"""System calls: the history contract of EIP-2935, on an L1 whose headers have its fork's fields."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.execution.system_calls import BEACON_ROOTS, HISTORY_STORAGE, SYSTEM_ADDRESS
from entresol.primitives.values import Address
from tests.support.evm.assembler import assemble

HISTORY_CODE = bytes.fromhex(
    "3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257"
    "611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500"
)
"""The contract that EIP-2935 specifies."""
# Stores what it is called with in slot 7.
RECORDER = assemble("0 calldataload 7 sstore")


def open_chain(fork: str, code: bytes = HISTORY_CODE) -> Chain:
    contracts = {
        HISTORY_STORAGE: GenesisAccount(code=code, nonce=1),
        BEACON_ROOTS: GenesisAccount(code=assemble("number 3 sstore"), nonce=1),
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


def test_the_blocks_replay(chain: Chain) -> None:
    for _ in range(3):
        chain.builder.seal()
    chain.verify()


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
