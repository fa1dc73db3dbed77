"""Edits that were published by their hash alone, fetched from a node that is not trusted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.errors import LayerOneFailed, LayerOneRejected, LayerOneUnreachable, MalformedValue
from entresol.features.derive.errors import EditsUnavailable, UnderivableBatch
from entresol.l1.json_rpc_client import JsonRpcClient
from entresol.l1.urls import Endpoint
from entresol.primitives.published.edits import EditsByHash
from entresol.primitives.values import Data

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.features.derive.l1_events import BatchClaim

METHOD: Final = "entresol_getEdits"
MAX_EDITS_BYTES: Final = 256 << 20
"""The most that the edits of one batch may take, of which L1 says the length."""

_ATTEMPTS: Final = 3
_TIMEOUT_SECONDS: Final = 20.0


class EditFetcher:
    """Fetches the edits of a batch before it is derived (an `EditSource`).

    Remembers: the edits of the last batch. Fails: with `EditsUnavailable`, after several attempts if the node does not
    respond; what it gives has the length and the hash that L1 says, or is not used.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = _TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        endpoint = Endpoint(url)
        self._name = endpoint.redacted
        # Attempts are counted here: one response has a megabyte of edits, and is to be short.
        self._client = JsonRpcClient(endpoint, attempts=1, timeout=timeout, sleep=sleep)
        self._sleep = sleep
        self._found: dict[EditsByHash, bytes] = {}

    def edits(self, block: int, wanted: EditsByHash) -> bytes | None:  # noqa: ARG002 - of the interface
        """Return the edits of a block, which were fetched before."""
        return self._found.get(wanted)

    async def fetch(self, claim: BatchClaim) -> None:
        """Fetch the edits of a batch, and forget those of others."""
        wanted = _wanted(claim)
        # Not by the block: a batch that was taken back may come again with other edits of the same one.
        needed = {*wanted.values()}
        self._found = {edits: data for edits, data in self._found.items() if edits in needed}
        left = MAX_EDITS_BYTES
        for block, edits in wanted.items():
            left -= edits.size
            if left < 0:
                problem = f"those of batch {claim.number} take more than {MAX_EDITS_BYTES} bytes"
                raise EditsUnavailable(block, self._name, problem)
            if edits not in self._found:
                self._found[edits] = await self._fetched(block, edits)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _fetched(self, block: int, wanted: EditsByHash) -> bytes:
        found = bytearray()
        while len(found) < wanted.size:
            piece = await self._piece(block, len(found))
            if not piece:
                problem = f"they have {len(found)} bytes there, and {wanted.size} by L1"
                raise EditsUnavailable(block, self._name, problem)
            found += piece
        if len(found) > wanted.size or keccak256(bytes(found)) != wanted.hash:
            raise EditsUnavailable(
                block, self._name, f"others are, which do not have the hash {wanted.hash}"
            )
        return bytes(found)

    async def _piece(self, block: int, offset: int) -> bytes:
        """Return some of the edits of a block from an offset on."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                result = await self._client.read(METHOD, hex(block), hex(offset))
                return Data.parse(_text(bytes(result)))
            except LayerOneUnreachable as error:
                if attempt == _ATTEMPTS:
                    raise EditsUnavailable(block, self._name, error.problem) from error
                await self._sleep(attempt)
            except LayerOneRejected as error:
                raise EditsUnavailable(block, self._name, error.message) from error
            except (MalformedValue, LayerOneFailed) as error:
                raise EditsUnavailable(block, self._name, str(error)) from error
        raise AssertionError("there is at least one attempt")


def _wanted(claim: BatchClaim) -> dict[int, EditsByHash]:
    """Return the edits of a batch that are published by their hash; none of one that derivation rejects."""
    try:
        blocks = claim.read().blocks
    except UnderivableBatch:
        return {}
    return {
        number: block.edits
        for number, block in enumerate(blocks, start=claim.first_block)
        if isinstance(block.edits, EditsByHash)
    }


def _text(result: bytes) -> str:
    """Return a result that is a string of JSON without escapes, or nothing."""
    if result == b"null":
        raise MalformedValue("it has no edits there")
    return result.strip(b'"').decode("ascii", "replace")
