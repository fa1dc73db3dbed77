"""Errors of requests to L1, and of what passes there and between L2s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import INTERNAL, EntresolError

if TYPE_CHECKING:
    pass


class LayerOneFailed(EntresolError):
    """A request to L1 failed."""

    # A client that settles on request has to know why it does not work.
    rpc_code = -32000


class LayerOneUnreachable(LayerOneFailed):
    """L1 cannot be reached or does not respond in time; a retry may help."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"L1 at {url} cannot be reached: {problem}")
        self.url = url
        self.problem = problem


class LayerOneRejected(LayerOneFailed):
    """L1 responded with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"L1 rejected {method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.message = message


class LayerOneMalformed(LayerOneFailed):
    """L1 responded with a result that the method cannot have; a retry may help."""

    def __init__(self, method: str, problem: str) -> None:
        super().__init__(f"L1 responded to {method} with a wrong result: {problem}")
        self.method = method
        self.problem = problem


class LayerOneMismatch(LayerOneFailed):
    """L1 is not, or no longer, the one that the chain settles on."""


class ChainNotRegistered(LayerOneMismatch):
    """The Bridgehub on L1 does not know the chain."""


class InteropRootsMismatch(LayerOneMismatch):
    """The logs of L1 make other roots over all chains than it has, as from a node that lags; a retry may help."""


class GenesisNotPublished(LayerOneMismatch):
    """The logs of L1 have no genesis of the chain with the hash that it was registered with."""

    def __init__(self, chain: str, l1: str, parts: int) -> None:
        super().__init__(
            f"the genesis of the chain with the contract {chain} is not on {l1}: {parts} parts were published, and none "
            "of them make what the chain was registered with. Give it as a file"
        )
        self.parts = parts


class L1FeeTooHigh(LayerOneFailed):
    """The base fee of L1 is above the limit of what the operator may offer."""

    def __init__(self, max_fee: int) -> None:
        super().__init__(
            f"the base fee of L1 is above {max_fee / 10**9:g} gwei, the limit of --l1-max-fee-gwei"
        )
        self.max_fee = max_fee


class OperatorOutOfFunds(LayerOneFailed):
    """The operator cannot pay for a transaction on L1."""

    def __init__(self, operator: str, balance: int, needed: int) -> None:
        super().__init__(
            f"{operator} has {balance / 10**18:.6g} ether on L1, and its next "
            f"transaction needs about {needed / 10**18:.2g}: send it some"
        )
        self.operator = operator
        self.balance = balance
        self.needed = needed


class RelayRejected(EntresolError):
    """The relay's transaction would revert, or needs more gas than it may use; no response has it."""

    rpc_code = INTERNAL
