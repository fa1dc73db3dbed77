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
from entresol.fork.starting import OpenedRemote
from entresol.fork.verify.proven_header import is_same
from tests.support.fork.verified.recorded_remote import (
    Key,
    Query,
    RecordedClient,
    VerifiedFork,
    changes,
    recorded,
    respond_from,
    started,
)

ANCHOR, QUERIES, RESPONSES, OWN = recorded()
METHODS: Final = sorted({method for method, _ in RESPONSES})

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
    ("eth_getBlockByNumber", "totalDifficulty"),
    ("eth_getBlockByNumber", "size"),
    ("eth_getBlockByHash", "totalDifficulty"),
    ("eth_getBlockByHash", "size"),
    ("eth_getBlockReceipts", "blobGasPrice"),
    ("eth_getBlockReceipts", "blockTimestamp"),
    # Whose account it is, the key in the proof says.
    ("eth_getProof", "address"),
    ("eth_getTransactionReceipt", "blobGasPrice"),
    ("eth_getTransactionReceipt", "blockTimestamp"),
}
"""Members that no proof covers: they are computed here, or left out."""


class Truth(NamedTuple):
    """What is true by query, and which responses each follows from; those that a start follows from."""

    opened: OpenedRemote
    at_start: frozenset[Key]
    found: list[Any]
    asked: list[frozenset[Key]]

    def users(self, key: Key) -> list[int]:
        """Return the queries that follow from a response."""
        return [n for n, it in enumerate(self.asked) if key in it or key in self.at_start]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Return one event loop for all reads."""
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def truth(runner: asyncio.Runner) -> Truth:
    """Read everything once."""
    starting = RecordedClient(respond_from(RESPONSES))
    opened = runner.run(started(starting, ANCHOR))
    found, asked = [], []
    for query in QUERIES:
        client = RecordedClient(respond_from(RESPONSES))
        found.append(runner.run(VerifiedFork(client, opened).read(query)))
        asked.append(frozenset(client.asked))
    return Truth(opened, frozenset(starting.asked), found, asked)


class Sweep:
    """Changes responses, and reads with each change two of the queries that follow from it, in turns."""

    def __init__(self, truth: Truth, runner: asyncio.Runner) -> None:
        self._truth = truth
        self._runner = runner
        self._turn = 0

    def caught(self, key: Key, changed: Any) -> bool:
        """Return whether a change was noticed; if it was not, it has to have changed nothing."""
        client = RecordedClient(
            respond_from({**RESPONSES, key: {"result": changed}}, has_others=True)
        )
        opened = self._truth.opened
        if key in self._truth.at_start:
            try:
                opened = self._runner.run(started(client, ANCHOR))
            except RemoteFailed as error:
                return _is_named(error)
        users = self._truth.users(key)
        self._turn += 1
        turns = {users[(self._turn * step) % len(users)] for step in (1, 7)}
        return sum(self._is_noticed(client, opened, n) for n in turns) > 0

    def _is_noticed(self, client: RecordedClient, opened: OpenedRemote, n: int) -> bool:
        try:
            found = self._runner.run(VerifiedFork(client, opened).read(QUERIES[n]))
        except RemoteFailed as error:
            return _is_named(error)
        assert found == self._truth.found[n], f"{QUERIES[n]} follows from a lie"
        return False


@pytest.fixture(scope="module")
def sweep(truth: Truth, runner: asyncio.Runner) -> Sweep:
    """Return what changes responses."""
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


@pytest.mark.parametrize("query", [query for query in QUERIES if not query.keys], ids=str)
def test_the_truth_is_what_the_remote_says(query: Query, truth: Truth) -> None:
    found = truth.found[QUERIES.index(query)]
    assert is_same(OWN[str(query)], _comparable(query, found))


def _comparable(query: Query, found: Any) -> Any:
    """Return what anvil has, too: its sizes leave withdrawals out, and its next base fee is that of its pending block."""
    if query.method == "eth_feeHistory":
        return found | {"baseFeePerGas": OWN[str(query)]["baseFeePerGas"]}
    if query.method.startswith("eth_getBlockBy"):
        return {name: it for name, it in found.items() if name != "size"}
    return found


@pytest.mark.parametrize("method", METHODS)
def test_no_single_change_of_a_response_is_believed(method: str, sweep: Sweep) -> None:
    unnoticed = set()
    for key, response in RESPONSES.items():
        if key[0] != method or "result" not in response:
            continue
        for path, what, changed in changes(response["result"]):
            is_used = not _is_hint(key) and not (_is_header(key) and path[0] == "transactions")
            if not sweep.caught(key, changed) and what == "changed" and is_used:
                unnoticed.add(
                    (method, next((it for it in reversed(path) if isinstance(it, str)), ""))
                )
    assert unnoticed <= DROPPED


@pytest.mark.parametrize(
    "key", [response for response in RESPONSES if not _is_hint(response)], ids=str
)
def test_a_response_that_is_missing_or_of_something_else_is_not_believed(
    key: Key, sweep: Sweep
) -> None:
    nothing: list[Any] = [None, [], {}, "0x", "0x1", 7, [[]], {"hash": "0x"}]
    for changed in nothing:
        if changed != RESPONSES[key].get("result"):
            sweep.caught(key, changed)
    for other, response in RESPONSES.items():
        if other[0] == key[0] and other != key and "result" in response:
            sweep.caught(key, response["result"])
