"""The chain behind a fork's URL: what is asked of it, and what happens when it is slow, hostile or gone."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from entresol._native import Snapshot, keccak256
from entresol.errors import (
    AnchorLost,
    AnchorMismatch,
    AnchorNotFound,
    ForkCacheConflict,
    NoArchive,
    ProofsUnavailable,
    RemoteFailed,
    RemoteLied,
    RemoteMalformed,
    RemoteRejected,
    RemoteTimeout,
    RemoteUnreachable,
)
from entresol.fork.cache.cache import ForkCache
from entresol.fork.remote_chain import PAST_TABLES, RemoteChain
from entresol.fork.transport import waiting
from entresol.primitives.values import Address, Hash32
from tests.support.fork import faults
from tests.support.fork.faults import Fault, Reorganisation, error_of
from tests.support.fork.remote_node import (
    BALANCE,
    BLOCKS,
    CHAIN_ID,
    CODE,
    CONTRACT,
    FIRST_TIME,
    HOLDER,
    NOBODY,
    NONCE,
    RemoteNode,
    slot_of,
    slots_of,
    wanted,
)
from tests.support.polling import eventually

if TYPE_CHECKING:
    from entresol._native import RemoteKey

ACCOUNT: RemoteKey = ("account", bytes(HOLDER))
OTHER_HASH = "0x" + "42" * 32
SECRET = "0123456789abcdef"[::-1]


class OnTable:
    """A provider of state that has nothing of its own."""

    def __init__(self, remote: RemoteChain) -> None:
        self.remote = remote.table

    def account(self, address: bytes) -> Any:
        """Leave it to the table."""
        del address
        return NotImplemented

    def slot(self, address: bytes, slot: bytes) -> Any:
        """Leave it to the table."""
        del address, slot
        return NotImplemented

    def code(self, code_hash: bytes) -> bytes | None:
        """Leave it to the table."""
        del code_hash
        return None

    def block_hash(self, number: int) -> Any:
        """Leave it to the table."""
        del number
        return NotImplemented


def block_hash(node: RemoteNode, number: int) -> Hash32:
    return node.chain.ledger.header(number).hash()


def value(remote: RemoteChain, number: int) -> int:
    """Return a slot of the contract, which is known."""
    return int.from_bytes(Snapshot(OnTable(remote)).slot(bytes(CONTRACT), slot_of(number)))


def read(remote: RemoteChain, method: str, *params: object) -> Any:
    return msgspec.json.decode(asyncio.run(remote.read(method, params)))


# --- The state ---------------------------------------------------------------


def test_an_account_comes_with_nonce_balance_and_code_in_one_request(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, [("account", bytes(CONTRACT)), ACCOUNT]) is None
        assert node.proxy.posts == 1
        state = Snapshot(OnTable(remote))
        holder, contract = state.account(bytes(HOLDER)), state.account(bytes(CONTRACT))
        assert holder is not None
        assert (holder.nonce, holder.balance) == (NONCE, BALANCE)
        assert contract is not None
        assert contract.code_hash == keccak256(CODE)
        assert state.code(contract.code_hash) == CODE


def test_an_empty_account_is_absent_and_asked_for_once(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, [("account", bytes(NOBODY))]) is None
        assert Snapshot(OnTable(remote)).account(bytes(NOBODY)) is None
        assert wanted(remote.table, [("account", bytes(NOBODY))]) is None
        assert node.proxy.posts == 1


def test_many_slots_of_an_account_are_one_proof(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(250))) is None
        assert dict(node.proxy.methods) == {"eth_getProof": 1}
        assert [value(remote, it) for it in (0, 1, 249)] == [0, 2, 498]


def test_slots_come_in_batches_where_the_remote_proves_nothing(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork(batch_size=50) as remote:
        assert wanted(remote.table, slots_of(range(250))) is None
        assert dict(node.proxy.methods) == {"eth_getStorageAt": 250}
        assert node.proxy.batches == [50] * 5
        assert value(remote, 249) == 498


def test_a_proof_that_does_not_fit_the_block_is_not_used(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_getProof"] = lambda _, it: it | {"storageProof": _doubled(it)}
        assert wanted(remote.table, slots_of(range(10))) is None
        assert value(remote, 5) == 10
        assert node.proxy.methods["eth_getStorageAt"] == 10


def _doubled(proof: dict[str, Any]) -> list[dict[str, Any]]:
    return [it | {"value": hex(2 * int(it["value"], 16) + 1)} for it in proof["storageProof"]]


@pytest.mark.parametrize("is_413", [False, True], ids=["-32600", "413"])
def test_a_batch_that_is_too_large_is_halved_and_the_size_remembered(
    node: RemoteNode, is_413: bool
) -> None:
    node.proxy.not_served("eth_getProof")
    node.proxy.max_batch, node.proxy.is_413 = 30, is_413
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(100))) is None
        assert value(remote, 99) == 198
        node.proxy.forget()
        assert wanted(remote.table, slots_of(range(100, 200))) is None
        assert max(node.proxy.batches) <= 30


def test_a_remote_without_batches_is_asked_one_by_one_but_sixteen_at_a_time(
    node: RemoteNode,
) -> None:
    node.proxy.not_served("eth_getProof")
    node.proxy.max_batch = 0
    node.proxy.latency = 0.01
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(64))) is None
        assert value(remote, 63) == 126
        assert 8 <= node.proxy.most_in_flight <= 16


def test_responses_in_another_order_are_matched_by_their_ids(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    node.proxy.shuffles = True
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(20))) is None
        assert [value(remote, it) for it in range(20)] == [2 * it for it in range(20)]


def test_what_is_missed_at_the_same_time_is_one_request(node: RemoteNode) -> None:
    with node.fork() as remote:
        for number in range(20):
            remote.table.want(slots_of([number]))
        remote.table.want([ACCOUNT])
        assert wanted(remote.table, [*slots_of(range(20)), ACCOUNT]) is None
        assert node.proxy.posts == 1


def test_hashes_of_blocks_are_known_proven_by_the_state_or_linked(node: RemoteNode) -> None:
    numbers = [0, 5, 40, BLOCKS - 1, BLOCKS]
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        assert wanted(remote.table, [("hash", it) for it in numbers]) is None
        assert cache.hashes(numbers) == {it: block_hash(node, it) for it in numbers}
        assert node.proxy.posts == 1


def test_headers_that_are_not_linked_are_rejected(node: RemoteNode) -> None:
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x"
    with node.fork() as remote:
        node.proxy.lies["eth_getBlockByNumber"] = lambda params, it: (
            it | {"hash": OTHER_HASH} if params[0] == hex(10) else it
        )
        failure = wanted(remote.table, [("hash", 5)])
        assert isinstance(failure, RemoteMalformed)
        assert "its child names" in str(failure)


def test_the_state_of_an_earlier_block_has_a_table_of_its_own(node: RemoteNode) -> None:
    with node.fork() as remote:
        table = remote.table_at(3)
        assert wanted(table, [ACCOUNT]) is None
        assert table is remote.table_at(3) is not remote.table
        assert remote.table_at(BLOCKS) is remote.table
        named = node.proxy.bodies[-1][0]["params"][1]
        assert named == hex(3)


def test_tables_of_earlier_blocks_are_few(node: RemoteNode) -> None:
    with node.fork() as remote:
        first = remote.table_at(0)
        for number in range(1, PAST_TABLES + 1):
            remote.table_at(number)
        assert remote.table_at(PAST_TABLES) is remote.table_at(PAST_TABLES)
        assert remote.table_at(0) is not first


# --- Which block -------------------------------------------------------------


def test_the_latest_block_is_the_anchor_unless_one_is_named(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert (remote.anchor.number, remote.anchor.chain_id) == (BLOCKS, CHAIN_ID)
        assert remote.anchor.hash == block_hash(node, BLOCKS)


@pytest.mark.parametrize(
    ("settings", "number"),
    [
        ({"block_number": 7}, 7),
        ({"block_number": 0}, 0),
        ({"block_number": -10}, BLOCKS - 10),
        ({"block_number": -1_000}, 0),
        ({"not_after": FIRST_TIME + 12 * 40 + 5}, 40),
        ({"not_after": 10**12}, BLOCKS),
    ],
    ids=str,
)
def test_a_block_is_named_by_number_or_time(
    node: RemoteNode, settings: dict[str, Any], number: int
) -> None:
    with node.fork(**settings) as remote:
        if "not_after" in settings:
            limit = settings["not_after"]
            assert remote.anchor.header.timestamp <= limit
            following = remote.anchor.number + 1
            assert following > BLOCKS or node.chain.ledger.header(following).timestamp > limit
        else:
            assert remote.anchor.number == number
        assert remote.anchor.hash == block_hash(node, remote.anchor.number)


def test_a_block_is_named_by_its_hash(node: RemoteNode) -> None:
    with node.fork(block_hash=block_hash(node, 5)) as remote:
        assert remote.anchor.number == 5


@pytest.mark.parametrize(
    "settings",
    [
        {"block_number": 1_000_000},
        {"block_hash": Hash32(b"\x01" * 32)},
        {"transaction_hash": Hash32(b"\x01" * 32)},
    ],
    ids=str,
)
def test_a_block_that_is_not_there_fails_the_start(
    node: RemoteNode, settings: dict[str, Any]
) -> None:
    with pytest.raises(AnchorNotFound, match="to fork from"), node.fork(**settings):
        pass


def test_a_time_before_the_first_block_fails_the_start(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: it and it | {"timestamp": "0x3e8"}
    with pytest.raises(AnchorNotFound, match="not later than 999"), node.fork(not_after=999):
        pass


def test_a_pinned_hash_that_the_remote_replaces_fails_the_start_with_both(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByHash"] = lambda _, it: it | {"hash": OTHER_HASH}
    pinned = block_hash(node, 5)
    with (
        pytest.raises(AnchorMismatch, match=f"{OTHER_HASH}.*{pinned}"),
        node.fork(block_hash=pinned),
    ):
        pass


# --- How blocks are named ----------------------------------------------------


def test_state_is_read_by_the_hash_of_the_block(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        expected = {"blockHash": str(remote.anchor.hash), "requireCanonical": False}
        assert [it["params"][1] for it in node.proxy.bodies[0]] == [expected] * 3


def test_a_remote_that_rejects_the_object_gets_the_bare_hash(node: RemoteNode) -> None:
    node.proxy.rejects_block_objects = True
    with node.fork() as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        assert [it["params"][1] for it in node.proxy.bodies[0]] == [str(remote.anchor.hash)] * 3


@pytest.mark.parametrize("settings", [{}, {"by_number": True}], ids=str)
def test_state_by_number_carries_the_block_in_every_batch(
    node: RemoteNode, settings: dict[str, Any]
) -> None:
    node.proxy.rejects_block_objects = node.proxy.rejects_block_hashes = not settings
    with node.fork(**settings) as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        (batch,) = node.proxy.bodies
        assert [it["method"] for it in batch][-1] == "eth_getBlockByNumber"
        assert {it["params"][1] for it in batch[:-1]} == {hex(BLOCKS)}


def test_a_batch_by_number_is_thrown_away_if_the_block_is_another(node: RemoteNode) -> None:
    with node.fork(by_number=True) as remote:
        assert wanted(remote.table, slots_of([1])) is None
        old = str(remote.anchor.hash)
        node.proxy.reorganisation = Reorganisation(BLOCKS, old, OTHER_HASH)
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, AnchorLost)
        assert old in str(failure)
        assert OTHER_HASH in str(failure)
        assert value(remote, 1) == 2
        assert not remote.table.known(ACCOUNT)


def test_an_unread_value_of_an_orphaned_anchor_is_an_error_that_says_so(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, slots_of([1])) is None
        node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, AnchorLost)
        assert "was orphaned" in str(failure)
        assert value(remote, 1) == 2


def test_a_remote_without_archive_says_to_pin_a_newer_block(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.oldest_state = BLOCKS + 1
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, NoArchive)
        assert f"no state of block {BLOCKS}" in str(failure)
        assert "pin a newer block" in str(failure)


def test_a_start_at_a_block_without_state_fails(node: RemoteNode) -> None:
    node.proxy.oldest_state = 50
    with pytest.raises(NoArchive, match="no state of block 7"), node.fork(block_number=7):
        pass


# --- A remote is hostile, slow, or gone --------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        faults.too_many_requests(),
        faults.too_many_requests("0"),
        faults.rejected(-32005, "limit exceeded"),
        faults.rejected(-32007, "50/second request limit reached"),
        faults.rejected(-32000, "Your app has exceeded its compute units per second capacity"),
        faults.dropped,
        faults.truncated,
        faults.status(502),
        faults.body_of(b"<html>", "text/html"),
    ],
    ids=["429", "Retry-After", "-32005", "-32007", "text", "drop", "cut", "502", "html"],
)
def test_a_remote_that_fails_for_a_moment_is_asked_again(node: RemoteNode, fault: Fault) -> None:
    with node.fork() as remote:
        node.proxy.faults.extend([fault, fault])
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.posts == 3


def test_members_of_a_batch_that_were_limited_are_asked_for_alone(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork() as remote:
        limited = iter([error_of(-32005, "too many requests")] * 3)

        def lie(params: list[Any], result: Any) -> Any:
            del params
            node.proxy.errors.pop("eth_getBalance", None)
            return result

        node.proxy.lies["eth_getTransactionCount"] = lie
        node.proxy.errors["eth_getBalance"] = next(limited)
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.methods["eth_getBalance"] == 2
        assert node.proxy.methods["eth_getCode"] == 1


def test_a_rate_limit_without_end_is_an_error_when_the_time_is_over(node: RemoteNode) -> None:
    with node.fork(timeout=0.3) as remote:
        node.proxy.fault = faults.too_many_requests("3600")
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteRejected)
        assert "429" in str(failure)
        assert node.proxy.posts == 1


def test_a_remote_that_never_responds_is_an_error_that_names_host_and_method(
    node: RemoteNode,
) -> None:
    with node.fork(timeout=0.2) as remote:
        node.proxy.fault = faults.stalled
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteTimeout)
        assert node.proxy.url in str(failure)
        assert "eth_getBalance" in str(failure)


def test_a_remote_that_is_gone_is_an_error_that_names_host_and_method(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.fault = faults.dropped
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteUnreachable)
        assert node.proxy.url in str(failure)
        assert "eth_getBalance" in str(failure)
        # It is not remembered: the next read asks again.
        node.proxy.fault = None
        assert wanted(remote.table, [ACCOUNT]) is None


HOSTILE: list[tuple[str, Any]] = [
    ("eth_getStorageAt", "0x" + "11" * 33),
    ("eth_getStorageAt", "0x" + "00" * 33),
    ("eth_getStorageAt", 7),
    ("eth_getStorageAt", None),
    ("eth_getStorageAt", "0xzz"),
    ("eth_getTransactionCount", hex(1 << 64)),
    ("eth_getBalance", hex(1 << 256)),
    ("eth_getBalance", {}),
    ("eth_getCode", "0x" + "00" * ((1 << 20) + 1)),
    ("eth_getCode", "0x123"),
]


@pytest.mark.parametrize(("method", "result"), HOSTILE, ids=lambda it: str(it)[:20])
def test_a_value_that_no_chain_has_is_malformed(node: RemoteNode, method: str, result: Any) -> None:
    with node.fork() as remote:
        node.proxy.lies[method] = lambda *_: result
        keys = slots_of([1]) if method == "eth_getStorageAt" else [ACCOUNT]
        failure = wanted(remote.table, keys)
        assert isinstance(failure, RemoteMalformed)
        assert method in str(failure)
        assert len(str(failure)) < 500


def test_code_over_24_kib_is_legal(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_getCode"] = lambda *_: "0x" + "5b" * 500_000
        assert wanted(remote.table, [ACCOUNT]) is None
        account = Snapshot(OnTable(remote)).account(bytes(HOLDER))
        assert account is not None
        assert account.code_hash == keccak256(b"\x5b" * 500_000)


def test_code_that_does_not_have_its_hash_is_malformed(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_getCode"] = lambda *_: "0x60"
        failure = wanted(remote.table, [("account", bytes(CONTRACT)), *slots_of(range(5))])
        assert isinstance(failure, RemoteMalformed)
        assert "does not have the hash" in str(failure)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (faults.huge(40 << 20), "more than"),
        (faults.deep_json(100_000), "nested too deeply"),
        (faults.body_of(b'{"jsonrpc":"2.0","id":1}'), "batch has one response"),
        (faults.body_of(b"[]"), "are missing"),
        (faults.body_of(b"[1,2,3]"), "not JSON-RPC"),
        (faults.body_of(b"[{},{},{}]"), "an id of no request"),
    ],
    ids=["huge", "deep", "object", "empty", "numbers", "blank"],
)
def test_a_body_that_is_no_response_is_a_typed_error(
    node: RemoteNode, fault: Fault, text: str
) -> None:
    with node.fork() as remote:
        node.proxy.fault = fault
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteFailed)
        assert text in str(failure)


def test_other_ids_than_those_of_the_requests_are_malformed(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.wrong_ids = True
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteMalformed)
        with pytest.raises(RemoteMalformed, match="another id"):
            read(remote, "eth_blockNumber")


def test_members_of_a_batch_without_a_response_are_malformed(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.drop_members = 1
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteMalformed)
        assert "1 of 3 responses are missing" in str(failure)


def test_a_remote_that_changes_its_mind_is_an_error(node: RemoteNode) -> None:
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        cache.put_slots(bytes(remote.anchor.hash), {(bytes(CONTRACT), slot_of(9)): b"\x07"})
        assert wanted(remote.table, slots_of([9])) is None
        assert value(remote, 9) == 7
        with pytest.raises(ForkCacheConflict):
            cache.put_slots(bytes(remote.anchor.hash), {(bytes(CONTRACT), slot_of(9)): b"\x08"})


def test_a_redirect_is_not_followed(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.fault = faults.status(307, Location="http://127.0.0.1:1/")
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, RemoteRejected)
        assert "not followed" in str(failure)


def test_several_urls_are_asked_in_turn_and_one_that_fails_rests(node: RemoteNode) -> None:
    dead = "http://127.0.0.1:1"
    with node.fork(urls=(node.proxy.url, dead), backoff=5.0) as remote:
        for number in range(20):
            assert wanted(remote.table, slots_of([number])) is None
        assert node.proxy.posts == 20


# --- Secrets -----------------------------------------------------------------


def test_a_secret_of_url_or_headers_is_in_no_error_log_or_representation(
    node: RemoteNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SLOW_SECONDS", 0.0)
    caplog.set_level(logging.DEBUG)
    url = f"{node.proxy.url.replace('//', f'//user:{SECRET}@')}/v2/{SECRET}?key={SECRET}"
    headers = (("X-Api-Key", SECRET), ("X-Authorization", f"Bearer {SECRET}"))
    with node.fork(urls=(url,), headers=headers) as remote:
        shown = [repr(remote.settings), remote.host, str(remote.waiting)]
        for fault in (
            faults.rejected(-32000, f"the key {SECRET} of {url} is wrong"),
            faults.status(401, f"no such key: {SECRET}"),
            faults.dropped,
        ):
            node.proxy.fault = fault
            failure = wanted(remote.table, [ACCOUNT])
            assert isinstance(failure, RemoteFailed)
            shown += traceback.format_exception(failure)
        assert any("has not responded" in it.getMessage() for it in caplog.records)
        shown += [it.getMessage() for it in caplog.records if it.name.startswith("entresol")]
        assert not [it for it in shown if SECRET in it]
        assert node.proxy.headers[0]["X-Api-Key"] == SECRET


def test_another_url_gets_headers_only_if_its_host_was_given_at_the_start(node: RemoteNode) -> None:
    with node.fork(headers=(("X-Api-Key", SECRET),)) as remote:
        asyncio.run(remote.set_url(f"{node.proxy.url}/other"))
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.headers[-1]["X-Api-Key"] == SECRET
        asyncio.run(remote.set_url(node.proxy.url.replace("127.0.0.1", "localhost")))
        assert wanted(remote.table, slots_of([1])) is None
        assert "X-Api-Key" not in node.proxy.headers[-1]


def test_another_url_has_to_have_the_same_chain_and_anchor(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.lies["eth_chainId"] = lambda *_: "0x7"
        with pytest.raises(AnchorMismatch, match=f"is 7, and {CHAIN_ID} is expected"):
            asyncio.run(remote.set_url(node.proxy.url))
        del node.proxy.lies["eth_chainId"]
        node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
        with pytest.raises(AnchorMismatch, match=OTHER_HASH):
            asyncio.run(remote.set_url(node.proxy.url))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a", "ws://a", "a", "http://", ""])
def test_only_http_is_a_url(node: RemoteNode, url: str) -> None:
    with node.fork() as remote:
        with pytest.raises(RemoteUnreachable, match="http"):
            asyncio.run(remote.set_url(url))
        assert wanted(remote.table, [ACCOUNT]) is None


# --- What waits --------------------------------------------------------------


def test_what_waits_is_visible_and_logged_once(
    node: RemoteNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SLOW_SECONDS", 0.05)
    with node.fork() as remote:
        assert remote.waiting.requests == 0
        node.proxy.fault = faults.stalled
        remote.table.want([ACCOUNT])
        eventually(lambda: "has not responded" in caplog.text)
        report = remote.waiting
        assert (report.requests, report.host) == (1, node.proxy.url)
        assert "eth_getBalance" in report.method
        assert report.seconds > 0
    assert caplog.text.count("has not responded") == 1


def test_closing_fails_what_waits(node: RemoteNode) -> None:
    node.proxy.latency = 0.0
    with node.fork() as remote:
        node.proxy.fault = faults.stalled
        remote.table.want([ACCOUNT])
        eventually(lambda: remote.waiting.requests)
    assert isinstance(remote.table.failure([ACCOUNT]), RemoteUnreachable)
    with pytest.raises(RemoteUnreachable, match="closed"):
        read(remote, "eth_blockNumber")


# --- History -----------------------------------------------------------------


def test_any_method_is_read_as_it_came(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert read(remote, "eth_chainId") == hex(CHAIN_ID)
        with pytest.raises(RemoteRejected, match="eth_nothing"):
            read(remote, "eth_nothing")


def test_a_result_that_is_final_is_read_once(node: RemoteNode) -> None:
    def final(raw: msgspec.Raw) -> bool:
        return bytes(raw) != b"null"

    with node.fork() as remote:
        for _ in range(2):
            asyncio.run(remote.read("eth_getBlockByNumber", ["0x3", True], is_final=final))
            asyncio.run(remote.read("eth_getBlockByNumber", ["0xffff", True], is_final=final))
        assert node.proxy.methods["eth_getBlockByNumber"] == 3


def test_a_past_block_is_known_by_number_and_hash_and_none_is_above(node: RemoteNode) -> None:
    with node.fork(block_number=BLOCKS - 10) as remote:
        for number in (0, 5, BLOCKS - 11, BLOCKS - 10):
            by_number = asyncio.run(remote.past_block(number))
            by_hash = asyncio.run(remote.past_block(block_hash(node, number)))
            assert by_number is not None
            assert by_number == by_hash
            assert (by_number.number, by_number.hash) == (number, block_hash(node, number))
        assert asyncio.run(remote.past_block(BLOCKS - 9)) is None
        assert asyncio.run(remote.past_block(block_hash(node, BLOCKS - 9))) is None
        assert asyncio.run(remote.past_block(Hash32(b"\x01" * 32))) is None
        assert asyncio.run(remote.past_block(-1)) is None


def test_blocks_that_may_be_replaced_are_known_by_hash(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert remote.hash_at(BLOCKS - 3) == block_hash(node, BLOCKS - 3)
        assert remote.hash_at(0) is None
        assert remote.hash_at(BLOCKS + 1) is None


# --- The checked fork --------------------------------------------------------


def test_everything_that_is_read_is_proven(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        keys = [
            ACCOUNT,
            ("account", bytes(CONTRACT)),
            ("account", bytes(NOBODY)),
            *slots_of([0, 4]),
        ]
        assert wanted(remote.table, [*keys, ("hash", 3)]) is None
        assert node.proxy.methods["eth_getStorageAt"] == node.proxy.methods["eth_getBalance"] == 0
        assert value(remote, 4) == 8
        assert wanted(remote.table_at(5), [ACCOUNT]) is None


LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "balance": ("eth_getProof", lambda it: it | {"balance": "0x1"}),
    "nonce": ("eth_getProof", lambda it: it | {"nonce": "0x5"}),
    "code": ("eth_getCode", lambda _: "0x6003"),
    "codeHash": ("eth_getProof", lambda it: it | {"codeHash": OTHER_HASH}),
    "slot": ("eth_getProof", lambda it: it | {"storageProof": _doubled(it)}),
    "proof": ("eth_getProof", lambda it: it | {"accountProof": it["accountProof"][:-1]}),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_caught(node: RemoteNode, name: str) -> None:
    method, lie = LIES[name]
    with node.fork(verify=True) as remote:
        node.proxy.lies[method] = lambda _, it: lie(it)
        failure = wanted(remote.table, [("account", bytes(CONTRACT)), *slots_of([4])])
        assert isinstance(failure, RemoteLied)
        assert "false" in str(failure)


def test_an_anchor_whose_header_does_not_have_its_hash_fails_the_start(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: it | {"stateRoot": OTHER_HASH}
    with pytest.raises(ProofsUnavailable, match="does not have the hash"), node.fork(verify=True):
        pass


def test_a_remote_without_proofs_fails_the_start_and_says_why(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with pytest.raises(ProofsUnavailable, match="does not serve eth_getProof"):
        node.fork(verify=True).__enter__()


# --- Starts ------------------------------------------------------------------


def test_a_start_takes_two_round_trips(node: RemoteNode) -> None:
    RemoteChain.open(node.settings(), ForkCache.memory()).close()
    assert node.proxy.posts == 2


def test_the_hardfork_is_that_of_the_remote(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert remote.hardfork == node.chain.rules.fork


def test_a_start_while_the_remote_is_gone_fails(node: RemoteNode) -> None:
    node.proxy.fault = faults.dropped
    with pytest.raises(RemoteUnreachable, match="eth_"), node.fork():
        pass


def test_no_address_has_to_be_the_first_one_asked_for(node: RemoteNode) -> None:
    with node.fork() as remote:
        many: list[RemoteKey] = [
            ("account", bytes(Address(number.to_bytes(20, "big")))) for number in range(500)
        ]
        assert wanted(remote.table, many) is None
        assert remote.table.entries == 500
