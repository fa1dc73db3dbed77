"""Codes by hash, execution witnesses and the configuration of the chain."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import LOG_CODE, LOGGER
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


def test_a_witness_has_the_keys_that_a_transfer_reads(client: ApiClient) -> None:
    send(client)
    witness = client("debug_executionWitness", "latest")
    assert set(witness) == {"state", "codes", "keys", "headers"}
    assert witness["headers"] == [client("debug_getRawHeader", "0x0")]
    shown = client("eth_getTransactionByBlockNumberAndIndex", "latest", "0x0")
    assert {shown["from"], shown["to"]} <= set(witness["keys"])


def test_a_witness_is_sorted_and_has_nothing_twice(client: ApiClient) -> None:
    for nonce in range(3):
        send(client, nonce, to=LOGGER, wei=0)
    witness = client("debug_executionWitness", "latest")
    for part in ("state", "codes", "keys"):
        assert witness[part] == sorted(set(witness[part]))


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
