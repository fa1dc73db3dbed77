"""The small world that the generated transactions live in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.support.anvil import Anvil
from tests.support.differential import contracts
from tests.support.differential.transactions import CHAIN_ID, Actor, Authorization, Draft, Signed
from tests.support.hex_data import hexed, word

ETHER = 10**18
FORKS = ("london", "paris", "shanghai", "cancun", "prague", "osaka")
COINBASE = bytes.fromhex("c0ffee0000000000000000000000000000c0ffee")


def place(number: int) -> bytes:
    """Return the address of a contract of the world."""
    return bytes.fromhex("c0de") + number.to_bytes(18, "big")


STORE, LOAD, FORWARD, FAULTY, RECURSE, RECURSE_AND_STORE, TRANSIENT, FACTORY, TOKEN = (
    place(number) for number in range(1, 10)
)
_CODES = {
    STORE: contracts.STORE,
    LOAD: contracts.LOAD,
    FORWARD: contracts.FORWARD,
    FAULTY: contracts.FAULTY,
    RECURSE: contracts.RECURSE,
    RECURSE_AND_STORE: contracts.RECURSE_AND_STORE,
    TRANSIENT: contracts.TRANSIENT,
    FACTORY: contracts.FACTORY,
    TOKEN: contracts.TOKEN,
}
BOMBS = tuple(place(number) for number in range(100, 140))

ACTORS = tuple(Actor(f"actor {n}") for n in range(12))
AUTHORITIES = tuple(Actor(f"authority {n}") for n in range(10))
PAUPERS = tuple(Actor(f"pauper {n}") for n in range(60))
PAUPER_BALANCE = ETHER


@dataclass
class World:
    """State of the generator: its random source, the fork, and the nonces it has used."""

    random: Random
    fork: str
    nonces: dict[bytes, int] = field(default_factory=dict)
    paupers: list[Actor] = field(default_factory=lambda: list(PAUPERS))
    authorized: set[bytes] = field(default_factory=set)
    serial: int = 0

    def start_block(self, nonces: dict[bytes, int]) -> None:
        """Learn the nonces after a block."""
        self.nonces = nonces
        self.authorized.clear()

    def since(self, fork: str) -> bool:
        """Whether this world's fork has what `fork` brought."""
        return FORKS.index(self.fork) >= FORKS.index(fork)

    def address(self) -> bytes:
        """Return an address that nobody used."""
        return b"\xee" + self.random.randbytes(19)

    def serial_number(self) -> int:
        """Return a number that was not returned before."""
        self.serial += 1
        return self.serial

    def nonce(self, address: bytes) -> int:
        """Return the next nonce of `address`."""
        return self.nonces.get(address, 0)

    def use_nonce(self, address: bytes) -> None:
        """Note that the next nonce of `address` is used up."""
        self.nonces[address] = self.nonce(address) + 1

    def sign(self, kind: str, draft: Draft, nonce: int | None = None) -> Signed:
        """Give the draft what it lacks; with an own nonce it does not count as sent."""
        sender = draft.sender or self.random.choice(ACTORS)
        form = self._form(draft) if draft.type is None else draft.type
        if nonce is not None:
            return Signed(kind, draft, sender, nonce, form)
        signed = Signed(kind, draft, sender, self.nonce(sender.address), form)
        self.use_nonce(sender.address)
        for authorization in draft.authorizations:
            self._follow(authorization)
        return signed

    def _follow(self, authorization: Authorization) -> None:
        authority = authorization.authority.address
        is_ours = authorization.chain_id in {0, CHAIN_ID} and not authorization.spoiled
        if is_ours and authorization.nonce == self.nonce(authority):
            self.use_nonce(authority)
            self.authorized.add(authority)

    def _form(self, draft: Draft) -> int:
        if draft.authorizations:
            return 4
        return self.random.choice((1, 2) if draft.access_list else (0, 1, 2))


Kind = Callable[[World], Draft]


def found(anvil: Anvil) -> None:
    """Make the accounts of the world on a fresh anvil."""
    anvil("anvil_setCoinbase", hexed(COINBASE))
    for actor in ACTORS:
        anvil("anvil_setBalance", hexed(actor.address), hex(10**6 * ETHER))
    for actor in AUTHORITIES + PAUPERS:
        anvil("anvil_setBalance", hexed(actor.address), hex(PAUPER_BALANCE))
    for address, code in _CODES.items():
        anvil("anvil_setCode", hexed(address), hexed(code))
        anvil("anvil_setBalance", hexed(address), hex(100 * ETHER))
    for n, address in enumerate(BOMBS):
        anvil("anvil_setCode", hexed(address), hexed(contracts.BOMB))
        anvil("anvil_setBalance", hexed(address), hex(n))
        anvil("anvil_setNonce", hexed(address), "0x1")
        anvil("anvil_setStorageAt", hexed(address), hexed(word(1)), hexed(word(0x1234 + n)))
