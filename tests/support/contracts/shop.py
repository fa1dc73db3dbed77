"""The contracts of gas reports, compiled, and what forge reports of them: tests/vectors/gas_reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from entresol.primitives.abi import encode, encode_call
from entresol.primitives.values import Address

FOLDER: Final = Path(__file__).parents[2] / "vectors" / "gas_reports"
OUTPUT: Final = FOLDER / "output.json"
FILE: Final = "src/Shop.sol"


def forge_report() -> dict[str, Any]:
    report = json.loads((FOLDER / "forge.json").read_bytes())
    return {entry["contract"].rpartition(":")[2]: entry for entry in report}


class ShopRun:
    """Sends the transactions of test/Shop.t.sol, each by an account."""

    def __init__(self, request: Callable[..., Any]) -> None:
        self._request = request
        self.sender = request("eth_accounts")[0]
        compiled = json.loads(OUTPUT.read_bytes())
        self._contracts = compiled["output"]["contracts"][FILE]
        self.prices = self.deploy("Prices")
        self.shop = self.deploy("Shop", encode("(uint256)", (20,)))
        self.proxy = self.deploy("Proxy", encode("(address)", (Address.parse(self.shop),)))
        self.factory = self.deploy("Factory")

    def deploy(self, name: str, arguments: bytes = b"") -> str:
        bytecode = self._contracts[name]["evm"]["bytecode"]
        digits = bytecode["object"]
        for libraries in bytecode["linkReferences"].values():
            for place in (place for places in libraries.values() for place in places):
                start = 2 * place["start"]
                digits = digits[:start] + self.prices[2:] + digits[start + 40 :]
        address: str = self._receipt({"data": f"0x{digits}{arguments.hex()}"})["contractAddress"]
        return address

    def send(self, to: str, signature: str, *arguments: Any, value: int = 0) -> Any:
        data = f"0x{encode_call(signature, *arguments).hex()}"
        return self._receipt({"to": to, "data": data, "value": hex(value)})

    def call(self, to: str, signature: str, *arguments: Any, **fields: Any) -> Any:
        data = f"0x{encode_call(signature, *arguments).hex()}"
        return self._request("eth_call", {"to": to, "data": data, **fields}, "latest")

    def run(self) -> None:
        self.send(self.shop, "add(uint256)", 100)
        self.send(self.shop, "add(uint256)", 200)
        self.send(self.shop, "add(uint256,uint256)", 300, 5)
        self.send(self.shop, "buy(uint256)", 0, value=120)
        self.send(self.shop, "buy(uint256)", 1, value=240)
        self.send(self.shop, "buy(uint256)", 1, value=240)
        self.send(self.proxy, "add(uint256)", 7)
        self.send(self.proxy, "add(uint256,uint256)", 7, 2)
        self.send(self.factory, "build(bytes32)", (1).to_bytes(32))
        self.send(self.factory, "build(bytes32)", (2).to_bytes(32))

    def _receipt(self, transaction: dict[str, str]) -> Any:
        sent = self._request(
            "eth_sendTransaction", {"from": self.sender, "gas": "0x989680", **transaction}
        )
        return self._request("eth_getTransactionReceipt", sent)
