"""Responses of a remote, decoded and checked for everything that a hostile one can send; and its proofs of accounts.

Members that are not needed are ignored: other chains have others. Whatever is wrong raises `MalformedValue`; who asked
knows host and method (`decoded`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from entresol._native import EMPTY_ROOT, keccak256, rlp_encode, verify_proof
from entresol.errors import InvalidProof, MalformedValue
from entresol.features.fork.errors import RemoteMalformed
from entresol.l1.remote_layer_one import quantity
from entresol.primitives import rlp
from entresol.primitives.anchor import header_of_block
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.headers import Header
from entresol.primitives.values import Data, Hash32, Quantity

T = TypeVar("T")

MAX_CODE: Final = 1 << 20
"""Code over 24 KiB is legal on many chains; over 1 MiB it is nobody's."""
MAX_NUMBER: Final = 2**63 - 1
MAX_NONCE: Final = 2**64 - 1
MAX_CHAIN_ID: Final = 2**64 - 1
MAX_PROOF_NODES: Final = 128
MAX_PROOF_NODE: Final = 1 << 16
_WORD_DIGITS: Final = 64

_EMPTY_NODE: Final = b"\x80"
_NO_HASHES: Final = frozenset({EMPTY_CODE_HASH, Hash32.zero()})


class DescribedBlock(msgspec.Struct, frozen=True):
    """A block of the remote: its JSON as it came, and a header with what it has of ours."""

    number: int
    hash: Hash32
    header: Header
    json: bytes


def decoded(host: str, method: str, raw: bytes, decode: Callable[[Any], T]) -> T:
    """Return a result, decoded; raises `RemoteMalformed`."""
    try:
        return decode(json_of(host, method, raw))
    except MalformedValue as error:
        raise RemoteMalformed(host, method, str(error)) from error


def json_of(host: str, method: str, raw: bytes) -> Any:
    """Return a result as JSON; raises `RemoteMalformed`."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteMalformed(host, method, "the result cannot be read") from error


number: Final = quantity(MAX_NUMBER)
nonce: Final = quantity(MAX_NONCE)
balance: Final = quantity(2**256 - 1)
chain_id: Final = quantity(MAX_CHAIN_ID)


def word(result: object) -> bytes:
    """Return the value of a slot, without leading zeros; nodes write it with and without them."""
    if not isinstance(result, str) or not result.startswith("0x"):
        raise MalformedValue("a word is a hex string")
    digits = result[2:]
    if len(digits) > _WORD_DIGITS:
        raise MalformedValue(f"a word has 32 bytes, got {len(digits)} digits")
    value = int(Quantity.parse(result)) if digits else 0
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def code(result: object) -> bytes:
    """Return the code of an account."""
    if isinstance(result, str) and len(result) > 2 * MAX_CODE + 2:
        raise MalformedValue(f"code has at most {MAX_CODE} bytes, got {(len(result) - 2) // 2}")
    return bytes(Data.parse(result))


def member(fields: Mapping[str, Any], name: str, decode: Callable[[object], T]) -> T:
    """Return a member of an object, decoded."""
    try:
        return decode(fields.get(name))
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise MalformedValue("an object is expected")
    return value


def proof_nodes(value: object) -> list[bytes]:
    """Return the nodes of a Merkle proof."""
    if not isinstance(value, list) or len(value) > MAX_PROOF_NODES:
        raise MalformedValue(f"a proof is an array of up to {MAX_PROOF_NODES} nodes")
    nodes = [bytes(Data.parse(node)) for node in value]
    if any(len(node) > MAX_PROOF_NODE for node in nodes):
        raise MalformedValue(f"a node of a proof has at most {MAX_PROOF_NODE} bytes")
    return nodes


def described_block(
    host: str, method: str, raw: bytes, *, number_is: int | None = None, hash_is: object = None
) -> DescribedBlock | None:
    """Return a block of the remote, None if there is none; it has to be the one that was asked for."""

    def decode(result: object) -> DescribedBlock | None:
        if result is None:
            return None
        fields = mapping(result)
        header = header_of_block(fields)
        assert header.given_hash is not None
        block = DescribedBlock(
            member(fields, "number", number), header.given_hash, header, bytes(raw)
        )
        if number_is is not None and block.number != number_is:
            raise MalformedValue(f"it is block {block.number}, and not {number_is}")
        if hash_is is not None and block.hash != hash_is:
            raise MalformedValue(f"it is block {block.hash}, and not {hash_is}")
        return block

    return decoded(host, method, raw, decode)


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
    fields = mapping(result)
    entries = fields.get("storageProof")
    if not isinstance(entries, list) or len(entries) != len(slots):
        raise MalformedValue(f"storageProof is an array of {len(slots)} slots")
    values = [_slot(entry, slot) for entry, slot in zip(entries, slots, strict=True)]
    return ProvenAccount(
        nonce=member(fields, "nonce", nonce),
        balance=member(fields, "balance", balance),
        code_hash=member(fields, "codeHash", Hash32.parse),
        storage_root=member(fields, "storageHash", Hash32.parse),
        slots=values,
        account_proof=member(fields, "accountProof", proof_nodes),
        slot_proofs=[member(entry, "proof", proof_nodes) for entry in entries],
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
    fields = mapping(entry)
    key = member(fields, "key", word)
    if key != slot.lstrip(b"\0"):
        raise MalformedValue(f"storageProof has slot 0x{key.hex()}, and not 0x{slot.hex()}")
    return member(fields, "value", word)
