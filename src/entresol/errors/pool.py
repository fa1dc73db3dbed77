"""Rejections of valid transactions by the mempool."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class PoolRejection(EntresolError):
    """The pool rejects a valid transaction."""

    rpc_code = -32000


class AlreadyKnown(PoolRejection):
    """The transaction is already in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


class PublicationBehind(PoolRejection):
    """L1 is too far behind with what the chain publishes, so no new transaction is accepted."""

    def __init__(self, batches: int, resume: int, problem: str | None) -> None:
        reason = "" if problem is None else f" ({problem})"
        super().__init__(
            f"L1 is behind: {batches} batches of this chain wait for their commit{reason}. New transactions are accepted "
            f"again when there are fewer than {resume}; send this one then, or by a deposit"
        )
        self.batches = batches


class ValidationsThrottled(PoolRejection):
    """Validations have failed too often lately: those of an address, or all of them."""

    def __init__(self, address: bytes | None) -> None:
        of = "of accounts" if address is None else f"that involve 0x{address.hex()}"
        super().__init__(f"validations {of} have failed too often lately: try again later")
        self.address = address
