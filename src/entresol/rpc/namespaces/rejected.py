"""Methods of other nodes that are rejected by name: a table, with the reason and the code that a peer has."""

from __future__ import annotations

from typing import Final, NamedTuple

from entresol.errors import (
    ControlRejected,
    EntresolError,
    MalformedValue,
    MethodNotServed,
    NotSupported,
)
from entresol.rpc.jsonrpc.method import Namespace, ServedBy, method


class Rejected(NamedTuple):
    """A method that is only rejected; parameters of any kind are ignored."""

    name: str
    kind: type[EntresolError]
    """Its code: unknown to clients that look for another way, or as the peer rejects it."""
    reason: str
    instead: str = ""
    """Advice, for the error alone."""

    def error(self) -> EntresolError:
        """Return the error of a call."""
        text = f"{self.reason}; {self.instead}" if self.instead else self.reason
        if self.kind is MethodNotServed:
            return MethodNotServed(self.name, text)
        return (
            NotSupported(text) if self.kind is NotSupported else self.kind(f"{self.name} is {text}")
        )


_NOT_MINED: Final = "blocks are sealed, not mined"
_BASE_FEE: Final = "not supported when EIP-1559 is active"
_FEES: Final = "fees are paid in the base token"

ETHEREUM: Final = (
    Rejected("eth_getWork", NotSupported, _NOT_MINED),
    Rejected("eth_submitWork", NotSupported, _NOT_MINED),
    Rejected("eth_submitHashrate", NotSupported, _NOT_MINED),
    Rejected(
        "eth_signRawTransaction",
        MethodNotServed,
        "it signs transactions of Tempo as their fee payer",
        "eth_signTransaction signs for an account of the node",
    ),
    Rejected(
        "eth_signTypedData_v3",
        NotSupported,
        "version 3 of typed data knows no arrays",
        "use eth_signTypedData_v4",
    ),
)

DEVELOPMENT: Final = (
    Rejected(
        "anvil_setChainId",
        ControlRejected,
        "not supported, since blocks are executed again to verify and to trace them, and the L1 knows the L2 by its id",
        "start a new chain with --chain-id or --l1-chain-id",
    ),
    Rejected(
        "anvil_impersonateSignature",
        ControlRejected,
        "not supported, since blocks are executed again, where ECRECOVER works as on Ethereum",
        "use anvil_impersonateAccount",
    ),
    Rejected("anvil_setFeeToken", NotSupported, _FEES),
    Rejected("anvil_setValidatorFeeToken", NotSupported, _FEES),
    Rejected("anvil_setFeeAmmLiquidity", NotSupported, _FEES),
    Rejected("anvil_setMinGasPrice", MalformedValue, _BASE_FEE),
    Rejected("hardhat_setMinGasPrice", MalformedValue, _BASE_FEE),
)


def rejecting(prefix: str, rows: tuple[Rejected, ...]) -> Namespace:
    """Return a namespace that rejects the methods of a table."""
    functions = {f"rejected_{index}": _function(row) for index, row in enumerate(rows)}
    namespace: Namespace = type("RejectedMethods", (), {"prefix": prefix, **functions})()
    return namespace


def _function(row: Rejected) -> object:
    def rejected(self: object) -> None:  # noqa: ARG001 - a method
        raise row.error()

    rejected.__doc__ = f"Reject: {row.reason}."
    return method(row.kind, name=row.name, served_by=ServedBy.REPLICA)(rejected)
