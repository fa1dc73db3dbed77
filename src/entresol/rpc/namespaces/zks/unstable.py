"""The `unstable_` namespace of zksync-era: what has an answer here."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from entresol.errors import InvalidTransaction, PoolRejection
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Data, Quantity
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.namespaces.zks.transactions import DetailedOutput, ZksTransactions
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel


class DepositStatus(JsonModel, frozen=True, kw_only=True):
    """What waits of the deposits that L1 has, and whether they are held back."""

    l1_to_l2_txs_in_mempool: Annotated[int, says("How many deposits no block has yet.")] = (
        msgspec.field(name="l1ToL2TxsInMempool")
    )
    l1_to_l2_txs_paused: Annotated[bool, says("Always false: no deposit is held back.")] = (
        msgspec.field(name="l1ToL2TxsPaused")
    )


class SettlesOn(msgspec.Struct, frozen=True, kw_only=True):
    """Where a chain settles; zksync-era writes it in snake case."""

    type: Annotated[Literal["L1"], says("Always an L1.")]
    chain_id: Annotated[int, says("Its chain id.")]


class MigrationStatus(JsonModel, frozen=True, kw_only=True):
    """Whether a chain moves to another settlement layer: it never does."""

    latest_notification: Annotated[None, says("None was ever sent.")]
    state: Annotated[Literal["notInProgress"], says("It never is.")]
    settlement_layer: Annotated[SettlesOn, says("Where the chain settles.")]


class Unstable:
    """Methods that zksync-era may change at any time, by their present names."""

    prefix = "unstable"

    def __init__(
        self, chain: Chain, fees: FeeModel, transactions: ZksTransactions, l1_chain_id: int
    ) -> None:
        self._chain = chain
        self._fees = fees
        self._transactions = transactions
        self._l1_chain_id = l1_chain_id

    @method(served_by=ServedBy.QUOTE)
    def gas_per_pubdata(self) -> Quantity:
        """Return the gas per pubdata byte; an alias of `zks_gasPerPubdata`."""
        return Quantity(self._fees.quoted().gas_per_pubdata)

    @method(name="unstable_l1ToL2TxsStatus", served_by=ServedBy.PRODUCER)
    def deposit_status(self) -> DepositStatus:
        """Return how many deposits wait for a block."""
        return DepositStatus(
            l1_to_l2_txs_in_mempool=len(self._chain.filler.priority), l1_to_l2_txs_paused=False
        )

    @method(served_by=ServedBy.PRODUCER)
    def unconfirmed_txs_count(self) -> int:
        """Return how many transactions of the operator are on their way to L1: at most one a step of the settlement."""
        pending = map(self._chain.batches.pending_settlement, SettlementStep)
        return sum(it is not None for it in pending)

    @method(served_by=ServedBy.REPLICA)
    def supports_unsafe_deposit_filter(self) -> Literal[False]:
        """Return whether the node can leave deposits out: false, since L1 has their funds already."""
        return False

    @method(served_by=ServedBy.REPLICA)
    def gateway_migration_status(self) -> MigrationStatus:
        """Return where the chain settles, and that it does not move."""
        return MigrationStatus(
            latest_notification=None,
            state="notInProgress",
            settlement_layer=SettlesOn(type="L1", chain_id=self._l1_chain_id),
        )

    @method(served_by=ServedBy.REPLICA)
    def get_data_availability_details(self, batch: Number) -> None:
        """Return null: no batch is on another layer than L1, and `zks_getL1BatchDetails` says what is there."""

    @method(InvalidTransaction, PoolRejection, order=Order.GROUPED, served_by=ServedBy.PRODUCER)
    def send_raw_transaction_with_detailed_output(
        self, tx_bytes: Data
    ) -> DetailedOutput | Awaitable[DetailedOutput]:
        """Submit a signed transaction, and return its effects; an alias of that method of `zks_`."""
        return self._transactions.send_raw_transaction_with_detailed_output(tx_bytes)
