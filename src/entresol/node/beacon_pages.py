"""Pages of a beacon node that readers of blobs request: the genesis, and the blobs of a block, as anvil serves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from entresol.chain.finality import BlockTag
from entresol.errors import MalformedValue
from entresol.primitives.transactions import BlobTransaction, Transaction
from entresol.primitives.values import Hash32
from entresol.server.handler import Handler, LocalConnection, Page, PageResponse, PageTree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from entresol.chain.chain import Chain

BEACON: Final = "/eth/v1/beacon/"
_JSON: Final = "application/json"
_BLOB_PREFIX: Final = b"\x03"
_NAMES: Final = {"head": "latest", "genesis": "earliest", "justified": "safe"}
"""Names of the beacon API for blocks that have another name in JSON-RPC."""
_DEPRECATED: Final = (
    "This endpoint is deprecated. Use `GET /eth/v1/beacon/blobs/{block_id}` instead."
)

_BLOBS: Final = '{"execution_optimistic":false,"finalized":false,"data":[%s]}'


class _Response(msgspec.Struct):
    result: list[msgspec.Raw] | None = None


class BeaconPages:
    """Serves the blobs of a chain; `handler` is that of its methods, since another process may have them."""

    def __init__(self, chain: Chain, handler: Handler) -> None:
        self._chain = chain
        self._handler = handler

    def trees(self) -> dict[str, PageTree]:
        """Return the pages by the path that they are below."""
        return {BEACON: self._page}

    def _page(self, target: str) -> Page:
        parts = urlsplit(target)
        name, _, block = parts.path.partition("/")
        if name == "genesis" and not block:
            return self._genesis
        if name == "blob_sidecars" and block:
            return lambda: _error(410, _DEPRECATED)
        if name == "blobs" and block:
            wanted = parse_qs(parts.query).get("versioned_hashes", [])
            return lambda: self._blobs(
                block, [index for item in wanted for index in item.split(",")]
            )
        return lambda: _error(404, "Not found")

    def _genesis(self) -> PageResponse:
        timestamp = self._chain.blocks.header(self._chain.ledger.first).timestamp
        data = {
            "genesis_time": str(timestamp),
            "genesis_validators_root": str(Hash32.zero()),
            "genesis_fork_version": "0x00000000",
        }
        return 200, _JSON, msgspec.json.encode({"data": data})

    def _blobs(self, block: str, wanted: list[str]) -> PageResponse | Awaitable[PageResponse]:
        try:
            number = self._number(block)
            hashes = [Hash32.parse(text) for text in wanted]
        except (MalformedValue, ValueError):
            return _error(400, f"Invalid block ID: {block}")
        record = None if number is None else self._chain.blocks.get_record(number)
        if record is None:
            return _error(404, "Block not found")
        # Others are not decoded.
        of_type = (raw[:1] == _BLOB_PREFIX for raw, _ in record.transactions)
        carriers = [record.transaction(index) for index, is_one in enumerate(of_type) if is_one]
        return self._read(carriers, hashes)

    async def _read(self, carriers: Sequence[Transaction], wanted: list[Hash32]) -> PageResponse:
        found: list[str] = []
        for carrier in carriers:
            assert isinstance(carrier.payload, BlobTransaction)
            blobs = await self._blobs_of(carrier.hash)
            if blobs is None:
                return _error(404, "Blobs not found: a node has the last 128 MiB since its start")
            pairs = zip(carrier.payload.blob_hashes, blobs, strict=True)
            found += [bytes(blob).decode() for key, blob in pairs if not wanted or key in wanted]
        return 200, _JSON, (_BLOBS % ",".join(found)).encode()

    async def _blobs_of(self, transaction_hash: Hash32) -> list[msgspec.Raw] | None:
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "anvil_getBlobsByTransactionHash",
            "params": [str(transaction_hash)],
        }
        response = self._handler(msgspec.json.encode(request), LocalConnection())
        if response is not None and not isinstance(response, bytes):
            response = await response
        return None if response is None else msgspec.json.decode(response, type=_Response).result

    def _number(self, block: str) -> int | None:
        """Return the number of the block that a client names; a number, a hash or a name."""
        if block.startswith("0x") and len(block) == 2 + 2 * Hash32.size:
            return self._chain.blocks.block_number(Hash32.parse(block))
        if block.isascii() and block.isdigit():
            return int(block[:20])
        if block.startswith("0x"):
            return int(block[:20], 16)
        return self._chain.resolve(BlockTag(_NAMES.get(block, block)))


def _error(status: int, message: str) -> PageResponse:
    return status, _JSON, msgspec.json.encode({"code": status, "message": message})
