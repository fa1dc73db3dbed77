"""Contracts that fail in every way, with the stack traces that Hardhat has recorded of them: tests/vectors/stack_traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

FOLDER: Final = Path(__file__).parents[2] / "vectors" / "stack_traces"
SETTINGS: Final = ("plain", "optimized", "ir")

Request: TypeAlias = Callable[..., Any]
Lines: TypeAlias = list[tuple[str | None, int | None]]
"""Functions with lines, the innermost last."""


class FailureCase(NamedTuple):
    """A call or a creation that fails, and how Hardhat traces it."""

    name: str
    contract: str
    args: str
    deposit: str
    call: dict[str, str] | None
    hardhat: Lines
    expected: Lines | None


@cache
def output_of(settings: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((FOLDER / f"{settings}-output.json").read_bytes())
    return decoded


@cache
def cases_of(settings: str) -> list[FailureCase]:
    return [
        FailureCase(
            load["name"],
            load["contract"],
            load["args"],
            load["deposit"],
            load.get("call"),
            [(function, line) for _, function, _, line in load["frames"] or []],
            [(function, line) for function, line in load["expected"]]
            if "expected" in load
            else None,
        )
        for load in json.loads((FOLDER / f"{settings}.json").read_bytes())
    ]


@cache
def right_lines() -> dict[str, Lines]:
    """Return the lines of each case: Hardhat's without an optimizer, unless it has none, or wrong ones."""
    return {case.name: case.expected or case.hardhat for case in cases_of("plain")}


class FailingContracts:
    """Deploys the contracts of the cases, and makes their calls."""

    def __init__(self, request: Request, settings: str = "plain") -> None:
        self._request = request
        self._deployed: dict[tuple[str, str, str], str] = {}
        output = output_of(settings)
        contracts = output["output"]["contracts"].values()
        self._contracts = {name: it for found in contracts for name, it in found.items()}
        self.sender = request("eth_accounts")[0]
        request("hardhat_addCompilationResult", "0.8.26", output["input"], output["output"])

    def code(self, contract: str) -> str:
        bytecode = self._contracts[contract]["evm"]["bytecode"]
        digits = bytecode["object"]
        for libraries in bytecode["linkReferences"].values():
            for library, places in libraries.items():
                address = self.deploy(library)[2:]
                for place in places:
                    start = 2 * place["start"]
                    digits = digits[:start] + address + digits[start + 40 :]
        return f"0x{digits}"

    def deploy(self, contract: str, args: str = "0x", deposit: str = "0x0") -> str:
        key = contract, args, deposit
        if key not in self._deployed:
            transaction = {"from": self.sender, "data": self.code(contract) + args[2:]}
            sent = self._request("eth_sendTransaction", {**transaction, "value": deposit})
            self._deployed[key] = self._request("eth_getTransactionReceipt", sent)[
                "contractAddress"
            ]
        return self._deployed[key]

    def transaction(self, case: FailureCase) -> dict[str, str]:
        """Return the call or the creation of a case, after what it needs was deployed."""
        if case.call is None:
            data = self.code(case.contract) + case.args[2:]
            return {"from": self.sender, "data": data, "value": case.deposit, "gas": "0x989680"}
        return {
            "from": self.sender,
            "to": self.deploy(case.contract, case.args, case.deposit),
            **case.call,
        }

    def lines(self, case: FailureCase) -> Lines:
        trace = self._request("entresol_getCallStackTrace", self.transaction(case))
        return (
            []
            if trace is None
            else [(frame["function"], frame["line"]) for frame in trace["frames"]]
        )
