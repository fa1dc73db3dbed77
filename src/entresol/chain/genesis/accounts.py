"""Development accounts, whose keys are publicly known: derived from a mnemonic, or those of the ZK Stack."""

from __future__ import annotations

import hmac
import re
import unicodedata
from hashlib import pbkdf2_hmac
from typing import Final

import msgspec

from entresol._native import CURVE_ORDER, address_of, public_key
from entresol.errors import MalformedValue
from entresol.primitives.values import Address, Hash32

DEVELOPMENT_MNEMONIC: Final = "test test test test test test test test test test test junk"
DEVELOPMENT_PATH: Final = "m/44'/60'/0'/0"

_WORD_COUNTS: Final = (12, 15, 18, 21, 24)
_SEED_ROUNDS: Final = 2048
_HARDENED: Final = 2**31
_STEP: Final = re.compile("([0-9]{1,10})(['hH]?)")


class DevAccount(msgspec.Struct, frozen=True):
    """A development account; its secret key is publicly known."""

    address: Address
    secret: Hash32

    @classmethod
    def from_secret(cls, secret: Hash32) -> DevAccount:
        """Return the account of a secret key."""
        return cls(Address(address_of(public_key(secret))), secret)


# The rich accounts that ZK Stack tools expect on a local chain.
ZK_STACK_ACCOUNTS: Final = (
    DevAccount(
        Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049"),
        Hash32.parse("0x7726827caac94a7f9e1b160f7ea819f172f7b6f9d2a97f992c38edeab82d4110"),
    ),
    DevAccount(
        Address.parse("0xa61464658AfeAf65CccaaFD3a512b69A83B77618"),
        Hash32.parse("0xac1e735be8536c6534bb4f17f06f6afc73b2b5ba84ac2cfb12f7461b20c0bbe3"),
    ),
)


class _Key(msgspec.Struct, frozen=True):
    """An extended private key of BIP-32."""

    secret: bytes
    chain_code: bytes

    def child(self, index: int) -> _Key:
        """Derive the child key at `index`; indexes from 2^31 on are hardened."""
        parent = b"\0" + self.secret if index >= _HARDENED else _compressed(self.secret)
        digest = hmac.digest(self.chain_code, parent + index.to_bytes(4), "sha512")
        # BIP-32 skips an index without a key; one in 2^127 has none, so it is not handled.
        secret = (int.from_bytes(digest[:32]) + int.from_bytes(self.secret)) % CURVE_ORDER
        return _Key(secret.to_bytes(32), digest[32:])


def derive(mnemonic: str, count: int, path: str = DEVELOPMENT_PATH) -> tuple[DevAccount, ...]:
    """Return the first accounts under `path`; of the words only the number is checked, so they may be of any list."""
    key = _master(mnemonic)
    for index in _steps(path):
        key = key.child(index)
    return tuple(DevAccount.from_secret(Hash32(key.child(index).secret)) for index in range(count))


def _master(mnemonic: str) -> _Key:
    words = unicodedata.normalize("NFKD", mnemonic).split()
    if len(words) not in _WORD_COUNTS:
        raise MalformedValue(f"a mnemonic is 12, 15, 18, 21 or 24 words, got {len(words)}")
    seed = pbkdf2_hmac("sha512", " ".join(words).encode(), b"mnemonic", _SEED_ROUNDS)
    digest = hmac.digest(b"Bitcoin seed", seed, "sha512")
    return _Key(digest[:32], digest[32:])


def _steps(path: str) -> list[int]:
    """Return the indexes of `path`, which may end in a slash."""
    root, *steps = path.removesuffix("/").split("/")
    if root != "m":
        raise MalformedValue(f"it starts with m, got {path!r}", field="derivation-path")
    return [_index(step) for step in steps]


def _index(step: str) -> int:
    match = _STEP.fullmatch(step)
    if match is None or int(match[1]) >= _HARDENED:
        raise MalformedValue(f"a step is like 44' or 0, got {step!r}", field="derivation-path")
    return int(match[1]) + (_HARDENED if match[2] else 0)


def _compressed(secret: bytes) -> bytes:
    """Return the compressed public key of `secret`."""
    point = public_key(secret)
    return bytes([2 + point[-1] % 2]) + point[:32]
