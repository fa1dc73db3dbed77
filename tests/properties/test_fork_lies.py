"""A remote that lies in one member of one response: each single change is an error, or changes nothing.

The changes are made from the responses themselves, so that no member is forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from entresol.errors import RemoteFailed
from entresol.execution.block_executor import HISTORY_STORAGE
from entresol.features.fork.starting import OpenedRemote
from entresol.features.fork.verify.proven_header import is_same
from tests.support.fork.recorded_remote import (
    Key,
    Recorded,
    RecordedClient,
    VerifiedFork,
    changes,
    recorded,
    respond_from,
    started,
)

METHODS: Final = (
    *("eth_chainId", "eth_config", "eth_getBalance", "eth_getBlockByHash"),
    *("eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getCode", "eth_getProof"),
    *("eth_getTransactionByHash", "eth_getTransactionReceipt"),
)
"""What the remote is asked."""

HINTS: Final = (
    ("eth_chainId", ""),
    ("eth_config", ""),
    ("eth_getBlockByNumber", "finalized"),
    ("eth_getBlockByNumber", "latest"),
    # How the remote takes the names of blocks, and whether it proves its state.
    ("eth_getBalance", f"{0:040x}"),
    ("eth_getProof", f"{0:040x}"),
    # Hashes of blocks, which linked headers have, too.
    ("eth_getCode", HISTORY_STORAGE.hex()),
    ("eth_getProof", HISTORY_STORAGE.hex()),
)
"""What a start asks, and no proof covers: a method, and what its parameters have."""

DROPPED: Final = {
    *("chainId", "size", "totalDifficulty", "blobGasPrice", "blockTimestamp", "logType"),
    *("transactionLogIndex", "l1BatchNumber", "l1BatchTimestamp", "l1BatchTxIndex"),
    # Whose account it is, the key in the proof says.
    "address",
}
"""Members that no proof covers: they are computed here, or left out."""


class Truth(NamedTuple):
    """What is true by query, and which responses each follows from; those that a start follows from."""

    recording: Recorded
    opened: OpenedRemote
    at_start: frozenset[Key]
    found: list[Any]
    asked: list[frozenset[Key]]

    def users(self, key: Key) -> list[int]:
        return [n for n, it in enumerate(self.asked) if key in it or key in self.at_start]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def truth(runner: asyncio.Runner) -> Truth:
    recording = recorded()
    starting = RecordedClient(respond_from(recording.responses))
    opened = runner.run(started(starting, recording.anchor))
    found, asked = [], []
    for query in recording.queries:
        client = RecordedClient(respond_from(recording.responses))
        found.append(runner.run(VerifiedFork(client, opened).read(query)))
        asked.append(frozenset(client.asked))
    return Truth(recording, opened, frozenset(starting.asked), found, asked)


class Sweep:
    """Changes responses, and reads with each change one of the queries that follow from it, in turns."""

    def __init__(self, truth: Truth, runner: asyncio.Runner) -> None:
        self._truth = truth
        self._runner = runner
        self._turn = 0

    def caught(self, key: Key, changed: Any) -> bool:
        """Return whether a change was noticed; if it was not, it has to have changed nothing."""
        recording, opened = self._truth.recording, self._truth.opened
        client = RecordedClient(respond_from({**recording.responses, key: {"result": changed}}))
        if key in self._truth.at_start:
            try:
                opened = self._runner.run(started(client, recording.anchor))
            except RemoteFailed as error:
                return _is_named(error)
        users = self._truth.users(key)
        self._turn += 1
        return self._is_noticed(client, opened, users[self._turn % len(users)])

    def _is_noticed(self, client: RecordedClient, opened: OpenedRemote, n: int) -> bool:
        query = self._truth.recording.queries[n]
        try:
            found = self._runner.run(VerifiedFork(client, opened).read(query))
        except RemoteFailed as error:
            return _is_named(error)
        assert found == self._truth.found[n], f"{query} follows from a lie"
        return False


@pytest.fixture(scope="module")
def sweep(truth: Truth, runner: asyncio.Runner) -> Sweep:
    return Sweep(truth, runner)


def _is_named(error: RemoteFailed) -> bool:
    """Every error says whose result is wrong, or what cannot be proven."""
    assert any(name in str(error) for name in ("http://recorded:8545", "--fork-verify")), error
    return True


def _is_hint(key: Key) -> bool:
    return any(key[0] == method and part in key[1] for method, part in HINTS)


def _is_header(key: Key) -> bool:
    """Say whether a block was asked for without its transactions: then only its header is used."""
    return key[0].startswith("eth_getBlockBy") and key[1].endswith("false]")


def test_the_truth_is_what_the_remote_says(truth: Truth) -> None:
    recording = truth.recording
    assert sorted({method for method, _ in recording.responses}) == sorted(METHODS)
    for query, found, own in zip(recording.queries, truth.found, recording.own, strict=True):
        assert query.keys or is_same(own, found), query


@pytest.mark.parametrize("method", METHODS[2:])
def test_no_single_change_of_a_response_is_believed(
    method: str, truth: Truth, sweep: Sweep
) -> None:
    unnoticed = set()
    for key, response in truth.recording.responses.items():
        if key[0] != method or "result" not in response:
            continue
        for path, what, changed in changes(response["result"]):
            is_used = not _is_hint(key) and not (_is_header(key) and path[0] == "transactions")
            if not sweep.caught(key, changed) and what == "changed" and is_used:
                unnoticed.add(next((it for it in reversed(path) if isinstance(it, str)), ""))
    assert unnoticed <= DROPPED


@pytest.mark.parametrize("method", METHODS)
def test_a_response_that_is_missing_or_of_something_else_is_not_believed(
    method: str, truth: Truth, sweep: Sweep
) -> None:
    nothing: list[Any] = [None, [], {}, "0x", "0x1", 7, [[]], {"hash": "0x"}]
    mine = {key: it for key, it in truth.recording.responses.items() if key[0] == method}
    others = [response["result"] for response in mine.values() if "result" in response]
    for key, response in mine.items():
        for changed in () if _is_hint(key) else (*nothing, *others):
            if changed != response.get("result"):
                sweep.caught(key, changed)
