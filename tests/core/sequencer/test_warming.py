"""What transactions read of a slow, silent or failing remote holds up nobody but their senders."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import Any, Final

import pytest

from entresol.chain.rules import ChainRules
from entresol.errors import RemoteUnreachable
from entresol.primitives.values import Address
from entresol.sequencer import warming
from tests.support.chain.dev_chain import GENESIS, NOBODY, RULES, deposit, transaction
from tests.support.fork.fake_remote import FakeRemote, RemoteAccount
from tests.support.fork.running_fork import RunningApi, open_fork, remote_of, running_api
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import RpcError

COUNTER: Final = Address(b"\xc0" * 20)
SLOT: Final = ("slot", bytes(COUNTER), bytes(32))
# Adds one to slot 0, and returns it.
CODE: Final = bytes.fromhex("5f54 6001 01 80 5f55 5f52 60205ff3".replace(" ", ""))
UNREACHABLE: Final = RemoteUnreachable("http://127.0.0.1:1", "eth_getProof", "refused")


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    """Return a remote with rich accounts and a contract."""
    with remote_of(GENESIS) as remote:
        remote.accounts[bytes(COUNTER)] = RemoteAccount(1, 0, CODE)
        remote.slots[bytes(COUNTER), 0] = 41
        yield remote


@pytest.fixture
def client(remote: FakeRemote, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningApi]:
    """Return the client of a fork that seals what arrives."""
    monkeypatch.setattr(warming, "REST_SECONDS", 0.01)
    with running_api(open_fork(remote, RULES)) as client:
        # What each block reads.
        client("evm_mine")
        yield client
        remote.silent.clear()
        remote.answer_silent()


def counting(nonce: int = 0, *, by: int = 0) -> str:
    """Return a raw transaction that reads the slot of the remote."""
    return f"0x{transaction(nonce, by=by, to=COUNTER, wei=0).raw.hex()}"


def transfer(nonce: int = 0, *, by: int = 1) -> str:
    """Return a raw transaction that reads accounts only."""
    return f"0x{transaction(nonce, by=by).raw.hex()}"


def ended(response: Future[Any]) -> Any:
    return response.result(PATIENCE_SECONDS)


def test_a_transaction_that_waits_for_the_remote_holds_up_no_block(
    client: RunningApi, remote: FakeRemote
) -> None:
    """Another sender's is in a block meanwhile; then it is in one, and its sender gets its response."""
    remote.silent.add(SLOT)
    cold = client.begin("eth_sendRawTransaction", counting())
    eventually(lambda: remote.asked[SLOT])
    sent = client("eth_sendRawTransaction", transfer())
    assert client("eth_getTransactionReceipt", sent)["blockNumber"] == "0x3ea"
    assert not cold.done()
    remote.answer_silent()
    receipt = client("eth_getTransactionReceipt", ended(cold)["result"])
    assert (receipt["blockNumber"], receipt["status"]) == ("0x3eb", "0x1")
    assert client("eth_getStorageAt", f"0x{COUNTER.hex()}", "0x0", "latest") == f"0x{42:064x}"


def test_a_remote_that_fails_is_an_error_for_the_sender_alone(
    client: RunningApi, remote: FakeRemote
) -> None:
    """Its transaction leaves the pool, its next one waits for the nonce, and it may be sent again."""
    remote.failures[SLOT] = UNREACHABLE
    first, second, other = (
        client.begin("eth_sendRawTransaction", raw)
        for raw in (counting(0), counting(1), transfer())
    )
    assert ended(first)["error"] == {"code": -32000, "message": str(UNREACHABLE)}
    assert "result" in ended(second)
    assert client("eth_getTransactionReceipt", ended(other)["result"])["status"] == "0x1"
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x1"}
    remote.failures.clear()
    client("eth_sendRawTransaction", counting(0))
    eventually(lambda: client("txpool_status") == {"pending": "0x0", "queued": "0x0"})
    assert client("eth_getStorageAt", f"0x{COUNTER.hex()}", "0x0", "latest") == f"0x{43:064x}"


def test_an_invalid_transaction_does_not_wait_for_one_that_is_cold(
    client: RunningApi, remote: FakeRemote
) -> None:
    """What is being sealed might make it valid, but that is not what waits for a remote."""
    remote.silent.add(SLOT)
    cold = client.begin("eth_sendRawTransaction", counting())
    eventually(lambda: remote.asked[SLOT])
    with pytest.raises(RpcError, match="insufficient funds"):
        client("eth_sendRawTransaction", f"0x{transaction(0, by=1, wei=10**30).raw.hex()}")
    assert not cold.done()


def test_a_sender_that_the_remote_does_not_tell_of_delays_no_other(
    client: RunningApi, remote: FakeRemote
) -> None:
    """The pool cannot check the first, and takes the second."""
    remote.silent.add("account")
    first = client.begin("eth_sendRawTransaction", transfer(by=0))
    eventually(lambda: remote.asked_of("account"))
    remote.silent.clear()
    client("eth_sendRawTransaction", transfer(by=1))
    assert not first.done()
    remote.answer_silent()
    assert "result" in ended(first)


def test_a_block_that_is_asked_for_has_what_was_sent_before(
    client: RunningApi, remote: FakeRemote
) -> None:
    """It waits for what its transactions read."""
    client("evm_setAutomine", False)
    client("eth_sendRawTransaction", counting())
    remote.silent.add(SLOT)
    mined = client.begin("evm_mine")
    eventually(lambda: remote.asked[SLOT])
    assert client("eth_blockNumber") == "0x3e9"
    remote.answer_silent()
    ended(mined)
    assert len(client("eth_getBlockByNumber", "latest", False)["transactions"]) == 1


def test_a_block_that_is_asked_for_goes_without_what_the_remote_fails(
    client: RunningApi, remote: FakeRemote
) -> None:
    """The transaction stays in the pool, and is in a later block."""
    client("evm_setAutomine", False)
    client("eth_sendRawTransaction", counting())
    remote.failures[SLOT] = UNREACHABLE
    client("evm_mine")
    assert client("eth_getBlockByNumber", "latest", False)["transactions"] == []
    assert client("txpool_status")["pending"] == "0x1"
    remote.failures.clear()
    client("evm_mine")
    eventually(
        lambda: client("evm_mine") is not None and client("txpool_status")["pending"] == "0x0"
    )


def test_a_block_by_the_clock_does_not_wait(client: RunningApi, remote: FakeRemote) -> None:
    """It has what is warm, and a later one the rest."""
    remote.silent.add(SLOT)
    client.call(lambda: client.chain.schedule.seal_every(0.02, monotonic()))
    client("eth_sendRawTransaction", counting())
    sent = client("eth_sendRawTransaction", transfer())
    eventually(lambda: client("eth_getTransactionReceipt", sent))
    assert client("txpool_status")["pending"] == "0x1"
    remote.answer_silent()
    eventually(lambda: client("txpool_status")["pending"] == "0x0")


def test_the_pending_block_has_what_the_remote_does_not_fail(
    client: RunningApi, remote: FakeRemote
) -> None:
    """It waits for the rest."""
    client("evm_setAutomine", False)
    client("eth_sendRawTransaction", counting())
    client("eth_sendRawTransaction", transfer())
    remote.failures[SLOT] = UNREACHABLE
    assert len(client("eth_getBlockByNumber", "pending", False)["transactions"]) == 1
    remote.failures.clear()
    client("evm_increaseTime", 100)
    assert len(client("eth_getBlockByNumber", "pending", False)["transactions"]) == 2


def test_a_deposit_that_the_remote_fails_stays_first_and_is_named(
    client: RunningApi, remote: FakeRemote
) -> None:
    """Blocks go on without deposits until it can be executed."""
    remote.failures["account", bytes(NOBODY)] = UNREACHABLE
    deposits = [client.call(partial(client.chain.enqueue, deposit(n))) for n in range(2)]
    client.call(client.sequencer.wake)
    eventually(lambda: client.sequencer.problem)
    assert str(deposits[0]) in str(client.sequencer.problem)
    assert str(UNREACHABLE) in str(client.sequencer.problem)
    sent = client("eth_sendRawTransaction", f"0x{transaction(0, by=1, to=COUNTER).raw.hex()}")
    assert client("eth_getTransactionReceipt", sent)["transactionIndex"] == "0x0"
    remote.failures.clear()
    receipts = [
        eventually(partial(client, "eth_getTransactionReceipt", str(it))) for it in deposits
    ]
    assert [receipt["transactionIndex"] for receipt in receipts] == ["0x0", "0x1"]
    assert client.sequencer.problem is None


def test_stopping_leaves_nobody_without_a_response(client: RunningApi, remote: FakeRemote) -> None:
    """Whose transaction waits for the remote gets an error."""
    remote.silent.add(SLOT)
    cold = client.begin("eth_sendRawTransaction", counting())
    eventually(lambda: remote.asked[SLOT])
    client.run(client.sequencer.stop())
    assert ended(cold)["error"]["code"] == -32603


def test_a_transaction_that_reads_something_else_each_time_ends(
    client: RunningApi, remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is warmed a bounded number of times; here none, as if it had been warmed so often already."""
    monkeypatch.setattr(warming, "MAX_ATTEMPTS", 0)
    response = ended(client.begin("eth_sendRawTransaction", counting()))
    assert "read something else of the remote" in response["error"]["message"]
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert not remote.asked[SLOT]


def test_a_transaction_is_warmed_only_so_long_in_all(
    client: RunningApi, remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here not at all, as if it had been warmed for so long already."""
    times = iter(range(0, 10**9, 10**7))
    monkeypatch.setattr(warming, "monotonic", lambda: next(times))
    response = ended(client.begin("eth_sendRawTransaction", counting()))
    assert "did not respond to all that the transaction reads" in response["error"]["message"]
    assert not remote.asked[SLOT]


def test_blocks_by_the_clock_go_on_after_one_that_the_remote_let_not_begin(
    remote: FakeRemote, caplog: pytest.LogCaptureFixture
) -> None:
    """What each block of an L1 reads is not here yet: that is one line of the log, and no traceback."""
    remote.failure = UNREACHABLE
    with running_api(open_fork(remote, ChainRules.layer_1(9))) as client:
        client("evm_setIntervalMining", 1)
        eventually(lambda: "a block could not be sealed" in caplog.text)
        assert "Traceback" not in caplog.text
        remote.failure = None
        eventually(lambda: client("eth_blockNumber") != "0x3e8")
