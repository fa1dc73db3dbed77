"""The output of `entresol replay` for a transaction, and for a block: for people, and as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.counted import counted
from entresol.execution.call_frames import decode_call_frame
from entresol.features.fork.replay.block_replay import BlockToReplay, TransactionReplay, contract_of
from entresol.terminal.call_tree import CallTree, describe_error
from entresol.terminal.console_log import console_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.terminal.explainer import Explainer


class ReplayText:
    """Writes replays, with names of known ABIs."""

    def __init__(self, abis: AbiRegistry, explainer: Explainer | None = None) -> None:
        self._abis = abis
        self._explainer = explainer

    def transaction(self, block: BlockToReplay, it: TransactionReplay) -> Iterator[str]:
        """Yield the lines of one transaction: its call tree, what it printed, its result, and what differs."""
        place = f"block {block.header.number}, {it.index + 1} of {len(block.transactions)}"
        yield f"{it.remote.hash} ({place}, type {it.remote.type:#x})"
        yield from block.notes
        if it.trace is not None:
            yield from self._tree(it).draw(decode_call_frame(it.trace))
        lines = console_lines(it.console)
        if lines:
            yield "console.log:"
            yield from (f"  {line}" for line in lines)
        if it.result is not None:
            yield self._status(it)
            yield f"gas used: {it.result.gas_used:,}"
            if (contract := contract_of(it.result)) is not None and it.result.succeeded:
                yield f"contract: {contract.checksummed()}"
            yield f"events: {len(it.result.logs)}"
        if it.note:
            yield it.note
        yield from _compared(it)

    def block(self, block: BlockToReplay, replayed: Sequence[TransactionReplay]) -> Iterator[str]:
        """Yield the lines of a block: what differs, and how much."""
        yield from block.notes
        for replay in replayed:
            if not replay.is_same:
                reasons = [replay.note] if replay.result is None else map(str, replay.differences)
                yield f"{replay.index}: {replay.remote.hash}: {'; '.join(reasons)}"
        found = counts(replayed)
        yield (
            f"block {block.header.number} {block.hash}: {counted(found['transactions'], 'transaction')}, "
            f"{found['same']} the same, {found['different']} different, {found['notExecuted']} not executed"
        )

    def _tree(self, it: TransactionReplay) -> CallTree:
        if self._explainer is None:
            return CallTree(self._abis)
        return CallTree(self._abis, self._explainer.names(self._abis, it.code_of))

    def reason(self, it: TransactionReplay) -> str | None:
        """Return why a transaction failed."""
        if it.failure is None:
            return None
        return describe_error(self._abis, it.output) or str(it.failure)

    def _status(self, it: TransactionReplay) -> str:
        reason = self.reason(it)
        return "status: success" if reason is None else f"status: failed: {reason}"

    def json(self, block: BlockToReplay, it: TransactionReplay) -> dict[str, Any]:
        """Return one transaction for programs."""
        found: dict[str, Any] = {
            "hash": str(it.remote.hash),
            "blockNumber": block.header.number,
            "blockHash": str(block.hash),
            "transactionIndex": it.index,
            "type": it.remote.type,
            "executed": it.result is not None,
            "same": it.is_same,
            "differences": [entry._asdict() for entry in it.differences],
            "notes": [*block.notes, *([it.note] if it.note else [])],
        }
        if it.result is not None:
            contract = contract_of(it.result)
            found |= {
                "status": int(it.result.succeeded),
                "gasUsed": it.result.gas_used,
                "contractAddress": None if contract is None else str(contract),
                "revertReason": self.reason(it),
                "console": console_lines(it.console),
                "logs": [
                    {
                        "address": f"0x{address.hex()}",
                        "topics": [f"0x{topic.hex()}" for topic in topics],
                        "data": f"0x{data.hex()}",
                    }
                    for address, topics, data in it.result.logs
                ],
            }
        if it.trace is not None:
            found["trace"] = msgspec.Raw(it.trace)
        return found


def counts(replayed: Sequence[TransactionReplay]) -> dict[str, int]:
    """Count what is the same, different, and was not executed."""
    not_executed = sum(replay.result is None for replay in replayed)
    same = sum(replay.is_same for replay in replayed)
    return {
        "transactions": len(replayed),
        "same": same,
        "different": len(replayed) - same - not_executed,
        "notExecuted": not_executed,
    }


def _compared(it: TransactionReplay) -> Iterator[str]:
    if it.result is None:
        return
    if not it.differences:
        yield "receipt: the same as the remote's"
        return
    yield "receipt: differs from the remote's"
    yield from (f"  {entry}" for entry in it.differences)
