"""What a bundle says is what its sender has said, by a plain reading of addresses and attributes.

`make test-long` tries 15,000 of them, and `make test` a fiftieth, with the same seed every time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, create_address
from tests.support.contracts.bundles import Call, PlainBundle
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Reverted
from tests.support.contracts.interop_chains import (
    FEE,
    HANDLER,
    InteropChain,
    anywhere,
    attribute,
    chain_only,
    on_chain,
)
from tests.support.contracts.interop_mutations import Mutations, word
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    OTHER_CHAIN_ID,
    asset_id,
)
from tests.support.run.examples import tries_many

CAROL = Address(b"\xca" * 20)
CASES = 15_000 // (1 if tries_many() else 50)
CALL_VALUE, INDIRECT, EXECUTOR, UNBUNDLER, FIXED_FEE = (
    keccak256(name.encode())[:4]
    for name in (
        "interopCallValue(uint256)",
        "indirectCall(uint256)",
        "executionAddress(bytes)",
        "unbundlerAddress(bytes)",
        "useFixedFee(bool)",
    )
)
INITIATOR = create_address(BOB, 0)
"""A contract of the source that makes a call itself: always the same one."""
INITIATED = b"by somebody else"
RICH = 100 * ETHER


class Rejected(Exception):  # noqa: N818 - named for what happened
    """What is said means nothing."""


# --- A plain reading of the specification ---


def _check(*, holds: bool) -> None:
    if not holds:
        raise Rejected


def interoperable(encoded: bytes) -> tuple[int | None, Address | None]:
    """Read an address of ERC-7930 of an EVM chain: its chain, if it names one, and its account, if it does."""
    _check(holds=len(encoded) > 5 and encoded[:4] == b"\0\1\0\0")
    size, rest = encoded[4], encoded[5:]
    number, rest = rest[:size], rest[size:]
    # The number of a chain fits a word, and has no zeros before it.
    _check(holds=size <= 32 and len(rest) > 0 and number[:1] != b"\0")
    account = rest[1:]
    _check(holds=rest[0] == len(account) and len(account) in (0, 20))
    # Nobody has the address zero.
    _check(holds=account != bytes(20))
    chain_id = int.from_bytes(number) if number else None
    return chain_id, Address(account) if account else None


def number(encoded: bytes) -> int:
    """Read the argument of an attribute."""
    _check(holds=len(encoded) == 36)
    return int.from_bytes(encoded[4:])


def account(encoded: bytes) -> bytes:
    """Read an address in an attribute: 20 bytes, or of ERC-7930 with an account."""
    size = int.from_bytes(encoded[36:68])
    _check(holds=len(encoded) >= 68 and size <= len(encoded))
    found = encoded[68 : 68 + size]
    _check(holds=encoded[4:] == abi.encode(["bytes"], [found]))
    named = anywhere(Address(found)) if len(found) == 20 else found
    _check(holds=interoperable(named)[1] is not None)
    return named


def only_once(attributes: list[bytes], *known: bytes) -> dict[bytes, bytes]:
    """Return attributes by their selectors."""
    found = {attribute[:4]: attribute for attribute in attributes}
    _check(holds=len(found) == len(attributes) and found.keys() <= set(known))
    return found


@dataclass(frozen=True)
class Asked:
    """What the sender of a bundle says."""

    destination: bytes
    starters: tuple[tuple[bytes, bytes, tuple[bytes, ...]], ...]
    attributes: tuple[bytes, ...]

    def means(self) -> tuple[PlainBundle, int]:
        """Return the bundle without its salt, and the value that it costs beside fees; Rejected if it is none."""
        chain_id, whole = interoperable(self.destination)
        _check(holds=whole is None and chain_id == OTHER_CHAIN_ID and len(self.starters) > 0)
        found = only_once(list(self.attributes), EXECUTOR, UNBUNDLER, FIXED_FEE)
        _check(holds=FIXED_FEE not in found or number(found[FIXED_FEE]) == 0)
        executor = account(found[EXECUTOR]) if EXECUTOR in found else b""
        if executor:
            _check(holds=interoperable(executor)[0] in (None, OTHER_CHAIN_ID))
        unbundler = account(found[UNBUNDLER]) if UNBUNDLER in found else anywhere(ALICE)
        calls = [_call(*starter) for starter in self.starters]
        bundle = PlainBundle(
            calls=[call for call, _ in calls],
            base_token=asset_id(ETH_TOKEN),
            attributes=(executor, unbundler, False),
        )
        return bundle, sum(call.value + paid for call, paid in calls)


def _call(to: bytes, data: bytes, attributes: tuple[bytes, ...]) -> tuple[Call, int]:
    """Return a call, and what its initiator gets."""
    chain_id, recipient = interoperable(to)
    found = only_once(list(attributes), CALL_VALUE, INDIRECT)
    value = number(found[CALL_VALUE]) if CALL_VALUE in found else 0
    if INDIRECT in found:
        # Of all that are named here, one is a contract of the source, and the value of its call is none.
        paid = number(found[INDIRECT])
        _check(holds=chain_id in (None, CHAIN_ID) and recipient == INITIATOR and value == 0)
        return Call(to=CAROL, sender=INITIATOR, data=INITIATED), paid
    _check(holds=chain_id in (None, OTHER_CHAIN_ID) and recipient not in (None, HANDLER))
    assert recipient is not None
    return Call(to=recipient, sender=ALICE, value=value, data=data), 0


# --- What is asked ---


class Sender:
    """Asks for bundles that are nearly right."""

    def __init__(self, seed: int) -> None:
        self.mutations = Mutations(seed)
        self.random = self.mutations.random

    def address(self) -> bytes:
        """Return an address in one of its forms, or in none."""
        chain_id = self.random.choice(
            [OTHER_CHAIN_ID, OTHER_CHAIN_ID, CHAIN_ID, L1_CHAIN_ID, 2**255]
        )
        owner = Address(self.random.choice([CAROL, CAROL, BOB, HANDLER, bytes(20)]))
        forms = [anywhere(owner), on_chain(chain_id, owner), chain_only(chain_id), bytes(owner)]
        return self._maybe(self.random.choice(forms))

    def asked(self) -> Asked:
        """Return what a sender says, with no, one or several mistakes."""
        attributes = [self._of_bundle() for _ in range(self.random.choice([0, 0, 1, 1, 2]))]
        starters = [self._starter() for _ in range(self.random.choice([0] + [1] * 9 + [2, 3]))]
        destination = chain_only(OTHER_CHAIN_ID)
        if not self.random.randrange(8):
            destination = self.random.choice(
                [
                    self.address(),
                    chain_only(self.random.choice([CHAIN_ID, 999])),
                    on_chain(OTHER_CHAIN_ID, Address.zero()),
                ]
            )
        return Asked(self._maybe(destination), tuple(starters), tuple(attributes))

    def _starter(self) -> tuple[bytes, bytes, tuple[bytes, ...]]:
        attributes = [self._of_call() for _ in range(self.random.choice([0, 1, 1, 1, 1, 2]))]
        if any(attribute.startswith(INDIRECT) for attribute in attributes):
            to = self.random.choice([anywhere(INITIATOR), on_chain(CHAIN_ID, INITIATOR)])
        else:
            to = self.random.choice([anywhere(CAROL), on_chain(OTHER_CHAIN_ID, BOB)])
        if not self.random.randrange(8):
            to = self.address()
        return to, self.random.randbytes(self.random.choice([0, 0, 4, 33])), tuple(attributes)

    def _of_call(self) -> bytes:
        value = self.random.choice([0, 1, 7, 7, 7, 7, 7, 2**255])
        selector = self.random.choice([CALL_VALUE] * 10 + [INDIRECT] * 5 + [FIXED_FEE])
        return self._maybe(selector + word(value))

    def _of_bundle(self) -> bytes:
        way = self.random.randrange(6)
        if way == 0:
            value = self.random.choice([0] * 9 + [1, 2, 2**255])
            return self._maybe(FIXED_FEE + word(value))
        name = self.random.choice(["executionAddress(bytes)", "unbundlerAddress(bytes)"])
        made = partial(attribute, name)
        right = self.random.choice([bytes(CAROL), anywhere(CAROL), on_chain(OTHER_CHAIN_ID, CAROL)])
        return self._maybe(made(right if way < 5 else self.address()))

    def _maybe(self, value: bytes) -> bytes:
        return value if self.random.randrange(20) else self.mutations.data(value)


def test_what_is_accepted_means_what_was_said() -> None:
    chain, sender = InteropChain(), Sender(seed=7)
    chain.knows(InteropChain(OTHER_CHAIN_ID))
    _deploy_initiator(chain)
    accepted = 0
    for case in range(CASES):
        asked = sender.asked()
        expected, value = None, sender.random.choice([0, 1, 7])
        with suppress(Rejected):
            bundle, needed = asked.means()
            if needed <= RICH:
                salt = keccak256(ALICE + word(accepted))
                expected, value = replace(bundle, salt=salt).encode(), needed
        sent = _sent(chain, asked, value)
        assert sent == expected, (case, asked)
        accepted += sent is not None
    assert CASES // 3 < accepted < CASES * 2 // 3


def _deploy_initiator(chain: InteropChain) -> None:
    contract = chain.engine.deploy("ScriptedContract", sender=BOB)
    assert contract.address == INITIATOR
    starter = abi.encode(["(bytes,bytes,bytes[])"], [(anywhere(CAROL), INITIATED, [])])
    selector = keccak256(b"initiateIndirectCall(uint256,address,uint256,bytes)")[:4]
    chain.engine.send(BOB, contract, "script", selector, [], 0, starter, False)


def _sent(chain: InteropChain, asked: Asked, value: int) -> bytes | None:
    """Return the bundle that was sent; None if it was rejected."""
    arguments = (asked.destination, list(asked.starters), list(asked.attributes))
    paid = value + FEE * len(asked.starters)
    chain.engine.overlay.set_balance(ALICE, RICH + ETHER)
    try:
        found = chain.engine.send(ALICE, chain.center, "sendBundle", *arguments, value=paid)
    except Reverted:
        return None
    return chain.sent(bytes(found)).bundle
