"""Two L2s that send each other bundles, with the L1 below them written down plainly."""

from __future__ import annotations

from typing import Any

from eth_abi import abi

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import described, mint_of
from tests.support.contracts.create2 import alias
from tests.support.contracts.engine import L1_CHAIN_ID, Contract
from tests.support.contracts.interop_chains import (
    L1_ROUTER,
    InteropChain,
    LayerOne,
    Sent,
    starter,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    asset_id,
    burn_data,
)

CAROL = Address(b"\xca" * 20)
L1_TOKEN = Address(b"\x70" * 20)
L1_ASSET = asset_id(L1_TOKEN)
ZOO = Address(b"\x20" * 20)
SKIP, EXECUTE, CANCEL = 0, 1, 2


class Street:
    """Two chains that know each other, and the L1 below them."""

    def __init__(self, base_token: Address | None = None) -> None:
        self.here = InteropChain()
        self.there = InteropChain(
            OTHER_CHAIN_ID, self.here.base_token if base_token is None else base_token
        )
        self.here.knows(self.there)
        self.there.knows(self.here)
        self.l1 = LayerOne(self.here, self.there)
        self._blocks = 0

    def arrive(self, sent: Sent) -> tuple[Any, ...]:
        """Let the root with a bundle arrive at the other chain, and return the proof."""
        batch = self.l1.add(sent)
        self._blocks += 1
        destination = self.there if sent.source == CHAIN_ID else self.here
        destination.import_root(self.l1.root, self._blocks)
        return self.l1.proof(sent, batch, block=self._blocks)

    def deliver(self, sent: Sent, sender: Address = BOB) -> None:
        """Let a bundle arrive, and execute it."""
        destination = self.there if sent.source == CHAIN_ID else self.here
        destination.execute(sent, self.arrive(sent), sender)

    def recipient(self) -> Contract:
        """Deploy a contract at the destination that takes messages."""
        return self.there.engine.deploy("Recipient", sender=BOB)


def deposit(chain: InteropChain, amount: int, token: Address = L1_TOKEN) -> None:
    """Let a token of L1 arrive for Alice."""
    mint = mint_of(token, amount, described(L1_CHAIN_ID), ALICE)
    chain.engine.send(
        alias(L1_ROUTER), chain.router, "finalizeDeposit(uint256,bytes32,bytes)",
        L1_CHAIN_ID, asset_id(token), mint,
    )  # fmt: skip


def asset(
    asset_: Hash32, amount: int, token: Address, *, value: int = 0
) -> tuple[bytes, bytes, list[bytes]]:
    """Return the call of the router that sends an asset to Bob."""
    data = b"\1" + abi.encode(["bytes32", "bytes"], [asset_, burn_data(amount, BOB, token)])
    return starter(L2_ASSET_ROUTER, data, indirect=value)


def status(street: Street, sent: Sent) -> int:
    """Return what has happened to a bundle."""
    return int(street.there.engine.read(street.there.handler, "bundleStatus", sent.bundle_hash))


def verified(street: Street, *starters: Any, **options: Any) -> Sent:
    """Send a bundle, and verify it where it goes."""
    sent = street.here.send(*starters, **options)
    proof = street.arrive(sent)
    street.there.engine.send(BOB, street.there.handler, "verifyBundle", sent.bundle, proof)
    return sent


def unbundle(street: Street, sent: Sent, *statuses: int, sender: Address = ALICE) -> None:
    """Execute, skip or cancel each call of a bundle."""
    there = street.there
    there.engine.send(
        sender, there.handler, "unbundleBundle", CHAIN_ID, sent.bundle, list(statuses)
    )
