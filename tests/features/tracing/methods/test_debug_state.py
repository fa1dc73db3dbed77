"""Codes, witnesses, and ranges of slots and accounts, page by page to the end."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from entresol._native import keccak256
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, LOG_CODE, LOGGER, NOBODY
from tests.support.rpc_client import RpcError

CODE_HASH = keccak256(LOG_CODE).hex()


def test_code_is_found_by_its_hash(client: ApiClient) -> None:
    for found in (
        client("debug_codeByHash", "0x" + CODE_HASH),
        client("debug_codeByHash", CODE_HASH, "latest"),
        client("debug_dbGet", "0x63" + CODE_HASH),
    ):
        assert found == "0x" + LOG_CODE.hex()
    assert client("debug_codeByHash", "0x" + "ab" * 32) == "0x"
    assert client("debug_dbGet", "0x63" + "ab" * 32) == "0x"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("0x01", "Invalid key length: expected 33 bytes, got 1"),
        ("0x64" + CODE_HASH, "Key prefix must be 0x63 for code hash lookups"),
    ],
)
def test_other_keys_of_the_database_are_rejected(client: ApiClient, key: str, text: str) -> None:
    with pytest.raises(RpcError, match=text) as rejection:
        client("debug_dbGet", key)
    assert rejection.value.code == -32602


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("0x0", "block 0x0 found, but parent missing"),
        ("pending", "pending block has no witness"),
        ("0x63", "block #99 not found"),
    ],
)
def test_a_block_that_was_not_executed_has_no_witness(
    client: ApiClient, block: str, text: str
) -> None:
    with pytest.raises(RpcError, match=text) as rejection:
        client("debug_executionWitness", block)
    assert rejection.value.code == -32000


def test_no_block_is_bad(client: ApiClient) -> None:
    assert client("debug_getBadBlocks") == []


# Adds one to slot 0.
COUNTER = "0x5f546001015f55"
SLOTS = 40


def word(number: int) -> str:
    return "0x" + number.to_bytes(32).hex()


def hashed(number: int) -> str:
    return "0x" + keccak256(number.to_bytes(32)).hex()


@pytest.fixture
def stored(client: ApiClient) -> ApiClient:
    """Return a client of a chain on which an account has many slots, and one that was cleared again."""
    client("anvil_setBalance", str(NOBODY), "0x1")
    for slot in range(SLOTS):
        client("anvil_setStorageAt", str(NOBODY), hex(slot), word(slot + 1))
    client("evm_mine")
    client("anvil_setStorageAt", str(NOBODY), "0x7", word(0))
    client("evm_mine")
    client("evm_mine")
    return client


def pages(client: ApiClient, size: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start: str | None = "0x"
    while start is not None:
        page = client("debug_storageRangeAt", "latest", 0, str(NOBODY), start, size)
        found.append(page)
        start = page["nextKey"]
    return found


@pytest.mark.parametrize("size", [1, 7, 39, 40, 1_000])
def test_slots_are_paged_to_the_end(stored: ApiClient, size: int) -> None:
    found: dict[str, Any] = {}
    for page in pages(stored, size):
        assert len(page["storage"]) <= size
        assert list(page["storage"]) == sorted(page["storage"])
        found |= page["storage"]
    assert found == {
        hashed(slot): {"key": word(slot), "value": word(slot + 1)}
        for slot in range(SLOTS)
        if slot != 7
    }


def test_a_range_is_as_of_its_block(stored: ApiClient) -> None:
    before = stored("debug_storageRangeAt", "0x2", 0, str(NOBODY), hashed(7), 1)
    # The edit that clears the slot comes before the first transaction of its block.
    assert hashed(7) not in before["storage"]
    assert stored("debug_storageRangeAt", "0x1", 0, str(NOBODY), hashed(7), 1) == {
        "storage": {hashed(7): {"key": word(7), "value": word(8)}},
        "nextKey": next(iter(before["storage"])),
    }


def test_a_range_is_before_the_given_transaction(client: ApiClient) -> None:
    client("anvil_setCode", str(NOBODY), COUNTER)
    client("evm_setAutomine", False)
    for nonce in range(3):
        send(client, nonce)
    client("evm_mine")
    values = [
        client("debug_storageRangeAt", "latest", index, str(NOBODY), "0x", 5)["storage"]
        for index in range(3)
    ]
    assert values == [
        {},
        {hashed(0): {"key": word(0), "value": word(1)}},
        {hashed(0): {"key": word(0), "value": word(2)}},
    ]


def test_an_account_without_storage_has_no_range(client: ApiClient) -> None:
    client("evm_mine")
    nothing: dict[str, Any] = {"storage": {}, "nextKey": None}
    for address in (str(ALICE), "0x" + "12" * 20):
        assert client("debug_storageRangeAt", "latest", 0, address, "0x", 5) == nothing


@pytest.mark.parametrize(
    ("block", "index", "text"),
    [
        ("0x0", 0, "no transaction in genesis"),
        ("0x1", 5, "transaction index 5 out of range for block 0x"),
        ("0x9", 0, "block #9 not found"),
    ],
)
def test_what_no_range_can_start_with_is_rejected(
    client: ApiClient, block: str, index: int, text: str
) -> None:
    client("evm_mine")
    with pytest.raises(RpcError, match=text) as rejection:
        client("debug_storageRangeAt", block, index, str(NOBODY), "0x", 5)
    assert rejection.value.code == -32000


@pytest.mark.parametrize("start", ["0x" + "00" * 33, "?", 5])
def test_a_start_that_is_no_key_is_rejected(client: ApiClient, start: object) -> None:
    assert client.error("debug_accountRange", "latest", start, 5).code == -32602


@pytest.mark.parametrize("in_hex", [True, False])
def test_accounts_are_paged_to_the_end(client: ApiClient, in_hex: bool) -> None:
    send(client)
    found: dict[str, Any] = {}
    start: str | None = "0x"
    count = 0
    while start is not None:
        page = client("debug_accountRange", "latest", start, 2)
        assert len(page["accounts"]) <= 2
        found |= page["accounts"]
        start = page.get("next")
        if in_hex and start is not None:
            start = "0x" + b64decode(start).hex()
        count += 1
    assert count == -(-len(found) // 2)
    for address, account in found.items():
        info = client("eth_getAccountInfo", address)
        assert account["balance"] == str(int(info["balance"], 16))
        assert account["nonce"] == int(info["nonce"], 16)
        assert account.get("code", "0x") == info["code"]
        assert account["key"] == "0x" + keccak256(bytes.fromhex(address[2:])).hex()
    assert {str(ALICE), str(LOGGER), str(NOBODY)} <= found.keys()


def test_a_dump_has_storage_and_code_unless_they_are_not_wanted(stored: ApiClient) -> None:
    page = stored("debug_accountRange", "latest", "0x", 256)
    block = stored("eth_getBlockByNumber", "latest", False)
    assert page["root"] == block["stateRoot"].removeprefix("0x")
    assert page["accounts"][str(NOBODY)]["storage"] == {
        word(slot): (slot + 1).to_bytes(1).hex() for slot in range(SLOTS) if slot != 7
    }
    bare = stored("debug_accountRange", "latest", "0x", 256, True, True, False)
    assert bare["accounts"].keys() == page["accounts"].keys()
    assert not any({"code", "storage"} & account.keys() for account in bare["accounts"].values())


def test_a_dump_has_no_more_slots_than_a_request_may_name(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.rpc.services.call_runner.MAX_NAMED_SLOTS", 3)
    monkeypatch.setattr("entresol.features.tracing.methods.debug_state.MAX_NAMED_SLOTS", 3)
    client("anvil_setBalance", str(NOBODY), "0x1")
    for slot in range(4):
        client("anvil_setStorageAt", str(NOBODY), hex(slot), word(1))
    client("evm_mine")
    with pytest.raises(RpcError, match="too many slots") as rejection:
        client("debug_accountRange", "latest", "0x", 256)
    assert rejection.value.code == -32602
    assert client("debug_accountRange", "latest", "0x", 256, False, True)["accounts"]
