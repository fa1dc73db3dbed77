"""The clocks of both layers."""

from __future__ import annotations

from web3 import Web3

from entresol.testing import ChainTime

DAY = 86_400


def timestamps(*layers: Web3) -> list[int]:
    return [layer.eth.get_block("latest")["timestamp"] for layer in layers]


def test_both_layers_are_later(chain_time: ChainTime, l1: Web3, l2: Web3) -> None:
    before = timestamps(l1, l2)
    chain_time.increase(DAY)
    assert all(
        later >= earlier + DAY for earlier, later in zip(before, timestamps(l1, l2), strict=True)
    )


def test_a_time_is_set_on_both_layers(chain_time: ChainTime, l1: Web3, l2: Web3) -> None:
    wanted = chain_time.now + 30 * DAY
    assert chain_time.set(wanted) == wanted
    assert timestamps(l1, l2) == [wanted, wanted]
