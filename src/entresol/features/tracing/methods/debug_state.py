"""`debug_` methods about states: codes by hash, execution witnesses, ranges of slots and accounts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Self

from msgspec import Raw

from entresol.chain.finality import BlockTag
from entresol.errors import BlockNotFound, InvalidParams, MalformedValue, NotInspectable
from entresol.execution.replay import state_at_transaction
from entresol.execution.witness import witness_of
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32
from entresol.rpc.jsonrpc.gil_turns import cooperatively, within_limit
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.render.hex import data, raw_array
from entresol.rpc.services.call_runner import MAX_NAMED_SLOTS, check_slots
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.number import Number
from entresol.state.preimages import Preimages
from entresol.state.state_trie import AccountLeaf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from entresol.chain.ledger import Ledger
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.state.state_trie import AccountFields, StateTrie


_CODE_KEY: Final = 0x63
_CODE_KEY_SIZE: Final = 33


class WitnessResult(JsonModel, frozen=True, kw_only=True):
    """Everything that executing a block without a node takes: sorted, but for the headers."""

    state: Annotated[list[Data], says("The nodes of the tries that the block used.")]
    codes: Annotated[list[Data], says("The code of the contracts that the block used.")]
    keys: Annotated[list[Data], says("The addresses and slots that the block used.")]
    headers: Annotated[list[Data], says("The headers that the block refers to, in RLP.")]


class DebugState:
    """Codes and witnesses of sealed blocks."""

    prefix = "debug"

    def __init__(self, resolver: BlockResolver, ledger: Ledger) -> None:
        self._resolver = resolver
        self._ledger = ledger
        self._store = ledger.store

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.LOCAL)
    def code_by_hash(self, hash: Hash32, block: BlockId = LATEST) -> Data:
        """Return the code with this hash, of any block; `0x` if there is none."""
        self._resolver.inspected(block)
        return Data(self._store.code(hash) or b"")

    @method(served_by=ServedBy.REPLICA)
    def db_get(self, key: Data) -> Data:
        """Return a value of the database by its key: code, for 0x63 and the code's hash."""
        if len(key) != _CODE_KEY_SIZE:
            problem = f"Invalid key length: expected {_CODE_KEY_SIZE} bytes, got {len(key)}"
            raise MalformedValue(problem)
        if key[0] != _CODE_KEY:
            raise MalformedValue("Key prefix must be 0x63 for code hash lookups")
        return Data(self._store.code(bytes(key[1:])) or b"")

    @method(BlockNotFound, NotInspectable, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def execution_witness(self, block: BlockId) -> Offload[Annotated[Raw, WitnessResult]]:
        """Return the trie nodes, codes and headers that suffice to execute a block again.

        A fork has none of its own blocks: most of those nodes are the remote's.
        """
        return Offload(partial(self._execution_witness, block))

    def _execution_witness(self, block: BlockId) -> Raw:
        if block.tag is BlockTag.PENDING:
            raise NotInspectable("pending block has no witness")
        number = self._resolver.inspected(block)
        if number == self._ledger.first:
            raise NotInspectable(f"block {number:#x} found, but parent missing")
        self._ledger.check_executed(number)
        ledger = self._ledger
        record = ledger.record(number)
        rules = ledger.rules_at(number).evm_rules()
        found = witness_of(record, self._store, rules, self._store.loaded, paced=cooperatively)
        lists = found.state, found.codes, found.keys, found.headers
        return Raw(b'{"state":%b,"codes":%b,"keys":%b,"headers":%b}' % tuple(map(_array, lists)))

    @method(served_by=ServedBy.REPLICA)
    def get_bad_blocks(self) -> list[Data]:
        """Return the blocks that were rejected: none, because the node seals all of them itself."""
        return []


def _array(items: Iterable[bytes]) -> Raw:
    return raw_array(data(item).encode() for item in cooperatively(items))


MAX_ACCOUNTS: Final = 256
"""How many accounts a range has at most, as in geth."""
MAX_SLOTS: Final = 1_024
"""How many slots a range has at most; `nextKey` is where the next one starts."""


class RangeStart(bytes):
    """Where a range of hashed keys starts: hex digits, or base64 as geth writes `next`."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read up to 32 bytes."""
        if value is None or value == "":
            return cls(b"")
        if not isinstance(value, str):
            raise MalformedValue("a key is a string of hex digits, or of base64")
        try:
            key = (
                bytes(Data.parse(value))
                if value.startswith("0x")
                else b64decode(value, validate=True)
            )
        except Base64Error:
            raise MalformedValue("a key is neither hex digits after 0x nor base64") from None
        if len(key) > Hash32.size:
            raise MalformedValue(f"a key has at most {Hash32.size} bytes, got {len(key)}")
        return cls(key)

    def to_json(self) -> str:
        """Return the key in base64."""
        return b64encode(self).decode()


class StorageEntry(JsonModel, frozen=True, kw_only=True):
    """A slot, null if it is not known which slot it is, and its value."""

    key: Annotated[
        Hash32 | None,
        says("The slot, if its hash is all that the trie has; null if it is unknown."),
    ]
    value: Annotated[Hash32, says("The value of the slot.")]


class StorageRange(JsonModel, frozen=True, kw_only=True):
    """Slots by their hashes, and the hash where the next range starts."""

    storage: Annotated[dict[str, StorageEntry], says("The slots of the page, by their keccak.")]
    next_key: Annotated[Hash32 | None, says("Where the next page begins; null on the last one.")]


class DumpedAccount(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """An account as geth dumps it."""

    balance: Annotated[str, says("The balance in wei, in decimal digits.")]
    nonce: Annotated[int, says("How many transactions it sent, or contracts it created.")]
    root: Annotated[Hash32, says("The root of the account's storage trie.")]
    code_hash: Annotated[Hash32, says("The keccak of its code.")]
    code: Annotated[
        Data | None, says("The code; missing if there is none, or if the request excludes it.")
    ] = None
    storage: Annotated[dict[str, str] | None, says("The slots with their values.")] = None
    key: Annotated[Hash32, says("The keccak of the address.")]


class AccountRange(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """Accounts by address, and where the next range starts."""

    root: Annotated[str, says("The root of the state trie.")]
    accounts: Annotated[dict[str, DumpedAccount], says("The accounts of the page, by address.")]
    next: Annotated[
        RangeStart | None, says("Where the next page begins; missing on the last one.")
    ] = None


class DebugRanges:
    """Ranges of the states of sealed blocks."""

    prefix = "debug"

    def __init__(self, resolver: BlockResolver, ledger: Ledger, max_bytes: int) -> None:
        self._resolver = resolver
        self._ledger = ledger
        self._store = ledger.store
        self._preimages = Preimages(ledger.store.state_keys)
        self._max_bytes = max_bytes

    @method(BlockNotFound, NotInspectable, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def storage_range_at(
        self,
        block: BlockId,
        tx_index: Number,
        address: Address,
        key_start: RangeStart,
        max_result: Number,
    ) -> Offload[StorageRange]:
        """Return slots of an account before a transaction of a block, in the order of their hashes.

        At most 1,024 at once: `nextKey` is where the next range starts, and null at the end. Above the anchor of a fork
        these are the slots that the fork has changed.
        """
        wanted = min(int(max_result), MAX_SLOTS)
        return Offload(
            partial(self._storage_range, block, int(tx_index), address, key_start, wanted)
        )

    def _storage_range(
        self, block: BlockId, tx_index: int, address: Address, start: bytes, wanted: int
    ) -> StorageRange:
        number = self._resolver.inspected(block)
        before, root = self._state_before(number, tx_index)
        trie = before.native
        account = AccountLeaf.of(trie.account(root, address))
        page = trie.slots(account.storage_root, start, wanted + 1)
        slots = self._preimages.slots(address, self._ledger.head_hash) if page else {}
        entries = {
            str(Hash32(key)): StorageEntry(
                key=_hash(slots.get(key)), value=Hash32(value.to_bytes(32))
            )
            for key, value in page[:wanted]
        }
        return StorageRange(storage=entries, next_key=_hash(_next(page, wanted)))

    @method(BlockNotFound, InvalidParams, served_by=ServedBy.BLOCK, past=Past.STATE)
    def account_range(
        self,
        block: BlockId,
        start: RangeStart,
        max_results: Number,
        *,
        no_code: bool = False,
        no_storage: bool = False,
        incompletes: bool = False,
    ) -> Offload[AccountRange]:
        """Return up to 256 accounts after a block, in the order of their hashes, from `start` on.

        `next` is where the next range starts, in base64 as in geth; `start` takes it so, or in hex. An account whose
        address is not known is left out, or with `incompletes` named by its hash. Above the anchor of a fork these are
        the accounts that the fork has changed.
        """
        wanted = int(max_results) if 0 < max_results <= MAX_ACCOUNTS else MAX_ACCOUNTS
        options = {"no_code": no_code, "no_storage": no_storage, "unnamed": incompletes}
        return Offload(partial(self._account_range, block, start, wanted, options))

    def _account_range(
        self, block: BlockId, start: bytes, wanted: int, options: Mapping[str, bool]
    ) -> AccountRange:
        number = self._resolver.inspected(block)
        self._ledger.check_state(number)
        header = self._ledger.header(number)
        trie = self._ledger.trie
        page = trie.native.accounts(trie.root(header.state_root), start, wanted + 1)
        addresses = self._preimages.addresses(self._ledger.head_hash)
        dumped = self._dump(page[:wanted], addresses, **options)
        following = _next(page, wanted)
        return AccountRange(
            root=header.state_root.hex(),
            accounts=dict(within_limit(dumped, self._max_bytes, _size)),
            next=None if following is None else RangeStart(following),
        )

    def _state_before(self, number: int, index: int) -> tuple[StateTrie, Hash32]:
        if number == self._ledger.first:
            raise NotInspectable("no transaction in genesis")
        self._ledger.check_executed(number)
        ledger, record = self._ledger, self._ledger.record(number)
        if index and index >= len(record.transactions):
            raise NotInspectable(
                f"transaction index {index} out of range for block 0x{record.hash().hex()}"
            )
        parent, before = ledger.header(number - 1), ledger.state_after(number - 1)
        rules = ledger.rules_at(number).evm_rules()
        state = state_at_transaction(record, parent, index, rules=rules, snapshot=before)
        return ledger.trie.holding(parent.state_root, state)

    def _dump(
        self,
        page: list[tuple[bytes, AccountFields]],
        addresses: Mapping[bytes, bytes],
        *,
        no_code: bool,
        no_storage: bool,
        unnamed: bool,
    ) -> Iterator[tuple[str, DumpedAccount]]:
        slots = 0
        for key, fields in page:
            address, account = addresses.get(key), AccountLeaf.of(fields)
            if address is None and not unnamed:
                continue
            code = b"" if no_code else self._store.code(account.code_hash) or b""
            storage = None if no_storage else self._storage(account, address, slots)
            slots += len(storage or ())
            name = f"pre({Hash32(key)})" if address is None else str(Address(address))
            yield (
                name,
                DumpedAccount(
                    balance=str(account.balance),
                    nonce=account.nonce,
                    root=account.storage_root,
                    code_hash=account.code_hash,
                    code=Data(code) if code else None,
                    storage=storage or None,
                    key=Hash32(key),
                ),
            )

    def _storage(self, account: AccountLeaf, address: bytes | None, dumped: int) -> dict[str, str]:
        left = max(MAX_NAMED_SLOTS - dumped, 0)
        slots = self._ledger.trie.native.slots(account.storage_root, b"", left + 1)
        check_slots(dumped + len(slots))
        names = {} if address is None else self._preimages.slots(address, self._ledger.head_hash)
        return {
            str(Hash32(names.get(key, key))): value.to_bytes(32).lstrip(b"\0").hex()
            for key, value in cooperatively(slots)
        }


def _next(page: Sequence[tuple[bytes, object]], wanted: int) -> bytes | None:
    """Return the key after the wanted ones, where the next range starts."""
    return page[wanted][0] if len(page) > wanted else None


def _hash(value: bytes | None) -> Hash32 | None:
    return None if value is None else Hash32(value)


def _size(entry: tuple[str, DumpedAccount]) -> int:
    _, account = entry
    return 400 + 2 * len(account.code or b"") + 140 * len(account.storage or ())
