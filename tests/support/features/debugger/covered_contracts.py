"""Contracts with every construct, and steps that run a part of them: tests/vectors/coverage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from web3 import Web3
from web3.contract import Contract

from entresol.chain.chain import Chain
from entresol.errors import EntresolError, MethodFailed
from entresol.execution.profile import PROFILE, Profile, decode_profile
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_block
from entresol.features.debugger.sources.coverage.coverage import Coverage, SourceCoverage
from entresol.features.debugger.sources.folders import read_contracts
from entresol.features.debugger.sources.registry import SourceRegistry
from tests.support.chain.api_client import running_api

FOLDER: Final = Path(__file__).parents[3] / "vectors" / "coverage"
GAS: Final = 10_000_000

Request: TypeAlias = Callable[..., Any]
Step: TypeAlias = list[Any]


def steps() -> list[Step]:
    """Return the steps, which the peers have taken, too."""
    decoded: list[Step] = json.loads((FOLDER / "steps.json").read_bytes())
    return decoded


def peers() -> dict[str, Any]:
    """Return what forge coverage and solidity-coverage have said of the steps."""
    decoded: dict[str, Any] = json.loads((FOLDER / "peers.json").read_bytes())
    return decoded


class CoveredContracts:
    def __init__(self, request: Request, settings: str = "plain") -> None:
        """Take the contracts as they were compiled: not optimized, optimized, by way of Yul, or those in Vyper."""
        name = "vyper/output.json" if settings == "vyper" else f"{settings}-output.json"
        output = json.loads((FOLDER / name).read_bytes())
        contracts = output["contracts"].values()
        self._contracts = {name: it for found in contracts for name, it in found.items()}
        self._request = request
        self._sender = request("eth_accounts")[0]
        self._deployed: dict[str, str] = {}

    def take(self, taken: list[Step]) -> None:
        for kind, name, *rest in taken:
            if kind == "deploy":
                self._deploy(name, rest[0] if rest else [])
                continue
            data = rest[0] if kind == "pay" else self._data(name, *rest)
            value = rest[1] if kind == "pay" else 0
            call = {
                "from": self._sender,
                "to": self._deployed[name],
                "data": data,
                "value": hex(value),
            }
            assert self._succeeds(call, is_call=kind == "call") == (kind != "fail"), (name, rest)

    def _deploy(self, name: str, args: list[Any]) -> None:
        compiled = self._contracts[name]
        digits = compiled["evm"]["bytecode"]["object"].removeprefix("0x")
        for libraries in compiled["evm"]["bytecode"].get("linkReferences", {}).values():
            for library, places in libraries.items():
                for place in places:
                    start = 2 * place["start"]
                    end = start + 40
                    digits = digits[:start] + self._deployed[library][2:] + digits[end:]
        contract = Web3().eth.contract(abi=compiled["abi"], bytecode=digits)
        data = contract.constructor(*args).data_in_transaction
        receipt = self._sent({"from": self._sender, "data": data, "gas": hex(GAS)})
        self._deployed[name] = receipt["contractAddress"]

    def _data(self, name: str, function: str, args: list[Any]) -> str:
        found: type[Contract] = Web3().eth.contract(abi=self._contracts[name]["abi"])
        return str(found.encode_abi(function, args))

    def _succeeds(self, call: dict[str, str], *, is_call: bool) -> bool:
        if not is_call:
            return bool(int(self._sent({**call, "gas": hex(GAS)})["status"], 16))
        try:
            self._request("eth_call", call, "latest")
        except MethodFailed:
            return False
        return True

    def _sent(self, transaction: dict[str, str]) -> dict[str, Any]:
        sent = self._request("eth_sendTransaction", transaction)
        receipt: dict[str, Any] = self._request("eth_getTransactionReceipt", sent)
        return receipt


@cache
def coverage_of_steps(settings: str = "plain") -> dict[str, SourceCoverage]:
    with running_api() as api:
        # What is only called is sent, so that a block has it.
        taken = [["send" if kind == "call" else kind, *rest] for kind, *rest in steps()]
        CoveredContracts(api, settings).take(taken)
        found = coverage_of(api.chain, FOLDER / f"{settings}-output.json")
    return {file.source.name: file for file in found.files}


def coverage_of(chain: Chain, output: Path) -> Coverage:
    contracts = list(read_contracts([str(output)]))
    coverage, registry = Coverage(contracts), SourceRegistry(lambda: contracts)
    for block in profiles_of(chain):
        for code in block.codes:
            found = registry.find(bytes.fromhex(code.code[2:]), is_creation=code.is_creation)
            if found is not None:
                executions = {pc: times for pc, times, _ in code.steps}
                coverage.add(found, executions, dict(code.taken), is_creation=code.is_creation)
    return coverage


def profiles_of(chain: Chain) -> Iterator[Profile]:
    for number in range(1, chain.number + 1):
        budget = TraceBudget(TraceLimits())
        for entry in trace_block(chain.ledger.sealed_block(number), PROFILE, budget):
            assert not isinstance(entry.outcome, EntresolError)
            yield decode_profile(entry.outcome.trace or b"")
