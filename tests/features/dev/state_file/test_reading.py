"""Reading state files of anvil, of several versions, and broken ones."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from entresol.errors import InvalidStateFile
from entresol.features.dev.state_file.reading import read_state_file
from entresol.primitives.values import Address, Hash32
from tests.support.chain.state_files import ALICE, anvil_file

WORD = "0x" + "00" * 31 + "05"
ADDRESS = "0x%040x"


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_is_read_plain_and_packed(pack: Any) -> None:
    file = read_state_file(pack(encoded(anvil_file())))
    assert file.best == 2
    assert sorted(file.blocks) == [0, 1, 2]
    assert file.accounts[Address.parse(ALICE)].nonce == 2


def test_hashes_of_blocks_and_transactions_are_those_of_the_file() -> None:
    document = anvil_file()
    file = read_state_file(encoded(document))
    for number in (1, 2):
        assert file.blocks[number].header.parent_hash == file.blocks[number - 1].header.hash()
    for entry in document["transactions"]:
        block = file.blocks[entry["block_number"]]
        assert str(block.header.hash()) == entry["block_hash"]
        assert str(block.transactions[0].hash) == entry["info"]["transaction_hash"]
        assert block.results[0].gas_used == entry["info"]["gas_used"]


def test_a_file_before_version_1_3_is_read() -> None:
    document = anvil_file()
    document["best_block_number"] = "0x2"
    document["block"] = {
        "number": 2, "coinbase": "0x" + "00" * 20, "timestamp": 1700000000, "gas_limit": "0x1c9c380",
        "basefee": "0x0", "difficulty": "0x0",
    }  # fmt: skip
    for block in document["blocks"]:
        block["transactions"] = [it["transaction"] for it in block["transactions"]]
    assert read_state_file(encoded(document)) == read_state_file(encoded(anvil_file()))


def test_slots_may_be_short() -> None:
    document = {"accounts": {ALICE: {"storage": {"0x1": "0x5", "0x" + "00" * 31 + "02": WORD}}}}
    file = read_state_file(encoded(document))
    value = (5).to_bytes(32)
    assert file.accounts[Address.parse(ALICE)].storage == {
        (1).to_bytes(32): value,
        (2).to_bytes(32): value,
    }
    assert file.best is None


def test_the_chain_that_ends_with_the_best_block_is_taken() -> None:
    document = anvil_file()
    other = json.loads(json.dumps(next(it for it in document["blocks"] if not it["transactions"])))
    other["header"]["timestamp"] = "0x1"
    document["blocks"].append(other)
    assert (
        read_state_file(encoded(document)).blocks == read_state_file(encoded(anvil_file())).blocks
    )


def _changed(path: list[Any], value: object) -> bytes:
    document: Any = anvil_file()
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return encoded(document)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"\x12", "not JSON"),
        (b"[]", "should be an object"),
        (b"\x1f\x8b\x00", "not gzip"),
        (gzip.compress(b"{}", mtime=0)[:-4], "the end is missing"),
        (_changed(["best_block_number"], "many"), "best_block_number: a quantity"),
        (_changed(["accounts", "0x12"], {}), "accounts.0x12: "),
        (_changed(["accounts", ALICE, "balance"], []), f"accounts.{ALICE}.balance: a quantity"),
        (_changed(["blocks", 0, "header", "stateRoot"], None), "header.stateRoot: is missing"),
        (_changed(["blocks", 0, "header", "baseFeePerGas"], hex(2**64)), "baseFeePerGas: "),
        (_changed(["blocks", 0, "header", "gasUsed"], hex(2**64)), "gasUsed: "),
        (_changed(["blocks"], {}), "blocks: should be an array"),
        (_changed(["transactions"], []), "transactions[0]: there is no result of it"),
        (_changed(["transactions", 0, "info", "from"], 5), "transactions.[0].from: "),
        (
            _changed(["entresol"], {"version": 9}),
            "entresol.version: is format 9, and this version reads format",
        ),
    ],
)
def test_what_is_no_state_file_is_rejected_with_the_field(content: bytes, problem: str) -> None:
    with pytest.raises(InvalidStateFile) as rejection:
        read_state_file(content)
    assert problem in str(rejection.value)
    assert str(rejection.value).startswith("Failed to decode state dump: ")


def test_a_transaction_of_an_unknown_type_is_rejected() -> None:
    document = anvil_file()
    block = next(it for it in document["blocks"] if it["transactions"])
    block["transactions"][0]["transaction"]["type"] = "0x5"
    with pytest.raises(InvalidStateFile, match="type: transactions of type 0x5 are not supported"):
        read_state_file(encoded(document))


def test_states_of_earlier_blocks_have_accounts_and_storage() -> None:
    code = {"LegacyAnalyzed": {"bytecode": "0x6001600000", "original_len": 3, "jump_table": {}}}
    account = {"balance": "0x7", "nonce": 1, "code_hash": WORD, "code": code}
    state = {"accounts": {ALICE: account}, "storage": {ALICE: {"0x0": "0x5"}}, "block_hashes": {}}
    file = read_state_file(encoded({"historical_states": [[WORD, state]]}))
    found = file.states[Hash32.parse(WORD)][Address.parse(ALICE)]
    assert (found.balance, found.nonce, found.code) == (7, 1, bytes.fromhex("600160"))
    assert found.storage == {bytes(32): (5).to_bytes(32)}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("document", "is_allowed"),
    [
        ({"accounts": {ADDRESS % number: {} for number in range(10)}}, True),
        ({"accounts": {ADDRESS % number: {} for number in range(1_000)}}, False),
        ({"accounts": {ADDRESS % 1: {"code": "0x" + "00" * 5_000}}}, False),
    ],
)
def test_a_file_of_a_client_is_bounded_by_what_it_unpacks_to(
    pack: Any, document: dict[str, Any], is_allowed: bool
) -> None:
    content = pack(encoded(document))
    if is_allowed:
        assert read_state_file(content, max_memory=10_000).accounts
        return
    assert read_state_file(content).accounts
    with pytest.raises(InvalidStateFile, match="--load-state-limit-bytes"):
        read_state_file(content, max_memory=10_000)
