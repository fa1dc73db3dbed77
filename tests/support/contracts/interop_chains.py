"""L2s with the contracts of bundles, on engines of their own, the roots that L1 has of them, and two that talk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_abi import abi

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.primitives.base_token import BaseToken
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    BASE_TOKEN,
    BRIDGEHUB,
    NATIVE_TOKEN_VAULT,
    system_genesis,
)
from tests.support.contracts.bundles import (
    INTEROP_CENTER,
    batch_leaf,
    chain_leaf,
    described,
    mint_of,
    tree_levels,
    tree_path,
)
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, NOW, Contract, Engine, alias, find
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    asset_id,
    burn_data,
)
from tests.support.contracts.merkle_trees import (
    AGGREGATED_ROOT,
    HEIGHT,
    message_log,
    path_of,
    root_of,
)

BOOTLOADER = Address((0x8001).to_bytes(20))
MESSENGER = Address((0x8008).to_bytes(20))
ROOTS = Address((0x10008).to_bytes(20))
VERIFICATION = Address((0x10009).to_bytes(20))
HANDLER = Address((0x1000E).to_bytes(20))
HOLDER = Address((0x10011).to_bytes(20))
REGISTRAR = Address(b"\x5e" * 20)
L1_ROUTER = Address(b"\x5b" * 20)
FEE = 10**12
HELD = 2**127 - 1
PREFIX = bytes.fromhex("00010000")

_INTEROP = {
    ROOTS: "L2InteropRootStorage",
    VERIFICATION: "L2MessageVerification",
    INTEROP_CENTER: "InteropCenter",
    HANDLER: "InteropHandler",
    HOLDER: "BaseTokenHolder",
}


def chain_only(chain_id: int) -> bytes:
    number = chain_id.to_bytes((chain_id.bit_length() + 7) // 8)
    return PREFIX + bytes([len(number)]) + number + b"\0"


def on_chain(chain_id: int, account: Address) -> bytes:
    return chain_only(chain_id)[:-1] + b"\x14" + account


def anywhere(account: Address) -> bytes:
    return PREFIX + b"\0\x14" + account


def attribute(signature: str, value: object) -> bytes:
    types = signature[signature.index("(") + 1 : -1]
    return keccak256(signature.encode())[:4] + abi.encode([types], [value])


def starter(
    to: Address | bytes, data: bytes = b"", *, value: int = 0, indirect: int | None = None
) -> tuple[bytes, bytes, list[bytes]]:
    attributes = [attribute("interopCallValue(uint256)", value)] if value else []
    if indirect is not None:
        attributes.append(attribute("indirectCall(uint256)", indirect))
    return (anywhere(Address(to)) if len(to) == 20 else to, data, attributes)


@dataclass(frozen=True)
class Sent:
    """A bundle that was sent, and the log that it left."""

    bundle_hash: bytes
    bundle: bytes
    source: int

    @property
    def log(self) -> L2ToL1Log:
        return message_log(0, INTEROP_CENTER, b"\1" + self.bundle)


@dataclass
class InteropChain:
    """An L2 with the contracts of bundles, on which Alice and Bob are rich."""

    chain_id: int = CHAIN_ID
    base_token: Address = ETH_TOKEN
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        self.engine.chain_id = self.chain_id
        genesis = system_genesis(
            l1_chain_id=L1_CHAIN_ID,
            l1_asset_router=L1_ROUTER,
            base_token=BaseToken(l1_address=self.base_token),
            l1_takes_l2_tokens=True,
        )
        overlay = self.engine.overlay
        for address, account in genesis.items():
            overlay.set_code(address, account.code)
            for slot, value in account.storage.items():
                overlay.set_slot(address, slot, value)
        for address, name in _INTEROP.items():
            overlay.set_code(address, bytes(artifact(name).runtime))
        self._store(BRIDGEHUB, "L2Bridgehub", {"chainRegistrationSender": REGISTRAR})
        self._store(INTEROP_CENTER, "InteropCenter", {"interopProtocolFee": FEE})
        overlay.set_balance(HOLDER, HELD)
        for account_ in (ALICE, BOB, BOOTLOADER, alias(REGISTRAR), alias(L1_ROUTER)):
            overlay.set_balance(account_, 1000 * ETHER)
        self.center = Contract(INTEROP_CENTER, find("InteropCenter"))
        self.handler = Contract(HANDLER, find("InteropHandler"))
        self.roots = Contract(ROOTS, find("L2InteropRootStorage"))
        self.verification = Contract(VERIFICATION, find("L2MessageVerification"))
        self.holder = Contract(HOLDER, find("BaseTokenHolder"))
        self.hub = Contract(BRIDGEHUB, find("L2Bridgehub"))
        self.router = Contract(ASSET_ROUTER, find("L2AssetRouter"))
        self.vault = Contract(NATIVE_TOKEN_VAULT, find("L2NativeTokenVault"))
        self.native = Contract(BASE_TOKEN, find("L2BaseToken"))
        self.messenger = Contract(MESSENGER, find("L1Messenger"))

    def _store(self, address: Address, name: str, values: dict[str, Any]) -> None:
        for slot, value in storage_of(artifact(name), values).items():
            self.engine.overlay.set_slot(address, slot, value)

    @property
    def base_asset(self) -> Hash32:
        return asset_id(self.base_token)

    def knows(self, other: InteropChain) -> None:
        sender = alias(REGISTRAR)
        self.engine.send(
            sender, self.hub, "registerChainForInterop", other.chain_id, other.base_asset
        )

    def send(
        self,
        *starters: tuple[bytes, bytes, list[bytes]],
        to: int = OTHER_CHAIN_ID,
        attributes: Sequence[bytes] = (),
        value: int = 0,
        sender: Address = ALICE,
    ) -> Sent:
        """Send a bundle; `value` is beside the fees."""
        bundle_hash = self.engine.send(
            sender, self.center, "sendBundle",
            chain_only(to), list(starters), list(attributes), value=value + FEE * len(starters),
        )  # fmt: skip
        return self.sent(bytes(bundle_hash))

    def sent(self, bundle_hash: bytes) -> Sent:
        (message,) = self.engine.events(self.messenger)
        return Sent(bundle_hash, bytes(message.fields["message"])[1:], self.chain_id)

    def import_root(self, root: bytes, block: int = 1) -> None:
        roots = [(L1_CHAIN_ID, block, NOW, [root])]
        self.engine.send(BOOTLOADER, self.roots, "addInteropRootsInBatch", roots)

    def execute(self, sent: Sent, proof: tuple[Any, ...], sender: Address = BOB) -> None:
        self.engine.send(sender, self.handler, "executeBundle", sent.bundle, proof)

    def token_balance(self, asset: Hash32, owner: Address) -> int:
        token = Address(bytes.fromhex(self.engine.read(self.vault, "tokenAddress", asset)[2:]))
        if not self.engine.overlay.account(token):
            return 0
        return int(self.engine.read(Contract(token, find("TestERC20")), "balanceOf", owner))


class LayerOne:
    """L1's knowledge of the roots of chains: the logs of each batch, added in order."""

    def __init__(self, *chains: InteropChain) -> None:
        self.ids = [chain.chain_id for chain in chains]
        self.batches: dict[int, list[list[L2ToL1Log]]] = {chain_id: [] for chain_id in self.ids}

    def add(self, *sent: Sent) -> int:
        source = sent[0].source
        self.batches[source].append([transaction.log for transaction in sent])
        return len(self.batches[source])

    @property
    def root(self) -> bytes:
        return self._levels()[-1][0]

    def proof(self, sent: Sent, batch: int = 1, index: int = 0, block: int = 1) -> tuple[Any, ...]:
        source, logs = sent.source, self.batches[sent.source][batch - 1]
        batch_levels = tree_levels(self._batch_leaves(source))
        batch_path = tree_path(batch_levels, batch - 1)
        place = 1 + self.ids.index(source)
        chain_path = tree_path(self._levels(), place)
        words = [
            bytes([1, HEIGHT + 1, len(batch_path), 0]) + bytes(28),
            *path_of(logs, index),
            AGGREGATED_ROOT,
            NOW.to_bytes(32),
            (batch - 1).to_bytes(32),
            *batch_path,
            (block << 128 | place).to_bytes(32),
            L1_CHAIN_ID.to_bytes(32),
            bytes([1, len(chain_path), 0, 1]) + bytes(28),
            *chain_path,
        ]
        message = (0, INTEROP_CENTER, b"\1" + sent.bundle)
        return (source, batch, index, message, words)

    def _batch_leaves(self, chain_id: int) -> list[bytes]:
        found = enumerate(self.batches[chain_id], start=1)
        return [batch_leaf(root_of(logs), number, NOW) for number, logs in found]

    def _levels(self) -> list[list[bytes]]:
        leaves = [chain_leaf(bytes(32), L1_CHAIN_ID)]
        for chain_id in self.ids:
            batches = self._batch_leaves(chain_id)
            root = tree_levels(batches)[-1][0] if batches else bytes(32)
            leaves.append(chain_leaf(root, chain_id))
        return tree_levels(leaves)


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
        destination = self.there if sent.source == CHAIN_ID else self.here
        destination.execute(sent, self.arrive(sent), sender)

    def recipient(self) -> Contract:
        return self.there.engine.deploy("Recipient", sender=BOB)


def deposit(chain: InteropChain, amount: int, token: Address = L1_TOKEN) -> None:
    mint = mint_of(token, amount, described(L1_CHAIN_ID), ALICE)
    chain.engine.send(
        alias(L1_ROUTER), chain.router, "finalizeDeposit(uint256,bytes32,bytes)",
        L1_CHAIN_ID, asset_id(token), mint,
    )  # fmt: skip


def asset(
    asset_: Hash32, amount: int, token: Address, *, value: int = 0
) -> tuple[bytes, bytes, list[bytes]]:
    data = b"\1" + abi.encode(["bytes32", "bytes"], [asset_, burn_data(amount, BOB, token)])
    return starter(L2_ASSET_ROUTER, data, indirect=value)


def status(street: Street, sent: Sent) -> int:
    return int(street.there.engine.read(street.there.handler, "bundleStatus", sent.bundle_hash))


def verified(street: Street, *starters: Any, **options: Any) -> Sent:
    sent = street.here.send(*starters, **options)
    proof = street.arrive(sent)
    street.there.engine.send(BOB, street.there.handler, "verifyBundle", sent.bundle, proof)
    return sent


def unbundle(street: Street, sent: Sent, *statuses: int, sender: Address = ALICE) -> None:
    there = street.there
    there.engine.send(
        sender, there.handler, "unbundleBundle", CHAIN_ID, sent.bundle, list(statuses)
    )
