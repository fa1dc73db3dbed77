"""Blocks and headers as Otterscan reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Raw

from entresol.errors import BlockNotFound, MalformedValue
from entresol.offload import Offload
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.chain_objects import HeaderInfo
from entresol.rpc.models.otterscan import BlockPage, OtterscanBlock
from entresol.rpc.render.chain_objects import effective_gas_price
from entresol.rpc.types.block_id import LATEST, BlockHash, BlockId, BlockNumber
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedObjects
    from entresol.storage.store_view import BlockReader

API_LEVEL: Final = 8
"""The version of the interface, which Otterscan checks."""
MAX_PAGE: Final = 1_000
"""How many transactions a page has at most."""


def check_page(size: int) -> None:
    """Reject a page that is too long."""
    if size > MAX_PAGE:
        raise MalformedValue(f"a page has at most {MAX_PAGE} transactions, got {size}")


class OtsBlocks:
    """Blocks with what Otterscan shows of them."""

    prefix = "ots"

    def __init__(
        self, blocks: BlockReader, resolver: BlockResolver, objects: RenderedObjects
    ) -> None:
        self._blocks = blocks
        self._resolver = resolver
        self._objects = objects

    @method(name="erigon_getHeaderByNumber", served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_header_by_number(
        self, block: BlockNumber
    ) -> Annotated[Raw, HeaderInfo] | Offload[Raw] | None:
        """Return the header of a block by number or tag; Otterscan recognizes a node by it."""
        number = self._resolver.number(block)
        return None if number is None else self._objects.rendered.header(number)

    @method(served_by=ServedBy.REPLICA)
    def get_api_level(self) -> int:
        """Return the version of the interface."""
        return API_LEVEL

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def has_code(self, address: Address, block: BlockId = LATEST) -> bool:
        """Return whether an account has code after a block."""
        account = self._resolver.state(block).account(address)
        return account is not None and account.code_hash != EMPTY_CODE_HASH

    @method(served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_details(
        self, block: BlockNumber
    ) -> Offload[Annotated[dict[str, Any], OtterscanBlock]] | None:
        """Return a block by number without its transactions, with issuance and fees."""
        return self._details(self._resolver.number(block))

    @method(served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_details_by_hash(
        self, hash: BlockHash
    ) -> Offload[Annotated[dict[str, Any], OtterscanBlock]] | None:
        """Return a block by hash without its transactions, with issuance and fees."""
        return self._details(self._blocks.block_number(hash))

    @method(served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_transactions(
        self, block: BlockNumber, page: Number, size: Number
    ) -> Offload[Annotated[dict[str, Any], BlockPage]] | None:
        """Return a page of the transactions of a block with their receipts; page 0 has the last ones.

        Of their input only the selector is returned, and receipts have no logs.
        """
        check_page(int(size))
        number = self._sealed(self._resolver.number(block))
        if number is None:
            return None
        return Offload(lambda: self._page(number, int(page), int(size)))

    def _sealed(self, number: int | None) -> int | None:
        record = None if number is None else self._objects.rendered.transaction_count(number)
        return None if record is None else number

    def _details(self, number: int | None) -> Offload[dict[str, Any]] | None:
        sealed = self._sealed(number)
        return None if sealed is None else Offload(lambda: self._detailed(sealed))

    def _detailed(self, number: int) -> dict[str, Any]:
        record = self._blocks.record(number)
        return {
            "block": self._block(number, record),
            "issuance": {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"},
            "totalFees": hex(_fees(record)),
        }

    def _block(self, number: int, record: BlockRecord) -> dict[str, Any]:
        block = self._objects.block(number)
        del block["transactions"]
        return block | {"transactionCount": len(record.transactions)}

    def _page(self, number: int, page: int, size: int) -> dict[str, Any]:
        record = self._blocks.record(number)
        end = max(len(record.transactions) - page * size, 0)
        positions = range(max(end - size, 0), end)
        pairs = [self._objects.transaction(record, it) for it in cooperatively(positions)]
        transactions = [shown | {"input": shown["input"][:10]} for shown, _ in pairs]
        return {
            "fullblock": self._block(number, record) | {"transactions": transactions},
            "receipts": [receipt | {"logs": None, "logsBloom": None} for _, receipt in pairs],
        }


def _fees(record: BlockRecord) -> int:
    base_fee = record.header().base_fee_per_gas
    return sum(
        result.gas_used * effective_gas_price(record.transaction(position).payload, base_fee)
        for position, result in enumerate(cooperatively(record.results))
    )
