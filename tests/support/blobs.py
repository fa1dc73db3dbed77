"""Blobs with their commitments and proofs, and transactions that carry them, made by c-kzg's Python binding.

What it made for the blobs of most tests is recorded, because it takes seconds to read its trusted setup in each process.
`python -m tests.support.blobs` records it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import ckzg
import eth_account.typed_transactions
import msgspec

from entresol._native import keccak256, rlp_encode, sign
from entresol.primitives.rlp import encode_uint

FIELD_ELEMENTS: Final = 4_096
BLOB_SIZE: Final = 32 * FIELD_ELEMENTS
BLOB_GAS: Final = 2**17

Form: TypeAlias = Literal["blob proofs", "cell proofs"]
"""How a sidecar proves its blobs: one proof each (EIP-4844), or one for each cell (EIP-7594)."""

_RECORD: Final = Path(__file__).with_name("blob_proofs.json")
_RECORDED: Final[dict[Form, Iterable[int]]] = {"blob proofs": range(10), "cell proofs": (1, 2, 4)}


class SampleSidecar(NamedTuple):
    blobs: tuple[bytes, ...]
    commitments: tuple[bytes, ...]
    proofs: tuple[bytes, ...]
    form: Form = "blob proofs"

    @property
    def hashes(self) -> list[bytes]:
        return [versioned_hash(commitment) for commitment in self.commitments]

    def items(self) -> list[Any]:
        """Return what follows the transaction in the network form."""
        version = [] if self.form == "blob proofs" else [b"\x01"]
        return [*version, list(self.blobs), list(self.commitments), list(self.proofs)]

    def json(self) -> dict[str, list[str]]:
        return {
            name: ["0x" + part.hex() for part in getattr(self, name)]
            for name in ("blobs", "commitments", "proofs")
        }


def versioned_hash(commitment: bytes) -> bytes:
    return b"\x01" + hashlib.sha256(commitment).digest()[1:]


@cache
def sample_blob(seed: int) -> bytes:
    return b"".join(
        (seed * FIELD_ELEMENTS + number).to_bytes(32) for number in range(FIELD_ELEMENTS)
    )


@cache
def sample_sidecar(*seeds: int, form: Form = "blob proofs") -> SampleSidecar:
    parts = [_proven(seed, form) for seed in seeds]
    return SampleSidecar(
        tuple(map(sample_blob, seeds)),
        tuple(commitment for commitment, _ in parts),
        tuple(proof for _, proofs in parts for proof in proofs),
        form,
    )


def blob_transaction(
    secret: bytes,
    sidecar: SampleSidecar | None,
    *,
    nonce: int = 0,
    chain_id: int = 31337,
    hashes: list[bytes] | None = None,
    blob_fee: int = 10**9,
    fee_cap: int = 10**11,
    tip: int = 10**9,
) -> bytes:
    """Return a signed blob transaction with its sidecar, or the bare one that blocks contain without it."""
    named = hashes if hashes is not None else [] if sidecar is None else sidecar.hashes
    fields: list[Any] = [
        *map(encode_uint, (chain_id, nonce, tip, fee_cap, 100_000)),
        *(b"\x11" * 20, b"", b"", []),
        encode_uint(blob_fee),
        named,
    ]
    signature = sign(keccak256(b"\x03" + rlp_encode(fields)), secret)
    signed = [
        *fields,
        encode_uint(signature[64]),
        *(encode_uint(int.from_bytes(word)) for word in (signature[:32], signature[32:64])),
    ]
    items = signed if sidecar is None else [signed, *sidecar.items()]
    return b"\x03" + rlp_encode(items)


Proven: TypeAlias = tuple[bytes, list[bytes]]


@cache
def _proven(seed: int, form: Form) -> Proven:
    return _recorded()[form].get(seed) or _prove(seed, form)


@cache
def _recorded() -> dict[Form, dict[int, Proven]]:
    return msgspec.json.decode(_RECORD.read_bytes(), type=dict[Form, dict[int, Proven]])


@cache
def _setup() -> Any:
    package = Path(eth_account.typed_transactions.__file__).parent
    return ckzg.load_trusted_setup(str(package / "blob_transactions" / "kzg_trusted_setup.txt"), 0)


def _prove(seed: int, form: Form) -> Proven:
    blob = sample_blob(seed)
    commitment = ckzg.blob_to_kzg_commitment(blob, _setup())
    if form == "cell proofs":
        return commitment, ckzg.compute_cells_and_kzg_proofs(blob, _setup())[1]
    return commitment, [ckzg.compute_blob_kzg_proof(blob, commitment, _setup())]


if __name__ == "__main__":
    made = {form: {seed: _prove(seed, form) for seed in seeds} for form, seeds in _RECORDED.items()}
    _RECORD.write_bytes(msgspec.json.encode(made) + b"\n")
