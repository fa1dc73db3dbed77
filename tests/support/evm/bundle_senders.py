"""Contracts that send bundles and messages of any length, in place of those of an L2."""

from __future__ import annotations

from entresol.chain.genesis.genesis import GenesisAccount
from entresol.primitives.interop_bundles import INTEROP_CENTER
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.values import Address
from tests.support.evm.assembler import assemble

FLOODER = Address(b"\xf1" * 20)

# Sends a message of as many zeros as the first word of the input says, as often as the second word says, and then
# what the third word says once through the center, unless that is 0.
_FLOODER = assemble(
    """
    32 0 mstore 0 calldataload 32 mstore
    32 calldataload dup1 iszero @bundle jumpi
    again: 0 0 0 calldataload 64 add 0 0 0x8008 gas call pop
    1 swap1 sub dup1 @again jumpi
    bundle: 64 calldataload iszero @end jumpi
    64 calldataload 32 mstore
    0 0 64 calldataload 64 add 0 0 0x01000d gas call pop
    end: stop
    """
)
# Emits that its caller has sent the input, which is encoded as the bytes of an event.
_MESSENGER = assemble(
    """
    calldatasize 0 0 calldatacopy
    32 mload 64 keccak256
    caller
    0x3a36e47291f4201faf137fab081d92295bce2d53be2c6ca68ba82c7faa9ce241
    calldatasize 0 log3
    """
)
_CENTER = assemble("calldatasize 0 0 calldatacopy 0 0 calldatasize 0 0 0x8008 gas call pop")

CODES = {
    L1_MESSENGER: _MESSENGER,
    INTEROP_CENTER: _CENTER,
    FLOODER: _FLOODER,
    # By which a chain is known to have bundles.
    ROOT_STORAGE: assemble("stop"),
}
ALLOC = {address: GenesisAccount(code=code, nonce=1) for address, code in CODES.items()}


def flood(messages: int, bundle: int = 0) -> bytes:
    """Return the input that has the flooder send so many messages, and then a bundle of this length."""
    return b"".join(entry.to_bytes(32) for entry in (32, messages, bundle))
