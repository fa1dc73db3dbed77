"""Compilations of megabytes are read in a process of their own, within limits."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from entresol.features.debugger import uploads
from entresol.features.debugger.uploads import read_upload
from entresol.rpc.jsonrpc.errors import InvalidParamsError
from tests.support.chain.api_client import ApiClient
from tests.support.contracts.stack_trace_cases import FailingContracts, cases_of, output_of

LONG = "/" * (64 << 10)


def params(text: str, **members: Any) -> Raw:
    """Return an upload of one contract."""
    contract = {"evm": {"deployedBytecode": {"object": "5f5ffd"}}, **members}
    output = {"sources": {"A.sol": {"id": 0}}, "contracts": {"A.sol": {"A": contract}}}
    return Raw(msgspec.json.encode(["0.8.26", {"sources": {"A.sol": {"content": text}}}, output]))


def test_build_information_of_6_mb_with_syntax_trees_is_added(client: ApiClient) -> None:
    contracts = FailingContracts(client)
    case = next(case for case in cases_of("plain") if case.name == "internal functions")
    failing = contracts.transaction(case)
    output, texts = output_of("plain")["output"], output_of("plain")["input"]
    node: dict[str, Any] = {"nodeType": "Block", "src": "1:2:0", "statements": [{"nodes": []}]}
    name = next(iter(output["sources"]))
    output["sources"][name] = {**output["sources"][name], "ast": {"nodes": [node] * 120_000}}
    texts = {**texts, "sources": {**texts["sources"], "B.sol": {"content": "// [{(" * 10_000}}}
    body = msgspec.json.encode([texts, output])
    assert (len(body) > 6 << 20, body.count(b"[") + body.count(b"{") > 300_000) == (True, True)
    assert client("hardhat_addCompilationResult", "0.8.26", texts, output) is True
    assert "Failures.callsInternal" in "".join(
        client("entresol_getCallStackTrace", failing)["text"]
    )


def test_a_long_upload_that_is_malformed_says_where(client: ApiClient) -> None:
    failure = client.error("hardhat_addCompilationResult", LONG, {}, {"contracts": {"A.sol": 5}})
    assert (failure.code, failure.message) == (
        -32602,
        "params[2].contracts[...]: expected `object`, got `int`",
    )


def test_a_long_upload_by_name_is_added(client: ApiClient) -> None:
    named = {"version": LONG, "input": {}, "output": {}}
    assert client.post(
        {"jsonrpc": "2.0", "id": 1, "method": "hardhat_addCompilationResult", "params": named}
    )["result"]


def test_what_is_read_apart_is_what_is_read_here() -> None:
    found = asyncio.run(read_upload(params("contract A { function f() {} }")))
    (contract,) = found.contracts
    (source,) = contract.sources
    assert source is not None
    assert [definition.name for definition in vars(source)["definitions"]] == ["A", "f"]
    assert contract.own_source is source


def test_an_upload_that_takes_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_SECONDS", 0.001)
    with pytest.raises(InvalidParamsError, match="reading the compilation takes more than 30 s"):
        asyncio.run(read_upload(params("")))


async def test_an_upload_ends_with_its_client() -> None:
    task = asyncio.create_task(read_upload(params("(" * (2 << 20))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Only one is read at a time, so that this one waits for the end of the other.
    assert (await read_upload(params(""))).contracts
