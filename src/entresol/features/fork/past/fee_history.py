"""Fees on both sides of the anchor, as one history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from entresol.chain.finality import BlockTag
from entresol.features.fork.errors import RemoteMalformed
from entresol.features.fork.past.remote import is_null
from entresol.offload import Offload, is_awaitable
from entresol.rpc.services.native_reads import FEE_HISTORY_LIMITS, check_percentiles

if TYPE_CHECKING:
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.fork.past.router import Function
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.types.block_id import BlockNumber

METHOD: Final = "eth_feeHistory"
WINDOW: Final = 16
"""So many blocks up to the anchor are read where fewer are wanted: clients ask for the same number of blocks after each
block, and one response has what all of them reach. So has a recorded fork, whatever a later run seals when."""
_ZERO: Final = Raw(b'"0x0"')
_NONE: Final = Raw(b"0")


class _Fees(msgspec.Struct, rename="camel", omit_defaults=True):
    """A fee history; chains without blobs leave their fees out, and some their rewards."""

    oldest_block: str
    base_fee_per_gas: list[Raw] | None = None
    gas_used_ratio: list[Raw] | None = None
    reward: list[Raw] | None = None
    base_fee_per_blob_gas: list[Raw] | None = None
    blob_gas_used_ratio: list[Raw] | None = None


_fees: Final = msgspec.json.Decoder(_Fees).decode


class SplitFees:
    """The fee history of a fork. Assumes: the event loop. Fails: with `RemoteFailed`."""

    def __init__(self, remote: PastChain, resolver: BlockResolver) -> None:
        self._remote = remote
        self._resolver = resolver

    def fee_history(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the fees of a range of blocks, the past ones as the remote says them."""
        count, newest, percentiles = (
            min(int(arguments[0]), FEE_HISTORY_LIMITS.blocks),
            *arguments[1:],
        )
        last, anchor = self._last(newest), self._remote.anchor.number
        if last - count >= anchor:
            return function(*arguments)
        check_percentiles(percentiles or [])
        ours = max(last - anchor, 0)
        local: Function | None = None
        join: Callable[[int, Raw, Raw], Raw] = self._join
        if ours:
            local = partial(function, ours, type(newest)(number=last), percentiles)
        elif last == anchor and self._remote.verifies:
            # The base fee after the anchor is that of the fork's own next block: nothing of the remote proves one.
            local, join = partial(function, 1, type(newest)(number=anchor), None), self._join_next
        joined = partial(join, len(percentiles or []))
        return self._joined(count - ours, min(last, anchor), percentiles or [], local, joined)

    def _last(self, newest: BlockNumber) -> int:
        if newest.tag is BlockTag.EARLIEST:
            return 0
        number = self._resolver.number(newest)
        if number is not None and number <= self._remote.anchor.number:
            return number
        return self._resolver.sealed(newest)

    async def _joined(
        self,
        count: int,
        last: int,
        percentiles: list[float],
        local: Function | None,
        join: Callable[[Raw, Raw], Raw],
    ) -> Any:
        past = await self._past(count, last, percentiles)
        if local is None:
            return past
        result = local()
        if is_awaitable(result):
            result = await result
        if isinstance(result, Offload):
            work = result.work
            return Offload(lambda: join(past, work()))
        return join(past, result)

    async def _past(self, count: int, last: int, percentiles: list[float]) -> Raw:
        read = count
        # Each block more would have to be proven.
        if last == self._remote.anchor.number and not self._remote.verifies:
            count = min(count, last + 1)
            read = max(count, min(WINDOW, last + 1))
        params = [hex(read), hex(last), percentiles]
        past = await self._remote.read(
            METHOD, params, is_final=lambda result: not is_null(result), at=last
        )
        return past if read == count else self._newest(past, count, last)

    def _newest(self, past: Raw, count: int, last: int) -> Raw:
        fees = self._decoded(past)
        more = max(len(fees.gas_used_ratio or ()) - count, 0)
        if not more:
            return past
        _, *series = msgspec.structs.astuple(fees)
        newest = _Fees(hex(last - count + 1), *(values and values[more:] for values in series))
        return Raw(msgspec.json.encode(newest))

    def _join_next(self, _: int, past: Raw, local: Raw) -> Raw:
        """Return the past with the base fee of the fork's next block."""
        below, above = self._both(past, local)
        known = below.base_fee_per_gas or []
        joined = msgspec.structs.replace(
            below, base_fee_per_gas=known + (above.base_fee_per_gas or [])[-1:]
        )
        return Raw(msgspec.json.encode(joined))

    def _both(self, past: Raw, local: Raw) -> tuple[_Fees, _Fees]:
        return self._decoded(past), _fees(local)

    def _decoded(self, past: Raw) -> _Fees:
        try:
            return _fees(past)
        except msgspec.DecodeError as error:
            raise RemoteMalformed(self._remote.host, METHOD, str(error)) from None

    def _join(self, percentiles: int, past: Raw, local: Raw) -> Raw:
        below, above = self._both(past, local)
        if self._remote.verifies and below.base_fee_per_blob_gas is None:
            # Those of the past are there, and have no proof: zeros would be false.
            above = msgspec.structs.replace(
                above, base_fee_per_blob_gas=None, blob_gas_used_ratio=None
            )
        blocks = len(below.gas_used_ratio or ())
        rewards = Raw(b"[" + b",".join([bytes(_ZERO)] * percentiles) + b"]")
        joined = _Fees(
            oldest_block=below.oldest_block,
            base_fee_per_gas=_appended(below.base_fee_per_gas, above.base_fee_per_gas, blocks),
            gas_used_ratio=_appended(below.gas_used_ratio, above.gas_used_ratio, blocks),
            reward=_appended(below.reward, above.reward, blocks, rewards),
            base_fee_per_blob_gas=_appended(
                below.base_fee_per_blob_gas, above.base_fee_per_blob_gas, blocks
            ),
            blob_gas_used_ratio=_appended(
                below.blob_gas_used_ratio, above.blob_gas_used_ratio, blocks, _NONE
            ),
        )
        return Raw(msgspec.json.encode(joined))


def _appended(
    below: list[Raw] | None, above: list[Raw] | None, blocks: int, missing: Raw = _ZERO
) -> list[Raw] | None:
    """Return the figures of `blocks` blocks, and then those above them, which also say what the next block has."""
    if above is None:
        return below
    known = (below or [])[:blocks]
    return known + [missing] * (blocks - len(known)) + above
