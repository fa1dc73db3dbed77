"""The contracts that the clients deploy and use: those that come with web3.py."""

from __future__ import annotations

from typing import Any, Final

from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import (
    PANIC_ERRORS_CONTRACT_DATA,
)
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA

# The library forgot to list the errors of this contract among its elements.
ERRORS_OF_REVERT: Final = [
    {"type": "error", "name": "Unauthorized", "inputs": []},
    {
        "type": "error",
        "name": "UnauthorizedWithMessage",
        "inputs": [{"name": "errorMessage", "type": "string"}],
    },
]


def _contract(data: Any) -> dict[str, Any]:
    return {"bytecode": data["bytecode"], "runtime": data["bytecode_runtime"], "abi": data["abi"]}


def _with_errors(contract: dict[str, Any]) -> dict[str, Any]:
    known = {element.get("name") for element in contract["abi"]}
    missing = [error for error in ERRORS_OF_REVERT if error["name"] not in known]
    return {**contract, "abi": [*contract["abi"], *missing]}


CONTRACTS: Final[dict[str, dict[str, Any]]] = {
    "emitter": _contract(EMITTER_CONTRACT_DATA),
    "math": _contract(MATH_CONTRACT_DATA),
    "panics": _contract(PANIC_ERRORS_CONTRACT_DATA),
    "reverts": _with_errors(_contract(REVERT_CONTRACT_DATA)),
    "storage": _contract(STORAGE_CONTRACT_DATA),
}
