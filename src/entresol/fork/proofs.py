"""What `eth_getProof` responds, and the check of it against the state root of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from entresol._native import EMPTY_ROOT, keccak256, rlp_encode, verify_proof
from entresol.errors import InvalidProof, MalformedValue
from entresol.fork import results
from entresol.primitives import rlp
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Hash32

_EMPTY_NODE: Final = b"\x80"
_NO_HASHES: Final = frozenset({EMPTY_CODE_HASH, Hash32.zero()})


class ProvenAccount(msgspec.Struct, frozen=True):
    """An account as `eth_getProof` has it, with the values of the slots that were asked for."""

    nonce: int
    balance: int
    code_hash: Hash32
    storage_root: Hash32
    slots: list[bytes]
    account_proof: list[bytes]
    slot_proofs: list[list[bytes]]

    @property
    def has_code(self) -> bool:
        """Whether its code is not empty; an account that is absent has a hash of zeros on some nodes."""
        return self.code_hash not in _NO_HASHES


def proven_account(result: Any, slots: Sequence[bytes]) -> ProvenAccount:
    """Return an account of `eth_getProof`; it has to have the slots that were asked for, in their order."""
    fields = results.mapping(result)
    entries = fields.get("storageProof")
    if not isinstance(entries, list) or len(entries) != len(slots):
        raise MalformedValue(f"storageProof is an array of {len(slots)} slots")
    values = [_slot(entry, slot) for entry, slot in zip(entries, slots, strict=True)]
    return ProvenAccount(
        nonce=results.member(fields, "nonce", results.nonce),
        balance=results.member(fields, "balance", results.balance),
        code_hash=results.member(fields, "codeHash", Hash32.parse),
        storage_root=results.member(fields, "storageHash", Hash32.parse),
        slots=values,
        account_proof=results.member(fields, "accountProof", results.proof_nodes),
        slot_proofs=[results.member(entry, "proof", results.proof_nodes) for entry in entries],
    )


def check_proofs(
    state_root: bytes, address: bytes, slots: Sequence[bytes], account: ProvenAccount
) -> str:
    """Return why an account and its slots are not in the state, or an empty text if they are."""
    leaf = [
        rlp.encode_uint(account.nonce),
        rlp.encode_uint(account.balance),
        account.storage_root,
        account.code_hash,
    ]
    is_absent = not account.nonce and not account.balance and not account.has_code
    try:
        if is_absent and account.storage_root in (EMPTY_ROOT, bytes(32)):
            _check_empty(state_root, address, account)
        else:
            _check(state_root, address, rlp_encode(leaf), account.account_proof)
        root = EMPTY_ROOT if account.storage_root == bytes(32) else account.storage_root
        for slot, value, proof in zip(slots, account.slots, account.slot_proofs, strict=True):
            _check_slot(root, slot, value, proof)
    except InvalidProof as error:
        return str(error)
    return ""


def _check_empty(state_root: bytes, address: bytes, account: ProvenAccount) -> None:
    """Check that an account is absent, or there and empty, as some chains have them."""
    try:
        _check(state_root, address, None, account.account_proof)
    except InvalidProof:
        leaf = rlp_encode([b"", b"", EMPTY_ROOT, EMPTY_CODE_HASH])
        _check(state_root, address, leaf, account.account_proof)


def _check_slot(root: bytes, slot: bytes, value: bytes, proof: list[bytes]) -> None:
    """Check the value of a slot; a zero is absent, or there on nodes that leave it in the trie."""
    try:
        _check(root, slot, rlp_encode(value) if value else None, proof)
    except InvalidProof:
        if value:
            raise
        _check(root, slot, _EMPTY_NODE, proof)


def _check(root: bytes, key: bytes, value: bytes | None, proof: list[bytes]) -> None:
    # Some nodes write the root node of an empty trie.
    nodes = [] if root == EMPTY_ROOT and proof == [_EMPTY_NODE] else proof
    verify_proof(root, keccak256(key), value, nodes)


def _slot(entry: object, slot: bytes) -> bytes:
    fields = results.mapping(entry)
    key = results.member(fields, "key", results.word)
    if key != slot.lstrip(b"\0"):
        raise MalformedValue(f"storageProof has slot 0x{key.hex()}, and not 0x{slot.hex()}")
    return results.member(fields, "value", results.word)
