"""Transactions to the contracts of bundles, whose errors are decoded when they revert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hexbytes import HexBytes
from web3.exceptions import ContractLogicError

from entresol.contracts.abi_registry import project_abis
from entresol.errors import BundleReverted
from entresol.terminal.call_tree import describe_error

if TYPE_CHECKING:
    from web3.types import TxReceipt

    from entresol.inprocess.settling_client import SettlingClient


def sent(bridge: SettlingClient, call: Any, transaction: dict[str, Any]) -> TxReceipt:
    """Send a call to a contract of the L2 of a bridge, and return its receipt; raises `BundleReverted`."""
    try:
        receipt = bridge.receipt_of(bridge.l2, call.transact(transaction))
    except ContractLogicError as error:
        raise reverted(call.fn_name, error) from error
    if not receipt["status"]:
        transaction_hash = receipt["transactionHash"].to_0x_hex()
        reason = f"the estimate succeeded, and the transaction {transaction_hash} has failed"
        raise BundleReverted(call.fn_name, reason)
    return receipt


def reverted(function: str, error: ContractLogicError) -> BundleReverted:
    """Return the error with its name and arguments, if one of the contracts of this project has it."""
    is_data = isinstance(error.data, str) and error.data.startswith("0x")
    data = bytes(HexBytes(str(error.data))) if is_data else b""
    reason = describe_error(project_abis(), data) or str(error.message)
    return BundleReverted(function, reason.removeprefix("execution reverted: "), data)
