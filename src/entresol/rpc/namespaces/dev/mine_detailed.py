"""`evm_mine_detailed`: seal blocks and return them with what their transactions returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from entresol.errors import TimestampTooHigh, TimestampTooLow, TooManyToSeal
from entresol.execution.replay import replayed
from entresol.execution.reverts import describe_revert
from entresol.offload import Offload
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.models.mined import MinedBlock
from entresol.rpc.namespaces.dev.mining import seal_ordered
from entresol.rpc.types.mine_request import MineRequest

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import BlockExecutor
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.sequencer.sequencer import Sequencer

MAX_BLOCKS: Final = 1_000
"""How many blocks one request may seal: each is returned in full."""


class MineDetailed:
    """`evm_mine_detailed` and its alias."""

    def __init__(
        self, prefix: str, chain: Chain, sequencer: Sequencer, rendered: RenderedChain
    ) -> None:
        self.prefix = prefix
        self._chain = chain
        self._sequencer = sequencer
        self._rendered = rendered

    @method(
        TimestampTooLow,
        TimestampTooHigh,
        TooManyToSeal,
        name="{prefix}_mine_detailed",
        served_by=ServedBy.PRODUCER,
    )
    async def mine_detailed(
        self, options: MineRequest | None = None
    ) -> Offload[Annotated[list[dict[str, Any]], list[MinedBlock]]]:
        """Seal blocks as `evm_mine` does; return them with the `output` of each transaction.

        One that failed has a `revertReason`, too.
        """
        count = await seal_ordered(self._chain, self._sequencer, options, MAX_BLOCKS)
        last = self._chain.number
        return Offload(lambda: self._blocks(range(last - count + 1, last + 1)))

    def _blocks(self, numbers: range) -> list[dict[str, Any]]:
        blocks = (self._block(it) for it in cooperatively(numbers))
        return [block for block in blocks if block is not None]

    def _block(self, number: int) -> dict[str, Any] | None:
        rendered = self._rendered.block(number, full=True)
        text = rendered.work() if isinstance(rendered, Offload) else rendered
        if text is None:
            # It was reverted meanwhile.
            return None
        block: dict[str, Any] = msgspec.json.decode(text)
        transactions = block["transactions"]
        executor = self._replayed(number) if transactions else None
        for index, transaction in enumerate(transactions):
            assert executor is not None
            output = executor.outputs.get(index, b"")
            transaction["output"] = f"0x{output.hex()}"
            if index in executor.failures:
                transaction["revertReason"] = describe_revert(output)
        return block

    def _replayed(self, number: int) -> BlockExecutor:
        ledger = self._chain.ledger
        record = ledger.record(number)
        return replayed(
            record,
            ledger.header(number - 1),
            len(record.transactions),
            rules=ledger.rules_at(number).evm_rules(),
            snapshot=ledger.state_after(number - 1),
        )
