"""The native crate: hashing, signatures, RLP and transaction decoding."""

from collections.abc import Sequence
from typing import TypeAlias, final

from entresol.errors import InvalidTransaction

RlpItem: TypeAlias = bytes | list[RlpItem]
RlpSource: TypeAlias = bytes | Sequence[RlpSource]

def keccak256(data: bytes, /) -> bytes:
    """Return the Keccak-256 hash of `data`."""

def recover(digest: bytes, signature: bytes, /) -> bytes:
    """Return the address that signed `digest` with `r ‖ s ‖ parity`; `InvalidSignature` if none."""

def sign(digest: bytes, secret: bytes, /) -> bytes:
    """Sign `digest` deterministically; return `r ‖ s ‖ parity` with a low `s` and parity 0 or 1."""

def public_key(secret: bytes, /) -> bytes:
    """Return the 64 bytes of the public key of `secret`."""

def address_of(public_key: bytes, /) -> bytes:
    """Return the address of a public key of 64 bytes."""

def rlp_encode(item: RlpSource, /) -> bytes:
    """Return the RLP encoding of `item`; lists and tuples are lists."""

def rlp_decode(data: bytes, /) -> RlpItem:
    """Return the item that `data` encodes, or raise `MalformedValue` if it is not canonical."""

def decode_transaction(raw: bytes, /, *, sender: bytes | None = None) -> DecodedTransaction:
    """Decode a transaction of type 0, 1, 2 or 4; a known `sender` is believed, not recovered."""

def decode_transactions(raws: list[bytes], /) -> list[DecodedTransaction | InvalidTransaction]:
    """Decode many transactions on all cores without the GIL; a refusal takes its item's place."""

@final
class DecodedTransaction:
    """A transaction as its sender signed it."""

    @property
    def type(self) -> int:
        """The transaction type: 0, 1, 2 or 4."""
    @property
    def chain_id(self) -> int | None:
        """The chain it was signed for; none for a legacy transaction that is valid on any chain."""
    @property
    def nonce(self) -> int:
        """How many transactions the sender had sent before."""
    @property
    def gas_price(self) -> int | None:
        """The price of types 0 and 1."""
    @property
    def max_fee_per_gas(self) -> int | None:
        """The fee cap of types 2 and 4."""
    @property
    def max_priority_fee_per_gas(self) -> int | None:
        """The tip of types 2 and 4."""
    @property
    def gas_limit(self) -> int:
        """The most gas it may use."""
    @property
    def to(self) -> bytes | None:
        """The account it calls; none if it creates a contract."""
    @property
    def value(self) -> int:
        """The wei it transfers."""
    @property
    def data(self) -> bytes:
        """The input of the call, or the init code."""
    @property
    def access_list(self) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
        """The accounts it declares, each with its slots."""
    @property
    def authorizations(self) -> tuple[tuple[int, bytes, int, int, int, int], ...]:
        """Its authorizations: chain id, address, nonce, parity, r and s."""
    @property
    def y_parity(self) -> int:
        """The parity of the signature: 0 or 1."""
    @property
    def v(self) -> int:
        """The `v` of a legacy transaction as encoded, the parity of any other."""
    @property
    def r(self) -> int:
        """The signature's `r`."""
    @property
    def s(self) -> int:
        """The signature's `s`."""
    @property
    def hash(self) -> bytes:
        """The transaction hash."""
    @property
    def sender(self) -> bytes:
        """Who signed it."""
