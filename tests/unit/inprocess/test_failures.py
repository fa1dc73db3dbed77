"""Which requests and transactions of a devnet have failed, and what its parts are called."""

from __future__ import annotations

import pytest
from web3 import Web3
from web3.exceptions import ContractLogicError

from entresol import Devnet
from entresol.inprocess.failures import MAX_RECORDED, FailedRequest, FailureRecorder
from tests.support.evm.console import console_call, logging_code

CODE = Web3.to_hex(logging_code(console_call("log(string)", "it is noon"), then="0 0 revert"))


def last_request(net: Devnet) -> FailedRequest:
    return net.failures.requests()[0]


def test_a_request_is_recorded_with_what_it_printed(net: Devnet) -> None:
    with pytest.raises(ContractLogicError):
        net.l2.new_w3().eth.call({"data": CODE})
    failed = last_request(net)
    assert (failed.layer, failed.method, failed.params[0]["data"]) == ("L2", "eth_call", CODE)
    assert failed.error["code"] == 3
    assert net.console.between(failed.console) == ["[L2 eth_call] it is noon"]


@pytest.mark.parametrize("number", [0, 1])
def test_a_transaction_that_fails_in_its_block_is_recorded(net: Devnet, number: int) -> None:
    layer, before = net.layers[number], net.failures.total
    with net.isolated():
        sender = net.accounts[0].address
        layer.request("eth_sendTransaction", {"from": sender, "data": CODE, "gas": hex(200_000)})
        head = int(layer.request("eth_blockNumber"), 16)
    (failed,) = net.failures.transactions_since(before)
    assert (failed.layer, failed.block, failed.position, failed.data) == (layer.name, head, 0, b"")
    assert failed.console is not None


def test_old_requests_are_dropped() -> None:
    recorder = FailureRecorder()
    for number in range(MAX_RECORDED + 5):
        recorder.record(FailedRequest("L2", f"method_{number}", [], {}, range(0)))
    requests = recorder.requests()
    assert len(requests) == MAX_RECORDED
    assert requests[0].method == f"method_{MAX_RECORDED + 4}"


def test_texts_are_short_and_have_no_keys(net: Devnet) -> None:
    l1, l2 = f"L1 31337 at {net.l1.url}", f"L2 270 at {net.l2.url}"
    assert repr(net) == f"<devnet: {l1}, {l2}>"
    assert repr(net.bridge) == f"<Bridge: {l1}, {l2}>"
    alice = net.accounts[0]
    assert repr(alice) == f"<account {alice.address}>"
    assert alice.key not in repr(net.accounts)
    sent = net.bridge.send_message(b"hello")
    assert repr(sent).startswith(f"<message of {sent.sender}, 5 bytes, sent by transaction 0x")
    assert repr(net.bridge.deposit(1)).startswith("<deposit, sent by transaction 0x")
