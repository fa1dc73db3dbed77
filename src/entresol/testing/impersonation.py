"""Send transactions from accounts without their keys."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from web3 import Web3

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import ChecksumAddress
    from web3.types import RPCEndpoint


@contextmanager
def impersonated(
    w3: Web3, address: str, *, balance: int | None = None
) -> Iterator[ChecksumAddress]:
    """Let the node send from `address` without a signature, and yield the address checksummed.

    It needs ether for its gas: `balance` sets it, in wei.
    """
    checksummed = Web3.to_checksum_address(address)
    if balance is not None:
        _request(w3, "anvil_setBalance", checksummed, hex(balance))
    _request(w3, "anvil_impersonateAccount", checksummed)
    try:
        yield checksummed
    finally:
        _request(w3, "anvil_stopImpersonatingAccount", checksummed)


def _request(w3: Web3, method: str, *params: str) -> None:
    w3.manager.request_blocking(cast("RPCEndpoint", method), params)
