"""Reads of the crate for plain requests."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from entresol._native import Overlay
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.rules import ChainRules
from entresol.errors import InvalidParams, MalformedValue
from entresol.offload import POLICY
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.rpc.services.native_reads import (
    FEE_HISTORY_LIMITS,
    check_percentiles,
    new_fee_history,
)
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import (
    ALICE,
    FEE,
    GENESIS,
    NOBODY,
    deposit,
    fee_market,
    seal_block,
    transaction,
)
from tests.support.chain.records import fees_of, history_over
from tests.support.evm.assembler import assemble
from tests.support.rpc_client import native_response

CONTRACT = Address(b"\xc1" * 20)


def edit(client: ApiClient, code: str) -> None:
    """Put a program at the contract's address."""

    def change(code: bytes, state: Overlay) -> None:
        state.set_code(CONTRACT, code)

    client.chain.edit(CONTRACT, partial(change, assemble(code)))


def native(client: ApiClient, method: str, *params: object) -> object:
    """Return what the crate responds, or None if it leaves the request to Python."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = native_response(client.api.dispatcher, json.dumps(request).encode())
    if response is None:
        return None
    found = json.loads(response)
    return found["error"] if "error" in found else found["result"]


def test_reads_follow_the_head_its_edits_and_reverts(client: ApiClient) -> None:
    read = partial(native, client, "eth_getBalance", str(NOBODY))
    assert read() == read("latest") == "0x0"
    snapshot = client("evm_snapshot")
    send(client)
    assert read() == "0x1"
    client("anvil_setBalance", str(NOBODY), "0x7")
    assert read("latest") == read("0x1") == "0x7"
    assert read("0x0") == "0x0"
    assert client("evm_revert", snapshot)
    assert read() == "0x0"


def test_a_block_that_does_not_exist_is_left_to_python(client: ApiClient) -> None:
    assert native(client, "eth_getBalance", str(ALICE), "0x1") is None


def test_a_long_call_is_cached_until_the_state_changes(client: ApiClient) -> None:
    call = {"to": str(CONTRACT)}
    edit(client, "1000 again: 1 swap1 sub dup1 @again jumpi number 0 mstore 32 0 return")
    first = native(client, "eth_call", call)
    assert client.api.dispatcher.render_metrics().count('method="eth_call"') > 0
    held = {use.part: use.used for use in client.api.memory()}["calls"]
    assert held > 0
    assert native(client, "eth_call", call) == first == f"0x{0:064x}"
    client("evm_mine")
    assert native(client, "eth_call", call) == f"0x{1:064x}"


def test_calls_count_in_the_metrics_wherever_they_were_made(client: ApiClient) -> None:
    for block in ("latest", "pending", "latest"):
        client("eth_getBalance", str(ALICE), block)
    text = client.api.dispatcher.render_metrics()
    found = re.search(r'entresol_rpc_seconds_count\{method="eth_getBalance"\} (\d+)', text)
    assert found is not None
    assert found[1] == "3"


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("0 0 return", False),
        ("0 0 revert", False),
        ("again: @again jump", True),
        ("30000 again: 1 swap1 sub dup1 @again jumpi 0 0 return", True),
    ],
)
def test_only_a_short_call_is_responded_to(client: ApiClient, code: str, left: bool) -> None:
    edit(client, code)
    assert (native(client, "eth_call", {"to": str(CONTRACT)}) is None) is left


FAILURES = {
    "a reason": "0x08c379a0 224 shl 0 mstore 32 4 mstore 2 36 mstore 0x6e6f 240 shl 68 mstore 100 0 revert",
    "a panic": "0x4e487b71 224 shl 0 mstore 0x11 4 mstore 36 0 revert",
    "a custom error": "0x12345678 224 shl 0 mstore 7 4 mstore 36 0 revert",
    "a text with quotes and half a character": "0x2261220a5c7fe2 200 shl 0 mstore 7 0 revert",
    "nothing": "0 0 revert",
    "an empty stack": "pop",
    "an invalid opcode": "invalid",
    "an unknown jump": "5 jump",
    "no gas": "again: @again jump",
}
"""Programs that fail, by what they fail with."""


@pytest.mark.parametrize("code", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_a_call_that_fails_has_the_error_that_python_reports(
    client: ApiClient, method: str, code: str
) -> None:
    edit(client, code)
    bodies = [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": method,
                "params": [{"to": str(CONTRACT), "gas": "0xc350"}, block],
            }
        ).encode()
        for block in ("latest", "0x0")
    ]
    ours, theirs = (native_response(client.api.dispatcher, body) for body in bodies)
    # A block by number is left to Python.
    assert theirs is None
    assert ours == asyncio.run(client.handle(bodies[1]))
    assert ours is not None
    assert b'"error":' in ours


def test_failed_calls_count_in_the_metrics_by_code(client: ApiClient) -> None:
    edit(client, "0 0 revert")
    for _ in range(3):
        assert native(client, "eth_call", {"to": str(CONTRACT)}) is not None
    edit(client, "pop")
    assert native(client, "eth_call", {"to": str(CONTRACT)}) is not None
    text = client.api.dispatcher.render_metrics()
    assert 'entresol_rpc_errors_total{method="eth_call",code="3"} 3' in text
    assert 'entresol_rpc_errors_total{method="eth_call",code="-32000"} 1' in text


def test_a_call_that_spent_its_budget_is_not_tried_on_the_event_loop_again(
    client: ApiClient,
) -> None:
    edit(client, "30000 again: 1 swap1 sub dup1 @again jumpi 7 0 mstore 32 0 return")
    assert client("eth_call", {"to": str(CONTRACT)}, "latest") == f"0x{7:064x}"
    assert native(client, "eth_call", {"to": str(CONTRACT)}) is None
    # What ran it then has asked already, and has begun on a thread.
    assert not client.api.services.reads.take_budget_spent()


def simulated(client: ApiClient) -> object:
    """Return two simulated blocks, once it is certain that the crate and Python give the same."""
    call = {"from": str(ALICE), "to": str(CONTRACT), "value": "0x1"}
    payload = {"blockStateCalls": [{"calls": [call, call]}, {}]}
    ours = native(client, "eth_simulateV1", payload, "latest")
    assert ours is not None
    # A block by number is left to Python.
    assert ours == client("eth_simulateV1", payload, hex(client.chain.number))
    return ours


def test_a_simulation_builds_on_the_head_its_edits_and_reverts(client: ApiClient) -> None:
    seen = [simulated(client)]
    snapshot = client("evm_snapshot")
    edit(client, "number 0 sstore callvalue 1 sstore 0 0 log0 stop")
    seen.append(simulated(client))
    client("evm_mine")
    seen.append(simulated(client))
    send(client)
    seen.append(simulated(client))
    assert all(seen.count(name) == 1 for name in seen)
    assert client("evm_revert", snapshot)
    assert simulated(client) == seen[0]


def test_a_simulation_on_an_l1_has_the_fields_of_its_fork() -> None:
    chain = Chain.open(None, ChainRules.layer_1(), GENESIS, clock=Clock(lambda: 1_000.0))
    client = ApiClient(chain)
    blocks: Any = native(client, "eth_simulateV1", {"blockStateCalls": [{}]})
    (block,) = blocks
    assert set(block) == {*client("eth_getBlockByNumber", "latest", False), "calls"}
    assert "requestsHash" in block
    client.api.close()
    chain.close()


def test_a_simulation_of_many_blocks_is_left_to_python(client: ApiClient) -> None:
    for count, left in ((POLICY.simulated_items, False), (POLICY.simulated_items + 1, True)):
        result = native(client, "eth_simulateV1", {"blockStateCalls": [{}] * count})
        assert (result is None) is left


def filled(client: ApiClient) -> dict[str, Any]:
    """Return a filled transaction, once it is certain that the crate and Python give the same."""
    call = {"from": str(ALICE), "to": str(CONTRACT)}
    ours: Any = native(client, "eth_fillTransaction", call)
    assert ours is not None
    # A type is left to Python.
    assert ours == client("eth_fillTransaction", {**call, "type": "0x2"})
    fields: dict[str, Any] = ours["tx"]
    return fields


def test_a_filled_transaction_follows_pending_ones_edits_and_settings(client: ApiClient) -> None:
    before = filled(client)
    edit(client, "1 sload stop")
    assert int(filled(client)["gas"], 16) > int(before["gas"], 16)
    client("evm_setAutomine", False)
    InlineSequencer(client.chain).submit(transaction(0, wei=1).raw)
    assert (before["nonce"], filled(client)["nonce"]) == ("0x0", "0x1")
    client("anvil_setNextBlockBaseFeePerGas", hex(3 * FEE))
    assert filled(client)["maxFeePerGas"] == hex(6 * FEE)
    client("evm_mine")
    assert filled(client)["nonce"] == "0x1"


def test_a_transaction_behind_a_heavy_pending_block_is_left_to_python(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    for nonce in range(3):
        InlineSequencer(client.chain).submit(transaction(nonce, gas=2_000_000).raw)
    call = {"from": str(ALICE), "to": str(NOBODY)}
    assert native(client, "eth_fillTransaction", call) is None
    assert client("eth_fillTransaction", call)["tx"]["nonce"] == "0x3"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param({"to": str(NOBODY)}, id="without a sender"),
        pytest.param({"from": str(ALICE), "to": str(NOBODY), "gas": "0x7530"}, id="with gas"),
        pytest.param({"from": str(ALICE), "data": "0x00"}, id="creates a contract"),
    ],
)
def test_a_transaction_that_is_not_plain_is_left_to_python(
    client: ApiClient, call: dict[str, str]
) -> None:
    assert native(client, "eth_fillTransaction", call) is None


def history(client: ApiClient, first: int, last: int, *percentiles: float) -> Any:
    return json.loads(new_fee_history(client.chain).render(first, last, percentiles))


def seal_tips(chain: Chain, *tips: int) -> None:
    """Seal a block with a transaction of each tip, by different senders."""
    chain.schedule.seal_on_request()
    nonce = sum(len(chain.blocks.record(n).transactions) > 0 for n in range(chain.number + 1))
    for sender, tip in enumerate(tips):
        InlineSequencer(chain).submit(transaction(nonce, by=sender, tip=tip).raw)
    chain.builder.seal()


def test_the_base_fees_go_one_block_further(client: ApiClient) -> None:
    send(client)
    send(client, 1)
    assert history(client, 1, 2) == {
        "oldestBlock": "0x1",
        "baseFeePerGas": [hex(FEE)] * 3,
        "gasUsedRatio": [21_000 / client.chain.head.gas_limit] * 2,
        "reward": [[], []],
        "baseFeePerBlobGas": ["0x1"] * 3,
        "blobGasUsedRatio": [0.0, 0.0],
    }
    client("anvil_setNextBlockBaseFeePerGas", hex(FEE + 7))
    assert history(client, 1, 2)["baseFeePerGas"][-1] == hex(FEE + 7)
    assert history(client, 1, 1)["baseFeePerGas"][-1] == hex(FEE)


def test_the_fees_of_a_reverted_block_are_read_again(client: ApiClient) -> None:
    seal_tips(client.chain, 1)
    snapshot = client("evm_snapshot")
    seal_tips(client.chain, 2)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x1"], ["0x2"]]
    assert client("evm_revert", snapshot)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x0"], ["0x1"]]
    seal_tips(client.chain, 3)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x1"], ["0x3"]]


@pytest.mark.parametrize("newest", ["latest", "0x2"])
def test_blocks_are_loaded_once(client: ApiClient, newest: str) -> None:
    seal_tips(client.chain, 1)
    seal_tips(client.chain, 2)
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "eth_feeHistory", "params": ["0x2", newest, [5]]}
    ).encode()
    dispatcher = client.api.dispatcher
    assert native_response(dispatcher, body) is None
    expected = client("eth_feeHistory", "0x2", newest, [5])
    assert json.loads(native_response(dispatcher, body) or b"")["result"] == expected


def test_the_ratio_is_at_most_one(manual: Chain) -> None:
    # As blocks were built once: the transaction uses all of its gas, which is more than their limit.
    heavy = replace(deposit(0, gas_limit=72_000_000), to_mint=0)
    executed = seal_block(manual.ledger, Transaction.from_l1(heavy))
    assert executed.header.gas_used > executed.header.gas_limit
    assert fees_of(manual.blocks.record(1))["gasUsedRatio"] == 1.0


def test_tips_are_in_order_of_size(manual: Chain) -> None:
    for sender, tip in enumerate((30, 10, 20)):
        InlineSequencer(manual).submit(transaction(0, by=sender, tip=tip).raw)
    manual.builder.seal()
    thirds = (0, 33, 34, 66, 67, 100)
    tips = fees_of(manual.blocks.record(1), percentiles=thirds)["reward"]
    assert [int(tip, 16) for tip in tips] == [10, 10, 20, 20, 30, 30]


@pytest.mark.parametrize(
    ("count", "newest", "first"),
    [(2, 5, 4), (0, 5, 5), (100, 1, 0), (10**6, 5_000, 5_001 - FEE_HISTORY_LIMITS.blocks)],
)
def test_a_history_ends_at_genesis_or_at_its_limit(count: int, newest: int, first: int) -> None:
    assert history_over(b"").first(count, newest, 0) == first


@pytest.mark.parametrize(
    ("percentiles", "complaint"),
    [
        ([101], "each is from 0 to 100, got 101"),
        ([-1], "each is from 0 to 100, got -1"),
        ([50, 40], "they must not fall, got 40 after 50"),
        ([float("nan")], "each is from 0 to 100, got nan"),
        ([50] * 101, "at most 100 are allowed, got 101"),
    ],
)
def test_percentiles_that_are_none_are_rejected(percentiles: list[float], complaint: str) -> None:
    with pytest.raises(InvalidParams, match=complaint):
        check_percentiles(percentiles)


@pytest.mark.parametrize(
    ("fee_cap", "tip", "base_fee", "expected"), [(10, 3, 5, 3), (10, 8, 5, 5), (4, 2, 5, 0)]
)
def test_a_tip_is_what_the_cap_leaves(fee_cap: int, tip: int, base_fee: int, expected: int) -> None:
    payload = fee_market(0, NOBODY, chain_id=1, fee=fee_cap, tip=tip)
    signed = sign(payload, b"\1" * 32)
    header = Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32.zero(),
        number=1,
        gas_limit=30_000_000,
        gas_used=21_000,
        timestamp=1,
        base_fee_per_gas=base_fee,
    )
    result = TransactionResult(succeeded=True, gas_used=21_000)
    sent = (signed.raw, bytes(signed.sender))
    record = BlockRecord(header.encode(), (sent,), (result,), (), ())
    assert fees_of(record, percentiles=(50,))["reward"] == [hex(expected)]


def test_a_record_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(MalformedValue):
        history_over(b"\1\x90").render(1, 1, ())
