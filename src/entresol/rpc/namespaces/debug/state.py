"""`debug_` methods about states and the chain: codes by hash, and execution witnesses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol.chain.finality import BlockTag
from entresol.errors import (
    BlockNotFound,
    GenesisNotExecuted,
    MalformedValue,
    NotExecutedHere,
    PendingNotTraceable,
)
from entresol.execution.witness import witness_of
from entresol.offload import Offload
from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.render.hex import data, raw_array
from entresol.rpc.types.block_id import LATEST, BlockId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.ledger import Ledger
    from entresol.rpc.services.block_resolver import BlockResolver

_CODE_KEY: Final = 0x63
_CODE_KEY_SIZE: Final = 33


class WitnessResult(JsonModel, frozen=True, kw_only=True):
    """What suffices to execute a block without a node: sorted, but for the headers."""

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

    @method(
        BlockNotFound,
        PendingNotTraceable,
        GenesisNotExecuted,
        NotExecutedHere,
        served_by=ServedBy.BLOCK,
        past=Past.REMOTE,
    )
    def execution_witness(self, block: BlockId) -> Offload[Annotated[Raw, WitnessResult]]:
        """Return the trie nodes, codes and headers that suffice to execute a block again.

        A fork has none of its own blocks: most of those nodes are the remote's.
        """
        return Offload(partial(self._execution_witness, block))

    def _execution_witness(self, block: BlockId) -> Raw:
        if block.tag is BlockTag.PENDING:
            raise PendingNotTraceable("pending block has no witness")
        number = self._resolver.inspected(block)
        if number == self._ledger.first:
            raise GenesisNotExecuted(f"block {number:#x} found, but parent missing")
        self._ledger.check_executed(number)
        ledger = self._ledger
        record = ledger.record(number)
        rules = ledger.rules_at(number).evm_rules()
        found = witness_of(
            record, self._store, self._store, rules, self._store.loaded, paced=cooperatively
        )
        lists = found.state, found.codes, found.keys, found.headers
        return Raw(b'{"state":%b,"codes":%b,"keys":%b,"headers":%b}' % tuple(map(_array, lists)))

    @method(served_by=ServedBy.REPLICA)
    def get_bad_blocks(self) -> list[Data]:
        """Return the blocks that were rejected: none, because the node seals all of them itself."""
        return []


def _array(items: Iterable[bytes]) -> Raw:
    return raw_array(data(item).encode() for item in cooperatively(items))
