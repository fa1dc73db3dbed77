"""Read a block of a remote chain, execute its transactions here on the state of its parent, and compare their receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol._native import Tracer
from entresol.errors import (
    BlockFull,
    DeadlinePassed,
    InvalidTransaction,
    MalformedValue,
    TraceTooLarge,
)
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.console import NO_CALLS, ConsoleCalls
from entresol.execution.evm_env import MAX_GAS_LIMIT, BlockEnv, code_of
from entresol.execution.tracing import TraceBudget, TraceLimits
from entresol.features.fork.errors import RemoteMalformed, RemoteRejected
from entresol.features.fork.hardforks import Marks, is_before_london, marks_of
from entresol.features.fork.remote_values import json_of, member
from entresol.features.fork.replay.remote_transactions import (
    RemoteTransaction,
    is_sent_raw,
    read_transaction,
)
from entresol.primitives.anchor import header_of_block
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from entresol._native import Rules, Snapshot
    from entresol.errors import ExecutionFailed
    from entresol.features.fork.remote_chain import RemoteChain
    from entresol.primitives.headers import Header

LIMITS = TraceLimits(max_bytes=1 << 30, seconds=600.0)
"""The limits of one trace: who replays asks for it, and nobody else waits."""

MAX_TRANSACTIONS: Final = 50_000
"""A block has fewer; more would be a remote that lies."""

_HASH_DIGITS: Final = 66
_WITH_TRANSACTIONS: Final = True
_ARBITRUM: Final = ("sendRoot", "sendCount", "l1BlockNumber")
_ERA: Final = ("l1BatchNumber",)


def executed_header(header: Header, hardfork: str) -> Header:
    """Return a header with which what the block had can be executed once more.

    Some chains say no gas limit, or zero; then transactions have any. Before London there was no base fee, where a
    header that blocks are built on has one.
    """
    changed = msgspec.structs.replace(header, gas_limit=header.gas_limit or MAX_GAS_LIMIT)
    return (
        msgspec.structs.replace(changed, base_fee_per_gas=0)
        if is_before_london(hardfork)
        else changed
    )


class ReceiptDifference(NamedTuple):
    """A member of a receipt that is another one."""

    member: str
    here: str
    remote: str

    def __str__(self) -> str:
        return f"{self.member} is {self.here} here, and {self.remote} at the remote"


def differences(result: TransactionResult, receipt: dict[str, Any]) -> list[ReceiptDifference]:
    """Compare a result with the remote's receipt: status, gas, contract and logs.

    Members that a remote does not have are not compared: a receipt before Byzantium has no status.
    """
    found = []
    if receipt.get("status") is not None:
        found += _unless_equal(
            "status", int(result.succeeded), member(receipt, "status", Quantity.parse)
        )
    found += _unless_equal("gasUsed", result.gas_used, member(receipt, "gasUsed", Quantity.parse))
    if result.succeeded:
        created = None if result.created is None else Address(result.created)
        given = receipt.get("contractAddress")
        theirs = None if given is None else Address.parse(given)
        # Some nodes name the contract that was called.
        if created is not None or receipt.get("to") is None:
            found += _unless_equal("contractAddress", created, theirs)
    return found + _log_differences(result, receipt)


def _log_differences(result: TransactionResult, receipt: dict[str, Any]) -> list[ReceiptDifference]:
    theirs = receipt.get("logs") or []
    if not isinstance(theirs, list):
        raise MalformedValue("logs: an array is expected")
    if len(theirs) != len(result.logs):
        return _unless_equal("number of logs", len(result.logs), len(theirs))
    found = []
    for index, ((address, topics, data), log) in enumerate(zip(result.logs, theirs, strict=True)):
        here = (bytes(address), tuple(map(bytes, topics)), bytes(data))
        if here != (remote := _log(log)):
            found += _unless_equal(f"log {index}", _log_text(*here), _log_text(*remote))
    return found


def _log(log: object) -> tuple[bytes, tuple[bytes, ...], bytes]:
    if not isinstance(log, dict):
        raise MalformedValue("a log is an object")
    given = log.get("topics") or []
    if not isinstance(given, list):
        raise MalformedValue("topics: an array is expected")
    topics = tuple(bytes(Hash32.parse(topic)) for topic in given)
    return (
        bytes(Address.parse(log.get("address"))),
        topics,
        bytes(Data.parse(log.get("data", "0x"))),
    )


def _log_text(address: bytes, topics: tuple[bytes, ...], data: bytes) -> str:
    words = [
        f"0x{address.hex()}",
        *(f"0x{topic.hex()}" for topic in topics),
        f"0x{data[:64].hex()}",
    ]
    return " ".join(words) + ("…" if len(data) > 64 else "")


def _unless_equal(member: str, here: object, remote: object) -> list[ReceiptDifference]:
    return [] if here == remote else [ReceiptDifference(member, _text(here), _text(remote))]


def _text(value: object) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


class BlockToReplay(NamedTuple):
    """A block of a remote chain: header and hash, and its transactions with their receipts."""

    header: Header
    hash: Hash32
    transactions: Sequence[RemoteTransaction]
    receipts: Sequence[dict[str, Any]]
    notes: Sequence[str] = ()
    marks: Marks = frozenset()


class TransactionReplay(msgspec.Struct, frozen=True):
    """The result of a transaction here, and where its receipt differs."""

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
        ran = executor.trace(remote.transaction, tracer, TraceBudget(LIMITS).left())
    except (TraceTooLarge, DeadlinePassed) as error:
        executor.run(remote.transaction)
        return None, f"it is not traced: {error}"
    return ran.trace, ""


def contract_of(result: TransactionResult) -> Address | None:
    """Return the contract that a transaction has created."""
    return None if result.created is None else Address(result.created)


async def find_transaction(remote: RemoteChain, wanted: Hash32) -> tuple[Hash32, int]:
    """Return the block of a transaction, and its index there."""
    method = "eth_getTransactionByHash"
    found = await _read(remote, method, str(wanted))
    if not isinstance(found, dict) or found.get("blockHash") is None:
        problem = f"it has no transaction {wanted} in a block"
        raise RemoteMalformed(remote.host, method, problem)
    try:
        index = int(Quantity.parse(found.get("transactionIndex")))
        return Hash32.parse(found["blockHash"]), index
    except MalformedValue as error:
        raise RemoteMalformed(remote.host, method, str(error)) from error


async def read_block(remote: RemoteChain, block: int | Hash32) -> BlockToReplay:
    """Return a block with everything that a replay compares."""
    method = "eth_getBlockByHash" if isinstance(block, Hash32) else "eth_getBlockByNumber"
    name = str(block) if isinstance(block, Hash32) else hex(block)
    fields = await _read(remote, method, name, _WITH_TRANSACTIONS)
    if not isinstance(fields, dict):
        raise RemoteMalformed(remote.host, method, f"it has no block {block}")
    try:
        header = header_of_block(fields)
        if fields.get("baseFeePerGas") is None:
            # Only blocks that are built on it would need one.
            header = msgspec.structs.replace(header, base_fee_per_gas=0)
        block_hash = Hash32.parse(fields.get("hash"))
        transactions = await _transactions(remote, fields)
    except MalformedValue as error:
        raise RemoteMalformed(remote.host, method, str(error)) from error
    receipts = await _receipts(remote, block_hash, transactions)
    return BlockToReplay(
        header, block_hash, transactions, receipts, _notes(fields), marks_of(fields)
    )


async def _transactions(
    remote: RemoteChain, fields: dict[str, Any]
) -> tuple[RemoteTransaction, ...]:
    found = fields.get("transactions")
    if not isinstance(found, list) or len(found) > MAX_TRANSACTIONS:
        raise MalformedValue(f"transactions: an array of up to {MAX_TRANSACTIONS} is expected")
    if not all(isinstance(transaction, dict) for transaction in found):
        raise MalformedValue("transactions: objects are expected")
    return tuple([await _transaction(remote, transaction) for transaction in found])


async def _transaction(remote: RemoteChain, fields: dict[str, Any]) -> RemoteTransaction:
    raw = None
    if is_sent_raw(fields):
        try:
            given = await _read(remote, "eth_getRawTransactionByHash", fields.get("hash"))
            raw = None if given is None else bytes(Data.parse(given)) or None
        except RemoteRejected:
            raw = None
    return read_transaction(fields, raw)


async def _receipts(
    remote: RemoteChain, block: Hash32, transactions: Sequence[RemoteTransaction]
) -> list[dict[str, Any]]:
    """Return all receipts of a block: by one request, or one each if the remote does not have that method."""
    method = "eth_getBlockReceipts"
    try:
        found = await _read(remote, method, str(block))
    except RemoteRejected:
        found = None
    if not isinstance(found, list):
        method = "eth_getTransactionReceipt"
        found = await asyncio.gather(
            *(_read(remote, method, str(transaction.hash)) for transaction in transactions)
        )
    hashes = [
        receipt.get("transactionHash") if isinstance(receipt, dict) else None for receipt in found
    ]
    if hashes != [str(transaction.hash) for transaction in transactions]:
        raise RemoteMalformed(remote.host, method, f"other receipts than those of block {block}")
    return found


async def _read(remote: RemoteChain, method: str, *params: object) -> Any:
    # What a block or a transaction in one has by its hash never changes.
    is_final = _is_there if isinstance(params[0], str) and len(params[0]) == _HASH_DIGITS else None
    return json_of(remote.host, method, await remote.read(method, params, is_final=is_final))


def _is_there(result: msgspec.Raw) -> bool:
    return bytes(result) not in {b"null", b"[]"}


def _notes(fields: dict[str, Any]) -> list[str]:
    """Return what of the block's chain is not executed here."""
    if all(member in fields for member in _ARBITRUM):
        return [
            "a chain of Arbitrum: its gas for L1 and its precompiles from 0x…64 on (ArbSys) are not executed here"
        ]
    if any(member in fields for member in _ERA):
        return [
            "blocks as the ZK Stack has them: EraVM code, if there is any, is not executed here, and gas is the EVM's"
        ]
    return []
