"""Contracts and code that tests debug, with their sources and storage layouts: tests/vectors/debugged."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from entresol.primitives import abi
from tests.support.chain.api_client import TARGET, ApiClient

FOLDER: Final = Path(__file__).parents[3] / "vectors" / "debugged"
FILE: Final = "contracts/Debugged.sol"

Request: TypeAlias = Callable[..., Any]


@cache
def compilation(settings: str = "plain") -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((FOLDER / f"{settings}.json").read_bytes())
    return decoded


def line_of(text: str) -> int:
    lines = (FOLDER / "Debugged.sol").read_text().splitlines()
    [found] = [number for number, line in enumerate(lines, 1) if text in line]
    return found


class DebuggedContract:
    """A deployed contract `Debugged`, its sources given to the node."""

    def __init__(self, request: Request, settings: str = "plain") -> None:
        self._request = request
        found = compilation(settings)
        request("hardhat_addCompilationResult", "0.8.26", found["input"], found["output"])
        code = found["output"]["contracts"][FILE]["Debugged"]["evm"]["bytecode"]["object"]
        self.sender: str = request("eth_accounts")[0]
        self.deployment: str = request(
            "eth_sendTransaction", {"from": self.sender, "data": f"0x{code}"}
        )
        receipt = request("eth_getTransactionReceipt", self.deployment)
        self.address: str = receipt["contractAddress"]

    def send(self, signature: str, *arguments: object) -> str:
        data = f"0x{abi.encode_call(signature, *arguments).hex()}"
        transaction = {"from": self.sender, "to": self.address, "data": data, "gas": "0x100000"}
        sent: str = self._request("eth_sendTransaction", transaction)
        return sent

    def steps(self, sent: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        total = self._request("entresol_getExecution", sent)["steps"]
        while len(found) < total:
            page = self._request("entresol_getExecutionSteps", sent, len(found), 2_500)
            found += page["steps"]
        return found

    def state(self, sent: str, number: int) -> dict[str, Any]:
        state: dict[str, Any] = self._request("entresol_getExecutionStep", sent, number)
        return state

    def state_at_line(self, sent: str, text: str, *, last: bool = False) -> dict[str, Any]:
        line = line_of(text)
        numbers = [number for number, it in enumerate(self.steps(sent)) if it["line"] == line]
        return self.state(sent, numbers[-1 if last else 0])


def ran(client: ApiClient, code: str) -> str:
    client("anvil_setCode", TARGET, f"0x{code}")
    fields = {"from": client("eth_accounts")[0], "to": TARGET, "gas": "0x1c00000"}
    sent: str = client("eth_sendTransaction", fields)
    return sent


def call(account: str) -> str:
    return f"5f5f5f5f5f73{account[2:]}5af150"


def create(code: str, *, salt: bool = False) -> str:
    """Return code that creates a contract from at most 32 bytes, perhaps with a salt of 0."""
    size = len(code) // 2
    word = bytes.fromhex(code).ljust(32, b"\0").hex()
    return f"7f{word}5f52{'5f' if salt else ''}60{size:02x}5f5f{'f5' if salt else 'f0'}50"
