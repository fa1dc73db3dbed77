"""Developer methods that are rejected, each with its reason."""

from __future__ import annotations

from entresol.errors import ControlRejected, MethodNotServed, NotSupported
from entresol.rpc.jsonrpc.method import ServedBy, method


class RejectedControls:
    """Methods of anvil that this node deliberately does not have; parameters of any kind are ignored."""

    prefix = "anvil"

    @method(ControlRejected, served_by=ServedBy.PRODUCER)
    def set_chain_id(self) -> None:
        """Reject: a block would have other results when it is executed again.

        The chain id is part of the genesis, and the contracts on L1 know an L2 by it. `--chain-id` and
        `--l1-chain-id` choose it for a new chain.
        """
        raise ControlRejected(
            "anvil_setChainId is not supported: blocks are executed again to verify and to trace them, and "
            "the L1 knows the L2 by its chain id; start a new chain with --chain-id or --l1-chain-id"
        )

    @method(ControlRejected, served_by=ServedBy.PRODUCER)
    def impersonate_signature(self) -> None:
        """Reject: ECRECOVER would return something else when a block is executed again.

        `anvil_impersonateAccount` sends transactions of any account.
        """
        raise ControlRejected(
            "anvil_impersonateSignature is not supported: blocks are executed again to verify and to trace "
            "them, where ECRECOVER works as on Ethereum; use anvil_impersonateAccount"
        )

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def classify_transaction(self) -> None:
        """Reject: blocks of Tempo have a lane for payments, and blocks here have none."""
        raise MethodNotServed(
            "anvil_classifyTransaction",
            "blocks of Tempo have a lane for payments, and blocks here have none",
        )

    @method(NotSupported, served_by=ServedBy.PRODUCER)
    def set_fee_token(self) -> None:
        """Reject: fees are paid in the base token."""
        raise NotSupported("fees are paid in the base token")

    @method(NotSupported, served_by=ServedBy.PRODUCER)
    def set_validator_fee_token(self) -> None:
        """Reject: fees are paid in the base token."""
        raise NotSupported("fees are paid in the base token")

    @method(NotSupported, served_by=ServedBy.PRODUCER)
    def set_fee_amm_liquidity(self) -> None:
        """Reject: fees are paid in the base token."""
        raise NotSupported("fees are paid in the base token")
