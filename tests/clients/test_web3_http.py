"""web3.py over HTTP, with and without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from hexbytes import HexBytes
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3
from web3.exceptions import (
    BlockNotFound,
    ContractCustomError,
    ContractLogicError,
    ContractPanicError,
    MethodUnavailable,
    TransactionNotFound,
    Web3RPCError,
)

from tests.support.clients.accounts import ALICE, BOB, CHAIN_ID, GWEI, NOBODY
from tests.support.clients.contracts import CONTRACTS
from tests.support.node_process import RunningNode

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def web3(node: RunningNode) -> Web3:
    return Web3(HTTPProvider(node.url))


def sign(web3: Web3, **fields: Any) -> bytes:
    transaction = {
        "chainId": CHAIN_ID,
        "nonce": web3.eth.get_transaction_count(ALICE.address, "pending"),
        "gas": 2_000_000,
        "value": 0,
        **({} if "gasPrice" in fields else {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 0}),
        **fields,
    }
    return bytes(ALICE.sign_transaction(transaction).raw_transaction)


def send(web3: Web3, **fields: Any) -> Any:
    sent = web3.eth.send_raw_transaction(sign(web3, **fields))
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)


def deploy(web3: Web3, name: str) -> Any:
    receipt = send(web3, data=CONTRACTS[name]["bytecode"])
    return web3.eth.contract(receipt.contractAddress, abi=CONTRACTS[name]["abi"])


def rpc(web3: Web3, method: str, *params: Any) -> Any:
    return web3.manager.request_blocking(method, list(params))  # type: ignore[arg-type]


@contextmanager
def held(web3: Web3) -> Iterator[None]:
    """Let transactions wait."""
    rpc(web3, "evm_setAutomine", False)
    yield
    rpc(web3, "evm_setAutomine", True)


@pytest.fixture(scope="module")
def math(web3: Web3) -> Any:
    return deploy(web3, "math")


@pytest.fixture(scope="module")
def reverts(web3: Web3) -> Any:
    return deploy(web3, "reverts")


@pytest.fixture(scope="module")
def emitter(web3: Web3) -> Any:
    return deploy(web3, "emitter")


def test_it_connects(web3: Web3) -> None:
    assert web3.is_connected(show_traceback=True)
    assert web3.client_version.startswith("zkSync/v2.0 entresol/v")
    assert web3.eth.chain_id == CHAIN_ID
    assert web3.net.version == str(CHAIN_ID)


TOUCHED = [{"address": NOBODY, "storageKeys": ["0x" + "00" * 32]}]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"gasPrice": GWEI}, 0),
        ({"gasPrice": GWEI, "accessList": TOUCHED, "type": 1}, 1),
        ({"accessList": TOUCHED}, 2),
    ],
)
def test_a_transaction_comes_back_as_it_was_sent(
    web3: Web3, fields: dict[str, Any], kind: int
) -> None:
    receipt = send(web3, to=NOBODY, value=1, **fields)
    found = web3.eth.get_transaction(receipt.transactionHash)
    assert (receipt.type, found["type"], found["value"]) == (kind, kind, 1)
    assert len(found.get("accessList", [])) == (1 if kind else 0)
    assert found["from"] == ALICE.address


def test_an_account_is_delegated(web3: Web3, math: Any) -> None:
    nonce = web3.eth.get_transaction_count(BOB.address)
    fields = {"chainId": CHAIN_ID, "address": math.address, "nonce": nonce}
    receipt = send(web3, to=NOBODY, authorizationList=[BOB.sign_authorization(fields)])
    assert receipt.type == 4
    assert web3.eth.get_code(BOB.address) == HexBytes("0xef0100" + math.address[2:])


def test_a_contract_is_called_now_and_then(web3: Web3) -> None:
    math = deploy(web3, "math")
    receipt = send(web3, to=math.address, data=math.encode_abi("incrementCounter", [7]))
    assert math.events.Increased().process_receipt(receipt)[0].args.value == 7
    assert math.functions.counter().call() == 7
    assert math.functions.counter().call(block_identifier=receipt.blockNumber - 1) == 0
    assert math.functions.incrementCounter(1).estimate_gas() > 21_000


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            "revertWithMessage",
            ContractLogicError,
            "execution reverted: Function has been reverted.",
        ),
        ("revertWithoutMessage", ContractLogicError, "execution reverted"),
        ("customErrorWithMessage", ContractCustomError, "0x9553947a"),
        ("customErrorWithoutMessage", ContractCustomError, "0x82b42900"),
    ],
)
def test_a_revert_is_raised_as_what_it_is(
    reverts: Any, function: str, error: type[Exception], words: str
) -> None:
    for call in (reverts.functions[function]().call, reverts.functions[function]().estimate_gas):
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value) or words in str(raised.value.data)  # type: ignore[attr-defined]


def test_a_panic_is_raised_as_a_panic(web3: Web3) -> None:
    with pytest.raises(ContractPanicError, match="Panic error 0x12"):
        deploy(web3, "panics").functions.errorCode12(0).call()


def test_filters_are_installed_polled_and_removed(web3: Web3, emitter: Any) -> None:
    logs = emitter.events.LogSingleWithIndex.create_filter(from_block="latest")
    blocks: Any = web3.eth.filter("latest")
    pending: Any = web3.eth.filter("pending")
    receipt = send(web3, to=emitter.address, data=emitter.encode_abi("logSingle", [7, 9]))
    assert [event.args.arg0 for event in logs.get_new_entries()] == [9]
    assert blocks.get_new_entries() == [receipt.blockHash]
    assert pending.get_new_entries() == [receipt.transactionHash]
    assert [event.args.arg0 for event in logs.get_all_entries()] == [9]
    for made in (logs, blocks, pending):
        assert made.get_new_entries() == []
        assert web3.eth.uninstall_filter(made.filter_id) is True
        assert web3.eth.uninstall_filter(made.filter_id) is False


def test_a_filter_that_was_removed_is_not_found(web3: Web3) -> None:
    made = web3.eth.filter("latest")
    assert made.filter_id is not None
    web3.eth.uninstall_filter(made.filter_id)
    with pytest.raises(Web3RPCError, match="filter not found"):
        made.get_new_entries()


def test_logs_are_found_by_event_and_range(web3: Web3, emitter: Any) -> None:
    receipts = [
        send(web3, to=emitter.address, data=emitter.encode_abi("logSingle", [7, value]))
        for value in (21, 22, 23)
    ]
    first, last = receipts[0].blockNumber, receipts[1].blockNumber
    event = emitter.events.LogSingleWithIndex
    assert [it.args.arg0 for it in event.get_logs(from_block=first, to_block=last)] == [21, 22]
    assert [it.args.arg0 for it in event.get_logs({"arg0": 23}, from_block=0)] == [23]


def test_a_batch_has_responses_in_order(web3: Web3, math: Any) -> None:
    responses: Any
    with web3.batch_requests() as batch:
        batch.add(web3.eth.get_block(0))
        batch.add(math.functions.multiply7(3))
        batch.add(web3.eth.get_balance(NOBODY, 0))
        responses = batch.execute()
    block, product, balance = responses
    assert (block["number"], product, balance) == (0, 21, 0)


def test_fees_are_read(web3: Web3) -> None:
    history = web3.eth.fee_history(2, "latest", [25])
    assert (len(history["baseFeePerGas"]), len(history["reward"])) == (3, 2)
    assert web3.eth.gas_price == 100_000_000
    assert web3.eth.max_priority_fee >= 0
    assert web3.eth.get_block("latest")["baseFeePerGas"] == 100_000_000


def test_an_access_list_and_a_proof_are_made(web3: Web3, math: Any) -> None:
    call = {"from": ALICE.address, "to": math.address, "data": math.encode_abi("counter")}
    made = web3.eth.create_access_list(call)  # type: ignore[arg-type]
    assert made["accessList"][0]["address"] == math.address
    proof = web3.eth.get_proof(math.address, [0], "latest")  # type: ignore[call-arg]
    assert Web3.keccak(proof["accountProof"][0]) == web3.eth.get_block("latest")["stateRoot"]


def test_a_call_may_assume_another_state(web3: Web3, math: Any) -> None:
    override = {
        "code": CONTRACTS["math"]["runtime"],
        "stateDiff": {"0x" + "00" * 32: f"0x{42:064x}"},
    }
    call = {"to": NOBODY, "data": math.encode_abi("counter")}
    assert int.from_bytes(web3.eth.call(call, "latest", {NOBODY: override}), "big") == 42  # type: ignore[arg-type, dict-item]


def test_a_pending_transaction_is_in_the_pending_block(web3: Web3) -> None:
    with held(web3):
        sent = web3.eth.send_raw_transaction(sign(web3, to=NOBODY, value=1))
        assert web3.eth.get_block("pending")["transactions"] == [sent]
        with pytest.raises(TransactionNotFound):
            web3.eth.get_transaction_receipt(sent)
    assert web3.eth.get_transaction_receipt(sent)["status"] == 1


def test_a_pending_transaction_is_replaced(web3: Web3) -> None:
    nonce = web3.eth.get_transaction_count(ALICE.address)
    with held(web3):
        old = web3.eth.send_raw_transaction(sign(web3, to=NOBODY, nonce=nonce, gasPrice=GWEI))
        cheap = sign(web3, to=BOB.address, nonce=nonce, gasPrice=GWEI)
        with pytest.raises(Web3RPCError, match="replacement transaction underpriced"):
            web3.eth.send_raw_transaction(cheap)
        better = sign(web3, to=NOBODY, nonce=nonce, gasPrice=2 * GWEI)
        new = web3.eth.send_raw_transaction(better)
    assert web3.eth.wait_for_transaction_receipt(new)["status"] == 1
    with pytest.raises(TransactionNotFound):
        web3.eth.get_transaction(old)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"nonce": 0}, "nonce too low"),
        ({"value": 10**24}, "insufficient funds for gas * price + value"),
        ({"gas": 20_000}, "intrinsic gas too low"),
        ({"maxFeePerGas": 1}, "max fee per gas less than block base fee"),
        ({"gas": 10**9}, "exceeds block gas limit"),
    ],
)
def test_a_rejection_is_worded_as_geth_words_it(
    web3: Web3, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(Web3RPCError) as raised:
        web3.eth.send_raw_transaction(sign(web3, to=NOBODY, **fields))
    error = (raised.value.rpc_response or {})["error"]
    assert isinstance(error, dict)
    assert error["code"] == -32000
    assert words in error["message"]


def test_what_is_not_there_is_not_found(web3: Web3) -> None:
    with pytest.raises(BlockNotFound):
        web3.eth.get_block(10_000_000)
    with pytest.raises(TransactionNotFound):
        web3.eth.get_transaction(HexBytes("11" * 32))
    with pytest.raises(MethodUnavailable):
        rpc(web3, "eth_noSuchMethod")


@asynccontextmanager
async def asynchronous(node: RunningNode) -> AsyncIterator[AsyncWeb3[Any]]:
    provider = AsyncHTTPProvider(node.url)
    try:
        yield AsyncWeb3(provider)
    finally:
        await provider.disconnect()


def with_async(node: RunningNode, work: Callable[[AsyncWeb3[Any]], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asynchronous(node) as web3:
            await work(web3)

    asyncio.run(run())


def test_an_event_loop_makes_many_calls_at_once(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        blocks = await asyncio.gather(*(web3.eth.get_block(0) for _ in range(50)))
        assert len({bytes(block["hash"]) for block in blocks}) == 1

    with_async(node, work)


def test_an_event_loop_sends_and_waits_for_the_receipt(node: RunningNode, web3: Web3) -> None:
    raw = sign(web3, to=NOBODY, value=1)

    async def work(asynchronous: AsyncWeb3[Any]) -> None:
        sent = await asynchronous.eth.send_raw_transaction(raw)
        receipt = await asynchronous.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1

    with_async(node, work)


def test_an_event_loop_gets_the_error_of_a_revert(node: RunningNode, reverts: Any) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        contract: Any = web3.eth.contract(reverts.address, abi=CONTRACTS["reverts"]["abi"])
        with pytest.raises(ContractLogicError, match=r"Function has been reverted\."):
            await contract.functions.revertWithMessage().call()

    with_async(node, work)


def test_an_event_loop_sends_a_batch(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        responses: Any
        async with web3.batch_requests() as batch:
            batch.add(web3.eth.get_block(0))
            batch.add(web3.eth.get_balance(NOBODY, 0))
            responses = await batch.async_execute()
        block, balance = responses
        assert (block["number"], balance) == (0, 0)

    with_async(node, work)
