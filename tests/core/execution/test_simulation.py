"""Simulated blocks: numbers and times, calls, and the state for the next block.

The hashes and roots of the transfers are those that the tests of the execution APIs expect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from entresol._native import Rules
from entresol.errors import (
    InvalidSimulation,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationTooLong,
)
from entresol.execution.calls import CallRequest
from entresol.execution.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.overrides import BlockOverrides, StateOverride
from entresol.execution.simulation import (
    HALTED,
    REVERTED,
    BlockCalls,
    SimulationBase,
    SimulationOptions,
)
from entresol.execution.simulation import simulate as simulate_json
from entresol.primitives.headers import EMPTY_TRIE
from entresol.primitives.transactions import Access
from entresol.primitives.values import Address, Hash32
from entresol.storage.store import Store
from tests.support.chain.block_production import Producer
from tests.support.hex_data import word

C0, C1, C2 = (Address(bytes([number]) + bytes(19)) for number in (0xC0, 0xC1, 0xC2))
SPEC_CHAIN = 0xC72DD9D5E883E
EMITTER = "0x" + "ee" * 20
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
BASE_FEE = 100

# What the block is, in words: its number, time, base fee, miner, gas limit and the hash before it.
BLOCK_CODE = "435f52 42602052 48604052 41606052 45608052 6001430340 60a052 60c05ff3"
# Emits a log, sends a wei to C2, and emits another.
SEND_CODE = f"5f5fa0 5f5f5f5f600173{C2.hex()}5af150 60075f5fa1"
COUNT_CODE = "5f54600101805f555f5260205ff3"
# Returns the balance of C0.
BALANCE_CODE = f"73{C0.hex()}315f5260205ff3"
# Returns what its first slot has.
READ_CODE = "5f545f5260205ff3"


@pytest.fixture
def base() -> Iterator[SimulationBase]:
    store = Store.temporary()
    producer = Producer(store, gas_limit=200_000_000, base_fee=BASE_FEE)
    yield SimulationBase(
        header=producer.head,
        state=producer.snapshot,
        rules=Rules(SPEC_CHAIN, "prague"),
        state_root=producer.head.state_root,
        trie=producer.trie.native,
        next_base_fee=lambda parent: parent.base_fee_per_gas + 1,
        interval=12,
    )
    store.close()


def simulate(
    base: SimulationBase,
    blocks: Sequence[BlockCalls],
    limits: CallLimits = DEFAULT_LIMITS,
    **options: bool,
) -> list[dict[str, Any]]:
    wanted = SimulationOptions(full_transactions=True, **options)
    blocks_seen: list[dict[str, Any]] = json.loads(simulate_json(base, blocks, wanted, limits))
    return blocks_seen


def block(
    *calls: CallRequest, accounts: dict[Address, StateOverride] | None = None, **fields: Any
) -> BlockCalls:
    return BlockCalls(calls=calls, accounts=accounts, block=BlockOverrides(**fields))


def funded(wei: int = 2_000, **fields: Any) -> dict[Address, StateOverride]:
    return {C0: StateOverride(balance=wei, **fields)}


def coded(code: str, address: Address = C1) -> dict[Address, StateOverride]:
    return {address: StateOverride(code=bytes.fromhex(code))}


def words(data: str) -> list[int]:
    return [int(data[at : at + 64], 16) for at in range(2, len(data), 64)]


def number(text: str) -> int:
    return int(text, 16)


def numbers_and_times(blocks: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(number(it["number"]), number(it["timestamp"])) for it in blocks]


def account_after(
    base: SimulationBase, wanted: BlockCalls, *, validation: bool = False
) -> tuple[int, int]:
    """Return nonce and balance of C0 after a block, which a call of it in the next block sees."""
    reader = Address(b"\xbb" * 20)
    probe = CallRequest(sender=C0, to=reader, max_fee_per_gas=0)
    after = block(probe, accounts=coded(BALANCE_CODE, reader), base_fee_per_gas=0)
    seen = simulate(base, [wanted, after], validation=validation)[1]
    (balance,) = words(seen["calls"][0]["returnData"])
    return number(seen["transactions"][0]["nonce"]), balance


def test_a_transfer_has_the_hash_and_the_roots_that_the_specification_expects(
    base: SimulationBase,
) -> None:
    transfer = CallRequest(sender=C0, to=C1, value=1_000)
    (done,) = simulate(base, [block(transfer, accounts=funded())])
    (transaction,) = done["transactions"]
    assert transaction["hash"].startswith("0xf1c5abb08809ef760f87aeabe7a87284")
    assert done["transactionsRoot"].startswith("0x153033b7bf79591032a757961da36567")
    assert done["receiptsRoot"].startswith("0xf78dfb743fbd92ade140711c8bbc542b")
    assert numbers_and_times([done]) == [(1, 1_012)]
    assert (done["gasUsed"], done["baseFeePerGas"]) == (hex(21_000), "0x0")
    assert done["parentHash"] == str(base.header.hash())


def test_validated_transfers_have_the_hashes_that_the_specification_expects(
    base: SimulationBase,
) -> None:
    calls = [
        CallRequest(sender=C0, to=C1, max_fee_per_gas=16, value=10**10),
        CallRequest(sender=C1, to=C2, max_fee_per_gas=16, value=1_000),
    ]
    wanted = block(*calls, accounts=funded(10**12), base_fee_per_gas=15)
    (done,) = simulate(base, [wanted], validation=True)
    hashes = [it["hash"][2:18] for it in done["transactions"]]
    assert hashes == ["c2df7444d2b0604c", "5c78719d6ce3bf5b"]
    assert done["transactionsRoot"].startswith("0x9e80508f974bbf713b286fe5")
    assert done["receiptsRoot"].startswith("0x75308898d571eafb5cd8cde8")
    after = account_after(base, wanted, validation=True)
    assert after == (1, 10**12 - 10**10 - 21_000 * 15)


def test_blocks_build_on_each_other_and_the_chain_stays_as_it_is(base: SimulationBase) -> None:
    count = CallRequest(sender=C0, to=C1)
    blocks = simulate(base, [block(count, accounts=coded(COUNT_CODE)), block(count, count)])
    counted = [words(result["returnData"]) for it in blocks for result in it["calls"]]
    assert counted == [[1], [2], [3]]
    assert [it["parentHash"] for it in blocks[1:]] == [blocks[0]["hash"]]
    assert base.state.account(C1) is None


def test_a_state_root_is_that_of_the_same_changes_in_one_block(base: SimulationBase) -> None:
    count = CallRequest(sender=C0, to=C1)
    two = simulate(base, [block(count, accounts=coded(COUNT_CODE)), block(count)])
    (one,) = simulate(base, [block(count, count, accounts=coded(COUNT_CODE))])
    assert two[-1]["stateRoot"] == one["stateRoot"]
    assert two[0]["stateRoot"] != one["stateRoot"]
    (empty,) = simulate(base, [block()])
    assert empty["stateRoot"] == str(base.header.state_root)
    assert empty["transactionsRoot"] == str(EMPTY_TRIE)


def test_calls_see_the_block_that_is_described(base: SimulationBase) -> None:
    seen = CallRequest(sender=C0, to=C1)
    first, second = simulate(
        base,
        [
            block(seen, accounts=coded(BLOCK_CODE), gas_limit=1_000_000, fee_recipient=C2),
            block(seen, number=2, time=5_000, base_fee_per_gas=7),
        ],
    )
    base_hash = int.from_bytes(base.header.hash())
    first_hash = number(first["hash"])
    recipient = int.from_bytes(C2)
    assert words(first["calls"][0]["returnData"]) == [1, 1_012, 0, recipient, 1_000_000, base_hash]
    # The gas limit is that of the block before; the fee recipient is zero again.
    assert words(second["calls"][0]["returnData"]) == [2, 5_000, 7, 0, 1_000_000, first_hash]


def test_gaps_are_filled_with_empty_blocks(base: SimulationBase) -> None:
    blocks = simulate(base, [block(), block(number=4), block(time=2_000)])
    assert numbers_and_times(blocks) == [(1, 1_012), (2, 1_024), (3, 1_036), (4, 1_048), (5, 2_000)]
    parents = [it["parentHash"] for it in blocks[1:]]
    assert parents == [it["hash"] for it in blocks[:-1]]


@pytest.mark.parametrize(
    ("blocks", "error", "text"),
    [
        ([], InvalidSimulation, "empty input"),
        ([block(number=0)], SimulatedNumberTooLow, "0 <= 0"),
        ([block(number=9), block(number=9)], SimulatedNumberTooLow, "9 <= 9"),
        ([block(time=1_000)], SimulatedTimeTooLow, "1000 <= 1000"),
        ([block(time=2_000), block(time=1_500)], SimulatedTimeTooLow, "1500 <= 2000"),
        ([block(number=10, time=1_050)], SimulatedTimeTooLow, "1050 <= 1108"),
        ([block(number=257)], SimulationTooLong, "257, and a simulation has at most 256"),
        ([block()] * 257, SimulationTooLong, "257, and a simulation has at most 256"),
    ],
)
def test_blocks_out_of_order_are_rejected(
    base: SimulationBase, blocks: list[BlockCalls], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        simulate(base, blocks)


def test_a_simulation_may_have_256_blocks(base: SimulationBase) -> None:
    blocks = simulate(base, [block(number=256)])
    assert (len(blocks), numbers_and_times(blocks)[-1]) == (256, (256, 1_000 + 256 * 12))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (CallRequest(sender=C0, to=C1, nonce=6, max_fee_per_gas=200), "nonce too high"),
        (CallRequest(sender=C0, to=C1, nonce=4, max_fee_per_gas=200), "nonce too low"),
        (CallRequest(sender=C0, to=C1, max_fee_per_gas=100), "max fee per gas less than"),
        (CallRequest(sender=C0, to=C1, gas=20_000, max_fee_per_gas=200), "intrinsic gas too low"),
        (CallRequest(sender=C2, to=C1, max_fee_per_gas=200), "insufficient funds"),
        (CallRequest(sender=C0, to=C1, gas=300_000_000, max_fee_per_gas=200), "the block has"),
    ],
)
def test_validation_rejects_what_no_block_includes(
    base: SimulationBase, call: CallRequest, reason: str
) -> None:
    wanted = [block(), block(call, accounts=funded(10**18, nonce=5), base_fee_per_gas=101)]
    with pytest.raises(SimulatedCallRejected, match=rf"blockStateCalls\[1\]\.calls\[0\]: {reason}"):
        simulate(base, wanted, validation=True)


@pytest.mark.parametrize(
    "call",
    [
        CallRequest(sender=C0, to=C1, nonce=6),
        CallRequest(sender=C0, to=C1, nonce=4),
        CallRequest(sender=C0, to=C1, max_fee_per_gas=0),
        CallRequest(sender=C0, to=C1, gas_price=0),
    ],
)
def test_without_validation_nonces_and_base_fees_do_not_matter(
    base: SimulationBase, call: CallRequest
) -> None:
    wanted = block(call, accounts=funded(0, nonce=5), base_fee_per_gas=101)
    (done,) = simulate(base, [wanted])
    assert "error" not in done["calls"][0]
    assert account_after(base, wanted)[0] == 6


def test_gas_limits_are_what_the_block_has_left(base: SimulationBase) -> None:
    call = CallRequest(sender=C0, to=C1)
    (done,) = simulate(base, [block(call, call, gas_limit=100_000)])
    assert [number(it["gas"]) for it in done["transactions"]] == [100_000, 79_000]


def test_the_gas_cap_is_for_all_calls_together(base: SimulationBase) -> None:
    call = CallRequest(sender=C0, to=C1)
    limits = CallLimits(gas_cap=42_000)
    blocks = simulate(base, [block(call), block(call)], limits=limits)
    limits_seen = [number(it["transactions"][0]["gas"]) for it in blocks]
    assert limits_seen == [42_000, 21_000]
    with pytest.raises(SimulationTooLong, match="used all of their 42000 gas"):
        simulate(base, [block(call, call, call)], limits=limits)


def test_failures_are_results_and_undo_what_they_did(base: SimulationBase) -> None:
    accounts = {**funded(), **coded("5f5fa0 60015f55 5f5ffd"), **coded("fe", C2)}
    calls = [CallRequest(sender=C0, to=to, value=1, gas=100_000) for to in (C1, C2)]
    failing = block(*calls, accounts=accounts)
    read = block(CallRequest(to=C1), accounts=coded(READ_CODE))
    done, after = simulate(base, [failing, read])
    reverted, halted = done["calls"]
    assert (reverted["error"]["code"], halted["error"]["code"]) == (REVERTED, HALTED)
    assert (reverted["status"], reverted["returnData"]) == ("0x0", "0x")
    assert (reverted["logs"], halted["logs"], halted["gasUsed"]) == ([], [], hex(100_000))
    assert words(after["calls"][0]["returnData"]) == [0]
    assert account_after(base, failing) == (2, 2_000)


def test_transfers_are_in_order_with_the_logs(base: SimulationBase) -> None:
    accounts = {**funded(), **coded(SEND_CODE)}
    wanted = block(CallRequest(sender=C0, to=C1, value=10), accounts=accounts)
    (quiet,) = simulate(base, [wanted])
    (traced,) = simulate(base, [wanted], trace_transfers=True)

    def transfer(sender: Address, to: Address, wei: int) -> Any:
        parties = [f"0x{party.hex():0>64}" for party in (sender, to)]
        return EMITTER, [TRANSFER, *parties], f"0x{wei:064x}"

    def logs(done: dict[str, Any]) -> list[Any]:
        return [(log["address"], log["topics"], log["data"]) for log in done["calls"][0]["logs"]]

    nothing: list[str] = []
    first, second = (str(C1), nothing, "0x"), (str(C1), [f"0x{7:064x}"], "0x")
    assert logs(quiet) == [first, second]
    assert logs(traced) == [transfer(C0, C1, 10), first, transfer(C1, C2, 1), second]
    # Receipts and bloom are those of a chain, which knows no such logs.
    assert {**traced, "calls": None} == {**quiet, "calls": None}


def test_what_reverts_inside_moves_no_ether(base: SimulationBase) -> None:
    code = f"5f5f5f5f600173{C2.hex()}5af150"
    accounts = {**funded(), **coded(code), **coded("5f5ffd", C2)}
    wanted = block(CallRequest(sender=C0, to=C1, value=10), accounts=accounts)
    (traced,) = simulate(base, [wanted], trace_transfers=True)
    assert [words(log["data"]) for log in traced["calls"][0]["logs"]] == [[10]]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "0x2"),
        ({"max_fee_per_gas": 0}, "0x2"),
        ({"gas_price": 0}, "0x0"),
        ({"gas_price": 0, "access_list": (Access(C2),)}, "0x1"),
        ({"access_list": (Access(C2, (Hash32(word(1)),)),)}, "0x2"),
    ],
)
def test_the_type_of_a_transaction_follows_from_its_call(
    base: SimulationBase, fields: dict[str, Any], kind: str
) -> None:
    (done,) = simulate(base, [block(CallRequest(sender=C0, to=C1, **fields))])
    (transaction,) = done["transactions"]
    assert transaction["type"] == kind
    expected = [
        {"address": str(it.account), "storageKeys": list(map(str, it.slots))}
        for it in fields.get("access_list", ())
    ]
    assert transaction.get("accessList", []) == expected


def test_a_precompile_is_elsewhere_for_one_block(base: SimulationBase) -> None:
    identity = Address((4).to_bytes(20))
    calls = [CallRequest(sender=C0, to=to, data=b"hello") for to in (identity, C2)]
    moved = {identity: StateOverride(move_precompile_to=C2)}
    blocks = simulate(base, [block(*calls, accounts=moved), block(*calls)])
    outputs = [[result["returnData"] for result in it["calls"]] for it in blocks]
    hello = "0x" + b"hello".hex()
    assert outputs == [["0x", hello], [hello, "0x"]]
