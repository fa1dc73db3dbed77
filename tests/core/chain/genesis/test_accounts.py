"""Development accounts, against the addresses everybody knows and against eth_account."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
from eth_account.hdaccount.mnemonic import Mnemonic
from eth_account.types import Language
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.chain.genesis.accounts import (
    DEVELOPMENT_MNEMONIC,
    ZK_STACK_ACCOUNTS,
    DevAccount,
    derive,
)
from entresol.errors import MalformedValue
from tests.support.run.examples import examples

STEPS = st.tuples(st.integers(0, 2**31 - 1), st.sampled_from(["", "'"]))
LANGUAGES = st.sampled_from([Language.ENGLISH, Language.FRENCH, Language.JAPANESE])
ENTROPY = st.sampled_from([16, 20, 24, 28, 32]).flatmap(
    lambda size: st.binary(min_size=size, max_size=size)
)
PATHS = st.lists(STEPS.map(lambda step: f"{step[0]}{step[1]}"), max_size=5).map(
    lambda steps: "/".join(["m", *steps])
)


def test_the_development_mnemonic_gives_the_addresses_everybody_knows() -> None:
    accounts = derive(DEVELOPMENT_MNEMONIC, 3)
    assert [account.address.checksummed() for account in accounts] == [
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    ]
    first = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
    assert str(accounts[0].secret) == first


@pytest.mark.parametrize("account", ZK_STACK_ACCOUNTS, ids=lambda account: str(account.address))
def test_each_fixed_secret_gives_its_address(account: DevAccount) -> None:
    assert DevAccount.from_secret(account.secret) == account
    assert Account.from_key(account.secret).address == account.address.checksummed()


@settings(max_examples=examples(20))
@given(LANGUAGES, ENTROPY, PATHS)
def test_any_phrase_and_path_derive_as_in_eth_account(
    language: Language, entropy: bytes, path: str
) -> None:
    phrase = Mnemonic(language).to_mnemonic(entropy)
    seed = seed_from_mnemonic(phrase, "")
    secrets = [bytes(account.secret) for account in derive(phrase, 3, path)]
    assert secrets == [key_from_seed(seed, f"{path}/{index}") for index in range(3)]


def test_the_path_may_end_in_a_slash_and_write_hardening_as_a_letter() -> None:
    plain = derive(DEVELOPMENT_MNEMONIC, 1)
    assert derive(DEVELOPMENT_MNEMONIC, 1, "m/44'/60'/0'/0/") == plain
    assert derive(DEVELOPMENT_MNEMONIC, 1, "m/44h/60H/0h/0") == plain


def test_spacing_and_composition_of_the_phrase_do_not_matter() -> None:
    phrase = " ".join(["caf\N{LATIN SMALL LETTER E WITH ACUTE}"] * 12)
    decomposed = "  \n".join(["cafe\N{COMBINING ACUTE ACCENT}"] * 12)
    assert derive(phrase, 1) == derive(decomposed, 1)


@pytest.mark.parametrize("count", [0, 1, 11, 13, 25])
def test_a_phrase_of_another_length_is_rejected(count: int) -> None:
    with pytest.raises(MalformedValue, match=f"12, 15, 18, 21 or 24 words, got {count}$"):
        derive("test " * count, 1)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "starts with m"),
        ("m//0", "a step is like 44' or 0, got ''"),
        ("m/2147483648", "got '2147483648'"),
        ("m/\N{ARABIC-INDIC DIGIT ONE}", "a step is like"),
    ],
)
def test_other_paths_are_rejected(path: str, problem: str) -> None:
    with pytest.raises(MalformedValue) as caught:
        derive(DEVELOPMENT_MNEMONIC, 1, path)
    assert problem in str(caught.value)
