"""Values that bundles carry from one chain to another, read from the blocks of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from entresol.primitives import abi
from entresol.primitives.interop_bundles import (
    BUNDLE_SENT,
    INTEROP_CENTER,
    BundleCall,
    InteropBundle,
)
from entresol.primitives.values import Hash32
from entresol.rollup.system_contracts import ASSET_ROUTER
from entresol.storage.store import Store

_FINALIZE = abi.selector("finalizeDeposit(uint256,bytes32,bytes)")
_MINT = "(address,address,address,uint256,bytes)"


class Crossing(NamedTuple):
    """An amount of an asset in a call of a bundle."""

    source: int
    destination: int
    bundle: Hash32
    call: int
    """Its position."""
    asset: Hash32
    amount: int
    batch: int | None
    """The batch of the source that has the bundle, once it is sealed."""
    leaf: int
    """The position of the bundle among the logs of that."""


def crossings_from(store: Store, chain_id: int) -> Iterator[Crossing]:
    """Yield what has left a chain, the oldest first."""
    for block, record in enumerate(store.records()):
        logs = [l2_to_l1_log for result in record.results for l2_to_l1_log in result.l2_to_l1_logs]
        for result in record.results:
            for address, topics, data in result.logs:
                if address != INTEROP_CENTER or topics[:1] != (BUNDLE_SENT,):
                    continue
                place = store.batches.position_of_block(block)
                message, bundle_hash, bundle = InteropBundle.of_event(data)
                before = 0 if place is None else place.logs_before
                (leaf,) = (index for index, it in enumerate(logs, before) if it.endswith(message))
                for index, call in enumerate(bundle.calls):
                    for asset, amount in _carried(bundle, call):
                        yield Crossing(
                            *(chain_id, bundle.destination, bundle_hash, index, asset, amount),
                            *(None if place is None else place.batch, leaf),
                        )


def _carried(bundle: InteropBundle, call: BundleCall) -> Iterator[tuple[Hash32, int]]:
    if call.value:
        yield bundle.base_token, call.value
    if call.to == call.sender == ASSET_ROUTER and call.data.startswith(_FINALIZE):
        _, asset, mint = abi.decode("(uint256,bytes32,bytes)", call.data[4:])
        yield Hash32(asset), int(abi.decode(_MINT, mint)[3])
