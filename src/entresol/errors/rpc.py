"""Errors of accounts, filters and subscriptions."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


class UnknownAccount(EntresolError):
    """The node has no key of the account and does not impersonate it."""

    rpc_code = -32000

    def __init__(self, address: bytes | None) -> None:
        if address is None:
            super().__init__(
                "unknown account: the node has none, so name one in `from` and impersonate it"
            )
        else:
            super().__init__(
                f"unknown account: 0x{address.hex()} is neither in eth_accounts nor impersonated"
            )
        self.address = address


class AccountsLocked(EntresolError):
    """The node signs for no account and impersonates none."""

    rpc_code = -32000

    def __init__(self, reason: str) -> None:
        super().__init__(f"the accounts of this node are locked: {reason}")


class ReceiptTimeout(EntresolError):
    """No block included the transaction in time."""

    # As in EIP-7966.
    rpc_code = 4

    def __init__(self, transaction_hash: bytes, seconds: float) -> None:
        super().__init__(
            f"the transaction was added to the pool, but no block included it in {seconds:g} s"
        )
        self.transaction_hash = transaction_hash

    @property
    def rpc_data(self) -> str:
        """The hash of the transaction."""
        return "0x" + self.transaction_hash.hex()


class TransactionFailed(EntresolError):
    """A transaction is in a block and has failed there, in the form of Hardhat (`--hardhat-errors`)."""

    # As in Hardhat 2.
    rpc_code = INTERNAL
    is_explained = True

    def __init__(self, text: str, transaction_hash: bytes, data: bytes) -> None:
        super().__init__(text)
        self.transaction_hash = transaction_hash
        self.data = data

    @property
    def rpc_data(self) -> dict[str, str]:
        """The members of Hardhat's `data`."""
        return {
            "message": str(self),
            "txHash": "0x" + self.transaction_hash.hex(),
            "data": "0x" + self.data.hex(),
        }


class NotSupported(EntresolError):
    """A feature that the node does not support."""

    # As in anvil.
    rpc_code = INTERNAL
    is_explained = True

    def __init__(self, why: str) -> None:
        super().__init__(f"Not implemented: {why}")


class MethodNotServed(EntresolError):
    """A method of other nodes that has no meaning here; the text says why."""

    # Clients look for the code, and some for the beginning of the text, before they take another method.
    rpc_code = -32601

    def __init__(self, method: str, why: str) -> None:
        super().__init__(f"the method {method} does not exist/is not available: {why}")
        self.method = method


class ControlRejected(EntresolError):
    """A developer method that the node rejects; the text says why."""

    rpc_code = -32000


class ForeignOrigin(ControlRejected):
    """A web page of another origin called a method that may make the node ask any host."""

    def __init__(self) -> None:
        super().__init__(
            "a web page of another origin may not name a URL for the node to ask; --cors-origins names pages that may"
        )


class TooManyLongCalls(EntresolError):
    """A client, or all of them together, have too many calls that wait for a thread."""

    # The request is right, and succeeds once others have ended.
    rpc_code = -32005

    def __init__(self, limit: int, whose: str = "") -> None:
        super().__init__(f"too many long calls waiting{whose} (max {limit})")
        self.limit = limit


class InvalidFilter(EntresolError):
    """A log filter is invalid."""

    rpc_code = -32602


class TooManyAlternatives(InvalidFilter):
    """The filter has more addresses, or more topics at a position, than allowed."""

    def __init__(self, path: str, count: int, limit: int) -> None:
        super().__init__(f"{path}: a filter has at most {limit} values at a position, got {count}")
        self.path = path
        self.count = count
        self.limit = limit


class TooManyResults(InvalidFilter):
    """More logs match than a response may have; the range from `first` to `last` would fit."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query returned more than {limit} results. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class TooManyBlocks(InvalidFilter):
    """The block range is wider than allowed; the one from `first` to `last` would fit."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query covers more than {limit} blocks. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class FilterNotFound(EntresolError):
    """There is no filter with this id, or it has expired."""

    # As in geth: clients classify by its code and wording.
    rpc_code = -32000

    def __init__(self) -> None:
        super().__init__("filter not found")


class SubscriptionRejected(EntresolError):
    """A subscription is rejected."""

    rpc_code = -32602


class NotificationsNotSupported(SubscriptionRejected):
    """The connection cannot carry notifications."""

    # As in geth: over this connection, there is no such method.
    rpc_code = -32601

    def __init__(self) -> None:
        super().__init__("notifications not supported: subscriptions need a WebSocket")


class SubscriptionsFull(EntresolError):
    """A connection has the maximum number of subscriptions, or those and filters of all take as much memory as allowed."""

    # The request is right, and may succeed later.
    rpc_code = -32006


class ProducerUnavailable(EntresolError):
    """A request that needs the producer could not be forwarded to it, or had no response in time."""

    # The request is right, and may succeed later.
    rpc_code = -32000

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the producer of this node {problem}; it is safe to send a raw transaction again"
        )
