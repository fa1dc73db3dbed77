"""Read the sidecar of a blob transaction from a transaction object, and verify it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import BlobSidecar
from entresol.errors import MalformedTransaction, MalformedValue, MissingSidecar, TooManyBlobs

if TYPE_CHECKING:
    from entresol.rpc.types.call_request import TransactionObject

CELLS_PER_BLOB: Final = 128


def read_sidecar(given: TransactionObject, max_blobs: int) -> BlobSidecar:
    """Return the sidecar; raise `InvalidSidecar` if a proof does not hold, which takes milliseconds to find out."""
    proofs = given.proofs if given.cell_proofs is None else given.cell_proofs
    if given.blobs is None or given.commitments is None or proofs is None:
        raise MissingSidecar
    if given.proofs is not None and given.cell_proofs is not None:
        raise MalformedValue("both proofs and cellProofs specified")
    if len(given.blobs) > max_blobs:
        raise TooManyBlobs(len(given.blobs), max_blobs)
    if len(proofs) > CELLS_PER_BLOB * len(given.blobs) or len(given.commitments) > len(proofs):
        raise MalformedTransaction(
            f"there are {len(given.blobs)} blobs, {len(given.commitments)} commitments and {len(proofs)} proofs"
        )
    # Some clients send cell proofs under the older name.
    has_cell_proofs = given.cell_proofs is not None or len(proofs) != len(given.blobs)
    sidecar = BlobSidecar(
        blobs=given.blobs,
        commitments=given.commitments,
        proofs=proofs,
        has_cell_proofs=has_cell_proofs,
    )
    hashes = given.blob_versioned_hashes
    sidecar.verify(sidecar.hashes if hashes is None else hashes)
    return sidecar
