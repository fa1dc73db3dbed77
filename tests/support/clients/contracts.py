"""The contracts that the clients deploy and use: those that come with web3.py, and a token."""

from __future__ import annotations

from typing import Any, Final

from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import (
    PANIC_ERRORS_CONTRACT_DATA,
)
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA

from entresol.contracts import Artifact, artifact
from tests.support.contracts.engine import find


def _contract(data: Any) -> dict[str, Any]:
    return {"bytecode": data["bytecode"], "runtime": data["bytecode_runtime"], "abi": data["abi"]}


def _compiled(found: Artifact) -> dict[str, Any]:
    return {"bytecode": str(found.bytecode), "runtime": str(found.runtime), "abi": found.abi}


CONTRACTS: Final[dict[str, dict[str, Any]]] = {
    "emitter": _contract(EMITTER_CONTRACT_DATA),
    "math": _contract(MATH_CONTRACT_DATA),
    "panics": _contract(PANIC_ERRORS_CONTRACT_DATA),
    "reverts": _contract(REVERT_CONTRACT_DATA),
    "storage": _contract(STORAGE_CONTRACT_DATA),
    "token": _compiled(artifact("TestERC20")),
    # Takes messages of other chains.
    "recipient": _compiled(find("Recipient")),
}
