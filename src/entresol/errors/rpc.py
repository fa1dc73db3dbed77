"""Errors of accounts, filters and subscriptions."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class UnknownAccount(EntresolError):
    """The node has no key of an account, and does not impersonate it."""

    def __init__(self, address: bytes | None) -> None:
        if address is None:
            super().__init__("unknown account: the node has none, so say `from` and impersonate it")
        else:
            super().__init__(
                f"unknown account: 0x{address.hex()} is neither in eth_accounts nor impersonated"
            )
        self.address = address


class AccountsLocked(EntresolError):
    """The node signs for nobody and impersonates nobody."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the accounts of this node are locked: {reason}")


class ReceiptTimeout(EntresolError):
    """A transaction waits for a block longer than somebody waits for its receipt."""

    def __init__(self, transaction_hash: bytes, seconds: float) -> None:
        super().__init__(
            f"the transaction was added to the pool, but no block included it in {seconds:g} s"
        )
        self.transaction_hash = transaction_hash


class NotSupported(EntresolError):
    """Clients may ask for it, but the node takes no part in it."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Not implemented: {why}")


class InvalidFilter(EntresolError):
    """A question for logs cannot be answered as it stands."""


class TooManyTopics(InvalidFilter):
    """The filter names more topics than a log can have."""

    def __init__(self) -> None:
        super().__init__("More than four topics in filter")


class TooManyAlternatives(InvalidFilter):
    """The filter names more addresses, or more topics at one position, than it may."""

    def __init__(self, place: str, count: int, limit: int) -> None:
        super().__init__(f"{place}: a filter names at most {limit} in one place, got {count}")
        self.place = place
        self.count = count
        self.limit = limit


class BlockHashWithRange(InvalidFilter):
    """The filter names one block by its hash, and a range of blocks as well."""

    def __init__(self) -> None:
        super().__init__(
            "invalid filter: if blockHash is supplied fromBlock and toBlock must not be"
        )


class TooManyResults(InvalidFilter):
    """More logs were found than one answer has; those from `first` to `last` would fit."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query returned more than {limit} results. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class TooManyBlocks(InvalidFilter):
    """The range is wider than one question may have; the one from `first` to `last` would do."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query covers more than {limit} blocks. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class FilterNotFound(EntresolError):
    """No filter has this id, or not any more."""

    def __init__(self) -> None:
        super().__init__("filter not found")


class SubscriptionRejected(EntresolError):
    """Nobody can listen to this."""


class UnknownSubscription(SubscriptionRejected):
    """There is nothing of this name to listen to."""

    def __init__(self) -> None:
        super().__init__("Rejecting subscription - invalid parameters provided.")


class NotificationsNotSupported(SubscriptionRejected):
    """The connection has no way to tell the client anything unasked."""

    def __init__(self) -> None:
        super().__init__("notifications not supported: subscriptions need a WebSocket")


class TooManySubscriptions(SubscriptionRejected):
    """The connection listens to as much as one may."""

    def __init__(self, limit: int) -> None:
        super().__init__("Too many subscriptions on the connection")
        self.limit = limit
