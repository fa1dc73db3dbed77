"""What the tests of zksync-era check of its API, item by item.

The number of a test is that of its item in the list of behaviours; the items about L1, batches, proofs
and pruning are left to the parts of this node that serve them. Where this node decides otherwise, the
test has the word `here` in its name and says why. Items 63 and
68, about limits, are shown in the tests of filters and of the server; 62 is no setting of this node.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_keys import keys  # type: ignore[attr-defined]
from web3 import Web3
from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from websockets.sync.client import connect

from tests.support.evm.programs import demand_gas, program
from tests.support.http_rpc_client import Asker
from tests.support.node_process import RunningNode, running_node
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.clients

CHAIN_ID = 270
GWEI = 10**9
FUTURE = "0x989680"
UNKNOWN = "0x" + "ab" * 32
NO_BLOCK = "Block with such an ID doesn't exist yet"
BOB = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
NOBODY = "0x00000000000000000000000000000000deadbeef"
ALICE: LocalAccount = Account.from_key(
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
)
SENDER = ALICE.address.lower()
MATH_CODE = str(MATH_CONTRACT_DATA["bytecode"])
MATH = Web3().eth.contract(abi=MATH_CONTRACT_DATA["abi"])
EMITTER = Web3().eth.contract(abi=EMITTER_CONTRACT_DATA["abi"])
REVERTS = Web3().eth.contract(abi=REVERT_CONTRACT_DATA["abi"])


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    # Two answers about a block are equal only as long as no batch takes it in between.
    with running_node("--no-settle") as running:
        yield running


@pytest.fixture(scope="module")
def ask(node: RunningNode) -> Iterator[Asker]:
    asker = Asker(node.url)
    yield asker
    asker.close()


def sign(ask: Asker, *, key: LocalAccount = ALICE, **fields: Any) -> str:
    count = ask("eth_getTransactionCount", key.address, "pending")
    fees = {} if "gasPrice" in fields else {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 0}
    transaction = {"chainId": CHAIN_ID, "nonce": int(count, 16), "gas": 2_000_000, "value": 0}
    signed = key.sign_transaction({**transaction, **fees, **fields})
    return Web3.to_hex(signed.raw_transaction)


def send(ask: Asker, **fields: Any) -> Any:
    """Send a transaction and return its receipt."""
    return receipt_of(ask, ask("eth_sendRawTransaction", sign(ask, **fields)))


def receipt_of(ask: Asker, sent: str) -> Any:
    receipt = ask("eth_getTransactionReceipt", sent)
    assert receipt is not None
    return receipt


def deploy(ask: Asker, code: str) -> str:
    return str(send(ask, data=code)["contractAddress"])


def init_code(runtime: str) -> str:
    """Return code that deploys `runtime`."""
    size = len(runtime) // 2
    return f"0x61{size:04x}80600a5f395ff3{runtime}"


def rejected(ask: Asker, method: str, *params: Any) -> RpcError:
    with pytest.raises(RpcError) as raised:
        ask(method, *params)
    return raised.value


def hold(ask: Asker) -> None:
    ask("evm_setAutomine", False)


def release(ask: Asker) -> None:
    ask("evm_setAutomine", True)


@pytest.fixture
def held(ask: Asker) -> Iterator[None]:
    """Let transactions wait during a test."""
    hold(ask)
    yield
    release(ask)


@pytest.fixture(scope="module")
def math(ask: Asker) -> str:
    return deploy(ask, MATH_CODE)


@pytest.fixture(scope="module")
def emitter(ask: Asker) -> str:
    return deploy(ask, str(EMITTER_CONTRACT_DATA["bytecode"]))


@pytest.fixture(scope="module")
def reverts(ask: Asker) -> str:
    return deploy(ask, str(REVERT_CONTRACT_DATA["bytecode"]))


def emit(ask: Asker, emitter: str, value: int) -> Any:
    """Emit `LogSingleWithIndex(value)` and return the receipt."""
    return send(ask, to=Web3.to_checksum_address(emitter), data=log_data(value))


def log_data(value: int) -> str:
    return str(EMITTER.encode_abi("logSingle", [7, value]))


@pytest.fixture(scope="module")
def full_block(ask: Asker, emitter: str) -> Any:
    """Return a block with three transactions, two of them with logs."""
    hold(ask)
    address = Web3.to_checksum_address(emitter)
    for fields in ({"to": address, "data": log_data(1)}, {"to": Web3.to_checksum_address(BOB)}):
        ask("eth_sendRawTransaction", sign(ask, **fields))
    ask("eth_sendRawTransaction", sign(ask, to=address, data=log_data(2)))
    ask("evm_mine")
    release(ask)
    block = ask("eth_getBlockByNumber", "latest", False)
    assert len(block["transactions"]) == 3
    return block


# Blocks and tags.


def test_01_a_fresh_chain_is_at_block_0() -> None:
    with running_node() as node:
        asker = Asker(node.url)
        assert asker("eth_blockNumber") == "0x0"
        asker.close()


def test_02_a_block_of_the_future_is_null(ask: Asker) -> None:
    assert ask("eth_getBlockByNumber", FUTURE, False) is None
    assert ask("eth_getBlockByHash", UNKNOWN, False) is None
    assert ask("eth_getBlockTransactionCountByNumber", FUTURE) is None


def test_03_receipts_of_a_block_of_the_future_are_null(ask: Asker) -> None:
    assert ask("eth_getBlockReceipts", FUTURE) is None
    assert ask("eth_getBlockReceipts", UNKNOWN) is None


def test_04_pending_is_here_the_block_being_built(ask: Asker) -> None:
    """zksync-era answers null; people ask for the block that is being built."""
    latest = ask("eth_getBlockByNumber", "latest", False)
    pending = ask("eth_getBlockByNumber", "pending", False)
    assert pending["parentHash"] == latest["hash"]
    assert int(pending["number"], 16) == int(latest["number"], 16) + 1


def test_05_earliest_is_0_and_every_tag_gives_a_block(ask: Asker) -> None:
    assert ask("eth_getBlockByNumber", "earliest", False)["number"] == "0x0"
    for tag in ("committed", "finalized", "latest", "l1_committed", "safe"):
        assert ask("eth_getBlockByNumber", tag, False)["hash"]


def test_13_a_block_number_that_is_an_integer_is_rejected(ask: Asker) -> None:
    assert rejected(ask, "eth_getBlockByNumber", 1).code == -32602


def test_14_an_unknown_method_is_not_found(ask: Asker) -> None:
    assert rejected(ask, "eth_noSuchMethod").code == -32601


def test_15_the_bloom_of_a_block_is_the_union_of_its_receipts(ask: Asker, full_block: Any) -> None:
    assert len(full_block["logsBloom"]) == 514
    receipts = ask("eth_getBlockReceipts", full_block["number"])
    union = 0
    for receipt in receipts:
        union |= int(receipt["logsBloom"], 16)
    assert int(full_block["logsBloom"], 16) == union != 0


def test_16_a_block_used_the_gas_of_its_receipts(ask: Asker, full_block: Any) -> None:
    receipts = ask("eth_getBlockReceipts", full_block["hash"])
    assert int(full_block["gasUsed"], 16) >= sum(int(it["gasUsed"], 16) for it in receipts) > 0


def test_17_the_receipts_of_a_block_are_those_of_its_transactions(
    ask: Asker, full_block: Any
) -> None:
    one_by_one = [ask("eth_getTransactionReceipt", it) for it in full_block["transactions"]]
    assert ask("eth_getBlockReceipts", full_block["number"]) == one_by_one


@pytest.mark.parametrize("full", [False, True])
def test_18_a_block_is_the_same_by_hash_and_by_number(
    ask: Asker, full_block: Any, full: bool
) -> None:
    by_number = ask("eth_getBlockByNumber", full_block["number"], full)
    assert ask("eth_getBlockByHash", full_block["hash"], full) == by_number
    assert ask("eth_getBlockTransactionCountByNumber", full_block["number"]) == "0x3"
    assert ask("eth_getBlockTransactionCountByHash", full_block["hash"]) == "0x3"


def test_19_a_transaction_is_the_same_by_place_and_by_hash(ask: Asker, full_block: Any) -> None:
    for index, name in enumerate(full_block["transactions"]):
        found = ask("eth_getTransactionByHash", name)
        number, block_hash = full_block["number"], full_block["hash"]
        assert ask("eth_getTransactionByBlockNumberAndIndex", number, hex(index)) == found
        assert ask("eth_getTransactionByBlockHashAndIndex", block_hash, hex(index)) == found


# Storage, code and nonces.


def test_21_code_is_what_was_deployed_and_empty_before(ask: Asker) -> None:
    receipt = send(ask, data=MATH_CODE)
    address, number = receipt["contractAddress"], int(receipt["blockNumber"], 16)
    assert ask("eth_getCode", address, "latest") == MATH_CONTRACT_DATA["bytecode_runtime"]
    assert ask("eth_getCode", address, hex(number - 1)) == "0x"


@pytest.mark.usefixtures("held")
def test_23_a_count_is_of_its_block_and_pending_counts_what_waits(ask: Asker) -> None:
    latest = int(ask("eth_getTransactionCount", SENDER, "latest"), 16)
    ask("eth_sendRawTransaction", sign(ask, to=Web3.to_checksum_address(BOB)))
    assert int(ask("eth_getTransactionCount", SENDER, "latest"), 16) == latest
    assert int(ask("eth_getTransactionCount", SENDER, "pending"), 16) == latest + 1
    assert ask("eth_getTransactionCount", SENDER, "0x0") == "0x0"


@pytest.mark.parametrize(
    "method", ["eth_getTransactionCount", "eth_getBalance", "eth_getCode", "eth_getStorageAt"]
)
def test_23_a_state_of_the_future_is_an_error(ask: Asker, method: str) -> None:
    slot = ["0x0"] if method == "eth_getStorageAt" else []
    error = rejected(ask, method, SENDER, *slot, FUTURE)
    assert (error.code, error.message) == (-32602, NO_BLOCK)


@pytest.mark.usefixtures("held")
def test_24_pending_does_not_count_behind_a_gap(ask: Asker) -> None:
    count = int(ask("eth_getTransactionCount", SENDER, "pending"), 16)
    behind = sign(ask, to=Web3.to_checksum_address(BOB), nonce=count + 1)
    ask("eth_sendRawTransaction", behind)
    assert int(ask("eth_getTransactionCount", SENDER, "pending"), 16) == count
    ask("eth_sendRawTransaction", sign(ask, to=Web3.to_checksum_address(BOB), nonce=count))
    assert int(ask("eth_getTransactionCount", SENDER, "pending"), 16) == count + 2


def test_25_a_block_may_be_named_by_an_object(ask: Asker) -> None:
    genesis = ask("eth_getBlockByNumber", "0x0", False)
    for place in ({"blockNumber": "0x0"}, {"blockHash": genesis["hash"]}):
        assert ask("eth_getBalance", SENDER, place) == hex(10_000 * 10**18)
        assert ask("eth_getTransactionCount", SENDER, place) == "0x0"


# Transactions.


@pytest.mark.parametrize("chain_id", [None, CHAIN_ID], ids=["before 155", "since 155"])
def test_26_legacy_transfers_are_taken(ask: Asker, chain_id: int | None) -> None:
    count = int(ask("eth_getTransactionCount", SENDER, "pending"), 16)
    fields: dict[str, Any] = {"nonce": count, "gas": 21_000, "gasPrice": GWEI, "value": 1}
    if chain_id is not None:
        fields["chainId"] = chain_id
    signed = ALICE.sign_transaction({**fields, "to": Web3.to_checksum_address(BOB)})
    sent = ask("eth_sendRawTransaction", Web3.to_hex(signed.raw_transaction))
    assert receipt_of(ask, sent)["status"] == "0x1"


def test_26_a_transfer_with_dynamic_fees_is_taken(ask: Asker) -> None:
    assert send(ask, to=Web3.to_checksum_address(BOB), value=1)["type"] == "0x2"


def test_27_access_lists_are_taken_here(ask: Asker) -> None:
    """zksync-era rejects them, because its virtual machine has no use for them; an EVM has."""
    touched = [{"address": BOB, "storageKeys": [UNKNOWN]}]
    receipt = send(ask, to=Web3.to_checksum_address(BOB), accessList=touched, gasPrice=GWEI, type=1)
    assert (receipt["type"], receipt["status"]) == ("0x1", "0x1")
    assert send(ask, to=Web3.to_checksum_address(BOB), accessList=touched)["type"] == "0x2"


def test_28_the_price_and_the_signature_of_a_legacy_transaction_come_back(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB), gasPrice=3 * GWEI)
    found = ask("eth_getTransactionByHash", ask("eth_sendRawTransaction", raw))
    assert int(found["gasPrice"], 16) == 3 * GWEI
    v, r, s = (int(found[name], 16) for name in "vrs")
    assert v - 35 - 2 * CHAIN_ID in {0, 1}
    signature = keys.Signature(vrs=(v - 35 - 2 * CHAIN_ID, r, s))
    unsigned = [
        int(found["nonce"], 16), 3 * GWEI, int(found["gas"], 16), bytes.fromhex(BOB[2:]), 0, b"",
        CHAIN_ID, 0, 0,
    ]  # fmt: skip
    digest = Web3.keccak(rlp.encode(unsigned))
    recovered = signature.recover_public_key_from_msg_hash(digest)
    assert recovered.to_address() == SENDER


def test_28_a_transaction_with_dynamic_fees_has_a_parity(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB))
    found = ask("eth_getTransactionByHash", ask("eth_sendRawTransaction", raw))
    assert found["yParity"] in {"0x0", "0x1"}
    assert found["v"] == found["yParity"]


def test_29_both_fees_come_back(ask: Asker) -> None:
    fees: dict[str, Any] = {"maxFeePerGas": 5 * GWEI, "maxPriorityFeePerGas": 2 * GWEI}
    raw = sign(ask, to=Web3.to_checksum_address(BOB), **fees)
    found = ask("eth_getTransactionByHash", ask("eth_sendRawTransaction", raw))
    assert {name: int(found[name], 16) for name in fees} == fees


def test_31_a_missing_target_creates_a_contract(ask: Asker) -> None:
    call = {"from": SENDER, "data": MATH_CODE}
    assert ask("eth_call", call) == MATH_CONTRACT_DATA["bytecode_runtime"]
    assert int(ask("eth_estimateGas", call), 16) > 53_000
    assert send(ask, data=MATH_CODE)["to"] is None


def test_32_a_used_nonce_is_rejected_here_in_geths_words(ask: Asker) -> None:
    """zksync-era has words and a code of its own, by which viem takes the rejection for a revert."""
    send(ask, to=Web3.to_checksum_address(BOB))
    raw = sign(ask, to=Web3.to_checksum_address(BOB), nonce=0)
    error = rejected(ask, "eth_sendRawTransaction", raw)
    assert error.code == -32000
    assert error.message.startswith("nonce too low: next nonce ")


@pytest.mark.usefixtures("held")
def test_33_a_replaced_transaction_disappears(ask: Asker) -> None:
    count = int(ask("eth_getTransactionCount", SENDER, "latest"), 16)
    fields: Any = {"to": Web3.to_checksum_address(BOB), "nonce": count}
    old = ask("eth_sendRawTransaction", sign(ask, **fields, gasPrice=GWEI))
    assert ask("eth_getTransactionByHash", old)["blockHash"] is None
    new = ask("eth_sendRawTransaction", sign(ask, **fields, gasPrice=2 * GWEI))
    ask("evm_mine")
    assert ask("eth_getTransactionByHash", old) is None
    assert receipt_of(ask, new)["status"] == "0x1"


def test_34_a_lack_of_funds_is_rejected_here_in_geths_words(ask: Asker) -> None:
    """For the reason of 32."""
    poor: LocalAccount = Account.from_key(secrets.token_bytes(32))
    raw = sign(ask, key=poor, to=Web3.to_checksum_address(BOB), value=1)
    error = rejected(ask, "eth_sendRawTransaction", raw)
    assert error.code == -32000
    assert error.message.startswith("insufficient funds for gas * price + value: ")


def test_36_a_gas_limit_of_2_to_the_51_is_rejected(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB), gas=2**51, maxFeePerGas=10**8)
    assert "gas limit" in rejected(ask, "eth_sendRawTransaction", raw).message


def test_37_a_price_over_64_bits_is_rejected(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB), gasPrice=2**65)
    assert rejected(ask, "eth_sendRawTransaction", raw).code == -32000


def test_40_a_transaction_that_reverts_is_taken(ask: Asker, reverts: str) -> None:
    data = REVERTS.encode_abi("revertWithMessage")
    receipt = send(ask, to=Web3.to_checksum_address(reverts), data=data)
    assert receipt["status"] == "0x0"


def test_40_a_transaction_that_nobody_signed_is_rejected(ask: Asker) -> None:
    raw = bytearray.fromhex(sign(ask, to=Web3.to_checksum_address(BOB))[2:])
    raw[-32:] = bytes(32)
    assert rejected(ask, "eth_sendRawTransaction", "0x" + raw.hex()).code == -32000


def test_41_sending_may_wait_for_the_receipt(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB))
    receipt = ask("eth_sendRawTransactionSync", raw)
    assert receipt == receipt_of(ask, receipt["transactionHash"])


@pytest.mark.usefixtures("held")
def test_41_waiting_for_the_receipt_ends_with_code_4(ask: Asker) -> None:
    raw = sign(ask, to=Web3.to_checksum_address(BOB))
    assert rejected(ask, "eth_sendRawTransactionSync", raw, "0x32").code == 4


def test_41_waiting_longer_than_allowed_is_here_cut_short(ask: Asker) -> None:
    """zksync-era rejects; geth waits as long as it may, and the receipt is here at once."""
    raw = sign(ask, to=Web3.to_checksum_address(BOB))
    assert ask("eth_sendRawTransactionSync", raw, "0xffffffff")["status"] == "0x1"


# Receipts.


def test_44_everything_agrees_about_its_batch(ask: Asker, emitter: str) -> None:
    receipt = emit(ask, emitter, 44)
    found = ask("eth_getTransactionByHash", receipt["transactionHash"])
    block = ask("eth_getBlockByNumber", receipt["blockNumber"], False)
    batch = block["l1BatchNumber"]
    assert receipt["l1BatchNumber"] == found.get("l1BatchNumber") == batch
    assert [log["l1BatchNumber"] for log in receipt["logs"]] == [batch]


def test_45_the_address_is_that_of_the_outer_contract(ask: Asker) -> None:
    # The constructor creates an empty contract and then returns no code.
    receipt = send(ask, data="0x5f5f5ff0005f5ff3")
    count = int(ask("eth_getTransactionByHash", receipt["transactionHash"])["nonce"], 16)
    outer = Web3.keccak(rlp.encode([bytes.fromhex(SENDER[2:]), count]))[-20:]
    assert receipt["contractAddress"] == "0x" + outer.hex().removeprefix("0x")


def test_46_only_a_creation_has_an_address(ask: Asker, math: str) -> None:
    receipt = send(ask, to=Web3.to_checksum_address(math), data=MATH.encode_abi("return13"))
    assert receipt["contractAddress"] is None


def test_47_a_log_has_the_time_of_its_block(ask: Asker, emitter: str) -> None:
    receipt = emit(ask, emitter, 47)
    block = ask("eth_getBlockByHash", receipt["blockHash"], False)
    assert [log["blockTimestamp"] for log in receipt["logs"]] == [block["timestamp"]]


# Calls and estimates.


def test_48_a_call_is_of_its_block(ask: Asker) -> None:
    receipt = send(ask, data=MATH_CODE)
    address = Web3.to_checksum_address(receipt["contractAddress"])
    call = {"to": address, "data": MATH.encode_abi("counter")}
    send(ask, to=address, data=MATH.encode_abi("incrementCounter", [7]))
    assert int(ask("eth_call", call), 16) == 7
    assert int(ask("eth_call", call, "latest"), 16) == 7
    assert int(ask("eth_call", call, receipt["blockNumber"]), 16) == 0
    error = rejected(ask, "eth_call", call, FUTURE)
    assert (error.code, error.message) == (-32602, NO_BLOCK)


@pytest.mark.parametrize("threshold", [50_000, 100_000, 300_000, 1_000_000])
def test_51_an_estimate_is_enough_and_not_twice_as_much(ask: Asker, threshold: int) -> None:
    target = deploy(ask, init_code(program([demand_gas(threshold)]) + "00"))
    estimate = int(ask("eth_estimateGas", {"from": SENDER, "to": target}), 16)
    assert threshold <= estimate < 2 * threshold
    sent = send(ask, to=Web3.to_checksum_address(target), gas=estimate)
    assert sent["status"] == "0x1"


def test_52_a_value_of_256_bits_is_more_than_anybody_has(ask: Asker) -> None:
    call = {"from": SENDER, "to": BOB, "value": hex(2**256 - 1)}
    assert "insufficient funds" in rejected(ask, "eth_estimateGas", call).message


def test_53_a_call_may_assume_a_balance(ask: Asker) -> None:
    its_balance = "0x475f5260205ff3"
    overrides = {NOBODY: {"code": its_balance, "balance": "0x2a"}}
    assert int(ask("eth_call", {"to": NOBODY}, "latest", overrides), 16) == 42


def test_53_a_call_may_assume_code_and_storage(ask: Asker) -> None:
    call = {"to": NOBODY, "data": MATH.encode_abi("counter")}
    code = MATH_CONTRACT_DATA["bytecode_runtime"]
    slots = {"0x" + "00" * 32: f"0x{42:064x}"}
    for name in ("state", "stateDiff"):
        overrides = {NOBODY: {"code": code, name: slots}}
        assert int(ask("eth_call", call, "latest", overrides), 16) == 42


def test_53_a_whole_storage_hides_what_was_there(ask: Asker) -> None:
    address = deploy(ask, MATH_CODE)
    data = MATH.encode_abi("incrementCounter", [7])
    send(ask, to=Web3.to_checksum_address(address), data=data)
    call = {"to": address, "data": MATH.encode_abi("counter")}
    other = {f"0x{9:064x}": f"0x{1:064x}"}
    assert int(ask("eth_call", call, "latest", {address: {"stateDiff": other}}), 16) == 7
    assert int(ask("eth_call", call, "latest", {address: {"state": other}}), 16) == 0


def test_53_whole_storage_and_some_slots_exclude_each_other(ask: Asker) -> None:
    override: Any = {BOB: {"state": {}, "stateDiff": {}}}
    assert rejected(ask, "eth_call", {"to": BOB}, "latest", override).code == -32602


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_54_a_revert_has_code_3_its_reason_and_its_data(
    ask: Asker, reverts: str, method: str
) -> None:
    call = {"from": SENDER, "to": reverts, "data": REVERTS.encode_abi("revertWithMessage")}
    error = rejected(ask, method, call)
    assert error.code == 3
    assert error.message == "execution reverted: Function has been reverted."
    assert error.data.startswith("0x08c379a0")


def test_54_a_custom_error_has_only_data(ask: Asker, reverts: str) -> None:
    call = {"to": reverts, "data": REVERTS.encode_abi("customErrorWithoutMessage")}
    error = rejected(ask, "eth_call", call)
    assert (error.code, error.message, error.data) == (3, "execution reverted", "0x82b42900")


def test_54_a_revert_without_data_says_so(ask: Asker, reverts: str) -> None:
    call = {"to": reverts, "data": REVERTS.encode_abi("revertWithoutMessage")}
    error = rejected(ask, "eth_call", call)
    assert (error.code, error.message, error.data) == (3, "execution reverted", "0x")


def test_55_an_estimate_of_an_endless_loop_ends(ask: Asker) -> None:
    target = deploy(ask, init_code("5b5f56"))
    assert rejected(ask, "eth_estimateGas", {"from": SENDER, "to": target}).code in {3, -32000}


def test_57_filling_a_transaction_is_not_offered_here(ask: Asker) -> None:
    """Because viem, told that there is no such method, never asks again and helps itself."""
    assert rejected(ask, "eth_fillTransaction", {"to": BOB}).code == -32601


# Filters, logs and subscriptions.


def test_58_a_block_filter_tells_of_a_block_once(ask: Asker) -> None:
    made = ask("eth_newBlockFilter")
    receipt = send(ask, to=Web3.to_checksum_address(BOB))
    assert ask("eth_getFilterChanges", made) == [receipt["blockHash"]]
    assert ask("eth_getFilterChanges", made) == []


def test_59_a_pending_filter_tells_of_a_transaction_once(ask: Asker) -> None:
    made = ask("eth_newPendingTransactionFilter")
    receipt = send(ask, to=Web3.to_checksum_address(BOB))
    assert ask("eth_getFilterChanges", made) == [receipt["transactionHash"]]
    assert ask("eth_getFilterChanges", made) == []


def test_60_a_filter_is_uninstalled_once(ask: Asker) -> None:
    made = ask("eth_newBlockFilter")
    assert ask("eth_uninstallFilter", made) is True
    assert ask("eth_uninstallFilter", made) is False


@pytest.mark.parametrize("method", ["eth_getFilterChanges", "eth_getFilterLogs"])
def test_60_and_64_an_unknown_filter_has_here_the_code_of_geth(ask: Asker, method: str) -> None:
    """zksync-era says -32602; viem makes its filter anew only when it is told -32000."""
    made = ask("eth_newFilter", {})
    ask("eth_uninstallFilter", made)
    error = rejected(ask, method, made)
    assert (error.code, error.message) == (-32000, "filter not found")


def test_61_a_log_filter_looks_at_address_and_topics(ask: Asker, emitter: str) -> None:
    topic = Web3.to_hex(Web3.keccak(text="LogSingleWithIndex(uint256)"))
    right = ask("eth_newFilter", {"address": emitter, "topics": [topic, [f"0x{61:064x}", None]]})
    elsewhere = ask("eth_newFilter", {"address": BOB})
    other = ask("eth_newFilter", {"topics": [UNKNOWN]})
    receipt = emit(ask, emitter, 61)
    (log,) = ask("eth_getFilterChanges", right)
    assert log == receipt["logs"][0]
    assert ask("eth_getFilterChanges", elsewhere) == ask("eth_getFilterChanges", other) == []


def test_61_a_log_filter_may_end(ask: Asker, emitter: str) -> None:
    latest = int(ask("eth_blockNumber"), 16)
    made = ask("eth_newFilter", {"address": emitter, "toBlock": hex(latest + 1)})
    first = emit(ask, emitter, 1)
    emit(ask, emitter, 2)
    assert ask("eth_getFilterChanges", made) == first["logs"]


def test_65_logs_by_hash_are_those_by_number(ask: Asker, full_block: Any) -> None:
    by_hash = ask("eth_getLogs", {"blockHash": full_block["hash"]})
    span = {"fromBlock": full_block["number"], "toBlock": full_block["number"]}
    assert by_hash == ask("eth_getLogs", span)
    assert len(by_hash) == 2


def test_65_a_hash_beside_a_range_is_rejected(ask: Asker, full_block: Any) -> None:
    error = rejected(ask, "eth_getLogs", {"blockHash": full_block["hash"], "fromBlock": "0x0"})
    assert error.code == -32602
    assert "invalid filter" in error.message


def test_66_logs_are_asked_for_by_tags_and_by_bare_digits(ask: Asker, full_block: Any) -> None:
    for tag in ("earliest", "committed", "finalized", "latest"):
        assert isinstance(ask("eth_getLogs", {"fromBlock": tag, "toBlock": tag}), list)
    assert ask("eth_getLogs", {"fromBlock": "0", "toBlock": full_block["number"][2:]})


def test_67_subscribers_are_told_of_blocks_transactions_and_logs(
    node: RunningNode, ask: Asker, emitter: str
) -> None:
    with connect(node.url.replace("http", "ws")) as socket:

        def request(method: str, *params: Any) -> Any:
            socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            return json.loads(socket.recv(5))["result"]

        emit(ask, emitter, 66)
        names = {
            request("eth_subscribe", "newHeads"): "head",
            request("eth_subscribe", "newPendingTransactions"): "pending",
            request("eth_subscribe", "logs", {"address": emitter}): "log",
        }
        ended = request("eth_subscribe", "newHeads")
        assert request("eth_unsubscribe", ended) is True
        receipt = emit(ask, emitter, 67)
        told = {}
        for _ in range(3):
            params = json.loads(socket.recv(5))["params"]
            told[names[params["subscription"]]] = params["result"]
    assert told["head"]["hash"] == receipt["blockHash"]
    assert told["head"]["sha3Uncles"].startswith("0x1dcc4de8")
    assert told["pending"] == receipt["transactionHash"]
    assert told["log"] == receipt["logs"][0]


# The rest.


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("net_peerCount", [], "0x0"),
        ("net_listening", [], False),
        ("net_version", [], "270"),
        ("eth_coinbase", [], "0x" + "00" * 20),
        ("eth_hashrate", [], "0x0"),
        ("eth_mining", [], False),
        ("eth_syncing", [], False),
        ("eth_getUncleCountByBlockNumber", ["latest"], "0x0"),
        ("eth_getUncleCountByBlockHash", [UNKNOWN], None),
        ("eth_maxPriorityFeePerGas", [], "0x0"),
    ],
)
def test_69_some_answers_never_change(
    ask: Asker, method: str, params: list[Any], answer: Any
) -> None:
    assert ask(method, *params) == answer


def test_69_the_accounts_are_here_those_that_the_node_signs_for(ask: Asker) -> None:
    """zksync-era has none; this node has development accounts."""
    assert SENDER in ask("eth_accounts")


def test_70_the_protocol_has_a_version(ask: Asker) -> None:
    head, minor, patch = ask("eth_protocolVersion").split(".")
    assert head == "zks/0"
    assert minor.isdigit()
    assert patch.isdigit()


def test_71_other_members_of_a_request_are_ignored(ask: Asker) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [], "extra": True}
    assert ask.post(request) == {"jsonrpc": "2.0", "id": 1, "result": "0x10e"}


def test_72_a_batch_of_two_methods_is_answered(ask: Asker) -> None:
    calls = [("eth_chainId", 1), ("net_version", 2)]
    answers = ask.post([{"jsonrpc": "2.0", "id": n, "method": name} for name, n in calls])
    assert [(answer["id"], answer["result"]) for answer in answers] == [(1, "0x10e"), (2, "270")]


@pytest.mark.parametrize("count", ["0x2", 2])
def test_73_a_fee_history_has_one_base_fee_more_than_blocks(ask: Asker, count: Any) -> None:
    history = ask("eth_feeHistory", count, "latest", [10, 90])
    fees = history["baseFeePerGas"]
    assert len(fees) == 3
    assert fees[-1] == fees[-2]
    assert [len(tips) for tips in history["reward"]] == [2, 2]
    assert len(history["gasUsedRatio"]) == 2


def test_73_a_fee_history_of_the_future_is_an_error(ask: Asker) -> None:
    assert rejected(ask, "eth_feeHistory", "0x1", FUTURE, []).code == -32602


@pytest.mark.parametrize("percentiles", [[101], [-1], [50, 10]])
def test_73_percentiles_are_percentiles_in_order(ask: Asker, percentiles: list[float]) -> None:
    assert rejected(ask, "eth_feeHistory", "0x1", "latest", percentiles).code == -32602
