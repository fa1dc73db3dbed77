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


class ReplacementUnderpriced(PoolRejection):
    """The price bump over the transaction with the same nonce is too small."""

    def __init__(self, fee_cap: int, tip: int) -> None:
        super().__init__(
            f"replacement transaction underpriced: "
            f"maxFeePerGas {fee_cap:d} and maxPriorityFeePerGas {tip:d} needed"
        )
        self.fee_cap = fee_cap
        self.tip = tip


class SenderLimitExceeded(PoolRejection):
    """The sender has reached its limit in the pool."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"account limit exceeded: {limit} transactions")
        self.limit = limit


class PoolFull(PoolRejection):
    """The pool is full, and the transaction outranks none in it."""

    def __init__(self) -> None:
        super().__init__("txpool is full")


class PublicationBehind(PoolRejection):
    """L1 is too far behind with what the chain publishes, so no new transaction is accepted."""

    def __init__(self, batches: int, resume: int, problem: str | None) -> None:
        reason = "" if problem is None else f" ({problem})"
        super().__init__(
            f"L1 is behind: {batches} batches of this chain wait for their commit{reason}. New transactions are accepted "
            f"again when there are fewer than {resume}; send this one then, or by a deposit"
        )
        self.batches = batches


class PaymasterLimitExceeded(PoolRejection):
    """The paymaster has reached its limit in the pool."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"paymaster limit exceeded: {limit} transactions")
        self.limit = limit


class MixedNonces(PoolRejection):
    """The sender has transactions in the pool that count by another nonce."""

    def __init__(self) -> None:
        super().__init__(
            "the pool has transactions of this sender, impersonated or its account's own, which count by "
            "another nonce: send this one after they are in a block"
        )


class Throttled(PoolRejection):
    """The sender or the paymaster has failed too often when blocks were built."""

    def __init__(self, address: bytes, until: int) -> None:
        super().__init__(
            f"0x{address.hex()} has let transactions fail that it had agreed to, and is rejected until "
            f"block {until}"
        )
        self.until = until


class TransactionThrottled(PoolRejection):
    """Blocks have rejected the transaction too often, though its account and its paymaster had agreed to it."""

    def __init__(self, until: int) -> None:
        super().__init__(
            f"blocks have rejected this transaction again and again: it is rejected until block {until}"
        )
        self.until = until


class TooManyValidations(PoolRejection):
    """Too many transactions are being validated."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} transactions of accounts are being validated already: try again")
        self.limit = limit


class ValidationsThrottled(PoolRejection):
    """Validations have failed too often lately: those of an address, or all of them."""

    def __init__(self, address: bytes | None) -> None:
        of = "of accounts" if address is None else f"that involve 0x{address.hex()}"
        super().__init__(f"validations {of} have failed too often lately: try again later")
        self.address = address
