"""Gas prices and the fee history over JSON-RPC."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import FEE


def test_prices_follow_the_base_fee(client: ApiClient) -> None:
    assert client("eth_gasPrice") == hex(FEE)
    assert client("eth_maxPriorityFeePerGas") == "0x0"


@pytest.mark.parametrize("count", ["0x2", 2])
def test_the_fee_history_accepts_a_number_and_hex_digits(client: ApiClient, count: object) -> None:
    send(client)
    history = client("eth_feeHistory", count, "latest", [50])
    assert history["oldestBlock"] == "0x0"
    assert len(history["baseFeePerGas"]) == 3
    assert history["reward"] == [["0x0"], ["0x0"]]
