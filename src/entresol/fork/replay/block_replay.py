"""Execute the transactions of a remote block here, on the state of its parent, and compare their receipts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from entresol._native import Tracer
from entresol.errors import BlockFull, DeadlinePassed, InvalidTransaction, TraceTooLarge
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.console import NO_CALLS, ConsoleCalls
from entresol.execution.evm_env import BlockEnv, code_of
from entresol.execution.trace.budget import TraceBudget, TraceLimits
from entresol.execution.trace.tracing import Tracing
from entresol.fork.hardforks import Marks
from entresol.fork.replay.executed_header import executed_header
from entresol.fork.replay.receipt_differences import ReceiptDifference, differences
from entresol.fork.replay.remote_transactions import RemoteTransaction
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import Rules, Snapshot
    from entresol.errors import ExecutionFailed
    from entresol.primitives.headers import Header
    from entresol.primitives.records import TransactionResult

LIMITS = TraceLimits(max_bytes=1 << 30, seconds=600.0)
"""Of one trace: who replays asks for it, and nobody else waits."""


class BlockToReplay(NamedTuple):
    """A block of a remote chain: header and hash, and its transactions with their receipts."""

    header: Header
    hash: Hash32
    transactions: Sequence[RemoteTransaction]
    receipts: Sequence[dict[str, Any]]
    notes: Sequence[str] = ()
    """What of the chain cannot be executed here."""
    marks: Marks = frozenset()
    """What its header shows of its hardfork."""


class TransactionReplay(msgspec.Struct, frozen=True):
    """What a transaction did here, and where its receipt differs."""

    index: int
    remote: RemoteTransaction
    result: TransactionResult | None = None
    """None if it was not executed, for which `note` has the reason."""
    differences: Sequence[ReceiptDifference] = ()
    note: str = ""
    failure: ExecutionFailed | None = None
    output: bytes = b""
    console: ConsoleCalls = NO_CALLS
    trace: bytes | None = None
    code_of: Callable[[Address], bytes] = lambda _: b""
    """Returns the code of an account after the transaction, until another one runs."""

    @property
    def is_same(self) -> bool:
        """Whether it was executed, with the remote's receipt."""
        return self.result is not None and not self.differences


def replay_block(
    block: BlockToReplay,
    rules: Rules,
    snapshot: Snapshot,
    *,
    traced: int | None = None,
    options: bytes = b"{}",
) -> Iterator[TransactionReplay]:
    """Execute a block up to the transaction that is `traced`, or all of it.

    One that cannot be executed is left out, and those after it run on a state without it.
    """
    header = executed_header(block.header, rules.fork)
    parent = ParentBlock(header.parent_hash, header.state_root)
    executor = BlockExecutor(
        rules, snapshot, BlockEnv.of(header), parent, extra_data=header.extra_data
    )
    executor.begin()
    last = len(block.transactions) if traced is None else traced + 1
    for index in range(last):
        yield _replayed(executor, block, index, options if index == traced else None)


def keys_of(block: BlockToReplay) -> list[tuple[Any, ...]]:
    """Return what the block will surely read of its parent's state, to be asked for at once."""
    addresses: dict[bytes, None] = {bytes(block.header.beneficiary): None}
    slots: dict[tuple[bytes, bytes], None] = {}
    for transaction in block.transactions:
        if transaction.transaction is None:
            continue
        addresses[bytes(transaction.transaction.sender)] = None
        payload = transaction.transaction.payload
        if payload.to is not None:
            addresses[bytes(payload.to)] = None
        for access in payload.access_list:
            addresses[bytes(access.account)] = None
            slots |= {(bytes(access.account), bytes(slot)): None for slot in access.slots}
    return [("account", address) for address in addresses] + [("slot", *slot) for slot in slots]


def _replayed(
    executor: BlockExecutor, block: BlockToReplay, index: int, options: bytes | None
) -> TransactionReplay:
    remote = block.transactions[index]
    if remote.transaction is None:
        return TransactionReplay(index, remote, note=f"it cannot be executed here: {remote.note}")
    position = len(executor.transactions)
    trace, note = None, ""
    try:
        if options is None:
            result = executor.run(remote.transaction)
        else:
            trace, note = _trace(executor, block, index, options)
            result = executor.results[position]
    except (InvalidTransaction, BlockFull) as error:
        return TransactionReplay(index, remote, note=f"it is rejected here: {error}")
    return TransactionReplay(
        index,
        remote,
        result,
        differences(result, block.receipts[index]),
        note,
        executor.failures.get(position),
        executor.outputs.get(position, b""),
        executor.console.calls.get(position, NO_CALLS),
        trace,
        partial(code_of, executor.overlay),
    )


def _trace(
    executor: BlockExecutor, block: BlockToReplay, index: int, options: bytes
) -> tuple[bytes | None, str]:
    """Execute a transaction, and return its trace, or why there is none."""
    remote = block.transactions[index]
    assert remote.transaction is not None
    tracer = Tracer(
        options,
        transaction_hash=remote.hash,
        transaction_index=index,
        block_hash=block.hash,
        first_log=sum(len(result.logs) for result in executor.results),
    )
    try:
        ran = executor.trace(remote.transaction, Tracing(tracer, TraceBudget(LIMITS).left()))
    except (TraceTooLarge, DeadlinePassed) as error:
        executor.run(remote.transaction)
        return None, f"it is not traced: {error}"
    return ran.trace, ""


def contract_of(result: TransactionResult) -> Address | None:
    """Return the contract that a transaction has created."""
    return None if result.created is None else Address(result.created)
