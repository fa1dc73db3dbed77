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


class UnderivableBlock(EntresolError):
    """Published data from which no block follows: `field` says which part of it."""

    rpc_code = INTERNAL

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class DerivationAlarm(EntresolError):
    """The published data of a batch does not give what L1 says of it; the chain stays at the batch before."""

    rpc_code = INTERNAL

    def __init__(self, batch: int, field: str, expected: object, found: object) -> None:
        super().__init__(f"batch {batch}, {field}: {self._text(expected, found)}")
        self.batch = batch
        self.field = field
        self.expected = str(expected)
        """The value on L1."""
        self.found = str(found)
        """The value found here."""

    def _text(self, expected: object, found: object) -> str:
        return f"{expected} on L1, {found} here"


class UnderivableBatch(DerivationAlarm):
    """Data of a batch that cannot be read or executed."""

    def _text(self, expected: object, found: object) -> str:
        return f"{found}; L1 has {expected}"


class EditsUnavailable(EntresolError):
    """A node does not have the edits of a block of which L1 has only the hash, or says something else."""

    rpc_code = INTERNAL

    def __init__(self, block: int, source: str, problem: str) -> None:
        super().__init__(f"the edits of block {block} are not at {source}: {problem}")
        self.block = block
        self.problem = problem


class SnapshotRejected(EntresolError):
    """A snapshot does not have the batch that L1 has executed, or L1 has not executed the batch."""

    rpc_code = INTERNAL

    def __init__(self, batch: int, snapshot: str, problem: str) -> None:
        super().__init__(f"batch {batch} is not accepted from {snapshot}: {problem}")
        self.batch = batch
        self.problem = problem
