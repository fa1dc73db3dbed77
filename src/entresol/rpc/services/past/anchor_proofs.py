"""Proofs of the block that a fork stands on: those of the remote, which its own header can be checked by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.errors import MalformedValue, NotRecorded
from entresol.errors.fork import NotCovered, RemoteRejected
from entresol.fork.remote_values import ProvenAccount, check_proofs, proven_account
from entresol.fork.transport.rejections import is_invalid_params
from entresol.primitives.anchor import header_of_json
from entresol.rpc.services.past.remote import is_null

if TYPE_CHECKING:
    from msgspec import Raw

    from entresol.primitives.values import Address
    from entresol.rpc.services.past.remote import PastChain

METHOD: Final = "eth_getProof"


class RemoteProof(NamedTuple):
    """The proof of an account as it came, and what it says; it is proven."""

    json: Raw
    account: ProvenAccount


class AnchorProofs:
    """Reads proofs of the remote, and checks them against the anchor's state root.

    Persists: proofs, in the cache of the remote. Assumes: the event loop. Fails: with `NotCovered`
    if the remote does not prove it, and with `RemoteFailed`.
    """

    def __init__(self, remote: PastChain) -> None:
        self._remote = remote

    async def proof(self, method: str, address: Address, slots: Sequence[bytes]) -> RemoteProof:
        """Return what the remote proves of an account and slots after the anchor, for a method that needs it."""
        try:
            json = await self._read([str(address), [f"0x{slot.hex()}" for slot in slots]])
        except RemoteRejected as error:
            raise _not_covered(method, address, f"the remote does not prove it: {error}") from error
        try:
            account = proven_account(msgspec.json.decode(json), slots)
        except (MalformedValue, msgspec.DecodeError, RecursionError) as error:
            raise _not_covered(method, address, f"the remote proves nothing: {error}") from error
        anchor = self._remote.anchor
        root = header_of_json(anchor.json).state_root
        problem = check_proofs(root, bytes(address), slots, account)
        if problem:
            text = (
                f"the remote's proof is not of the state root of block {anchor.number}: {problem}"
            )
            raise _not_covered(method, address, text)
        return RemoteProof(json, account)

    async def _read(self, params: list[object]) -> Raw:
        """Return a proof by the anchor's hash; by its number, if the remote takes nothing else."""
        anchor = self._remote.anchor
        named = {"blockHash": str(anchor.hash), "requireCanonical": False}
        try:
            return await self._remote.read(METHOD, [*params, named], is_final=_is_there)
        except RemoteRejected as error:
            if not is_invalid_params(error.code, error.message):
                raise
        except NotRecorded:
            # Recorded by the number, or not at all, which the error says then.
            pass
        return await self._remote.read(
            METHOD, [*params, hex(anchor.number)], is_final=_is_there, at=anchor.number
        )


def _is_there(result: Raw) -> bool:
    return not is_null(result)


def _not_covered(method: str, address: Address, problem: str) -> NotCovered:
    return NotCovered(method, f"{address} is as the remote has it, and {problem}")
