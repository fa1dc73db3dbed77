"""Execute the bundles and finalize the withdrawals that are open between the chains of a devnet, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hexbytes import HexBytes
from web3.exceptions import ContractLogicError
from web3.logs import DISCARD

from entresol.errors import BundleNotReady, BundleReverted
from entresol.inprocess.bridge import Bridge, SentMessage
from entresol.inprocess.interop.builder import bundles_of
from entresol.inprocess.interop.bundle import BundleStatus, SentBundle, reverted
from entresol.primitives.interop_bundles import BUNDLE_SENT, INTEROP_CENTER

if TYPE_CHECKING:
    from web3.types import TxReceipt

LOOKBACK_BLOCKS: Final = 20_000
"""How far back bundles are looked for, as far as clients look for what became of one."""
_OPEN: Final = (BundleStatus.UNRECEIVED, BundleStatus.VERIFIED)


class Skipped(NamedTuple):
    """A bundle or withdrawal that could not be executed or finalized, and why."""

    what: SentBundle | SentMessage
    reason: str


class Relayed(NamedTuple):
    """The results of a relay."""

    executed: list[SentBundle]
    finalized: list[SentMessage]
    skipped: list[Skipped]


def relay(bridges: Sequence[Bridge], timeout: float) -> Relayed:
    """Execute each bundle that names no executor and finalize each withdrawal, of all that was sent before."""
    done = Relayed([], [], [])
    for bridge in bridges:
        bridge.request_settlement(bridge.l2.eth.block_number)
    for bridge in bridges:
        for bundle in open_bundles(bridge, bridges):
            _execute(bundle, timeout, done)
        for withdrawal in open_withdrawals(bridge):
            _finalize(bridge, withdrawal, done)
    return done


def open_bundles(source: Bridge, bridges: Sequence[Bridge]) -> Iterator[SentBundle]:
    """Yield the bundles of a chain that anybody may execute and nobody has, of the last blocks, the oldest first."""
    last = source.l2.eth.block_number
    event: Any = {
        "address": INTEROP_CENTER.checksummed(),
        "topics": [str(BUNDLE_SENT)],
        "fromBlock": max(0, last - LOOKBACK_BLOCKS),
        "toBlock": last,
    }
    sent = dict.fromkeys(
        event_log["transactionHash"] for event_log in source.l2.eth.get_logs(event)
    )
    for transaction in sent:
        receipt = source.l2.eth.get_transaction_receipt(transaction)
        for destination in bridges:
            for bundle in bundles_of(receipt, source, destination):
                if not bundle.bundle.executor and bundle.status in _OPEN:
                    yield bundle


def open_withdrawals(bridge: Bridge) -> Iterator[SentMessage]:
    """Yield the withdrawals that L1 can pay and has not, the oldest first."""
    cursor = None
    while True:
        page = bridge.rpc("entresol_getOpenTransfers", cursor)
        for transfer in page["transfers"]:
            if (transfer["kind"], transfer["status"]) == ("withdrawal", "claimable"):
                transaction = HexBytes(transfer["transactionHash"])
                receipt = bridge.l2.eth.get_transaction_receipt(transaction)
                yield _message(bridge, receipt, int(transfer["index"], 16))
        cursor = page["next"]
        if cursor is None:
            return


def _message(bridge: Bridge, receipt: TxReceipt, index: int) -> SentMessage:
    events = list(bridge.messenger.events.L1MessageSent().process_receipt(receipt, DISCARD))
    sent = events[index]["args"]
    return SentMessage(sent[next(iter(sent))], bytes(sent["message"]), receipt, index)


def _execute(bundle: SentBundle, timeout: float, done: Relayed) -> None:
    try:
        bundle.wait(timeout).execute(bundle.destination.l2.eth.accounts[0])
    except (BundleNotReady, BundleReverted) as error:
        done.skipped.append(Skipped(bundle, error.reason or str(error)))
    else:
        done.executed.append(bundle)


def _finalize(bridge: Bridge, withdrawal: SentMessage, done: Relayed) -> None:
    try:
        bridge.finalize(withdrawal)
    except ContractLogicError as error:
        failure = reverted("finalizeDeposit", error)
        done.skipped.append(Skipped(withdrawal, failure.reason))
    else:
        done.finalized.append(withdrawal)
