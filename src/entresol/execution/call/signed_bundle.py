"""`eth_callBundle`: signed transactions, one after another in a block that is never sealed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from entresol._native import execute
from entresol.errors import BlockFull, ExecutionFailed
from entresol.execution.account_senders import check_signature
from entresol.execution.call.limits import CallBudget, CallLimits
from entresol.execution.evm_env import EvmEnv, State, ValidationLimits, overlay_on, tx_env_of
from entresol.execution.reverts import failure_of
from entresol.execution.system_transactions import check_sender
from entresol.execution.work_budget import check_blobs
from entresol.primitives.transactions import BlobTransaction, Transaction
from entresol.primitives.values import Address


class BundledTransaction(NamedTuple):
    """What a transaction of a bundle did."""

    transaction: Transaction
    gas_used: int
    tip: int
    """What it pays the beneficiary for a unit of gas."""
    beneficiary_gain: int
    """How much more the beneficiary has after it, never less than nothing."""
    output: bytes
    failure: ExecutionFailed | None


class SignedBundle:
    """Executes signed transactions on a state that it does not change.

    Remembers: what the transactions so far have changed and used. Fails: with `InvalidTransaction` if one is not valid
    after those before it, and as the limits say.
    """

    def __init__(self, evm_env: EvmEnv, validation: ValidationLimits, limits: CallLimits) -> None:
        """Begin a block with the number, time and prices of `evm_env`; `validation` bounds steps before executions."""
        self._env = evm_env
        self._overlay = overlay_on(evm_env.state)
        self._validation = validation
        self._budget = CallBudget(limits)
        self._gas_left = evm_env.block.gas_limit
        self._blobs = 0

    def run(self, transactions: Iterable[Transaction]) -> list[BundledTransaction]:
        """Return what each transaction did."""
        return [self._run(transaction) for transaction in transactions]

    def _run(self, transaction: Transaction) -> BundledTransaction:
        rules, block, payload = self._env.rules, self._env.block, transaction.payload
        if payload.gas_limit > self._gas_left:
            raise BlockFull(payload.gas_limit, self._gas_left)
        if isinstance(payload, BlobTransaction):
            check_blobs(payload, self._blobs, rules, block)
            self._blobs += len(payload.blob_hashes)
        check_sender(transaction.sender, self._overlay)
        check_signature(transaction, self._overlay)
        before = _balance(self._overlay, block.beneficiary)
        ran = execute(
            self._overlay,
            rules,
            block.native,
            tx_env_of(transaction, self._validation),
            limits=self._budget.left(),
        )
        self._budget.spend(ran)
        self._overlay.apply(ran)
        self._gas_left -= ran.gas_used
        return BundledTransaction(
            transaction,
            ran.gas_used,
            min(payload.fee_cap - block.base_fee, payload.tip),
            max(_balance(self._overlay, block.beneficiary) - before, 0),
            ran.output,
            failure_of(ran),
        )


def _balance(state: State, address: Address) -> int:
    account = state.account(address)
    return 0 if account is None else account.balance
