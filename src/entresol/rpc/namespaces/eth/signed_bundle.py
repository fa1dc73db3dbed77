"""`eth_callBundle`: what signed transactions would do together, at the top of a block to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from entresol._native import keccak256
from entresol.errors import (
    BlockFull,
    DeadlinePassed,
    InvalidTransaction,
    MalformedValue,
    TooManyCalls,
    UnknownBlock,
)
from entresol.execution.call.overrides import BlockOverrides, override
from entresol.execution.call.signed_bundle import BundledTransaction, SignedBundle
from entresol.execution.evm_env import EvmEnv
from entresol.offload import Offload
from entresol.primitives.transactions import decode
from entresol.primitives.values import Address, Data, Hash32
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Named, Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST, BlockNumber
from entresol.rpc.types.number import Number, Number256

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.call.limits import CallLimits
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner

SECONDS_LATER: Final = 12
"""How much later than the block of its state a bundle runs, as in reth."""

_DIGITS: Final = "^[0-9]+$"


class SignedBundleObject(JsonModel, frozen=True, kw_only=True):
    """Signed transactions, the block that they are meant for, and the block on whose state they run."""

    names: ClassVar = Named.CONTEXT

    txs: Annotated[list[Data], says("The transactions, signed, in their order.")]
    number: Annotated[Number, says("The number of the block that they run in.")] = msgspec.field(
        name="blockNumber"
    )
    block_number: Annotated[
        BlockNumber | None, says("After which block they run, by default the latest.")
    ] = msgspec.field(default=None, name="stateBlockNumber")
    coinbase: Annotated[Address | None, says("Who gets the fees.")] = None
    timestamp: Annotated[Number | None, says("The time of the block.")] = None
    timeout: Annotated[Number | None, says("How long they may run, in milliseconds.")] = None
    gas_limit: Annotated[Number | None, says("The gas limit of the block.")] = None
    difficulty: Annotated[Number256 | None, says("The difficulty of the block.")] = None
    base_fee: Annotated[Number | None, says("The base fee of the block.")] = None


class SignedBundleResult(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """What a transaction of a bundle did: a `value` if it succeeded, else `error` and `revert`; amounts are decimal."""

    tx_hash: Annotated[Hash32, says("Its hash.")]
    from_address: Annotated[Address, says("Its sender.")]
    to_address: Annotated[Address | None, says("Whom it calls; null if it creates a contract.")]
    gas_used: Annotated[int, says("The gas that it used.")]
    gas_price: Annotated[
        str, Meta(pattern=_DIGITS, description="What the coinbase gets for a unit of gas.")
    ]
    gas_fees: Annotated[str, Meta(pattern=_DIGITS, description="What it gets for the gas.")]
    coinbase_diff: Annotated[
        str, Meta(pattern=_DIGITS, description="How much more the coinbase has.")
    ]
    eth_sent_to_coinbase: Annotated[
        str, Meta(pattern=_DIGITS, description="That, without the gas.")
    ]
    value: Annotated[Data | None, says("What it returned.")] = None
    revert: Annotated[Data | None, says("What it reverted with.")] = None
    error: Annotated[str | None, says("Why it failed.")] = None


class SignedBundleOutcome(JsonModel, frozen=True, kw_only=True):
    """What a bundle did as a whole; amounts are decimal."""

    bundle_hash: Annotated[Hash32, says("The hash of the hashes of its transactions.")]
    bundle_gas_price: Annotated[
        str, Meta(pattern=_DIGITS, description="What the coinbase gets for a unit of gas.")
    ]
    coinbase_diff: Annotated[
        str, Meta(pattern=_DIGITS, description="How much more the coinbase has.")
    ]
    eth_sent_to_coinbase: Annotated[
        str, Meta(pattern=_DIGITS, description="That, without the gas.")
    ]
    gas_fees: Annotated[str, Meta(pattern=_DIGITS, description="What it gets for the gas.")]
    results: Annotated[list[SignedBundleResult], says("What each transaction did.")]
    state_block_number: Annotated[int, says("After which block they ran.")]
    total_gas_used: Annotated[int, says("The gas of all of them.")]


class EthSignedBundle:
    """Simulations of signed transactions."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, runner: CallRunner) -> None:
        self._chain = chain
        self._resolver = resolver
        self._runner = runner
        self._validation = chain.pool.config.validation

    @method(
        UnknownBlock,
        InvalidTransaction,
        BlockFull,
        TooManyCalls,
        DeadlinePassed,
        served_by=ServedBy.PRODUCER,
        past=Past.EXECUTE,
    )
    def call_bundle(self, bundle: SignedBundleObject) -> Offload[SignedBundleOutcome]:
        """Execute signed transactions one after another on the state after a block, and return what each did.

        Nothing is sent or kept. One that fails is in the results; one that is not valid there is an error. They have to fit
        a block like the one after which they run, but for what the request says, 12 seconds later, and after the head at
        the base fee of the next one.
        """
        self._runner.check_calls(len(bundle.txs))
        if not bundle.txs:
            raise MalformedValue("bundle missing txs")
        if not bundle.number:
            raise MalformedValue("bundle missing blockNumber")
        evm_env = self._resolver.evm_env(bundle.block_number or LATEST)
        meant = self._meant(evm_env, bundle)

        def run(limits: CallLimits) -> SignedBundleOutcome:
            sent = [decode(bytes(raw)) for raw in cooperatively(bundle.txs)]
            ran = SignedBundle(meant, self._validation, limits).run(cooperatively(sent))
            return _outcome(ran, evm_env.block.number)

        seconds = None if bundle.timeout is None else bundle.timeout / 1_000
        return self._runner.offload(run, seconds)

    def _meant(self, evm_env: EvmEnv, bundle: SignedBundleObject) -> EvmEnv:
        """Return the block that a bundle is meant for, on the state that it runs on."""
        after, base_fee = evm_env.block, bundle.base_fee
        if base_fee is None and after.number >= self._chain.number:
            base_fee = Number(self._chain.next_base_fee())
        later = after.timestamp + SECONDS_LATER
        block = BlockOverrides(
            number=int(bundle.number),
            time=later if bundle.timestamp is None else int(bundle.timestamp),
            gas_limit=bundle.gas_limit,
            fee_recipient=bundle.coinbase,
            base_fee_per_gas=base_fee,
            difficulty=bundle.difficulty,
        )
        return override(evm_env, block=block)


def _outcome(ran: list[BundledTransaction], state_block: int) -> SignedBundleOutcome:
    gas = sum(it.gas_used for it in ran)
    fees = sum(it.gas_used * it.tip for it in ran)
    gain = sum(it.beneficiary_gain for it in ran)
    return SignedBundleOutcome(
        bundle_hash=Hash32(keccak256(b"".join(it.transaction.hash for it in ran))),
        bundle_gas_price=str(gain // gas if gas else 0),
        coinbase_diff=str(gain),
        eth_sent_to_coinbase=str(max(gain - fees, 0)),
        gas_fees=str(fees),
        results=[_result(it) for it in ran],
        state_block_number=state_block,
        total_gas_used=gas,
    )


def _result(ran: BundledTransaction) -> SignedBundleResult:
    sent, fees, output = ran.transaction, ran.gas_used * ran.tip, Data(ran.output)
    failure = ran.failure
    return SignedBundleResult(
        tx_hash=sent.hash,
        from_address=sent.sender,
        to_address=sent.payload.to,
        gas_used=ran.gas_used,
        gas_price=str(ran.tip),
        gas_fees=str(fees),
        coinbase_diff=str(ran.beneficiary_gain),
        eth_sent_to_coinbase=str(max(ran.beneficiary_gain - fees, 0)),
        value=output if failure is None else None,
        revert=None if failure is None else output,
        error=None if failure is None else str(failure).encode(errors="replace").decode(),
    )
