"""Bundles: calls that one chain sends to another, the addresses in them, and what L1 needs to book them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER, PACKED_SIZE
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol._native import Log
    from entresol.primitives.records import BlockRecord


INTEROP_CENTER: Final = Address((0x1000D).to_bytes(20))
INTEROP_HANDLER: Final = Address((0x1000E).to_bytes(20))
BASE_TOKEN_HOLDER: Final = Address((0x10011).to_bytes(20))

VERSION: Final = b"\x01"
"""The version of a bundle, of its calls, and of the message that it is sent by."""
MAX_BUNDLE_BYTES: Final = 100_000

_CALL: Final = "(bytes1,bool,address,address,uint256,bytes)"
BUNDLE_TYPE: Final = f"(bytes1,uint256,uint256,bytes32,bytes32,{_CALL}[],(bytes,bytes,bool))"
BUNDLE_SENT: Final = Hash32(keccak256(f"InteropBundleSent(bytes32,bytes32,{BUNDLE_TYPE})".encode()))
"""The event of the center; nothing of it is indexed."""


class BundleCall(NamedTuple):
    """A call of a bundle."""

    to: Address
    sender: Address
    value: int
    data: bytes
    version: bytes = VERSION
    has_shadow_account: bool = False


class InteropBundle(NamedTuple):
    """Calls from one chain to another."""

    source: int
    destination: int
    base_token: Hash32
    """The asset id of the destination's base token."""
    salt: Hash32
    calls: tuple[BundleCall, ...]
    executor: bytes = b""
    """The account that may execute it, as ERC-7930 or 20 bytes; empty if anyone may."""
    unbundler: bytes = b""
    has_fixed_fee: bool = False
    version: bytes = VERSION

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Read a bundle; raises `MalformedValue` for anything but its one encoding."""
        (words,) = abi.decode(f"({BUNDLE_TYPE})", encoded)
        bundle = cls.of_words(words)
        if bundle.encode() != encoded:
            raise MalformedValue("the bundle is not encoded as it has to be")
        return bundle

    @classmethod
    def of_event(cls, data: bytes) -> tuple[Hash32, Hash32, Self]:
        """Read `InteropBundleSent`: the hashes of the message and of the bundle, and the bundle."""
        message, bundle_hash, words = abi.decode(f"(bytes32,bytes32,{BUNDLE_TYPE})", data)
        return Hash32(message), Hash32(bundle_hash), cls.of_words(words)

    @classmethod
    def of_words(cls, words: Any) -> Self:
        """Return the bundle with these fields, in the order of the struct `InteropBundle`."""
        version, source, destination, base_token, salt, calls, attributes = words
        decoded = tuple(
            BundleCall(Address(to), Address(sender), value, data, bytes(kind), shadow)
            for kind, shadow, to, sender, value, data in calls
        )
        executor, unbundler, has_fixed_fee = attributes
        head = (source, destination, Hash32(base_token), Hash32(salt), decoded)
        return cls(*head, executor, unbundler, has_fixed_fee, bytes(version))

    def encode(self) -> bytes:
        """Return the bundle as it is executed."""
        calls = [
            (call.version, call.has_shadow_account, call.to, call.sender, call.value, call.data)
            for call in self.calls
        ]
        attributes = (self.executor, self.unbundler, self.has_fixed_fee)
        head = (self.version, self.source, self.destination, self.base_token, self.salt)
        return abi.encode(f"({BUNDLE_TYPE})", ((*head, calls, attributes),))

    def message(self) -> bytes:
        """Return the message that the source sends."""
        return VERSION + self.encode()

    def hash(self) -> Hash32:
        """Return what identifies it on every chain."""
        encoded = abi.encode("(uint256,bytes)", (self.source, self.encode()))
        return Hash32(keccak256(encoded))


_PREFIX: Final = bytes.fromhex("00010000")
"""The version, and the kind of chains that Ethereum is one of."""
_ADDRESS: Final = 20


def encode_erc7930(chain_id: int | None, address: Address | None = None) -> bytes:
    """Return a chain, an address, or an address on a chain, as ERC-7930 encodes it."""
    number = b"" if chain_id is None else chain_id.to_bytes((chain_id.bit_length() + 7) // 8)
    account = b"" if address is None else bytes(address)
    return _PREFIX + bytes([len(number)]) + number + bytes([len(account)]) + account


MAX_BOOKED_LOGS: Final = 1_024
"""How many logs a batch has that L1 books; its contract rejects more."""
MAX_BOOKED_BYTES: Final = 120_000
"""How long its logs and bundles are together: nodes of L1 take no transaction above 128 KiB."""
_BUNDLE_OVERHEAD: Final = 96
"""An offset, a length and the padding of a bundle among others."""

_CENTER_WORD: Final = Hash32(bytes(12) + INTEROP_CENTER)
_SENDER_AND_KEY: Final = slice(4, 56)
_BUNDLE_KEY: Final = L1_MESSENGER + _CENTER_WORD
_SENDER: Final = slice(4, 24)


class MessageLoad(NamedTuple):
    """The load of the messages of a transaction, of a block or of a batch on the transaction that books them."""

    logs: int = 0
    bundles: int = 0
    bundle_bytes: int = 0

    @classmethod
    def of(cls, logs: int, events: Iterable[Log]) -> Self:
        """Return the load of so many logs to L1, and of the bundles among some events."""
        lengths = list(map(len, bundles_in(events)))
        return cls(logs, len(lengths), sum(lengths) + _BUNDLE_OVERHEAD * len(lengths))

    @classmethod
    def of_record(cls, record: BlockRecord) -> Self:
        """Return the load of a block."""
        load = cls()
        for result in record.results:
            if result.l2_to_l1_logs:
                load = load.plus(cls.of(len(result.l2_to_l1_logs), result.logs))
        return load

    def plus(self, other: MessageLoad) -> Self:
        """Return both together."""
        return type(self)(
            self.logs + other.logs,
            self.bundles + other.bundles,
            self.bundle_bytes + other.bundle_bytes,
        )

    @property
    def size(self) -> int:
        """The bytes of logs and bundles."""
        return self.logs * PACKED_SIZE + self.bundle_bytes

    @property
    def is_bookable(self) -> bool:
        """Whether one transaction of L1 can book them; without bundles nothing has to be booked."""
        return not self.bundles or (self.logs <= MAX_BOOKED_LOGS and self.size <= MAX_BOOKED_BYTES)


def bundles_in(events: Iterable[Log]) -> Iterator[bytes]:
    """Yield the messages of the interop center among the events of a transaction, in order."""
    for address, topics, data in events:
        is_message = address == L1_MESSENGER and len(topics) == 3 and topics[0] == L1_MESSAGE_SENT
        if is_message and topics[1] == _CENTER_WORD:
            try:
                (message,) = abi.decode("(bytes)", data)
            except MalformedValue:
                # Only another code of the messenger, as developers may set it, has such events.
                message = b""
            yield bytes(message)


def has_bundles(packed_logs: bytes) -> bool:
    """Return whether one of the packed logs of a batch is of a bundle."""
    return any(log[_SENDER_AND_KEY] == _BUNDLE_KEY for log in _each(packed_logs))


def has_messages(packed_logs: bytes) -> bool:
    """Return whether one of the packed logs of a batch is of a message; others are results of deposits."""
    return any(log[_SENDER] == L1_MESSENGER for log in _each(packed_logs))


def _each(packed_logs: bytes) -> Iterator[bytes]:
    for start in range(0, len(packed_logs), PACKED_SIZE):
        yield packed_logs[start : start + PACKED_SIZE]
