"""Log queries: cached responses equal fresh ones, also after a revert."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from entresol.chain.fees import FeeModel
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.log_emitter import DOUBLE, SINGLE, EmittingChain
from tests.support.chain.served import served_chain
from tests.support.coroutines import completed
from tests.support.rpc_client import DispatcherClient


class Rollup(DispatcherClient):
    """A layer 2 whose blocks and batches are sealed when the test says so."""

    def __init__(self) -> None:
        self.chain = EmittingChain.begin()
        self.api = served_chain(
            self.chain,
            InlineSequencer(self.chain),
            wake=lambda: None,
            fees=FeeModel(),
        )
        self.batcher = Batcher(
            self.chain.blocks, self.chain.batches, SealingPolicy(max_age=10.0**9)
        )
        self.batcher.sealed.add(self.api.batch_sealed)
        super().__init__(self.api.dispatcher)

    def seal_batch(self) -> None:
        """Seal a batch of all blocks that are in none."""
        assert completed(self.batcher.seal(0.0)) is not None


@pytest.fixture
def rollup() -> Iterator[Rollup]:
    rollup = Rollup()
    yield rollup
    rollup.api.close()
    rollup.chain.close()


def test_a_batch_shows_everywhere_once_it_is_sealed_and_nowhere_once_it_lost_a_block(
    rollup: Rollup,
) -> None:
    sent = str(rollup.chain.seal_emission().hash)
    rollup.chain.seal_emission()
    questions: list[tuple[str, Any]] = [
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x1"}]),
        ("eth_getBlockByNumber", ["0x1", True]),
        ("eth_getTransactionReceipt", [sent]),
        ("eth_getBlockReceipts", ["0x1"]),
        ("eth_getTransactionByHash", [sent]),
    ]

    def shown() -> list[set[str]]:
        answers = [json.dumps(rollup(method, *params)) for method, params in questions]
        return [set(re.findall(r'"l1BatchNumber": (null|"0x1")', answer)) for answer in answers]

    assert shown() == [{"null"}] * len(questions)
    rollup.seal_batch()
    assert shown() == [{'"0x1"'}] * len(questions)
    rollup.chain.history.rewind(1)
    assert shown() == [{"null"}] * len(questions)


@pytest.mark.parametrize("first", ["latest", "0x1", "pending"])
def test_pending_transactions_have_no_logs_yet(rollup: Rollup, first: str) -> None:
    wanted = {"fromBlock": first, "toBlock": "pending"}
    rollup.chain.seal_emission()
    sealed = rollup("eth_getLogs", wanted)
    assert len(sealed) == (first != "pending")
    rollup.chain.emit(SINGLE)
    assert rollup("eth_getLogs", wanted) == sealed
    rollup.chain.builder.seal()
    addresses = [log["address"] for log in rollup("eth_getLogs", wanted)]
    expected = {"latest": [str(SINGLE)], "0x1": [str(DOUBLE), str(SINGLE)], "pending": []}
    assert addresses == expected[first]


@pytest.mark.parametrize("is_layer_two", [True, False])
@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"fromBlock": "0x1", "toBlock": "0x0"}, "invalid block range params"),
        ({"fromBlock": "0x99"}, "BlockOutOfRangeError: block height is 1 but requested was 153"),
        (
            {"fromBlock": "0x99", "toBlock": "0x9a"},
            "BlockOutOfRangeError: block height is 1 but requested was 153",
        ),
    ],
)
def test_both_layers_reject_a_range_without_blocks(
    wanted: dict[str, str], problem: str, is_layer_two: bool
) -> None:
    chain = EmittingChain.begin()
    fees = FeeModel() if is_layer_two else None
    api = served_chain(chain, InlineSequencer(chain), wake=lambda: None, fees=fees)
    with closing(chain), closing(api):
        client = DispatcherClient(api.dispatcher)
        client("evm_mine")
        rejection = client.error("eth_getLogs", wanted)
        assert (rejection.code, rejection.message) == (-32602, problem)
        assert client("eth_getLogs", {"fromBlock": "latest", "toBlock": "0x0"}) == []
        assert client("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x99"}) == []
