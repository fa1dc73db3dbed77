"""Execution, hashing and tries, written in Rust.

Addresses are 20 `bytes`; hashes, storage slots and the values in them are 32 `bytes`; numbers are `int`. Every call that
can take long lets go of the GIL, and everything here may be used from several threads at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, final, type_check_only

from entresol.errors import InvalidTransaction

# --- State -------------------------------------------------------------------

@final
class Account:
    """An account; without arguments an empty one."""

    def __new__(cls, nonce: int = 0, balance: int = ..., code_hash: bytes = ...) -> Account: ...
    @property
    def nonce(self) -> int: ...
    @property
    def balance(self) -> int: ...
    @property
    def code_hash(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

Log: TypeAlias = tuple[bytes, tuple[bytes, ...], bytes]
"""A log: address, topics, data."""

@type_check_only
class StateSource(Protocol):
    """The state after one block, as somebody stores it; its answers never change.

    An exception of its own surfaces as the cause of `StateUnavailable`. It must not hold the snapshot made of it.
    """

    def account(self, address: bytes, /) -> Account | None: ...
    def code(self, code_hash: bytes, /) -> bytes: ...
    def slot(self, address: bytes, slot: bytes, /) -> bytes:
        """Return the slot's value in at most 32 bytes, big-endian; empty is zero."""
    def block_hash(self, number: int, /) -> bytes: ...

@final
class Snapshot:
    """The state after one block, read through a cache that later snapshots inherit."""

    def __new__(cls, source: StateSource, *, cache_entries: int = 1_000_000) -> Snapshot: ...
    def account(self, address: bytes) -> Account | None:
        """Return the account at `address`, or None."""
    def code(self, code_hash: bytes) -> bytes:
        """Return the code whose Keccak-256 is `code_hash`."""
    def slot(self, address: bytes, slot: bytes) -> bytes:
        """Return the 32 bytes in a slot."""
    @property
    def cached(self) -> int:
        """How many accounts and slots the cache holds."""

@final
class Overlay:
    """Changes laid over a snapshot: a block under construction, or a what-if question."""

    def __new__(cls, snapshot: Snapshot) -> Overlay: ...
    def account(self, address: bytes) -> Account | None:
        """Return the account at `address`, or None."""
    def code(self, code_hash: bytes) -> bytes:
        """Return the code whose Keccak-256 is `code_hash`."""
    def slot(self, address: bytes, slot: bytes) -> bytes:
        """Return the 32 bytes in a slot."""
    def apply(self, outcome: ExecutionResult) -> None:
        """Lay the changes of an execution on this overlay on top of it."""
    def set_account(self, address: bytes, account: Account | None) -> None:
        """Replace nonce, balance and code hash, keeping the storage; None removes all of it."""
    def set_balance(self, address: bytes, balance: int) -> None:
        """Set the balance, creating the account if there is none."""
    def set_nonce(self, address: bytes, nonce: int) -> None:
        """Set the nonce, creating the account if there is none."""
    def set_code(self, address: bytes, code: bytes) -> bytes:
        """Set the code, creating the account if there is none, and return its hash."""
    def set_slot(self, address: bytes, slot: bytes, value: bytes) -> None:
        """Write one slot."""
    def replace_storage(self, address: bytes, storage: Mapping[bytes, bytes]) -> None:
        """Replace the whole storage of an account."""
    def changes(self) -> Changes:
        """Return what differs from the snapshot below."""
    def fork(self) -> Overlay:
        """Return a copy that goes its own way."""
    def seal(self, source: StateSource) -> Snapshot:
        """Return the snapshot that follows, now that `source` knows the changes."""

# --- Execution ---------------------------------------------------------------

@final
class Rules:
    """What the chain fixes for every execution."""

    def __new__(cls, chain_id: int, fork: str = "osaka") -> Rules: ...
    @property
    def chain_id(self) -> int: ...
    @property
    def fork(self) -> str: ...
    @property
    def precompiles(self) -> list[bytes]: ...

@final
class BlockEnv:
    """The block an execution runs in; `block_hashes` count before those of the state.

    `precompiles` says which precompile runs at an address, by the address that it is from, or that none does.
    """

    def __new__(
        cls,
        *,
        number: int,
        timestamp: int,
        gas_limit: int,
        beneficiary: bytes = ...,
        base_fee: int = 0,
        prevrandao: bytes = ...,
        difficulty: int = ...,
        blob_base_fee: int = 1,
        block_hashes: Mapping[int, bytes] | None = None,
        precompiles: Mapping[bytes, bytes | None] | None = None,
    ) -> BlockEnv: ...

@final
class TxEnv:
    """A transaction or a call.

    Its type follows from its fields: authorizations make it 4, a priority fee 2, an access list 1. `gas_price` is the
    fee cap of types 2 and 4. `mint` is credited to the sender first and kept if the execution fails; with
    `keeps_nonce` the sender's nonce is left alone: both are for priority transactions.
    """

    def __new__(
        cls,
        *,
        sender: bytes,
        gas_limit: int,
        to: bytes | None = None,
        value: int = ...,
        data: bytes = ...,
        gas_price: int = 0,
        priority_fee: int | None = None,
        nonce: int = 0,
        chain_id: int | None = None,
        access_list: Sequence[tuple[bytes, Sequence[bytes]]] | None = None,
        authorizations: Sequence[tuple[int, bytes, int, int, int, int]] | None = None,
        mint: int = ...,
        keeps_nonce: bool = False,
    ) -> TxEnv: ...
    def with_gas_limit(self, gas_limit: int) -> TxEnv:
        """Return the same message with another gas limit."""
    @property
    def gas_limit(self) -> int: ...

@final
class Checks:
    """Which checks a message has to pass, and whether it pays.

    `base_fee`: the price reaches the base fee. `fees`: gas is paid for. `balance`: the sender can afford gas and value.
    `nonce`: it is the sender's next. `sender_code`: the sender has none. `gas_cap`: the gas limit respects the caps of the
    transaction and of the block.
    """

    def __new__(
        cls,
        *,
        base_fee: bool = True,
        fees: bool = True,
        balance: bool = True,
        nonce: bool = True,
        sender_code: bool = True,
        gas_cap: bool = True,
    ) -> Checks: ...

@final
class CancelFlag:
    """A flag that stops executions when it is raised."""

    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None:
        """Raise the flag, for good."""
    @property
    def is_set(self) -> bool: ...

@final
class Limits:
    """How far an execution may go; past one of them it raises an `ExecutionStopped`."""

    def __new__(
        cls,
        *,
        gas: int | None = None,
        seconds: float | None = None,
        cancel: CancelFlag | None = None,
        trace_bytes: int | None = None,
    ) -> Limits: ...

@final
class Tracer:
    """A tracer, by the options object of the `debug_trace` methods as JSON.

    Beside geth's tracers there are `accessListTracer`, `transferTracer` and `internalOperationsTracer`.
    """

    def __new__(
        cls,
        options: bytes,
        *,
        transaction_hash: bytes | None = None,
        transaction_index: int | None = None,
        block_hash: bytes | None = None,
    ) -> Tracer: ...

@final
class AccountChange:
    """What became of one account."""

    @property
    def address(self) -> bytes: ...
    @property
    def before(self) -> Account | None: ...
    @property
    def after(self) -> Account | None: ...
    @property
    def destroyed(self) -> bool:
        """Whether all storage from before is gone, also the slots that `storage` does not name."""
    @property
    def storage(self) -> dict[bytes, tuple[bytes, bytes]]:
        """The changed slots, each with the value before and after."""

@final
class Changes:
    """Everything that an execution, or a block of them, changed."""

    @property
    def accounts(self) -> list[AccountChange]:
        """The changed accounts, in the order of their addresses."""
    @property
    def codes(self) -> dict[bytes, bytes]:
        """The codes that are new, by hash."""

@final
class ExecutionResult:
    """How an execution ended, and what it did."""

    @property
    def status(self) -> str:
        """`success`, `revert` or `halt`."""
    @property
    def reason(self) -> str:
        """Why it ended that way."""
    @property
    def gas_used(self) -> int: ...
    @property
    def gas_refunded(self) -> int: ...
    @property
    def gas_spent(self) -> int:
        """The gas used before the refund."""
    @property
    def output(self) -> bytes: ...
    @property
    def created(self) -> bytes | None:
        """The address of the contract that a creation left."""
    @property
    def logs(self) -> list[Log]: ...
    @property
    def changes(self) -> Changes: ...
    @property
    def reads(self) -> dict[bytes, list[bytes]]:
        """Every account that was looked at, with its slots that were."""
    @property
    def trace(self) -> bytes | None:
        """The trace as JSON, if one was asked for."""

def execute(
    state: Snapshot | Overlay,
    rules: Rules,
    block: BlockEnv,
    message: TxEnv,
    *,
    checks: Checks | None = None,
    limits: Limits | None = None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Run a transaction on `state`, which stays as it is until the outcome is applied to it."""

def call(
    state: Snapshot | Overlay,
    rules: Rules,
    block: BlockEnv,
    message: TxEnv,
    *,
    limits: Limits | None = None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Run a call on `state`: no fee, no check of balance, nonce, sender or gas cap."""

# --- Hashing and signing -------------------------------------------------------

def keccak256(data: bytes, /) -> bytes:
    """Return the Keccak-256 hash of `data`."""

def recover(digest: bytes, signature: bytes, /) -> bytes:
    """Return the address that signed `digest` with `r ‖ s ‖ parity`; `InvalidSignature` if none."""

def sign(digest: bytes, secret: bytes, /) -> bytes:
    """Sign `digest` deterministically; return `r ‖ s ‖ parity` with a low `s` and parity 0 or 1."""

def public_key(secret: bytes, /) -> bytes:
    """Return the 64 bytes of the public key of `secret`."""

def address_of(public_key: bytes, /) -> bytes:
    """Return the address of a public key of 64 bytes."""

# --- RLP ---------------------------------------------------------------------

RlpItem: TypeAlias = bytes | list[RlpItem]
RlpSource: TypeAlias = bytes | Sequence[RlpSource]

def rlp_encode(item: RlpSource, /) -> bytes:
    """Return the RLP encoding of `item`; lists and tuples are lists."""

def rlp_decode(data: bytes, /) -> RlpItem:
    """Return the item that `data` encodes, or raise `MalformedValue` if it is not canonical."""

# --- Transactions ------------------------------------------------------------

def decode_transaction(raw: bytes, /, *, sender: bytes | None = None) -> DecodedTransaction:
    """Decode a transaction of type 0, 1, 2 or 4; a known `sender` is believed, not recovered."""

def decode_transactions(raws: list[bytes], /) -> list[DecodedTransaction | InvalidTransaction]:
    """Decode many transactions on all cores without the GIL; a rejection takes its item's place."""

@final
class DecodedTransaction:
    """A transaction as its sender signed it."""

    @property
    def type(self) -> int:
        """The transaction type: 0, 1, 2 or 4."""
    @property
    def chain_id(self) -> int | None:
        """The chain it was signed for; none for a legacy transaction that is valid on any chain."""
    @property
    def nonce(self) -> int:
        """How many transactions the sender had sent before."""
    @property
    def gas_price(self) -> int | None:
        """The price of types 0 and 1."""
    @property
    def max_fee_per_gas(self) -> int | None:
        """The fee cap of types 2 and 4."""
    @property
    def max_priority_fee_per_gas(self) -> int | None:
        """The tip of types 2 and 4."""
    @property
    def gas_limit(self) -> int:
        """The most gas it may use."""
    @property
    def to(self) -> bytes | None:
        """The account it calls; none if it creates a contract."""
    @property
    def value(self) -> int:
        """The wei it transfers."""
    @property
    def data(self) -> bytes:
        """The input of the call, or the init code."""
    @property
    def access_list(self) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
        """The accounts it declares, each with its slots."""
    @property
    def authorizations(self) -> tuple[tuple[int, bytes, int, int, int, int], ...]:
        """Its authorizations: chain id, address, nonce, parity, r and s."""
    @property
    def y_parity(self) -> int:
        """The parity of the signature: 0 or 1."""
    @property
    def v(self) -> int:
        """The `v` of a legacy transaction as encoded, the parity of any other."""
    @property
    def r(self) -> int:
        """The signature's `r`."""
    @property
    def s(self) -> int:
        """The signature's `s`."""
    @property
    def hash(self) -> bytes:
        """The transaction hash."""
    @property
    def sender(self) -> bytes:
        """Who signed it."""

# --- Tries -------------------------------------------------------------------

EMPTY_ROOT: bytes
"""The root of a trie without keys."""

@final
class Trie:
    """An Ethereum trie over nodes that `source` finds by hash.

    Nodes never change under their hash, so up to `cache_bytes` of them, 64 MiB if not said, are cached.
    They raise `MissingNode` for a node that `source` does not have, `TrieError` for one that is
    not what its hash says, and `StateUnavailable`, with the cause chained, if `source` raises.
    The trie remains usable after each of them.
    """

    def __new__(cls, source: Callable[[bytes], bytes | None], cache_bytes: int = ...) -> Trie: ...
    def get(self, root: bytes, key: bytes) -> bytes | None:
        """Return the value of `key` under `root`."""

    def update(
        self, root: bytes, changes: Iterable[tuple[bytes, bytes | None]]
    ) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """Return the root after `changes` (None deletes) and the nodes that are new, by hash.

        Of several changes of a key the last counts. An empty value, or a key of more than 128
        bytes, is a `ValueError`.
        """

    def update_state(
        self, root: bytes, changes: Changes
    ) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """Return the state root after `changes`, and the nodes that are new, by hash.

        The keys of the state trie are the hashes of addresses, and those of an account's storage
        the hashes of its slots.
        """

    def prove(self, root: bytes, key: bytes) -> list[bytes]:
        """Return the nodes from `root` towards `key`, which prove its value or that it has none."""

def verify_proof(root: bytes, key: bytes, value: bytes | None, proof: Sequence[bytes]) -> None:
    """Check that `proof` shows `key` to have `value` (None: no value) under `root`.

    Raises `InvalidProof`, saying why, if it does not.
    """

def ordered_root(values: Sequence[bytes]) -> bytes:
    """Return the root of a list: of transactions, receipts or withdrawals, each encoded."""

# --- Answers -----------------------------------------------------------------

@final
class ResponseCache:
    """Results of JSON-RPC calls that do not change, given again to whoever asks the same.

    At most `capacity` bytes are kept. A question is recognised by the bytes of its method and its parameters,
    so one that is spelt otherwise is not.
    """

    def __new__(cls, *, capacity: int, batch: int) -> ResponseCache: ...
    def answer(self, body: bytes, /) -> bytes | None:
        """Return the answer to a request, or to a batch of at most `batch` requests if each has one."""
    def keep(self, method: str, params: bytes, result: bytes, /) -> None:
        """Keep the result of a call; `params` are an array as it was sent, or empty."""
    def forget(self) -> None:
        """Forget all results."""
    def given(self) -> dict[str, int]:
        """Return how many results were given again, by method."""
