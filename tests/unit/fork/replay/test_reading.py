"""What a replay reads of a remote chain, also of one that lacks methods or lies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from entresol.errors import RemoteMalformed, RemoteRejected
from entresol.fork.replay.reading import find_transaction, read_block
from entresol.primitives.values import Hash32
from tests.support.chain.sample_chain import SampleChain, sample_chain


class SampleRemote:
    """Responds from a sample chain; methods can be missing, or have other results."""

    host = "http://remote"

    def __init__(self, sample: SampleChain) -> None:
        self.sample = sample
        self.missing: set[str] = set()
        self.results: dict[str, Any] = {}
        self.final: list[str] = []

    async def read(
        self,
        method: str,
        params: Sequence[object],
        *,
        is_final: Callable[[msgspec.Raw], bool] | None = None,
    ) -> msgspec.Raw:
        """Return a result."""
        if method in self.missing:
            raise RemoteRejected(self.host, method, -32601, "method not found")
        found = self.results.get(method, ...)
        raw = msgspec.Raw(
            msgspec.json.encode(self._result(method, params) if found is ... else found)
        )
        if is_final is not None and is_final(raw):
            self.final.append(method)
        return raw

    def _result(self, method: str, params: Sequence[object]) -> Any:
        names = {str(it): name for name, it in self.sample.hashes.items()}
        match method:
            case "eth_getBlockByHash" | "eth_getBlockByNumber":
                return self.sample.block(full=True)
            case "eth_getTransactionByHash":
                return self.sample.transaction(names[str(params[0])])
            case "eth_getTransactionReceipt":
                return self.sample.receipt(names[str(params[0])])
            case "eth_getRawTransactionByHash":
                return "0x" + self.sample.sent[names[str(params[0])]].raw.hex()
            case "eth_getBlockReceipts":
                order = sorted(self.sample.hashes, key=self.sample.index)
                return [self.sample.receipt(name) for name in order]
        raise AssertionError(method)


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as made:
        yield made


@pytest.fixture
def remote(sample: SampleChain) -> SampleRemote:
    return SampleRemote(sample)


def test_a_block_is_read_with_its_transactions_and_receipts(remote: SampleRemote) -> None:
    block = asyncio.run(read_block(remote, 2))
    assert block.header.hash() == block.hash
    assert [transaction.hash for transaction in block.transactions] == [
        Hash32.parse(receipt["transactionHash"]) for receipt in block.receipts
    ]
    assert sum(transaction.transaction is None for transaction in block.transactions) == 1
    assert remote.final == ["eth_getRawTransactionByHash", "eth_getBlockReceipts"]


def test_a_remote_without_the_method_for_all_receipts_is_asked_for_each(
    remote: SampleRemote,
) -> None:
    remote.missing = {"eth_getBlockReceipts"}
    assert len(asyncio.run(read_block(remote, 2)).receipts) == 9


def test_a_remote_without_raw_transactions_has_some_that_are_not_executed(
    remote: SampleRemote,
) -> None:
    remote.missing = {"eth_getRawTransactionByHash"}
    notes = [
        transaction.note
        for transaction in asyncio.run(read_block(remote, 2)).transactions
        if transaction.note
    ]
    assert notes[-1] == "type 0x71, whose raw bytes the remote does not have"


def test_a_transaction_is_found_in_its_block(remote: SampleRemote, sample: SampleChain) -> None:
    found = asyncio.run(find_transaction(remote, sample.hashes["creation"]))
    assert found == (Hash32.parse(sample.block()["hash"]), sample.index("creation"))


def test_a_block_without_a_base_fee_has_none_here(
    remote: SampleRemote, sample: SampleChain
) -> None:
    fields = sample.block(full=True)
    del fields["baseFeePerGas"]
    remote.results["eth_getBlockByNumber"] = fields
    assert asyncio.run(read_block(remote, 2)).header.base_fee_per_gas == 0


@pytest.mark.parametrize(
    ("members", "note"),
    [
        ({"sendRoot": "0x", "sendCount": "0x", "l1BlockNumber": "0x1"}, "ArbSys"),
        ({"l1BatchNumber": "0x1"}, "EraVM"),
    ],
)
def test_a_chain_with_rules_of_its_own_is_named(
    remote: SampleRemote, sample: SampleChain, members: dict[str, str], note: str
) -> None:
    fields = {it: value for it, value in sample.block(full=True).items() if it != "l1BatchNumber"}
    remote.results["eth_getBlockByNumber"] = fields | members
    assert note in asyncio.run(read_block(remote, 2)).notes[0]


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("eth_getBlockByNumber", None),
        ("eth_getBlockByNumber", []),
        ("eth_getBlockByNumber", {}),
        (
            "eth_getBlockByNumber",
            {"number": "0x2", "hash": "0x" + "11" * 32, "transactions": ["0x"]},
        ),
        ("eth_getBlockReceipts", []),
        ("eth_getBlockReceipts", [{}] * 9),
    ],
)
def test_a_remote_that_lies_is_named(remote: SampleRemote, method: str, result: object) -> None:
    remote.results[method] = result
    with pytest.raises(RemoteMalformed, match="http://remote"):
        asyncio.run(read_block(remote, 2))


@pytest.mark.parametrize("result", [None, [], {}, {"blockHash": "0x1", "transactionIndex": "0x0"}])
def test_a_transaction_that_is_in_no_block_is_named(remote: SampleRemote, result: object) -> None:
    remote.results["eth_getTransactionByHash"] = result
    with pytest.raises(RemoteMalformed):
        asyncio.run(find_transaction(remote, Hash32.zero()))
