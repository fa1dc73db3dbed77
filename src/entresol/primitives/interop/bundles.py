"""Bundles: calls that one chain sends to another, which executes them together."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Self

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.values import Address, Hash32

INTEROP_CENTER: Final = Address((0x1000D).to_bytes(20))
INTEROP_HANDLER: Final = Address((0x1000E).to_bytes(20))
BASE_TOKEN_HOLDER: Final = Address((0x10011).to_bytes(20))

VERSION: Final = b"\x01"
"""Of a bundle, of its calls, and of the message that it is sent by."""
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
    """Who may execute it, as ERC-7930 or 20 bytes; empty if anyone may."""
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
    def of_message(cls, message: bytes) -> Self:
        """Read the message of the center that has a bundle."""
        if message[:1] != VERSION:
            raise MalformedValue(f"0x{message[:1].hex()} is not the version of a bundle")
        return cls.decode(message[1:])

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
