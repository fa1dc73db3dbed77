"""Contracts whose source is known, by RPC."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import TARGET, ApiClient
from tests.support.rpc_client import RpcError

OTHER = "0x" + "cd" * 20
CODE = "5f5ffd"

Json = dict[str, Any]


def compile_as(client: ApiClient, *abi: Any) -> None:
    """Let `CODE` be that of a contract `A` with this ABI, and put it on the chain."""
    code = {"object": CODE, "sourceMap": "0:10:0:-:0", "linkReferences": {}}
    contract = {"abi": list(abi), "evm": {"bytecode": code, "deployedBytecode": code}}
    text = {"language": "Solidity", "sources": {"A.sol": {"content": "contract A {}\n"}}}
    output = {"sources": {"A.sol": {"id": 0}}, "contracts": {"A.sol": {"A": contract}}}
    client("hardhat_addCompilationResult", "0.8.30", text, output)
    client("anvil_setCode", TARGET, f"0x{CODE}")


def function(name: str, **members: Any) -> Json:
    return {"type": "function", "name": name, **members}


def test_a_contract_of_a_known_source_has_its_name_and_its_abi(client: ApiClient) -> None:
    point = {"name": "p", "type": "tuple", "components": [{"name": "x", "type": "uint256"}]}
    abi = [
        function("f", inputs=[point], outputs=[], stateMutability="view"),
        {
            "type": "event",
            "name": "E",
            "inputs": [{"name": "a", "type": "address", "indexed": True}],
            "anonymous": True,
        },
        {"type": "receive", "stateMutability": "payable"},
    ]
    compile_as(client, *abi)
    assert client("entresol_getContracts", [TARGET]) == [
        {"name": "A", "file": "A.sol", "abi": abi, "omitted": 0, "optimized": None}
    ]


def test_accounts_without_code_and_with_unknown_code_are_null(client: ApiClient) -> None:
    compile_as(client)
    client("anvil_setCode", OTHER, "0x00")
    assert client("entresol_getContracts", [OTHER, client("eth_accounts")[0]]) == [None, None]


def test_a_block_before_its_deployment_does_not_have_it(client: ApiClient) -> None:
    before = client("eth_blockNumber")
    compile_as(client)
    client("anvil_mine")
    assert client("entresol_getContracts", [TARGET], before) == [None]
    assert client("entresol_getContracts", [TARGET])[0]["name"] == "A"


def test_without_sources_it_says_how_to_give_some(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="--sources"):
        client("entresol_getContracts", [TARGET])


def test_what_is_no_entry_of_an_abi_is_left_out(client: ApiClient) -> None:
    odd: list[Json] = [
        {"type": 7},
        {"type": "function", "inputs": [{"name": "x"}]},
        function("g", inputs=["uint256"]),
    ]
    compile_as(client, *odd, function("f", gas=1, inputs=[{"type": "bool", "internalType": "x"}]))
    [found] = client("entresol_getContracts", [TARGET])
    assert found["abi"] == [function("f", inputs=[{"type": "bool"}])]
    assert found["omitted"] == 0


def test_entries_beyond_2000_are_counted(client: ApiClient) -> None:
    compile_as(client, *(function(f"f{n}") for n in range(2_001)))
    [found] = client("entresol_getContracts", [TARGET])
    assert (len(found["abi"]), found["omitted"]) == (2_000, 1)


def test_a_response_has_at_most_two_mebibytes_of_abis(client: ApiClient) -> None:
    compile_as(client, *(function("f" * 1_000 + str(n)) for n in range(100)))
    found = client("entresol_getContracts", [TARGET] * 21)
    assert {contract["omitted"] for contract in found[:20]} == {0}
    assert found[20]["omitted"] > 0


def test_more_than_100_addresses_are_rejected(client: ApiClient) -> None:
    compile_as(client)
    with pytest.raises(RpcError, match="addresses: at most 100, got 101"):
        client("entresol_getContracts", [TARGET] * 101)
