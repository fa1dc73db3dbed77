"""Errors of the relay."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


class RelayOutOfFunds(EntresolError):
    """The account of the relay cannot pay for a transaction; no response has it."""

    rpc_code = INTERNAL

    def __init__(self, address: str, chain_id: int, balance: int, needed: int) -> None:
        super().__init__(
            f"the account of the relay, {address}, has {balance} of the smallest unit of what pays for gas on chain "
            f"{chain_id}, and its next transaction needs {needed}: send it some"
        )
        self.address = address
        self.chain_id = chain_id
        self.balance = balance
        self.needed = needed
