"""Sealing several blocks by hand."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import Client


def timestamps(client: Client, count: int) -> list[int]:
    head = client.chain.head.number
    numbers = range(head - count + 1, head + 1)
    return [int(client("eth_getBlockByNumber", hex(n), False)["timestamp"], 16) for n in numbers]


@pytest.mark.parametrize("name", ["anvil_mine", "hardhat_mine"])
def test_an_interval_lies_between_the_blocks(client: Client, name: str) -> None:
    client(name, "0x3", "0x3c")
    first, second, third = timestamps(client, 3)
    assert (second - first, third - second) == (60, 60)


def test_without_an_interval_moved_time_counts(client: Client) -> None:
    client("evm_mine")
    client("evm_increaseTime", 3_600)
    client("anvil_mine", "0x2", "0x0")
    before, first, _ = timestamps(client, 3)
    assert first - before >= 3_600
