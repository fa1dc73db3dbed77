"""Contracts that tests deploy on any layer."""

from __future__ import annotations

from eth_abi import abi

from entresol.primitives.values import Address
from tests.support.contracts.engine import Contract, find, types
from tests.support.hex_data import hexed
from tests.support.rollup.pair import USER
from tests.support.rpc_client import RpcClient


def deployed(layer: RpcClient, name: str, *arguments: object) -> Contract:
    """Deploy a contract by the user, and return it."""
    compiled = find(name)
    constructors = [entry for entry in compiled.abi if entry["type"] == "constructor"]
    inputs = types(constructors[0]["inputs"]) if constructors else []
    data = hexed(compiled.bytecode + abi.encode(inputs, arguments))
    sent = layer("eth_sendTransaction", {"from": str(USER), "data": data})
    return Contract(Address.parse(layer.receipt(sent)["contractAddress"]), compiled)
