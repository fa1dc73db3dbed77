"""A chain that is produced block by block on a store, by the real executor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from entresol._native import Account, Changes, Overlay, Rules, Snapshot, public_key
from entresol._native import address_of as _address_of
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
from entresol.execution.block_rules import prevrandao_after
from entresol.execution.evm_env import BlockEnv
from entresol.primitives.headers import EMPTY_TRIE, Header
from entresol.primitives.records import StoredChange, stored_account
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.state.state_trie import StateTrie
from entresol.storage.store import Store
from tests.support.chain.dev_chain import fee_market, priority_transaction

CHAIN_ID = 270
GWEI = 10**9
ETHER = 10**18
BENEFICIARY = Address(b"\xbe" * 20)


def secret(name: int) -> bytes:
    return name.to_bytes(32)


def sender(name: int) -> Address:
    return Address(_address_of(public_key(secret(name))))


class Producer:
    """Seals blocks on a store, and goes on from its head."""

    def __init__(
        self,
        store: Store,
        *,
        fork: str = "osaka",
        balances: Mapping[bytes, int] | None = None,
        codes: Mapping[bytes, bytes] | None = None,
        gas_limit: int = 30_000_000,
        base_fee: int = 0,
    ) -> None:
        self.store = store
        self.rules = Rules(CHAIN_ID, fork)
        self.trie = StateTrie(store)
        self.gas_limit = gas_limit
        self.base_fee = base_fee
        if store.head_number is None:
            self._genesis(balances or {}, codes or {})
        assert store.head_number is not None
        self.snapshot = Snapshot(HistoricalState(store, store.head_number))

    @property
    def head(self) -> Header:
        assert self.store.head_number is not None
        record = self.store.get_record(self.store.head_number)
        assert record is not None
        return record.header()

    def begin(self) -> BlockExecutor:
        parent = self.head
        env = BlockEnv(
            number=parent.number + 1,
            timestamp=parent.timestamp + 1,
            gas_limit=self.gas_limit,
            base_fee=self.base_fee,
            beneficiary=BENEFICIARY,
            prevrandao=prevrandao_after(parent.hash(), parent.number + 1),
        )
        on = ParentBlock(parent.hash(), parent.state_root)
        return BlockExecutor(self.rules, self.snapshot, env, on)

    def finish(self, executor: BlockExecutor) -> ExecutedBlock:
        executed = executor.finish(self.trie)
        self.store.append(executed.record, executed.nodes)
        self.snapshot = executed.overlay.seal(HistoricalState(self.store, executed.header.number))
        return executed

    def seal(
        self,
        *transactions: Transaction,
        edits: Iterable[StoredChange] = (),
        codes: Iterable[bytes] = (),
    ) -> ExecutedBlock:
        executor = self.begin()
        executor.edit(edits, codes)
        for transaction in transactions:
            executor.run(transaction)
        return self.finish(executor)

    def balance(self, address: bytes) -> int:
        account = self.snapshot.account(address)
        return 0 if account is None else account.balance

    def nonce(self, address: bytes) -> int:
        account = self.snapshot.account(address)
        return 0 if account is None else account.nonce

    def _genesis(self, balances: Mapping[bytes, int], codes: Mapping[bytes, bytes]) -> None:
        env = BlockEnv(number=0, timestamp=1_000, gas_limit=self.gas_limit, base_fee=self.base_fee)
        parent = ParentBlock(Hash32.zero(), EMPTY_TRIE)
        executor = BlockExecutor(self.rules, Snapshot(HistoricalState(self.store, 0)), env, parent)
        for address, balance in balances.items():
            executor.overlay.set_balance(address, balance)
        for address, code in codes.items():
            executor.overlay.set_code(address, code)
        executed = executor.finish(self.trie)
        self.store.append(executed.record, executed.nodes)


def call(
    name: int,
    nonce: int,
    to: bytes | None,
    *,
    value: int = 0,
    data: bytes = b"",
    gas_limit: int = 200_000,
    fee: int = GWEI,
) -> Transaction:
    payload = fee_market(
        nonce,
        None if to is None else Address(to),
        chain_id=CHAIN_ID,
        value=value,
        data=data,
        gas=gas_limit,
        fee=fee,
        tip=min(fee, GWEI),
    )
    return sign(payload, secret(name))


def priority(
    to: bytes,
    *,
    value: int = 0,
    to_mint: int = ETHER,
    gas_limit: int = 200_000,
    fee: int = GWEI,
    data: bytes = b"",
    nonce: int = 0,
    refund_recipient: bytes = b"\xef" * 20,
    source: bytes = b"\xf0" * 20,
) -> Transaction:
    """Return a transaction that L1 sends."""
    return Transaction.from_l1(
        priority_transaction(
            nonce,
            sender=source,
            to=to,
            value=value,
            data=data,
            gas_limit=gas_limit,
            fee=fee,
            to_mint=to_mint,
            refund_recipient=refund_recipient,
        )
    )


def set_balance(address: bytes, balance: int, *, nonce: int = 0, code_hash: bytes) -> StoredChange:
    account = stored_account(Account(nonce, balance, code_hash))
    return StoredChange(address, account, destroyed=False, slots=())


def sums(changes: Changes) -> int:
    """Return how much wei there is more than before."""

    def wei(account: Account | None) -> int:
        return 0 if account is None else account.balance

    return sum(wei(change.after) - wei(change.before) for change in changes.accounts)


def changes_of(overlay: Overlay) -> list[tuple[object, ...]]:
    return [
        (account.address, account.before, account.after, account.destroyed, account.storage)
        for account in overlay.changes().accounts
    ]
