"""Reads of the crate for plain requests: the state at the head, and the fees of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import AccountReads, BridgeEstimates, CallErrors, FeeHistory, StateReads
from entresol.cache_limits import CACHES
from entresol.errors import (
    CallGasSpent,
    ExecutionHalted,
    ExecutionReverted,
    GasAllowanceExceeded,
    InvalidParams,
)
from entresol.execution.calls import gas_bounds
from entresol.execution.simulation import FAILURE_TEXTS
from entresol.offload import POLICY
from entresol.primitives.l1_to_l2_gas import REQUIRED_GAS_PER_PUBDATA
from entresol.primitives.records import LAYOUT
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from entresol.rpc.services.call_runner import MAX_CALLS, CallRunner, simulation_base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.execution.calls import Unfunded
    from entresol.execution.evm_env import EvmEnv
    from entresol.execution.simulation import NextBlock
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.fill_transaction import TransactionFiller


_NOBODY: Final = Address.zero()


class FeeHistoryLimits(NamedTuple):
    """The most that a request of a fee history may ask for; `figures` are rendered on the event loop."""

    blocks: int = 1_024
    percentiles: int = 100
    """As many as geth allows."""
    figures: int = POLICY.fee_history_items


FEE_HISTORY_LIMITS: Final = FeeHistoryLimits()


def check_percentiles(percentiles: Sequence[float]) -> None:
    """Reject percentiles that are none, fall or are too many."""
    problem, before = None, 0.0
    if len(percentiles) > FEE_HISTORY_LIMITS.percentiles:
        problem = f"at most {FEE_HISTORY_LIMITS.percentiles} are allowed, got {len(percentiles)}"
    for percentile in percentiles:
        if not 0 <= percentile <= 100:
            problem = problem or f"each is from 0 to 100, got {percentile}"
        elif percentile < before:
            problem = problem or f"they must not fall, got {percentile} after {before}"
        before = percentile
    if problem is not None:
        raise InvalidParams(f"invalid `eth_feeHistory` reward percentiles: {problem}")


def new_account_reads(chain: Chain, resolver: BlockResolver) -> AccountReads:
    """Return the plain reads of accounts and slots; what else clients send is decoded in `EthState`."""

    def state_root(number: int | None) -> Hash32:
        if chain.edits.exist and number in (None, chain.number):
            raise LookupError("the trie does not have what was edited since the head: Python does")
        return resolver.state_root(number)

    return AccountReads(
        state=resolver.state_after, state_root=state_root, trie=chain.state_trie.native
    )


def new_state_reads(
    chain: Chain,
    resolver: BlockResolver,
    runner: CallRunner,
    filler: TransactionFiller,
    errors: CallErrors,
    unfunded: Unfunded,
) -> StateReads:
    """Return the calls of a chain, within the limits that calls have on the event loop.

    A call that turns out to need more is dispatched like any other, and `runner` moves it to a worker at once.
    """

    def head_header() -> bytes:
        return chain.head.encode()

    def next_block(parent_rlp: bytes) -> NextBlock:
        return simulation_base(chain, chain.head.number).next_block(parent_rlp)

    return StateReads(
        latest=resolver.latest_env,
        state_root=resolver.state_root,
        head_header=head_header,
        filling=filler.filling,
        next_block=next_block,
        has_fork_fields=chain.rules.has_fork_fields,
        failure_texts=FAILURE_TEXTS,
        trie=chain.state_trie.native,
        limits=runner.loop_limits,
        gas_cap=runner.gas_cap,
        simulated_items=min(POLICY.simulated_items, MAX_CALLS),
        cache_bytes=CACHES.calls,
        cached_gas=CACHES.call_gas,
        errors=errors,
        unfunded_transfers=unfunded.transfers,
        unfunded_estimates=unfunded.estimates,
    )


def new_call_errors(*, fails_calls: bool) -> CallErrors:
    """Return how the crate reports calls that fail: in the words of the errors that Python raises.

    Without `fails_calls` a call that fails has a result.
    """
    return CallErrors(
        reverted=(ExecutionReverted.rpc_code, str(ExecutionReverted(b""))),
        reverted_because=str(ExecutionReverted(b"", "")),
        halt_code=ExecutionHalted.rpc_code,
        allowance=_around_number(GasAllowanceExceeded),
        gas_cap=_around_number(CallGasSpent),
        calls_fail=fails_calls,
    )


def _around_number(error: type[GasAllowanceExceeded | CallGasSpent]) -> tuple[int, str, str]:
    """Return the code of an error, and what its text has before and after its number."""
    before, after = str(error(0)).split("0")
    return error.rpc_code, before, after


def new_bridge_estimates(
    resolver: BlockResolver, runner: CallRunner, fees: FeeModel, errors: CallErrors
) -> BridgeEstimates:
    """Return the estimates of plain priority transactions; others are left to `ZksFees`."""

    def bounds(value: int, data: bytes) -> tuple[EvmEnv, int, int, int]:
        evm_env, price = resolver.pending_env(), fees.quoted().base_fee
        request = PriorityTransaction(
            sender=_NOBODY,
            to=_NOBODY,
            gas_limit=0,
            gas_per_pubdata_limit=REQUIRED_GAS_PER_PUBDATA,
            max_fee_per_gas=price,
            nonce=0,
            value=value,
            data=data,
        )
        return evm_env, price, *gas_bounds(request, evm_env.block.gas_limit)

    return BridgeEstimates(bounds=bounds, limits=runner.loop_limits, errors=errors)


def new_fee_history(chain: Chain) -> FeeHistory:
    """Return the fee history of a chain; its owner removes reverted blocks."""

    def load(number: int) -> bytes:
        return chain.blocks.encoded_record(number)

    def head() -> int:
        return chain.number

    def next_fees() -> tuple[int, int]:
        return chain.next_base_fee(), chain.next_blob_base_fee()

    return FeeHistory(
        LAYOUT,
        blobs=chain.ledger.blob_fees.prices,
        limits=FEE_HISTORY_LIMITS,
        load=load,
        head=head,
        next_fees=next_fees,
        capacity=CACHES.fee_history,
    )
