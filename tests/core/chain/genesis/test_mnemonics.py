from __future__ import annotations

import pytest

from entresol.chain.genesis.accounts import derive
from entresol.chain.genesis.mnemonics import random_mnemonic, seeded_mnemonic
from entresol.errors import MalformedValue

SEEDED = {
    0: "leisure need topic clown code attend earn lounge baby omit vault crunch",
    7: "same equip riot once hat lizard survey rose exist next tired document",
    2**64 - 1: "reunion eager public radio victory silver palm elite make sing accuse moon",
}
"""What anvil 1.7.1 makes of these seeds."""


@pytest.mark.parametrize("seed", SEEDED)
def test_a_seed_gives_the_mnemonic_of_anvil(seed: int) -> None:
    assert seeded_mnemonic(seed) == SEEDED[seed]


@pytest.mark.parametrize("words", [12, 15, 18, 21, 24])
def test_a_random_mnemonic_has_as_many_words_as_requested(words: int) -> None:
    made = random_mnemonic(words)
    assert len(made.split()) == words
    assert made != random_mnemonic(words)
    assert len(derive(made, 1)) == 1


def test_other_lengths_are_rejected() -> None:
    with pytest.raises(MalformedValue, match="12, 15, 18, 21 or 24 words, got 13"):
        random_mnemonic(13)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_has_64_bits(seed: int) -> None:
    with pytest.raises(MalformedValue, match="64 bits"):
        seeded_mnemonic(seed)
