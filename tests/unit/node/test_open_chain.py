"""The chain that settings describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entresol.chain.chain import Chain
from entresol.node.chains import open_layer_two
from entresol.node.config import ChainConfig


@contextmanager
def opened(config: ChainConfig) -> Iterator[Chain]:
    chain, _ = open_layer_two(config, None, None)
    yield chain
    chain.close()


def test_the_genesis_costs_what_the_next_block_does() -> None:
    with opened(ChainConfig()) as chain:
        assert chain.head.base_fee_per_gas == chain.next_base_fee() == 100_000_000


def test_a_chain_is_opened_again_with_another_price(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    with opened(ChainConfig(data_dir=directory)) as chain:
        genesis = chain.head
    with opened(ChainConfig(data_dir=directory, gas_price=10**9)) as chain:
        assert chain.head == genesis
        assert chain.next_base_fee() == 10**9
