"""EVM execution, cryptography, RLP and tries, written in Rust.

Addresses are 20 `bytes`; hashes, storage slots and the values in them are 32 `bytes`; numbers are `int`. Calls that can
take long release the GIL, and everything is thread-safe.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, final, type_check_only

from msgspec import Raw

from entresol.errors.transactions import AccountRejection, InvalidSignature, InvalidTransaction
from entresol.primitives.transactions import Transaction, ZkTransaction

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
class StateProvider(Protocol):
    """The state after one block, stored outside of the engine. It must be immutable.

    An exception raised here becomes the cause of `EngineError`. A provider must not refer to its own snapshot.

    It may have an attribute `remote`, a `RemoteTable` or None, which is read once. With a table it is the local part of
    a state: see `LocalState`.
    """

    def account(self, address: bytes, /) -> Account | None: ...
    def code(self, code_hash: bytes, /) -> bytes: ...
    def slot(self, address: bytes, slot: bytes, /) -> bytes:
        """Return the value of a slot in at most 32 bytes, big-endian; empty is zero."""
    def block_hash(self, number: int, /) -> bytes: ...

@type_check_only
class LocalState(Protocol):
    """The part of a state that a fork knows; `NotImplemented` is unknown, and is then read from `remote`."""

    @property
    def remote(self) -> RemoteTable | None: ...
    # The type of `NotImplemented` has no name that every type checker knows.
    def account(self, address: bytes, /) -> Any: ...
    def code(self, code_hash: bytes, /) -> bytes | None:
        """Return the code, or None: it is that of an account of `remote`."""
    def slot(self, address: bytes, slot: bytes, /) -> Any: ...
    def block_hash(self, number: int, /) -> Any: ...

RemoteKey: TypeAlias = (
    tuple[Literal["account"], bytes]
    | tuple[Literal["slot"], bytes, bytes]
    | tuple[Literal["hash"], int]
)
"""What is asked of a remote chain at once: an account is its nonce, its balance and its code."""

@final
class RemoteTable:
    """Values of one block of a remote chain, in memory; all snapshots over it share them. Any thread.

    Remembers: about `max_entries` values, and the keys that are wanted. `wake` is called when keys are, from any thread,
    and not again until some were taken. Work waits for values until none came for `silence` seconds, and for `total`
    seconds in all; errors name `host`. Tables of one remote are made `like` each other: what was queued while none of
    them had a value delivered has waited, too.
    """

    def __new__(
        cls,
        wake: Callable[[], object],
        *,
        max_entries: int = 500_000,
        silence: float = ...,
        total: float = ...,
        host: Callable[[], str] | None = None,
        like: RemoteTable | None = None,
    ) -> RemoteTable: ...
    def take_wanted(self, limit: int) -> list[RemoteKey]:
        """Take at most `limit` keys that somebody wants to know."""
    def put_accounts(self, values: Sequence[tuple[bytes, int, int, bytes]]) -> None:
        """Put accounts: address, nonce, balance, code. An empty one is absent."""
    def put_slots(self, values: Sequence[tuple[bytes, bytes, bytes]]) -> None:
        """Put slots: address, slot, and the value in at most 32 bytes, big-endian."""
    def put_hashes(self, values: Sequence[tuple[int, bytes]]) -> None:
        """Put hashes of blocks: number, hash."""
    def delivered(self) -> None:
        """Note that the remote has delivered values: it is alive."""
    def fail(self, keys: Sequence[RemoteKey], error: BaseException) -> None:
        """Wake those who wait for keys, with an error, which is raised as it is; the next read asks again."""
    def want(self, keys: Sequence[RemoteKey], on_known: Callable[[], object] | None = None) -> None:
        """Ask for keys without waiting; `on_known` is called once all of them are known or failed, on any thread."""
    def failure(self, keys: Sequence[RemoteKey]) -> BaseException | None:
        """Return the error of the keys when they were last wanted, if there was one."""
    def known(self, key: RemoteKey) -> bool:
        """Return whether the value of a key is known."""
    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code whose Keccak-256 is `code_hash`, if an account has it that is known."""
    @property
    def silence(self) -> float:
        """How many seconds work waits while nothing arrives."""
    @property
    def total(self) -> float:
        """How many seconds work waits in all."""
    @property
    def host(self) -> str:
        """Scheme, host and port of the remote; nothing if nobody has said it."""
    @property
    def entries(self) -> int:
        """How many values there are."""
    @property
    def waiting(self) -> int:
        """How many threads wait now."""
    @property
    def asked(self) -> int:
        """How many keys were ever asked."""

def wait_for_remote(seconds: float | None, /, queued: float = 0.0) -> None:
    """Let work on the current thread wait for values of remote chains; with None, one that is not known raises `StateMissing`.

    A wait ends with `RemoteWaitOver` when nothing that it waits for arrived for so many seconds, or after what the table
    allows; the work was `queued` for so many seconds before. It ends with `ExecutionStopped` once the thread's
    `CancelFlag` is set.
    """

@final
class Snapshot:
    """The state after one block, read from a provider through a cache that the next snapshot inherits."""

    def __new__(
        cls, provider: StateProvider | LocalState, *, cache_entries: int = 1_000_000
    ) -> Snapshot: ...
    def account(self, address: bytes) -> Account | None:
        """Return the account at `address`, or None."""
    def code(self, code_hash: bytes) -> bytes:
        """Return the code whose Keccak-256 is `code_hash`."""
    def slot(self, address: bytes, slot: bytes) -> bytes:
        """Return the 32 bytes in a slot."""
    @property
    def cached(self) -> int:
        """Number of accounts and slots in the cache."""

@final
class Overlay:
    """Uncommitted changes over a snapshot: a block being built, or state overrides."""

    def __new__(cls, snapshot: Snapshot) -> Overlay: ...
    def account(self, address: bytes) -> Account | None:
        """Return the account at `address`, or None."""
    def code(self, code_hash: bytes) -> bytes:
        """Return the code whose Keccak-256 is `code_hash`."""
    def slot(self, address: bytes, slot: bytes) -> bytes:
        """Return the 32 bytes in a slot."""
    def apply(self, result: ExecutionResult) -> None:
        """Apply the changes of an execution on this overlay."""
    def set_account(self, address: bytes, account: Account | None) -> None:
        """Replace the account but not its storage; None removes both."""
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
        """Return the changes since the snapshot."""
    def fork(self) -> Overlay:
        """Return an independent copy."""
    def seal(self, provider: StateProvider | LocalState) -> Snapshot:
        """Return the next snapshot; `provider` already contains the changes."""

# --- Execution ---------------------------------------------------------------

@final
class Rules:
    """Chain parameters that hold for every execution.

    `code_size_limit` is that of deployed code, and half of that of init code; None for no limit. `caps_gas`: the gas
    limit of a transaction respects the fork's cap (EIP-7825). `charges_published`: every byte of a transaction costs like
    calldata. `rejects_foreign_code`: a call of code that has the form of EraVM bytecode ends the execution with
    `NotEvmCode`.
    """

    def __new__(
        cls,
        chain_id: int,
        fork: str = "osaka",
        *,
        code_size_limit: int | None = ...,
        caps_gas: bool = True,
        charges_published: bool = False,
        rejects_foreign_code: bool = False,
    ) -> Rules: ...
    @property
    def transaction_gas_limit(self) -> int | None: ...
    @property
    def chain_id(self) -> int: ...
    @property
    def fork(self) -> str: ...
    @property
    def precompiles(self) -> list[bytes]: ...
    @property
    def max_blobs(self) -> int:
        """How many blobs a block may have; none before Cancun."""
    @property
    def max_blobs_per_transaction(self) -> int: ...

@final
class BlockEnv:
    """The block that a transaction runs in; `block_hashes` take precedence over those of the state.

    `precompiles` moves precompiles: it maps an address to the original address of the precompile that runs there, or
    to None if none does. Blob gas costs `blob_base_fee`, or what the fork makes of the excess.
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
        blob_base_fee: int | None = None,
        excess_blob_gas: int = 0,
        block_hashes: Mapping[int, bytes] | None = None,
        precompiles: Mapping[bytes, bytes | None] | None = None,
    ) -> BlockEnv: ...

@final
class TxEnv:
    """A transaction or a call.

    The fields determine the type: 3 with blob hashes, 4 with authorizations, 2 with a priority fee, 1 with an access list. `gas_price` is the
    fee cap of types 2 and 4. Priority transactions use `mint`, wei minted to the sender first and not reverted by a
    failed execution; `keeps_nonce`, which leaves the sender's nonce alone; and `l1_payment`: wei minted in all, wei for
    a unit of gas, and who receives what is left. With it a failed execution leaves nothing, not even the mint.
    `published` counts the zero bytes and the other bytes of factory dependencies, which cost like calldata.
    With `zk` the sender may be a contract account and a paymaster may pay: then it runs in steps.
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
        blob_hashes: Sequence[bytes] | None = None,
        blob_fee_cap: int = 0,
        mint: int = ...,
        keeps_nonce: bool = False,
        l1_payment: tuple[int, int, bytes] | None = None,
        published: tuple[int, int] | None = None,
        zk: ZkFields | None = None,
    ) -> TxEnv: ...
    @property
    def gas_limit(self) -> int: ...

@final
class ZkFields:
    """The fields of type 0x71 that no type of Ethereum has.

    `mode` is `transaction`; `impersonation`, which does not call the sender's account; `estimate`, which ignores what
    accounts and paymasters say to a signature, and lends the payer the fee; or `validation`, which ends before the
    execution. If `validation_gas` is not 0, the steps before the execution may use so much, those of the sender and
    again the paymaster, and `validation_seconds`; and the rules of a pool may be enforced. Code sees all gas that is
    left, whatever it may use.
    """

    def __new__(
        cls,
        *,
        signature: bytes,
        gas_per_pubdata_limit: int,
        max_priority_fee_per_gas: int,
        paymaster: bytes = ...,
        paymaster_input: bytes = ...,
        factory_dep_hashes: Sequence[bytes] | None = None,
        mode: str = ...,
        validation_gas: int = 0,
        validation_seconds: float = 0.0,
        enforces_rules: bool = False,
    ) -> ZkFields: ...

@final
class Checks:
    """Validation that a transaction has to pass, and whether it pays fees.

    `base_fee`: the gas price reaches the base fee. `fees`: gas is paid for. `balance`: the sender can afford gas and
    value. `nonce`: it is the sender's next. `sender_code`: the sender has no code (EIP-3607). `gas_cap`: the gas limit
    respects the caps of the transaction (EIP-7825) and of the block.
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
    """A flag that cancels executions."""

    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None:
        """Set the flag; it cannot be reset."""
    @property
    def is_set(self) -> bool: ...
    def __enter__(self) -> None:
        """Let the flag cancel the executions that start on this thread."""
    def __exit__(self, *_exception: object) -> None: ...

@final
class Limits:
    """Limits on an execution, which raises an `ExecutionStopped` if it reaches one."""

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

    Beside geth's tracers there are `transferTracer`, `internalOperationsTracer` and
    `otterscanTracer`; `opcodeGasTracer` for how often each opcode ran and its gas; `localizedTracer` for
    Parity's frames that match the filter in `tracerConfig`, and `replayTracer` for the types of Parity's traces
    that it lists. `first_log` is the number of logs that the transactions before it in the block have emitted.
    """

    def __new__(
        cls,
        options: bytes,
        *,
        transaction_hash: bytes | None = None,
        transaction_index: int | None = None,
        block_hash: bytes | None = None,
        first_log: int = 0,
    ) -> Tracer: ...

@final
class TraceWriter:
    """A JSON text of traces and what is between them, which is joined without the GIL."""

    def __new__(cls) -> TraceWriter: ...
    def write(self, text: bytes) -> None:
        """Write JSON."""
    def write_trace(self, result: ExecutionResult) -> None:
        """Write the trace of `result`."""
    def write_items(self, result: ExecutionResult) -> None:
        """Write the items of the trace of `result`, a list or an object, into one that was begun before."""
    def __len__(self) -> int:
        """Return the number of bytes written so far."""
    def joined(self, head: bytes = ..., tail: bytes = ...) -> bytes:
        """Return the text between `head` and `tail`."""

@final
class AccountChange:
    """The change of one account."""

    @property
    def address(self) -> bytes: ...
    @property
    def before(self) -> Account | None: ...
    @property
    def after(self) -> Account | None: ...
    @property
    def destroyed(self) -> bool:
        """Whether all previous storage was cleared, including slots that `storage` does not list."""
    @property
    def storage(self) -> dict[bytes, tuple[bytes | None, bytes]]:
        """Changed slots, each with the value before and after."""

@final
class Changes:
    """State changes of a transaction or a block."""

    @property
    def accounts(self) -> list[AccountChange]:
        """Changed accounts, by address in ascending order."""
    @property
    def codes(self) -> dict[bytes, bytes]:
        """New code, by hash."""

def describe_revert(data: bytes, /) -> str | None:
    """Return the text for what an execution reverted with, in anvil's wording; None if it is empty.

    A custom error is shown by its selector, because its ABI is not known. A long reason is cut.
    """

def revert_reason(data: bytes, /) -> str | None:
    """Decode `Error(string)` or `Panic(uint256)`; return None for a custom error or malformed data."""

@final
class ExecutionResult:
    """The result of an execution, with its state changes and trace."""

    @property
    def status(self) -> str:
        """`success`, `revert` or `halt`."""
    @property
    def reason(self) -> str:
        """Why the execution ended that way."""
    @property
    def gas_used(self) -> int: ...
    @property
    def gas_refunded(self) -> int: ...
    @property
    def gas_spent(self) -> int:
        """Gas used before the refund."""
    @property
    def budget_spent(self) -> int:
        """What the execution took of a limit on its gas: more than its gas, if that does not pay for its time."""
    @property
    def output(self) -> bytes: ...
    @property
    def created(self) -> bytes | None:
        """Address of the created contract."""
    @property
    def logs(self) -> list[Log]: ...
    @property
    def changes(self) -> Changes: ...
    @property
    def reads(self) -> dict[bytes, list[bytes]]:
        """Every account that was accessed, with the slots accessed."""
    @property
    def console_calls(self) -> tuple[bytes, ...]:
        """The data of each call of `console.log`, in order, those of failed frames too."""
    @property
    def console_calls_dropped(self) -> int:
        """How many further calls of `console.log` were not recorded."""
    @property
    def trace(self) -> bytes | None:
        """The trace as JSON, if a tracer was given."""

def execute(
    state: Snapshot | Overlay,
    rules: Rules,
    block: BlockEnv,
    tx: TxEnv,
    *,
    checks: Checks | None = None,
    limits: Limits | None = None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute a transaction on `state`, which does not change until the result is applied to it."""

def reject(
    state: Snapshot | Overlay,
    rules: Rules,
    block: BlockEnv,
    tx: TxEnv,
    *,
    gas_used: int,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Return the result of a priority transaction that is included although it cannot start."""

def call(
    state: Snapshot | Overlay,
    rules: Rules,
    block: BlockEnv,
    tx: TxEnv,
    *,
    limits: Limits | None = None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute a call on `state`, without fees and without checks of balance, nonce, sender and gas cap."""

# --- Calls: `evm_env` is an `EvmEnv`, `request` a `CallRequest` ------------------
# They raise what the call ends in. `console` is called with what it logged, and how many further calls were dropped.

def call_output(
    evm_env: object,
    request: object,
    gas_cap: int,
    *,
    limits: Limits | None = None,
    console: Callable[[tuple[bytes, ...], int], None] | None = None,
) -> bytes:
    """Return the output of a call."""

def run_call(
    evm_env: object,
    request: object,
    gas_cap: int,
    *,
    limits: Limits | None = None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute a call and return its result, a success or a failure."""

def trace_call(
    evm_env: object,
    request: object,
    gas_cap: int,
    *,
    tracer: Tracer,
    limits: Limits | None = None,
) -> ExecutionResult:
    """Execute a call with its trace; what has fields of type 0x71 runs in the steps that such a transaction has."""

def estimate_gas(
    evm_env: object,
    request: object,
    gas_cap: int,
    *,
    limits: Limits | None = None,
    unfunded_transfers: bool = False,
    unfunded_estimates: bool = False,
    console: Callable[[tuple[bytes, ...], int], None] | None = None,
) -> tuple[int, int]:
    """Return the gas limit that a call needs as a transaction, and how many runs it took to find it."""

def create_access_list(
    evm_env: object, request: object, gas_cap: int, *, limits: Limits | None = None
) -> CreatedAccessList:
    """Return what a call touches beside sender, target and precompiles, and what it declares itself."""

@final
class CreatedAccessList:
    """An access list, and what a transaction comes to with it."""

    @property
    def access_list(self) -> list[tuple[bytes, tuple[bytes, ...]]]:
        """Accounts in ascending order, each with its slots."""
    @property
    def gas_used(self) -> int:
        """The gas that the transaction uses with the list."""
    @property
    def error(self) -> str | None:
        """Why it fails, if it does."""
    def json(self) -> bytes:
        """Return the result of `eth_createAccessList`."""

def estimate_l1_to_l2(
    evm_env: object,
    request: object,
    *,
    gas_price: int,
    minimum: int,
    maximum: int,
    limits: Limits | None = None,
) -> int:
    """Return a gas limit with which L1 accepts a priority transaction and with which it succeeds on L2."""

# --- Senders and system contracts ----------------------------------------------

BOOTLOADER: bytes
"""The address that calls accounts and paymasters, and receives the fee."""

NONCE_HOLDER: bytes
"""The address that holds the nonces of contract accounts."""

CONTRACT_DEPLOYER: bytes
"""The address that records which contracts are accounts."""

BASE_TOKEN: bytes
"""The address of the base token."""

ACCOUNT_VERSION: int
"""The version of accounts that a chain calls."""

CONSOLE: bytes
"""The address to which contracts log."""

CURVE_ORDER: int
"""The order of secp256k1."""

TRANSACTION_GAS: int
"""The gas of a plain transfer, which is the least of any transaction."""

BLOB_GAS: int
"""The blob gas of a blob (EIP-4844)."""

ERROR_SELECTOR: bytes
"""The selector of `Error(string)`."""

PANIC_SELECTOR: bytes
"""The selector of `Panic(uint256)`."""

def has_code(state: Snapshot | Overlay, address: bytes, /) -> bool:
    """Return whether there is code other than a delegation (EIP-7702)."""

def has_accounts(state: Snapshot | Overlay, /) -> bool:
    """Return whether the chain calls accounts and paymasters, which its genesis says."""

def charges_factory_deps(state: Snapshot | Overlay, /) -> bool:
    """Return whether factory dependencies cost what calldata of their size costs, which the genesis says, too."""

def is_contract_account(state: Snapshot | Overlay, sender: bytes, /) -> bool:
    """Return whether a sender is a contract account, whose nonce is in the nonce holder."""

def transaction_count(state: Snapshot | Overlay, address: bytes, /) -> int:
    """Return the nonce of the next transaction of an account of any kind."""

def read_sender(
    state: Snapshot | Overlay, sender: bytes, /, *, is_account: bool
) -> tuple[int, int, bool]:
    """Return a sender's nonce and balance, and whether it cannot sign: it has code other than a delegation.

    The nonce is that of the nonce holder if it sends as a contract account; it cannot sign if it is none any more.
    """

def set_next_nonce(overlay: Overlay, sender: bytes, nonce: int, /) -> None:
    """Let `nonce` be the next of a sender of any kind."""

def check_parties(sender: bytes | None, paymaster: bytes | None, /) -> None:
    """Raise `AccountRejection` if one of them is a system contract."""

def not_an_account() -> AccountRejection:
    """Return why a contract that is not an account cannot send."""

# --- Hashing and signing -------------------------------------------------------

def keccak256(data: bytes, /) -> bytes:
    """Return the Keccak-256 hash of `data`."""

def recover(digest: bytes, signature: bytes, /) -> bytes:
    """Return the address that signed `digest` with `r ‖ s ‖ parity`, or raise `InvalidSignature`."""

def sign(digest: bytes, secret: bytes, /) -> bytes:
    """Sign `digest` deterministically (RFC 6979); return `r ‖ s ‖ parity` with a low `s` and parity 0 or 1."""

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

# --- ABI and typed data --------------------------------------------------------

@final
class AbiTuple:
    """A tuple of ABI types such as `(address,uint256[])`, parsed once.

    Addresses and bytes are `bytes`; arrays and tuples are lists or tuples, and decoded as tuples. Malformed values and
    encodings raise `MalformedValue`, which names the value by its index, `values[1][0]`.
    """

    def __new__(cls, types: str, /) -> AbiTuple: ...
    def encode(self, values: list[Any] | tuple[Any, ...], /) -> bytes:
        """Return the encoding of `values`."""
    def encode_call(self, selector: bytes, arguments: list[Any] | tuple[Any, ...], /) -> bytes:
        """Return `selector` and the encoding of `arguments`."""
    def decode(self, data: bytes, /) -> tuple[Any, ...]:
        """Return the values that `data` encodes, which take at most 16 times its memory."""

def typed_data_hash(
    types: Mapping[str, Sequence[tuple[str, str]]], primary: str, domain: object, message: object, /
) -> bytes:
    """Return the EIP-712 digest of a document, of whose structs `types` has the members: name and type of each.

    `MalformedValue` names the member that does not have its type; nesting ends at 64 levels, a document at 20,000 values.
    """

# --- Transactions ------------------------------------------------------------

def decode_transaction(raw: bytes, /, *, sender: bytes | None = None) -> DecodedTransaction:
    """Decode a transaction of type 0 to 4; a known `sender` is trusted, not recovered."""

def decode_transactions(
    raws: list[bytes], /
) -> list[DecodedTransaction | DecodedZkFields | InvalidTransaction]:
    """Decode many transactions on all cores without the GIL; a rejected one is returned as its error."""

ZkHead: TypeAlias = tuple[int, int, int, int, bytes, int, bytes, tuple[int | None, int, int]]
"""Nonce, priority fee, fee cap, gas limit, target, value, data, and the plain signature or none."""
ZkTail: TypeAlias = tuple[int, bytes, int, tuple[bytes, ...], bytes, tuple[bytes, bytes] | None]
"""Chain id, sender, gas per byte of pubdata, factory dependencies, custom signature, paymaster with its input."""
DecodedZkFields: TypeAlias = tuple[ZkHead, ZkTail, bytes, InvalidSignature | None]
"""Fields of type 0x71, the hash, and why the sender's key has not signed."""

MAX_FACTORY_DEPS: int
SYSTEM_TYPE: int
"""The most factory dependencies of a transaction of type 0x71."""

def decode_zk_transaction(raw: bytes, /, *, recovers: bool = True) -> DecodedZkFields:
    """Decode a transaction of type 0x71; unless `recovers`, it is not asked who has signed."""

def encode_zk_transaction(payload: ZkTransaction, /) -> bytes:
    """Return the raw transaction of type 0x71."""

def zk_signing_hash(payload: ZkTransaction, /) -> bytes:
    """Return the EIP-712 digest that the sender of a transaction of type 0x71 signs."""

def zk_transaction_hash(payload: ZkTransaction, /) -> bytes:
    """Return the hash of a transaction of type 0x71, which covers the signature that counts."""

def zk_signature(v: int | None, r: int, s: int, custom: bytes, /) -> bytes:
    """Return the signature that counts: the custom one, or `r ‖ s ‖ v` with `v` 27 or 28, or none."""

def zk_dependencies(raw: bytes, /) -> list[tuple[bytes, bytes]]:
    """Return the factory dependencies of a raw transaction of type 0x71: the hash and the code of each.

    Without any, it takes a tenth of the time of decoding the transaction.
    """

def factory_dep_hashes(codes: Sequence[bytes], /) -> tuple[bytes, ...]:
    """Return the hashes of the factory dependencies of a transaction of type 0x71."""

def eravm_hash(code: bytes, /) -> bytes:
    """Return the hash under which a factory dependency is published; `InvalidBytecode` if it has another form."""

TransactionLocation: TypeAlias = tuple[str, int, int | None, int, int]
"""The members that name block and batch, the index in the block, the number in the batch, time and base fee."""

def transaction_json(
    transaction: Transaction, chain_id: int, location: TransactionLocation | None, /
) -> str:
    """Return a transaction of any type as JSON; without a location it is pending.

    `chain_id` is that of transactions that L1 has sent; of the others it is in their bytes.
    """

def zk_parties(raw: bytes, /) -> tuple[bytes, tuple[bytes, bytes] | None] | None:
    """Return the sender of a transaction of type 0x71, and the paymaster with its input.

    None if its list is malformed. Takes a fiftieth of the time of decoding it.
    """

@final
class DecodedTransaction:
    """A signed transaction."""

    @property
    def type(self) -> int:
        """Transaction type: 0 to 4."""
    @property
    def chain_id(self) -> int | None:
        """Chain id; None for a legacy transaction without replay protection (EIP-155)."""
    @property
    def nonce(self) -> int:
        """Nonce of the sender."""
    @property
    def gas_price(self) -> int | None:
        """Gas price of types 0 and 1."""
    @property
    def max_fee_per_gas(self) -> int | None:
        """Fee cap of types 2, 3 and 4."""
    @property
    def max_priority_fee_per_gas(self) -> int | None:
        """Tip cap of types 2, 3 and 4."""
    @property
    def gas_limit(self) -> int:
        """Gas limit."""
    @property
    def to(self) -> bytes | None:
        """Recipient; None for a contract creation."""
    @property
    def value(self) -> int:
        """Wei transferred."""
    @property
    def data(self) -> bytes:
        """Call data, or init code."""
    @property
    def access_list(self) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
        """Access list: accounts, each with its slots."""
    @property
    def authorizations(self) -> tuple[tuple[int, bytes, int, int, int, int], ...]:
        """Authorizations (EIP-7702): chain id, address, nonce, parity, r and s."""
    @property
    def max_fee_per_blob_gas(self) -> int | None:
        """Blob fee cap of type 3."""
    @property
    def blob_hashes(self) -> tuple[bytes, ...]:
        """Versioned hashes of the blobs of type 3."""
    @property
    def bare(self) -> bytes | None:
        """The transaction without its sidecar, if it came with one."""
    @property
    def sidecar(self) -> BlobSidecar | None:
        """The sidecar, if the transaction came with one; its proofs hold."""
    @property
    def y_parity(self) -> int:
        """Parity of the signature: 0 or 1."""
    @property
    def v(self) -> int:
        """The `v` of a legacy transaction as encoded, the parity of any other type."""
    @property
    def r(self) -> int:
        """`r` of the signature."""
    @property
    def s(self) -> int:
        """`s` of the signature."""
    @property
    def hash(self) -> bytes:
        """Transaction hash."""
    @property
    def sender(self) -> bytes:
        """Sender, recovered from the signature."""

# --- Blobs -------------------------------------------------------------------

@final
class BlobSidecar:
    """Blobs with their commitments, and a proof for each blob (EIP-4844) or for each of its 128 cells (EIP-7594)."""

    def __new__(
        cls,
        *,
        blobs: Sequence[bytes],
        commitments: Sequence[bytes],
        proofs: Sequence[bytes],
        has_cell_proofs: bool = False,
    ) -> BlobSidecar: ...
    @property
    def blobs(self) -> tuple[bytes, ...]: ...
    @property
    def commitments(self) -> tuple[bytes, ...]: ...
    @property
    def proofs(self) -> tuple[bytes, ...]: ...
    @property
    def hashes(self) -> tuple[bytes, ...]:
        """The versioned hashes by which a transaction names the blobs."""
    @property
    def size(self) -> int:
        """The bytes that the sidecar takes in memory."""
    def blob(self, hash: bytes, /) -> bytes | None:  # noqa: A002 - as in the crate
        """Return the blob with this versioned hash."""
    def verify(self, hashes: Sequence[bytes]) -> None:
        """Raise `InvalidSidecar` unless the blobs are those with these hashes, and all proofs hold."""
    def wrap(self, bare: bytes) -> bytes:
        """Return the encoding of a bare blob transaction with this sidecar."""

def blob_base_fee(rules: Rules, excess_blob_gas: int, /) -> int | None:
    """Return the base fee per blob gas of a block with this excess, at most 2^128 - 1; None before Cancun."""

def next_excess_blob_gas(
    rules: Rules, *, excess_blob_gas: int, blob_gas_used: int, base_fee: int
) -> int | None:
    """Return the excess blob gas of the block after one with these values; None before Cancun."""

# --- Tries -------------------------------------------------------------------

EMPTY_ROOT: bytes
"""The root of a trie without keys."""

@final
class Trie:
    """A Merkle Patricia trie over nodes that `provider` returns by hash.

    Up to `cache_bytes` of nodes are cached, 64 MiB by default. Methods raise `TrieError` for a node that `provider`
    does not have, or that has another hash, and `EngineError`, with the cause chained, if `provider`
    raises. The trie remains usable after each of them.
    """

    def __new__(cls, provider: Callable[[bytes], bytes | None], cache_bytes: int = ...) -> Trie: ...
    def get(self, root: bytes, key: bytes) -> bytes | None:
        """Return the value of `key` under `root`."""

    def update(
        self, root: bytes, changes: Iterable[tuple[bytes, bytes | None]]
    ) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """Return the root after `changes` (None deletes) and the new nodes, by hash.

        The last change of a key wins. An empty value, or a key of more than 128 bytes, raises `ValueError`.
        """

    def update_state(
        self, root: bytes, changes: Changes
    ) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """Return the state root after `changes`, and the new nodes of the state trie and the storage tries, by hash."""

    def prove(self, root: bytes, key: bytes) -> list[bytes]:
        """Return the proof of the value of `key` under `root`, or of its absence: nodes, the root first."""

    def account(self, root: bytes, address: bytes) -> tuple[int, int, bytes, bytes] | None:
        """Return nonce, balance, storage root and code hash of an account under the state root `root`, or None."""

    def accounts(
        self, root: bytes, start: bytes, count: int
    ) -> list[tuple[bytes, tuple[int, int, bytes, bytes]]]:
        """Return up to `count` accounts under the state root `root`, by the hashes of their addresses from `start` on.

        Only the nodes on the way are read.
        """

    def slots(self, root: bytes, start: bytes, count: int) -> list[tuple[bytes, int]]:
        """Return up to `count` slots under the storage root `root`, by their hashes from `start` on."""

    def prove_account(
        self, root: bytes, address: bytes, slots: Sequence[bytes]
    ) -> tuple[tuple[int, int, bytes, bytes] | None, list[bytes], list[tuple[int, list[bytes]]]]:
        """Return an account or None, the proof of it, and the value and the proof of each slot."""

def verify_proof(root: bytes, key: bytes, value: bytes | None, proof: Sequence[bytes]) -> None:
    """Verify that `key` has `value` (None: no value) under `root`; raise `InvalidProof` otherwise."""

def ordered_root(values: Sequence[bytes]) -> bytes:
    """Return the root of a list of encoded transactions, receipts or withdrawals."""

# --- JSON-RPC ----------------------------------------------------------------

def decode_long_hex(text: str, /) -> bytes | None:
    """Return the bytes of `0x` and hex digits, decoded without the GIL; None if they are something else."""

def read_long_requests(
    body: bytes, /
) -> tuple[bool, list[tuple[str, tuple[int, int], tuple[int, int], bytes | None]]] | None:
    """Read the requests of a long body, and whether they are a batch, without the GIL; None if one is something else.

    Each has its method, where its id and its parameters are, and its only parameter if that is data.
    """

@final
class NativeDispatcher:
    """Responds to requests that need no Python dispatcher.

    It caches results by method and parameters, in at most `capacity` bytes; parameters are compared as bytes, so
    a request in another spelling is a miss. It calls `getters`, and passes `read_methods` to `accounts`, `reads`,
    `fee_history` and `bridge`. `bounds` are the upper bounds of its latency histograms, in seconds, and no response is
    longer than `max_bytes`. `limits` has how many bytes of parameters and of a result are cached (`cached_params`,
    `cached_result`), and how long the parameters are that it reads (`read_params`).
    """

    def __new__(
        cls,
        *,
        capacity: int,
        batch: int,
        bounds: Sequence[float],
        limits: object,
        max_bytes: int,
        getters: Mapping[str, Getter] | None = None,
        accounts: AccountReads | None = None,
        reads: StateReads | None = None,
        fee_history: FeeHistory | None = None,
        bridge: BridgeEstimates | None = None,
        read_methods: Sequence[str] | None = None,
    ) -> NativeDispatcher: ...
    def response(self, body: bytes, /) -> bytes | tuple[str, bytes, object] | None:
        """Return the response to a request, or to a batch of at most `batch` requests if all are cached.

        What a getter returned that is too long, or that the crate does not render, is handed over: the method, the id
        and the result. None leaves a request to Python: nothing has changed, and nothing is counted.
        """
    def item(
        self, request_id: bytes, method: str, params: bytes, /
    ) -> bytes | tuple[str, bytes, object] | None:
        """Return what `response` does for a request whose parts were read from a batch."""
    @property
    def size(self) -> int:
        """The size of what is cached, in bytes."""
    def insert(self, method: str, params: bytes, result: bytes, /) -> None:
        """Insert a result; `params` are an array as it was sent, or empty."""
    def clear(self) -> None:
        """Remove all cached results."""
    def hits(self) -> dict[str, int]:
        """Return the number of responses from the cache, by method."""
    def take_latencies(self) -> dict[str, tuple[list[int], float, list[tuple[int, int]]]]:
        """Return calls by latency, their seconds and their errors by code since the last time, by method."""

TransactionFacts: TypeAlias = tuple[bytes, int, bytes | None, int, int, bytes]
"""What a receipt says of a transaction: hash, type, target, nonce, wei for a unit of gas, how its calldata begins."""

@final
class RecordLayout:
    """Where the fields of stored records are, by the names of the fields in order, and what is read by that.

    A field of `message` has its size, because those logs are packed. Other fields than the crate knows are skipped; one
    that is missing raises `ValueError`. What cannot be read is None: `BlockRecord.decode` says why.
    """

    def __new__(
        cls,
        *,
        version: int,
        record: Sequence[str],
        transaction: Sequence[str],
        result: Sequence[str],
        log: Sequence[str],
        message: Sequence[tuple[str, int]],
    ) -> RecordLayout: ...
    def block_summary(
        self, record: bytes, types: bytes, /
    ) -> tuple[int, int, int, bytes, int, bytes] | None:
        """Summarise the block of a stored record.

        The time, how many transactions it has, how many of them have one of `types`, the hash, the base fee and the
        beneficiary.
        """
    def transaction_summary(
        self, record: bytes, index: int, /
    ) -> tuple[bytes, bool, int, int, int, int | None, bytes] | None:
        """Summarise the transaction at `index` of a stored record.

        The sender, whether it succeeded, its gas, the time and the base fee of its block, what it pays for a unit of
        gas if its type is one of Ethereum's, and the raw transaction.
        """
    def message_counts(self, record: bytes, index: int, /) -> tuple[int, int] | None:
        """Return how many L2-to-L1 logs the transactions before `index` have, and how many it has itself."""
    def header_json(self, record: bytes, /) -> bytes | None:
        """Return the header of a stored record as JSON."""
    def block_json(self, record: bytes, batch: tuple[int, int] | None, /) -> bytes | None:
        """Return a stored block with the hashes of its transactions as JSON.

        `batch` is the number and the time of its batch. None also if only Python knows the hash of a transaction.
        """

@final
class ReceiptRenderer:
    """Renders receipts from stored records.

    A call of `deployer` by one of `selectors` creates the contract that it reports under the topic `deployed`.
    """

    def __new__(
        cls,
        layout: RecordLayout,
        /,
        *,
        deployer: bytes,
        deployed: bytes,
        selectors: Sequence[bytes],
    ) -> ReceiptRenderer: ...
    def render(
        self,
        record: bytes,
        index: int | None,
        batch: int | None,
        blobs: Rules | int,
        known: Sequence[tuple[int, TransactionFacts]] = ...,
        /,
        *,
        detached: bool = False,
    ) -> bytes | None:
        """Return the receipt at `index` of a stored record, or an array of all, as JSON; None if it cannot be read.

        `batch` is the number of the block's batch. Blob gas costs what `blobs` says: a constant, or by the rules of a
        fork. `known` are the transactions that Python has read, by index: what L1 sends is decoded there. With
        `detached`, the GIL is released meanwhile.
        """
    def created_contract(
        self, sender: bytes, transaction: TransactionFacts, logs: Sequence[Log], /
    ) -> bytes | None:
        """Return the contract that a transaction creates, also if it failed.

        A call of the contract deployer creates the one that it reports for the sender: contracts that a constructor
        creates are reported too, but for another deployer.
        """

def header_json(encoded: bytes, block_hash: bytes | None, /) -> bytes:
    """Return a header in RLP as JSON; that of the pending block has no hash."""

def block_json(
    encoded: bytes,
    raws: Sequence[bytes],
    /,
    *,
    block_hash: bytes | None,
    batch: tuple[int, int] | None,
    transactions: bytes,
) -> bytes:
    """Return a block as JSON, by its header in RLP and its raw transactions; `transactions` are a JSON array.

    `batch` is the number and the time of its batch.
    """

def inclusion_json(block_hash: bytes, block_number: int, batch_number: int | None, /) -> str:
    """Return the members by which transactions, receipts and logs name their block and its batch."""

def log_context(
    inclusion: str, timestamp: int, transaction_hash: bytes, index: int, /, *, removed: bool = False
) -> bytes:
    """Return the members that the logs of a transaction share; `removed` if its block is reverted."""

def log_json(log: Log, context: bytes, index: int, within: int, /) -> bytes:
    """Return a log as JSON, with its context and its indexes in the block and in the transaction."""

def stored_transaction_hash(raw: bytes, sender: bytes, /) -> bytes | None:
    """Return the hash of a stored transaction; None if it is of a type that L1 sends, or malformed."""

def logs_bloom(logs: Sequence[tuple[bytes, Sequence[bytes]]], /) -> bytes:
    """Return the bloom filter of logs, each with its address and its topics."""

def concatenated(parts: Sequence[bytes | Raw], /) -> bytes:
    """Return parts as one byte string; other threads run while they are copied."""

def byte_array_json(data: bytes, /) -> bytes:
    """Return bytes as a JSON array of numbers."""

@final
class Getter:
    """A function that may be called again after an error, of which the crate reads the parameters.

    A parameter is `hash`, `address`, `quantity`, `quantity64`, `number`, `boolean`, `other`, which is left to Python if
    it is given, or a function that makes a block of its number, or the latest of None; the first `required` have to be
    given. A result of one that `is_cached` stays valid
    for the same parameters, until blocks are reverted.
    """

    def __new__(
        cls,
        function: Callable[..., object],
        parameters: Sequence[str | Callable[[int | None], object]],
        *,
        required: int,
        is_cached: bool,
    ) -> Getter: ...

@final
class FeeHistory:
    """The fees of blocks, in memory once they were requested, in at most `capacity` bytes.

    `load` returns the stored record of a block, `head` the number of the last one, and `next_fees` the base fees of the
    next one, per gas and per blob gas. Blob gas costs what `blobs` says: a constant, or by the rules of a fork. `limits`
    has `blocks` and `percentiles` of a request, and `figures` of one that is rendered at once.
    """

    def __new__(
        cls,
        layout: RecordLayout,
        /,
        *,
        blobs: Rules | int,
        limits: object,
        load: Callable[[int], bytes],
        head: Callable[[], int],
        next_fees: Callable[[], tuple[int, int]],
        capacity: int,
    ) -> FeeHistory: ...
    def first(self, count: int, newest: int, oldest: int, /) -> int:
        """Return the first of the `count` blocks up to `newest`, of which there are at least one and at most a limit."""
    def is_long(self, first: int, last: int, percentiles: int, /) -> bool:
        """Say whether the history of these blocks is long enough for a thread."""
    def missing(self, first: int, last: int) -> int:
        """Return how many blocks from `first` to `last` have to be loaded."""
    def render(self, first: int, last: int, percentiles: Sequence[float]) -> bytes:
        """Return the history of the blocks from `first` to `last` as JSON; `percentiles` do not fall."""
    def remove_above(self, number: int) -> None:
        """Remove the blocks above `number`, which are reverted; -1 removes all."""
    @property
    def size(self) -> int:
        """The size of what is in memory, in bytes."""

@final
class BridgeEstimates:
    """Gas limits of priority transactions that L1 would request for plain calls.

    `bounds` returns for the value and the data of a call: the `EvmEnv` of the pending block, and the same object until
    that changes, the gas price, and the lowest and the highest gas limit that L1 accepts.
    """

    def __new__(
        cls,
        *,
        bounds: Callable[[int, bytes], tuple[object, int, int, int]],
        limits: Limits,
        errors: CallErrors,
    ) -> BridgeEstimates: ...

@final
class CallErrors:
    """How calls that fail are reported.

    `reverted` is the code and the text of a revert without a reason, `reverted_because` what precedes a reason.
    `halt_code` is that of other failures. `allowance` is the code of an estimate that runs out of gas, and what stands
    before and after the gas that it may have; `gas_cap` is the same of a call. Without `calls_fail`, the result of
    `eth_call` is what the call reverted with. Other kinds are raised by Python.
    """

    def __new__(
        cls,
        *,
        reverted: tuple[int, str],
        reverted_because: str,
        halt_code: int,
        allowance: tuple[int, str, str],
        gas_cap: tuple[int, str, str],
        calls_fail: bool = True,
    ) -> CallErrors: ...

@final
class AccountReads:
    """Plain reads of accounts and slots.

    `state` returns the state after a block, or raises if there is none, and `state_root` its root in `trie`; those of
    the last block for None.
    """

    def __new__(
        cls,
        *,
        state: Callable[[int | None], Snapshot | Overlay],
        state_root: Callable[[int | None], bytes],
        trie: Trie,
    ) -> AccountReads: ...

def balance_json(state: Snapshot | Overlay, address: bytes, /) -> bytes:
    """Return the balance of an account, as JSON."""

def nonce_json(state: Snapshot | Overlay, address: bytes, /) -> bytes:
    """Return the nonce of the next transaction of an account of any kind, as JSON."""

def code_json(state: Snapshot | Overlay, address: bytes, /) -> bytes:
    """Return the code of an account, as JSON."""

def slot_json(state: Snapshot | Overlay, address: bytes, slot: int, /) -> bytes:
    """Return the value of a slot, as JSON."""

def account_info_json(state: Snapshot | Overlay, address: bytes, /) -> bytes:
    """Return balance, nonce and code of an account, as JSON."""

def account_json(state: Snapshot | Overlay, address: bytes, trie: Trie, root: bytes, /) -> bytes:
    """Return an account as JSON, with its storage root under the state root `root`; null if there is none."""

FailureTexts: TypeAlias = tuple[int, int, str, str]
"""The codes of reverts and halts, the text of a revert, and what precedes its reason."""
NextSimulatedBlock: TypeAlias = tuple[int, bytes | None, int | None, bytes | None, bytes | None]
"""The base fee of a block, the root of withdrawals, the excess of blob gas, the beacon root and the hash of requests."""

def simulate(
    base: object,
    simulation: object,
    gas_cap: int,
    texts: FailureTexts,
    *,
    limits: Limits | None = None,
) -> bytes:
    """Simulate blocks of calls with `gas_cap` gas for all of them, and return the blocks as JSON.

    `base` and `simulation` are as `entresol.execution.simulation` prepares them.
    """

@final
class StateReads:
    """What plain calls without a price come to.

    `latest` returns the `EvmEnv` of the last block, and the same object until that changes, `head_header` its header, and
    `state_root` its root in `trie`. `next_block` is asked for what a simulated block gets if it is validated, or if the
    chain `has_fork_fields`; `failure_texts` report its calls that fail. `filling` returns the `EvmEnv` of the pending block, and the same object
    until that changes, the next nonce of a sender, and the caps of its fee and its tip. `limits` and `gas_cap` bound a
    call, and a simulation has at most `simulated_items` blocks and calls. Results of long calls on the last block are
    cached, in at most `cache_bytes` bytes. Without `errors`, calls that fail are left to Python. Estimates that their
    sender cannot pay are made for `unfunded_transfers`, or for all with `unfunded_estimates`.
    """

    def __new__(
        cls,
        *,
        latest: Callable[[], object],
        state_root: Callable[[], bytes],
        head_header: Callable[[], bytes],
        filling: Callable[[bytes], tuple[object, int, int, int]],
        next_block: Callable[[bytes], NextSimulatedBlock],
        has_fork_fields: bool,
        failure_texts: FailureTexts,
        trie: Trie,
        limits: Limits,
        gas_cap: int,
        simulated_items: int,
        cache_bytes: int,
        cached_gas: int,
        errors: CallErrors | None = None,
        unfunded_transfers: bool = False,
        unfunded_estimates: bool = False,
    ) -> StateReads: ...
    def take_budget_spent(self) -> bool:
        """Return whether the last call needed more gas than `limits` allow; forget it."""
    @property
    def size(self) -> int:
        """The size of the cached results, in bytes."""

# --- The process ---------------------------------------------------------------

def return_large_blocks() -> bool:
    """Have blocks of a mebibyte and more returned to the system once they are freed; say whether the allocator can."""
