"""Priority transactions that the contracts of L1 emitted, and their fee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi import abi

from entresol.primitives.transactions import PriorityTransaction

if TYPE_CHECKING:
    from tests.support.contracts.l1_contracts import Deployed

CANONICAL = (
    "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
    "uint256[4],bytes,bytes,uint256[],bytes,bytes)"
)


def requested(l1: Deployed) -> dict[str, Any]:
    """Return the fields of the event of the last transaction's request."""
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    return event.fields


def payload(l1: Deployed) -> PriorityTransaction:
    """Return the priority transaction that the last transaction requested."""
    fields = requested(l1)
    return PriorityTransaction.from_abi(
        abi.encode([CANONICAL], [fields["transaction"]]), fields["factoryDeps"]
    )


def fee(gas_price: int) -> int:
    """Return the price of L2 gas by the formula of the protocol."""
    by_gas = 250_000_000 + 1_000_000 * gas_price // 80_000_000
    by_pubdata = 17 * gas_price + 1_000_000 * gas_price // 120_000
    return max(by_gas, -(-by_pubdata // 800))
