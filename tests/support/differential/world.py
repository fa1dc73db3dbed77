"""The accounts and contracts that the compared transactions use."""

from __future__ import annotations

from tests.support.anvil import Anvil
from tests.support.differential import contracts
from tests.support.differential.transactions import Actor
from tests.support.hex_data import hexed, word

ETHER = 10**18


def place(number: int) -> bytes:
    return bytes.fromhex("c0de") + number.to_bytes(18, "big")


STORE, LOAD, FORWARD, FAULTY, RECURSE, TRANSIENT, FACTORY, TOKEN = map(place, range(1, 9))
BOMBS = (place(100), place(101))
CODES = {
    STORE: contracts.STORE,
    LOAD: contracts.LOAD,
    FORWARD: contracts.FORWARD,
    FAULTY: contracts.FAULTY,
    RECURSE: contracts.RECURSE,
    TRANSIENT: contracts.TRANSIENT,
    FACTORY: contracts.FACTORY,
    TOKEN: contracts.TOKEN,
    **dict.fromkeys(BOMBS, contracts.BOMB),
}
SENDER, AUTHORITY, OTHER_AUTHORITY = map(Actor, ("sender", "authority", "other authority"))


def found(anvil: Anvil) -> None:
    for actor in (SENDER, AUTHORITY, OTHER_AUTHORITY):
        anvil("anvil_setBalance", hexed(actor.address), hex(10**6 * ETHER))
    for address, code in CODES.items():
        anvil("anvil_setCode", hexed(address), hexed(code))
        anvil("anvil_setBalance", hexed(address), hex(100))
        anvil("anvil_setNonce", hexed(address), "0x1")
        anvil("anvil_setStorageAt", hexed(address), hexed(word(1)), hexed(word(0x1234)))
