"""The names of blocks."""

from __future__ import annotations

import pytest

from entresol.chain.finality import BlockTag, Finality


@pytest.mark.parametrize(
    ("tag", "number"),
    [
        ("latest", 100),
        ("committed", 100),
        ("pending", 101),
        ("earliest", 0),
        ("safe", 60),
        ("l1_committed", 60),
        ("precommitted", 60),
        ("finalized", 40),
        ("fast_finalized", 40),
    ],
)
def test_a_tag_names_a_block(tag: str, number: int) -> None:
    assert Finality(safe=60, finalized=40).resolve(BlockTag(tag), head=100) == number


@pytest.mark.parametrize("tag", ["safe", "finalized"])
def test_genesis_is_confirmed_from_the_start(tag: str) -> None:
    assert Finality().resolve(BlockTag(tag), head=100) == 0


def test_nothing_above_the_head_is_confirmed() -> None:
    assert Finality(safe=60, finalized=40).at_most(50) == Finality(safe=50, finalized=40)
    assert Finality(safe=60, finalized=40).resolve(BlockTag.SAFE, head=50) == 50
