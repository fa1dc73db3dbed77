"""Errors of requests to L1, and of what passes there and between L2s."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


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


class TooManyL1Requests(LayerOneFailed):
    """More requests to a remote L1 than the node passes on."""

    def __init__(self) -> None:
        super().__init__("too many requests to L1 in a short time: try again later")


class LayerOneMismatch(LayerOneFailed):
    """L1 is not, or no longer, the one that the chain settles on."""


class ChainNotRegistered(LayerOneMismatch):
    """The Bridgehub on L1 does not know the chain."""


class DepositsMissing(LayerOneMismatch):
    """The logs of L1 have fewer deposits than its contract counts, as from a node that lags; a retry may help."""


class InteropRootsMismatch(LayerOneMismatch):
    """The logs of L1 make other roots over all chains than it has, as from a node that lags; a retry may help."""


class InteropRootReplaced(LayerOneMismatch):
    """L1 has replaced a root over all chains that the chain has imported: nothing that uses it can be executed there."""

    def __init__(self, l1_block: int, imported: object, actual: object) -> None:
        super().__init__(
            f"this chain has imported the root {imported} of L1 block {l1_block}, which has {actual} now: a reorg "
            "replaced confirmed blocks. No more roots are imported, and no batch with this one is committed"
        )
        self.l1_block = l1_block


class InteropUnavailable(EntresolError):
    """The chain sends no messages to other chains: its contracts on L1 do not gather roots."""

    rpc_code = -32000

    def __init__(self) -> None:
        super().__init__(
            "this chain has no messages to other chains, as its contracts are of an earlier version: start a new "
            "directory, or contracts of its own"
        )


class BatchNotAppended(EntresolError):
    """L1 has executed a batch, but does not add its root to those of all chains."""

    rpc_code = -32000

    def __init__(self, batch: int, problem: str) -> None:
        super().__init__(
            f"L1 does not pass on the messages of batch {batch} to other chains: {problem}"
        )
        self.batch = batch


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


class RelayError(EntresolError):
    """An error of the relay; it is in its log and health, and no response has it."""

    rpc_code = INTERNAL


class RelayRejected(RelayError):
    """What the relay would send reverts, or needs more gas than it may use."""


class RelayOutOfFunds(RelayError):
    """The account of the relay cannot pay for a transaction."""

    def __init__(self, address: str, chain_id: int, balance: int, needed: int) -> None:
        super().__init__(
            f"the account of the relay, {address}, has {balance} of the smallest unit of what pays for gas on chain "
            f"{chain_id}, and its next transaction needs {needed}: send it some"
        )
        self.address = address
        self.chain_id = chain_id
        self.balance = balance
        self.needed = needed
