"""Genesis as a value and as a file, against known chains and against py-trie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.genesis.stored_genesis import genesis_block
from entresol.errors import InvalidGenesis
from entresol.primitives.values import Address, Hash32, Nonce8
from entresol.state.state_trie import StateTrie
from entresol.storage.store import Store

ALICE = "0x36615Cf349d7F6344891B1e7CA7C72883F5dc049"
BOB = "0xa61464658afeaf65cccaafd3a512b69a83b77618"

MILLION = 10**24
SEPOLIA: dict[str, Any] = {
    "config": {"chainId": 11155111, "londonBlock": 0},
    "nonce": "0x0",
    "timestamp": 1633267481,
    "extraData": "0x" + b"Sepolia, Athens, Attica, Greece!".hex(),
    "gasLimit": "0x1c9c380",
    "difficulty": "131072",
    "alloc": {
        "a2A6d93439144FFE4D27c9E088dCD8b783946263": {"balance": MILLION},
        "Bc11295936Aa79d594139de1B2e12629414F3BDB": {"balance": str(MILLION)},
        "7cF5b79bfe291A67AB02b393E456cCc4c266F753": {"balance": hex(MILLION)},
        "aaec86394441f915bce3e6ab399977e9906f3b69": {"balance": hex(MILLION)},
        "F47CaE1CF79ca6758Bfc787dbD21E6bdBe7112B8": {"balance": hex(MILLION)},
        "d7eDDB78ED295B3C9629240E8924fb8D8874ddD8": {"balance": hex(MILLION)},
        "8b7F0977Bb4f0fBE7076FA22bC24acA043583F5e": {"balance": hex(MILLION)},
        "e2e2659028143784d557bcec6ff3a0721048880a": {"balance": hex(MILLION)},
        "d9a5179f091d85051d3c982785efd1455cec8699": {"balance": hex(MILLION)},
        "beef32ca5b9a198d27B4e02F4c70439fE60356Cf": {"balance": hex(MILLION)},
        "0x0000006916a87b82333f4245046623b23794c65c": {"balance": hex(10 * MILLION)},
        "0xb21c33de1fab3fa15499c62b59fe0cc3250020d1": {"balance": hex(100 * MILLION)},
        "0x10F5d45854e038071485AC9e402308cF80D2d2fE": {"balance": hex(100 * MILLION)},
        "0xd7d76c58b3a519e9fA6Cc4D22dC017259BC49F1E": {"balance": hex(100 * MILLION)},
        "0x799D329e5f583419167cD722962485926E338F4a": {"balance": "0xDE0B6B3A7640000"},
    },
}

ADDRESSES = st.binary(min_size=20, max_size=20).map(Address)
WORDS = st.binary(min_size=32, max_size=32).map(Hash32)
UINT64 = st.integers(0, 2**64 - 1)
UINT256 = st.integers(0, 2**256 - 1)
ACCOUNTS = st.builds(
    GenesisAccount,
    balance=UINT256,
    nonce=UINT64,
    code=st.binary(max_size=100),
    storage=st.dictionaries(WORDS, WORDS | st.just(Hash32.zero()), max_size=5),
)
GENESES = st.builds(
    Genesis,
    chain_id=st.integers(1, 2**64 - 1),
    timestamp=UINT64,
    gas_limit=UINT64,
    base_fee=UINT64,
    beneficiary=ADDRESSES,
    extra_data=st.binary(max_size=100),
    difficulty=UINT256,
    mix_hash=WORDS,
    nonce=st.binary(min_size=8, max_size=8).map(Nonce8),
    alloc=st.dictionaries(ADDRESSES, ACCOUNTS | st.just(GenesisAccount()), max_size=8),
)


def document(**changes: object) -> bytes:
    """Return the smallest genesis file with some members changed; None stands for null."""
    return json.dumps({"config": {"chainId": 270}, "gasLimit": 1, "alloc": {}} | changes).encode()


def one_account(**members: object) -> GenesisAccount:
    (account,) = Genesis.parse(document(alloc={ALICE: members})).alloc.values()
    return account


def test_sepolia_has_the_root_and_the_hash_of_sepolia(store: Store) -> None:
    genesis = Genesis.parse(json.dumps(SEPOLIA).encode())
    record, _ = genesis_block(genesis, store, StateTrie(store))
    root = "0x5eb6e371a698b8d68f665192350ffcecbbbf322916f4b51bd79bb6887da3f494"
    assert str(record.header().state_root) == root
    block_hash = "0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"
    assert str(record.hash()) == block_hash


@given(GENESES)
def test_a_genesis_survives_its_file(genesis: Genesis) -> None:
    assert Genesis.parse(genesis.dump()) == genesis


def test_what_a_file_leaves_out_has_the_value_geth_gives_it() -> None:
    expected = Genesis(chain_id=270, gas_limit=1, base_fee=10**9, alloc={})
    assert Genesis.parse(document()) == expected
    optional = ["timestamp", "baseFeePerGas", "coinbase", "extraData", "difficulty", "mixHash"]
    assert Genesis.parse(document(**dict.fromkeys([*optional, "nonce", "number"]))) == expected


def test_a_secret_key_is_no_part_of_the_genesis() -> None:
    with_key = Genesis.parse(document(alloc={ALICE: {"secretKey": "0x" + "11" * 32}}))
    assert with_key.alloc[Address.parse(ALICE)].secret_key == b"\x11" * 32
    assert with_key.dump() == Genesis.parse(document(alloc={ALICE: {}})).dump()


@pytest.mark.parametrize("key", ["0x1", "0x" + "00" * 32, "0x" + "ff" * 32])
def test_an_invalid_secret_key_is_rejected_by_its_path(key: str) -> None:
    with pytest.raises(InvalidGenesis, match="secretKey: a "):
        Genesis.parse(document(alloc={ALICE: {"secretKey": key}}))


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (10, 10),
        (2**256 - 1, 2**256 - 1),
        ("", 0),
        ("010", 10),
        ("0x10", 16),
        ("0X1F", 31),
        (str(2**256 - 1), 2**256 - 1),
    ],
)
def test_numbers_are_read_as_geth_reads_them(written: object, number: int) -> None:
    assert one_account(balance=written).balance == number


def test_the_nonce_of_the_header_is_a_number() -> None:
    assert Genesis.parse(document(nonce=66)).nonce == Nonce8(bytes(7) + b"\x42")
    assert Genesis.parse(document(nonce="0x0000000000000042")).nonce == Nonce8(bytes(7) + b"\x42")


@pytest.mark.parametrize("slot", ["0x1", "1", "01", "0x" + "0" * 63 + "1"])
def test_slots_are_filled_from_the_left(slot: str) -> None:
    storage = one_account(balance=1, storage={slot: "0xff"}).storage
    assert storage == {Hash32(bytes(31) + b"\x01"): Hash32(bytes(31) + b"\xff")}


def test_addresses_are_read_in_any_case_with_or_without_prefix() -> None:
    for text in [ALICE, ALICE.lower(), ALICE[2:], ALICE[2:].upper()]:
        alloc = Genesis.parse(document(alloc={text: {"balance": 1}})).alloc
        assert alloc == {Address.parse(ALICE): GenesisAccount(balance=1)}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"config": None}, "config: is missing"),
        ({"config": {}}, "config.chainId: is missing"),
        ({"config": []}, "config: should be an object"),
        ({"config": {"chainId": 0}}, "config.chainId: a chain id is at least 1"),
        ({"config": {"chainId": 2**64}}, "config.chainId: a quantity is from 0 to 2^64 - 1"),
        ({"gasLimit": None}, "gasLimit: is missing"),
        ({"gasLimit": 1.5}, "gasLimit: a quantity is an integer from 0, or a string of decimal or"),
        ({"timestamp": -1}, "timestamp: a quantity is an integer from 0"),
        ({"timestamp": "1_0"}, "timestamp: a quantity is an integer from 0"),
        ({"coinbase": "0x12"}, "coinbase: an address is 20 bytes, got 1"),
        ({"nonce": 2**64}, "nonce: a quantity is from 0 to 2^64 - 1"),
        ({"number": 2**53}, "number: is from 0 to 9007199254740991, got 9007199254740992"),
        ({"alloc": None}, "alloc: is missing"),
        ({"alloc": []}, "alloc: should be an object"),
        ({"alloc": {ALICE: None}}, f"alloc.{ALICE}: should be an object"),
    ],
)
def test_an_error_has_the_path_of_the_field(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidGenesis) as caught:
        Genesis.parse(document(**changes))
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"balance": "0xzz"}, "balance: a quantity is an integer"),
        ({"code": "5f"}, "code: data starts with 0x"),
        ({"storage": 1}, "storage: should be an object"),
        ({"storage": {"0x1": 1}}, "storage.0x1: a quantity is a hex string, got a number"),
        ({"storage": {"x": "0x1"}}, "storage.x: a quantity is written in hex digits, got 'x'"),
        ({"storage": {"0x1": "0x0", "01": "0x0"}}, "storage.01: appears twice, in different"),
    ],
)
def test_an_error_of_an_account_names_its_address(members: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidGenesis) as caught:
        Genesis.parse(document(alloc={ALICE: members}))
    assert str(caught.value).startswith(f"alloc.{ALICE}.{problem}")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff", b'{"gasLimit": %b}' % (b"9" * 5000)]
)
def test_what_is_no_json_object_is_rejected(text: bytes) -> None:
    with pytest.raises(InvalidGenesis, match=r"not JSON|a genesis is a JSON object"):
        Genesis.parse(text)


@pytest.mark.usefixtures("usual_recursion")
def test_a_file_that_is_nested_too_deeply_is_rejected() -> None:
    with pytest.raises(InvalidGenesis, match="not JSON: maximum recursion depth"):
        Genesis.parse(b"[" * 100_000)


@pytest.mark.parametrize(
    "changes", [{"alloc": {"z" * 100_000: {}, "z" * 99_999: {}}}, {"gasLimit": 10**4000}]
)
def test_an_error_does_not_grow_with_the_file(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidGenesis) as caught:
        Genesis.parse(document(**changes))
    assert len(str(caught.value)) < 250


def test_a_problem_of_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "genesis.json"
    with pytest.raises(InvalidGenesis) as caught:
        Genesis.load(path)
    assert str(caught.value) == f"{path}: No such file or directory (--genesis, --init)"
    path.write_bytes(document(gasLimit=None))
    with pytest.raises(InvalidGenesis) as caught:
        Genesis.load(path)
    assert str(caught.value) == f"{path}: gasLimit: is missing"


def test_a_development_chain_funds_its_accounts_and_holds_its_predeploys() -> None:
    addresses = [account.address for account in derive(DEVELOPMENT_MNEMONIC, 2)]
    predeploy = GenesisAccount(nonce=1, code=b"\x5f")
    genesis = Genesis.development(270, addresses, 5, {Address.zero(): predeploy})
    funded = dict.fromkeys(addresses, GenesisAccount(balance=5))
    assert genesis == Genesis(chain_id=270, alloc=funded | {Address.zero(): predeploy})


def test_a_predeploy_may_not_replace_a_funded_account() -> None:
    with pytest.raises(InvalidGenesis, match=f"alloc.{BOB}: is both funded and a predeploy"):
        Genesis.development(270, [Address.parse(BOB)], 5, {Address.parse(BOB): GenesisAccount()})
