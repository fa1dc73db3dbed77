"""Execute a block: from a state, a block environment and transactions to the block, its header and its changes.

Producing a block, importing one and re-executing one all use this executor.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol._native import (
    BLOB_GAS,
    Limits,
    Overlay,
    Tracer,
    TxEnv,
    call,
    execute,
    keccak256,
    ordered_root,
    reject,
)
from entresol.errors import (
    BlockFull,
    ExecutionFailed,
    ExecutionHalted,
    InvalidTransaction,
    SystemTransactionFailed,
    TransactionRuleBroken,
)
from entresol.execution.account_senders import check_signature
from entresol.execution.block_rules import check_sender, check_succeeded
from entresol.execution.console import BlockConsole
from entresol.execution.evm_env import (
    IMPERSONATION_CHECKS,
    PRIORITY_CHECKS,
    SYSTEM_CHECKS,
    BlockEnv,
    State,
    ValidationLimits,
    apply_changes,
    overlay_on,
    priority_tx_env,
    system_tx_env,
    tx_env_of,
    unstarted_tx_env,
)
from entresol.execution.limits import check_blobs, check_messages, exceeds_batch
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.headers import EMPTY_TRIE, Header
from entresol.primitives.interop_bundles import MessageLoad
from entresol.primitives.l1_to_l2_gas import max_executed
from entresol.primitives.l2_to_l1_logs import L2ToL1Log, message_logs
from entresol.primitives.receipts import union
from entresol.primitives.records import BlockRecord, StoredChange, TransactionResult, stored_changes
from entresol.primitives.transactions import (
    BlobTransaction,
    PriorityTransaction,
    SystemTransaction,
    Transaction,
)
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from entresol import _native
    from entresol._native import Changes, Checks, Overlay, Rules
    from entresol.execution.console import ConsoleCalls
    from entresol.execution.evm_env import BlockEnv
    from entresol.execution.limits import ByteRoom, ColdTransaction, RejectedTransaction, WorkBudget
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Hash32
    from entresol.state.state_trie import StateTrie


TOO_MANY_MESSAGES: Final = "more messages to L1, or longer bundles, than a batch can have"
_STATUS: Final = MessageLoad(logs=1)
"""The log that a priority transaction adds to its messages."""
_Ran: TypeAlias = "tuple[_native.ExecutionResult, TransactionResult]"
"""The engine's result of a transaction, and what the block records of it."""


def _load_of(result: TransactionResult) -> MessageLoad:
    return MessageLoad.of(len(result.l2_to_l1_logs), result.logs)


class ParentBlock(msgspec.Struct, frozen=True):
    """The parent of a block: its hash, and the root of the state before it."""

    hash: Hash32
    state_root: Hash32


class ExecutedBlock(msgspec.Struct, frozen=True):
    """A finished block with its record, its new trie nodes and the state after it."""

    header: Header
    transactions: tuple[Transaction, ...]
    record: BlockRecord
    nodes: list[tuple[bytes, bytes]]
    overlay: Overlay
    failures: dict[int, ExecutionFailed]
    """Why transactions failed, by index; the record does not contain it."""
    console: Mapping[int, ConsoleCalls]
    """Calls of `console.log` by transaction index."""
    requests: tuple[bytes, ...] = ()
    """Its requests to the consensus layer, by type (EIP-7685)."""


class BlockExecutor:
    """Builds one block; `rejected` is what it could have included, `cold` what one of a fork lacks values for."""

    def __init__(  # noqa: PLR0913 - what a block is built on
        self,
        rules: Rules,
        state: State,
        env: BlockEnv,
        parent: ParentBlock,
        *,
        extra_data: bytes = b"",
        limits: ValidationLimits | None = None,
        accepts_unsigned: bool = True,
    ) -> None:
        """Open a block; `limits` bound steps before executions, if this node decides what the block includes.

        Only a development chain `accepts_unsigned` transactions, those of impersonated senders.
        """
        self.env = env
        self.rejected: list[RejectedTransaction] = []
        self.cold: tuple[ColdTransaction, ...] = ()
        self.gas_used = 0
        self.console = BlockConsole()
        self.overlay = overlay_on(state)
        self._rules = rules
        self._parent = parent
        self._extra_data = extra_data
        self._limits = limits
        self._accepts_unsigned = accepts_unsigned
        self._block = env.native
        self._transactions: list[Transaction] = []
        self._results: list[TransactionResult] = []
        self._failures: dict[int, ExecutionFailed] = {}
        self._outputs: dict[int, bytes] = {}
        self._messages = MessageLoad()
        self._edits: tuple[StoredChange, ...] = ()
        self._tracing: tuple[Tracer, Limits] | None = None
        self._edited_codes: dict[bytes, bytes] = {}
        self._blob_count = 0
        self.budget: WorkBudget | None = None
        """Beyond it `run` raises `GasBudgetSpent`, and the block is of no use."""
        self.byte_room: ByteRoom | None = None
        """The bytes that are left to publish; None if the chain publishes nothing, or the block is another node's."""

    @property
    def transactions(self) -> Sequence[Transaction]:
        """The transactions of the block so far."""
        return self._transactions

    @property
    def results(self) -> Sequence[TransactionResult]:
        """The results of `transactions`."""
        return self._results

    @property
    def failures(self) -> Mapping[int, ExecutionFailed]:
        """Why transactions failed, by index."""
        return self._failures

    @property
    def outputs(self) -> Mapping[int, bytes]:
        """Return or revert data of transactions, by index; those without output are not in it."""
        return self._outputs

    @property
    def gas_left(self) -> int:
        """The gas that is left under the block's gas limit."""
        return self.env.gas_limit - self.gas_used

    def edit(self, changes: Iterable[StoredChange], codes: Iterable[bytes]) -> None:
        """Apply a developer's state edits, before the first transaction."""
        assert not self._transactions
        edits, code_of = tuple(changes), {keccak256(code): code for code in codes}
        apply_changes(self.overlay, edits, code_of.values())
        self._edits += edits
        used = {edit.account.code_hash for edit in edits if edit.account is not None}
        introduced = {key: code for key, code in sorted(code_of.items()) if key in used}
        self._edited_codes |= introduced
        if self.byte_room is not None:
            self.byte_room.take_edits(edits, tuple(introduced.values()))

    def begin(self) -> None:
        """Make the system calls of the block's fork, before the first transaction and after edits."""
        assert not self._transactions
        make_system_calls(self.overlay, self._rules, self.env, self._parent.hash)

    def run(self, transaction: Transaction) -> TransactionResult:
        """Execute `transaction` and add it to the block.

        Raises `InvalidTransaction` if it is not valid here and `BlockFull` if it does not fit; both
        leave the block unchanged.
        """
        payload = transaction.payload
        if payload.gas_limit > self.gas_left and not self._must_fit(transaction):
            raise BlockFull(payload.gas_limit, self.gas_left)
        if self.byte_room is not None:
            self.byte_room.check(transaction)
        if isinstance(payload, BlobTransaction):
            check_blobs(payload, self._blob_count, self._rules, self.env)
        if isinstance(payload, PriorityTransaction):
            ran, result = self._run_priority(transaction, payload)
        elif isinstance(payload, SystemTransaction):
            ran, result = self._run_system(payload)
        else:
            ran, result = self._run(transaction)
        self.overlay.apply(ran)
        self.console.record(len(self._transactions), ran)
        self._append(transaction, result)
        self._last = ran
        return result

    def trace(
        self, transaction: Transaction, tracer: Tracer, limits: Limits
    ) -> _native.ExecutionResult:
        """Execute `transaction` as `run` does, and return the engine's result with its trace.

        Raises `ExecutionStopped` at a limit, which leaves the block unchanged.
        """
        self._tracing = tracer, limits
        try:
            self.run(transaction)
        finally:
            self._tracing = None
        return self._last

    def finish(self, trie: StateTrie) -> ExecutedBlock:
        """Make the system calls at the end of a block, compute the roots, and return the finished block."""
        fields, overlay = self.env.fork_fields, self.overlay
        requests: tuple[bytes, ...] = ()
        # On a fork they would ask its remote in each block.
        if fields.requests_hash is not None and trie.is_whole and collects_requests(overlay):
            overlay = self.overlay.fork()
            requests = take_requests(overlay, self._rules, self.env)
            fields = msgspec.structs.replace(fields, requests_hash=requests_hash(requests))
        changes = overlay.changes()
        state_root, nodes = trie.update(self._parent.state_root, changes)
        body = self._body(changes)
        header = assemble_header(
            msgspec.structs.replace(self.env, fork_fields=fields),
            body,
            parent_hash=self._parent.hash,
            state_root=state_root,
            gas_used=self.gas_used,
            blob_count=self._blob_count,
            extra_data=self._extra_data,
        )
        record = msgspec.structs.replace(body, header_rlp=header.encode())
        return ExecutedBlock(
            header,
            tuple(self._transactions),
            record.with_header(header),
            nodes,
            overlay,
            self._failures,
            self.console.calls,
            requests,
        )

    def _append(self, transaction: Transaction, result: TransactionResult) -> None:
        self.gas_used += result.gas_used
        if self.byte_room is not None:
            self.byte_room.take(transaction)
        if result.l2_to_l1_logs:
            self._messages = self._messages.plus(_load_of(result))
        if isinstance(transaction.payload, BlobTransaction):
            self._blob_count += len(transaction.payload.blob_hashes)
        self._transactions.append(transaction)
        self._results.append(result)

    def _must_fit(self, transaction: Transaction) -> bool:
        """Return whether this is the first priority transaction, which is included whatever its gas limit."""
        is_first = all(
            isinstance(before.payload, SystemTransaction) for before in self._transactions[:2]
        )
        return is_first and isinstance(transaction.payload, PriorityTransaction)

    def _run_system(self, payload: SystemTransaction) -> _Ran:
        """Execute a transaction of the node itself; raises `SystemTransactionFailed` unless it succeeds."""
        if self._transactions:
            raise SystemTransactionFailed("it is not the first transaction of its block")
        try:
            ran = self._execute(system_tx_env(payload), SYSTEM_CHECKS)
        except InvalidTransaction as error:
            raise SystemTransactionFailed(str(error)) from error
        check_succeeded(ran)
        return ran, self._result_of(ran)

    def _run(self, transaction: Transaction) -> _Ran:
        check_sender(transaction.sender, self.overlay)
        if transaction.is_impersonated and not self._accepts_unsigned:
            raise TransactionRuleBroken("unsigned")
        check_signature(transaction, self.overlay)
        checks = IMPERSONATION_CHECKS if transaction.is_impersonated else None
        ran = self._execute(tx_env_of(transaction, self._limits), checks)
        result = self._result_of(ran)
        if result.l2_to_l1_logs:
            check_messages(_load_of(result), self._messages)
        return ran, result

    def _run_priority(self, transaction: Transaction, payload: PriorityTransaction) -> _Ran:
        """Execute a priority transaction; whatever comes of it, L1 has paid its fee."""
        check_messages(_STATUS, self._messages)
        ran, result = self._try_execute(payload)
        check_messages(_load_of(result).plus(_STATUS), self._messages)
        index = len(self._transactions)
        status = L2ToL1Log.of_status(index, transaction.hash, succeeded=result.succeeded)
        messages = (*result.l2_to_l1_logs, status.pack())
        return ran, msgspec.structs.replace(result, l2_to_l1_logs=messages)

    def _try_execute(self, payload: PriorityTransaction) -> _Ran:
        """Execute a priority transaction.

        L1 has accepted it, so one that cannot start is included as failed and uses all its gas. What has more than
        any L1 accepts does not start either, since nothing would bound its execution.
        """
        is_too_heavy = payload.gas_limit > max_executed(payload, self.env.gas_limit)
        if is_too_heavy or (
            payload.to_mint < payload.value + payload.gas_limit * payload.max_fee_per_gas
        ):
            return self._reject(payload)
        try:
            check_sender(payload.sender, self.overlay)
            ran = self._execute(priority_tx_env(payload), PRIORITY_CHECKS)
        except (InvalidTransaction, OverflowError):
            return self._reject(payload)
        result = self._result_of(ran)
        if exceeds_batch(_load_of(result).plus(_STATUS)):
            # With its status log they would exceed a batch, and no later block could settle.
            rejected = self._reject(payload)
            # Not before: on a fork that may lack a value, and then another one has its index.
            self._failures[len(self._transactions)] = ExecutionHalted(TOO_MANY_MESSAGES)
            return rejected
        return ran, result

    def _execute(self, tx_env: TxEnv, checks: Checks | None) -> _native.ExecutionResult:
        tracer, limits = self._tracing or (None, None)
        if limits is None and self.budget is not None:
            limits = self.budget.limits()
        ran = execute(
            self.overlay,
            self._rules,
            self._block,
            tx_env,
            checks=checks,
            limits=limits,
            tracer=tracer,
        )
        if self.budget is not None:
            self.budget.spend(ran)
        return ran

    def _reject(self, payload: PriorityTransaction) -> _Ran:
        gas_used = min(payload.gas_limit, max_executed(payload, self.env.gas_limit))
        tracer = None if self._tracing is None else self._tracing[0]
        tx_env = unstarted_tx_env(payload)
        ran = reject(
            self.overlay, self._rules, self._block, tx_env, gas_used=gas_used, tracer=tracer
        )
        return ran, TransactionResult(succeeded=False, gas_used=gas_used)

    def _result_of(self, ran: _native.ExecutionResult) -> TransactionResult:
        logs = tuple(ran.logs)
        failure = None if ran.status == "success" else failure_of(ran)
        if ran.output:
            self._outputs[len(self._transactions)] = ran.output
        if failure is not None:
            self._failures[len(self._transactions)] = failure
        return TransactionResult(
            succeeded=failure is None,
            gas_used=ran.gas_used,
            created=ran.created,
            logs=logs,
            l2_to_l1_logs=tuple(message_logs(logs, len(self._transactions))) if logs else (),
        )

    def _body(self, changes: Changes) -> BlockRecord:
        # The block may delete an edit's code again, but the record still needs it for the edit.
        codes = self._edited_codes | changes.codes
        return BlockRecord(
            b"",
            tuple(
                (transaction.raw, bytes(transaction.sender)) for transaction in self._transactions
            ),
            tuple(self._results),
            stored_changes(changes),
            tuple(codes[code_hash] for code_hash in sorted(codes)),
            self._edits,
        )


SYSTEM_ADDRESS: Final = Address.parse("0xfffffffffffffffffffffffffffffffffffffffe")
BEACON_ROOTS: Final = Address.parse("0x000f3df6d732807ef1319fb7b8bb8522d0beac02")
HISTORY_STORAGE: Final = Address.parse("0x0000f90827f1c53a10cb7a02335b175320002935")
WITHDRAWAL_REQUESTS: Final = Address.parse("0x00000961ef480eb55e80d19ad83579a64c007002")
CONSOLIDATION_REQUESTS: Final = Address.parse("0x0000bbddc7ce488642fb579f8b00f3a590007251")

SYSTEM_CONTRACTS: Final = frozenset(
    {BEACON_ROOTS, HISTORY_STORAGE, WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS}
)
"""Whom a block itself changes, whatever its transactions call."""

BEACON_ROOTS_CODE: Final = Hash32.parse(
    "0xf57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c"
)
"""The hash of the code that EIP-4788 defines."""
HISTORY_STORAGE_CODE: Final = Hash32.parse(
    "0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d"
)
"""The hash of the code that EIP-2935 defines."""

RING_SIZE: Final = 8_191
"""How many blocks both contracts remember."""

SYSTEM_CALL_GAS: Final = 30_000_000

_REQUESTED: Final = ((b"\x01", WITHDRAWAL_REQUESTS), (b"\x02", CONSOLIDATION_REQUESTS))
"""By the type of their requests (EIP-7002, EIP-7251), in the order in which they are called."""


def make_system_calls(overlay: Overlay, rules: Rules, env: BlockEnv, parent: Hash32) -> None:
    """Call the system contracts that the block's fork has.

    Those with the code that their EIP defines are not called, but written to as that code does it: it reads nothing,
    and a fork would have to ask its remote for every slot that it overwrites.
    """
    fields = env.fork_fields
    if (root := fields.parent_beacon_block_root) is not None:
        account = overlay.account(BEACON_ROOTS)
        if account is not None and account.code_hash == BEACON_ROOTS_CODE:
            at = env.timestamp % RING_SIZE
            _write(overlay, BEACON_ROOTS, {at: _word(env.timestamp), at + RING_SIZE: root})
        else:
            system_call(overlay, rules, env, BEACON_ROOTS, root)
    if fields.requests_hash is not None:
        account = overlay.account(HISTORY_STORAGE)
        if account is not None and account.code_hash == HISTORY_STORAGE_CODE:
            _write(overlay, HISTORY_STORAGE, {(env.number - 1) % RING_SIZE: parent})
        else:
            system_call(overlay, rules, env, HISTORY_STORAGE, parent)


def collects_requests(overlay: Overlay) -> bool:
    """Return whether a state has a contract that collects requests."""
    accounts = (overlay.account(contract) for _, contract in _REQUESTED)
    return any(account is not None and account.code_hash != EMPTY_CODE_HASH for account in accounts)


def take_requests(overlay: Overlay, rules: Rules, env: BlockEnv) -> tuple[bytes, ...]:
    """Call the contracts that collect requests, where there are any, and return the requests by type."""
    found = []
    for kind, contract in _REQUESTED:
        output = system_call(overlay, rules, env, contract)
        if output:
            found.append(kind + output)
    return tuple(found)


def requests_hash(requests: Sequence[bytes]) -> Hash32:
    """Return the hash of requests in a header (EIP-7685)."""
    return Hash32(sha256(b"".join(sha256(request).digest() for request in requests)).digest())


def _write(overlay: Overlay, contract: Address, slots: Mapping[int, bytes]) -> None:
    for slot, value in slots.items():
        overlay.set_slot(contract, _word(slot), value)


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def system_call(
    overlay: Overlay, rules: Rules, env: BlockEnv, contract: Address, data: bytes = b""
) -> bytes:
    """Call a contract as the system, and return its output; nothing of one that is not there, or that fails."""
    account = overlay.account(contract)
    if account is None or account.code_hash == EMPTY_CODE_HASH:
        return b""
    tx_env = TxEnv(
        sender=SYSTEM_ADDRESS, gas_limit=SYSTEM_CALL_GAS, to=contract, data=data, keeps_nonce=True
    )
    ran = call(overlay, rules, env.native, tx_env)
    overlay.apply(ran)
    return ran.output if ran.status == "success" else b""


def assemble_header(  # noqa: PLR0913 - what a header commits to
    env: BlockEnv,
    body: BlockRecord,
    *,
    parent_hash: Hash32,
    state_root: Hash32,
    gas_used: int,
    blob_count: int,
    extra_data: bytes,
) -> Header:
    """Return the header of a block; of `body`, only the transactions and their results count."""
    receipts = list(body.receipts())
    later = env.fork_fields
    return Header(
        parent_hash=parent_hash,
        beneficiary=env.beneficiary,
        state_root=state_root,
        transactions_root=_root([raw for raw, _ in body.transactions]),
        receipts_root=_root([receipt.encode() for receipt in receipts]),
        logs_bloom=union(receipt.bloom for receipt in receipts if receipt.logs),
        number=env.number,
        gas_limit=env.gas_limit,
        gas_used=gas_used,
        timestamp=env.timestamp,
        extra_data=extra_data,
        mix_hash=env.prevrandao,
        base_fee_per_gas=env.base_fee,
        withdrawals_root=later.withdrawals_root,
        blob_gas_used=None if later.excess_blob_gas is None else BLOB_GAS * blob_count,
        excess_blob_gas=later.excess_blob_gas,
        parent_beacon_block_root=later.parent_beacon_block_root,
        requests_hash=later.requests_hash,
    )


def roots_of_body(body: BlockRecord) -> tuple[Hash32, Hash32]:
    """Return the roots of the transactions and of the receipts of a block."""
    raws = [raw for raw, _ in body.transactions]
    return _root(raws), _root([receipt.encode() for receipt in body.receipts()])


def _root(items: list[bytes]) -> Hash32:
    return Hash32(ordered_root(items)) if items else EMPTY_TRIE
