"""Putting the settlement contracts on an L1 that has none, by transactions of one account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.errors import LayerOneRefused, LayerOneUnreachable
from entresol.l1 import abi
from entresol.l1.discovery import L1Contracts, find_contracts
from entresol.primitives.addresses import create_address
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator

PROTOCOL_VERSION: Final = (30 << 32) | 2
ETHER_TOKEN: Final = Address((1).to_bytes(20))
NATIVE_TOKEN_VAULT_ON_L2: Final = Address((0x10004).to_bytes(20))

WAIT_SECONDS: Final = 300.0
POLL_SECONDS: Final = 1.0

_FEES: Final = "(uint8,uint32,uint32,uint32,uint32,uint64)"
_SETTINGS: Final = (
    f"(uint256,address,address,address,address,address,uint256,uint8,uint64,uint64,uint64,{_FEES})"
)


class ChainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a chain is registered on L1."""

    chain_id: int
    genesis_hash: Hash32
    """The hash of batch 0 as L1 remembers it."""
    validator: Address
    """Who may settle its batches."""
    max_batch_age: int = 10 * 365 * 86_400
    """How many seconds old a batch may be when it is committed; a development chain may sleep for long."""
    max_clock_lead: int = 10 * 365 * 86_400
    """How far, in seconds, the clock of L2 may be ahead; developers move it."""
    max_deposit_gas: int = 72_000_000
    minimal_gas_price: int = 100_000_000
    pays_for_data: bool = False
    """Whether deposits pay for data on L1; none is published."""
    batch_overhead_gas: int = 1_000_000
    max_pubdata: int = 120_000
    max_batch_gas: int = 80_000_000
    max_deposit_pubdata: int = 99_000

    def words(self, *addresses: Address) -> tuple[object, ...]:
        """Return the struct `ChainSettings`, with the hub, manager, admin, timelock and verifier."""
        no_data = 1
        fees = (
            0 if self.pays_for_data else 1,
            self.batch_overhead_gas,
            self.max_pubdata,
            self.max_batch_gas,
            self.max_deposit_pubdata,
            self.minimal_gas_price,
        )
        ages = (self.max_batch_age, self.max_clock_lead, self.max_deposit_gas)
        return (self.chain_id, *addresses, PROTOCOL_VERSION, no_data, *ages, fees)


async def deploy(
    l1: LayerOne,
    owner: Operator,
    settings: ChainSettings,
    progress: Callable[[str], None] = lambda _what: None,
) -> L1Contracts:
    """Deploy all contracts, register the chain, and return where they are."""
    admin, nonce = owner.address, await l1.nonce(owner.address)
    # Each is told the addresses of those that follow it.
    hub, nullifier, vault, router, legacy, timelock, manager, verifier, chain = (
        create_address(admin, nonce + place) for place in range(9)
    )
    creations: Sequence[tuple[str, str, tuple[object, ...]]] = (
        ("Bridgehub", "(address,address,address)", (admin, router, vault)),
        ("L1Nullifier", "(address,address,address,address)", (hub, router, vault, legacy)),
        ("L1NativeTokenVault", "(address)", (router,)),
        ("L1AssetRouter", "(address,address,address,address)", (hub, nullifier, vault, legacy)),
        ("L1ERC20Bridge", "(address,address,uint256)", (nullifier, router, settings.chain_id)),
        ("ValidatorTimelock", "(address,uint32)", (admin, 0)),
        ("ChainTypeManager", "(address,address,uint256)", (hub, timelock, PROTOCOL_VERSION)),
        ("DevelopmentVerifier", "()", ()),
        (
            "ZKChain",
            f"({_SETTINGS})",
            (settings.words(hub, manager, admin, timelock, verifier),),
        ),
    )
    for name, types, arguments in creations:
        progress(f"deploying {name}")
        await _send(l1, owner, None, artifact(name).bytecode + abi.encode(types, arguments))
    progress(f"registering chain {settings.chain_id}")
    register = abi.encode_call(
        "registerChain(uint256,address,address,bytes32,bytes32)",
        settings.chain_id,
        manager,
        chain,
        asset_id(await l1.chain_id(), ETHER_TOKEN),
        settings.genesis_hash,
    )
    await _send(l1, owner, hub, register)
    allow = abi.encode_call("addValidator(address,address)", chain, settings.validator)
    await _send(l1, owner, timelock, allow)
    return await find_contracts(l1, hub, settings.chain_id)


def asset_id(chain_id: int, token: Address) -> Hash32:
    """Return the id under which the bridges know a token of a chain."""
    words = (chain_id, NATIVE_TOKEN_VAULT_ON_L2, token)
    return Hash32(keccak256(abi.encode("(uint256,address,address)", words)))


async def _send(l1: LayerOne, owner: Operator, to: Address | None, data: bytes) -> None:
    """Send a transaction and wait until a block has it."""
    outgoing = await owner.prepare(to, data)
    await owner.send(outgoing)
    deadline = time.monotonic() + WAIT_SECONDS
    while (receipt := await l1.receipt(outgoing.hash)) is None:
        if time.monotonic() > deadline:
            raise LayerOneUnreachable(l1.name, f"no block takes transaction {outgoing.hash}")
        await l1.changed(POLL_SECONDS)
    if not receipt.succeeded:
        raise LayerOneRefused("eth_sendRawTransaction", 3, f"{outgoing.hash} reverted")
