"""Contracts that bundles call, as bytecode, and tokens that they carry."""

from __future__ import annotations

from typing import Any, Final

from eth_typing import ChecksumAddress
from web3 import Web3

from entresol.contracts import artifact
from entresol.primitives import abi

_SELECTOR: Final = abi.selector("receiveMessage(bytes32,bytes,bytes)").hex()
ACCEPTS: Final = f"0x63{_SELECTOR}60e01b5f5260205ff3"
"""Returns the selector of `receiveMessage`, whatever it is sent."""
REVERTS: Final = "0x5f5ffd"
EATS_GAS: Final = "0x5b5f56"
"""A loop without end."""
TARGET: Final[ChecksumAddress] = Web3.to_checksum_address("0x" + "7a" * 20)


def put(w3: Web3, code: str, address: ChecksumAddress = TARGET) -> ChecksumAddress:
    """Have a contract with this code on a chain, and return its address."""
    w3.manager.request_blocking("anvil_setCode", [address, code])  # type: ignore[arg-type]
    return address


def deployed_token(w3: Web3, supply: int = 100) -> Any:
    """Return a new token of an L2, of which the default account has all."""
    compiled = artifact("TestERC20")
    factory = w3.eth.contract(abi=compiled.abi, bytecode=str(compiled.bytecode))
    sent = factory.constructor("Token", "TOK", 18).transact()
    address = w3.eth.get_transaction_receipt(sent)["contractAddress"]
    token = w3.eth.contract(address, abi=compiled.abi)
    token.functions.mint(w3.eth.default_account, supply).transact()
    return token
