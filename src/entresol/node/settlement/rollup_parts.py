"""The rollup of an L2, as its RPC methods need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from fractions import Fraction

    from entresol.l1.deployment import SettlementContracts
    from entresol.node.settlement.settlement_layer import SettlementLayer
    from entresol.primitives.batches import SettlementStep
    from entresol.primitives.values import Hash32
    from entresol.rollup.interop.interop_prover import InteropProver
    from entresol.rollup.log_prover import LogProver
    from entresol.rollup.open_transfers import OpenTransfers


class RollupParts(Protocol):
    """The parts of a rollup that the methods of its L2 need."""

    @property
    def l1_chain_id(self) -> int:
        """Return the chain id of L1."""

    @property
    def contracts(self) -> SettlementContracts:
        """Return the contracts on L1."""

    @property
    def prover(self) -> LogProver:
        """Return what proves L2-to-L1 logs."""

    @property
    def interop_prover(self) -> InteropProver:
        """Return what proves them to other L2s."""

    @property
    def transfers(self) -> OpenTransfers | None:
        """Return what lists open transfers; None where the producer does."""

    async def settle(self, step: SettlementStep, batch: int) -> Hash32:
        """Send one settlement step of a batch; return L1's transaction."""

    async def book(self, batch: int) -> Hash32:
        """Have L1 book what an executed batch sends to other chains; return L1's transaction."""

    async def set_ratio(self, tokens: Fraction) -> Hash32:
        """Let an ether cost so many base tokens on L1; return L1's transaction."""


class SettledView(NamedTuple):
    """The rollup as a node reads it that does not run it."""

    settlement_layer: SettlementLayer
    prover: LogProver
    interop_prover: InteropProver
    transfers: OpenTransfers

    @property
    def l1_chain_id(self) -> int:
        """The chain id of L1."""
        return self.settlement_layer.l1_chain_id

    @property
    def contracts(self) -> SettlementContracts:
        """The contracts on L1."""
        return self.settlement_layer.contracts
