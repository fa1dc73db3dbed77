"""Register a chain on a Bridgehub that others have deployed: the chain's contract, and the call of the owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from entresol.errors import ExecutionFailed, LayerOneMismatch
from entresol.l1.contracts import Bridgehub, failure_reason, read_contract
from entresol.l1.deployment import (
    FACETS,
    Registration,
    SettlementContracts,
    pair_registration,
    send_step,
    token_registration,
)
from entresol.l1.discovery import find_contracts
from entresol.l1.layer_one import agreed
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator

_MAX_NEIGHBOURS: Final = 32
"""How many chains a new one is told of, each by a transaction; anyone can add more."""
_ATTEMPTS: Final = 20
"""Another node may settle with the owner's account, and take the nonce."""

Pair: TypeAlias = tuple[int, int]
"""A chain, and another one that is told of it."""


class Ecosystem(NamedTuple):
    """The contracts that the chains of a Bridgehub share, and their owner."""

    owner: Address
    contracts: SettlementContracts
    """With the contract of the first chain."""
    facets: tuple[Address, Address]


async def find_ecosystem(l1: LayerOne, bridgehub: Address) -> Ecosystem:
    """Return what chains of a Bridgehub share, read twice; raises `LayerOneMismatch` if it can take no other chain."""
    return await agreed(l1, "what its chains share", lambda: _ecosystem(l1, bridgehub))


async def _ecosystem(l1: LayerOne, bridgehub: Address) -> Ecosystem:
    ids = await read_contract(l1, bridgehub, "getAllZKChainChainIDs()", "uint256[]")
    where = f"the Bridgehub {bridgehub.checksummed()} on {l1.name}"
    if not ids:
        raise LayerOneMismatch(f"{where} has no chain, whose contracts others could share")
    contracts = await find_contracts(l1, bridgehub, int(ids[0]))
    try:
        own, *facets = await read_contract(l1, contracts.chain, "facetAddresses()", "address[]")
    except ExecutionFailed as error:
        raise LayerOneMismatch(f"{where} takes no other chain: {failure_reason(error)}") from error
    if own != contracts.chain or len(facets) != FACETS:
        raise LayerOneMismatch(f"{where} takes no other chain: its chains have other facets")
    owner = Address(await read_contract(l1, bridgehub, "owner()", "address"))
    return Ecosystem(owner, contracts, (Address(facets[0]), Address(facets[1])))


async def pairs_with_all(l1: LayerOne, bridgehub: Address, chain_id: int) -> list[Pair]:
    """Return a chain and each other one of a Bridgehub, both ways; the newest ones, if there are many."""
    ids = await read_contract(l1, bridgehub, "getAllZKChainChainIDs()", "uint256[]")
    others = [int(other) for other in ids if other != chain_id][-_MAX_NEIGHBOURS:]
    return [pair for other in others for pair in ((chain_id, other), (other, chain_id))]


async def register(l1: LayerOne, owner: Operator, call: Registration) -> None:
    """Have the owner register a chain, unless it is registered; it can be interrupted and run again."""
    hub = Bridgehub(l1, call.bridgehub)
    for _ in range(_ATTEMPTS):
        found = await hub.zk_chain(call.chain_id)
        if found == call.chain:
            return
        if found != Address.zero():
            break
        await send_step(l1, owner, call.step, await l1.nonce(owner.address))
    found = await hub.zk_chain(call.chain_id)
    if found != call.chain:
        raise LayerOneMismatch(
            f"chain {call.chain_id} is not registered at {call.bridgehub.checksummed()} on {l1.name} with the "
            f"contract of this node, but with {found.checksummed()}"
        )


async def check_origin(l1: LayerOne, contracts: SettlementContracts, token: Address) -> None:
    """Raise `LayerOneMismatch` for a token that an L2 has sent to L1, of which it could send any amount."""
    known = await _asset_of(l1, contracts, token)
    origin = await read_contract(
        l1, contracts.native_token_vault, "originChainId(bytes32)", "uint256", known
    )
    if known != Hash32.zero() and origin != await l1.chain_id():
        raise LayerOneMismatch(
            f"{token.checksummed()} on {l1.name} is a token of chain {origin}, and no chain can be paid in it"
        )


async def ensure_registered(
    l1: LayerOne, sender: Operator, contracts: SettlementContracts, token: Address
) -> None:
    """Have the vault know a token, before a chain is paid in it; it can be interrupted and run again."""
    for _ in range(_ATTEMPTS):
        if await _asset_of(l1, contracts, token) != Hash32.zero():
            return
        step = token_registration(contracts.native_token_vault, token)
        await send_step(l1, sender, step, await l1.nonce(sender.address))


async def _asset_of(l1: LayerOne, contracts: SettlementContracts, token: Address) -> Hash32:
    vault = contracts.native_token_vault
    return Hash32(await read_contract(l1, vault, "assetId(address)", "bytes32", token))


async def register_pairs(
    l1: LayerOne, sender: Operator, contracts: SettlementContracts, pairs: Iterable[Pair]
) -> None:
    """Tell chains of others on L1; anyone may, each once, so it can be interrupted and run again."""
    registrar = contracts.chain_registration_sender
    for pair in pairs:
        if await is_registered(l1, registrar, pair):
            continue
        step = pair_registration(registrar, *pair)
        try:
            await send_step(l1, sender, step, await l1.nonce(sender.address))
        except LayerOneMismatch:
            # Somebody else may have done it meanwhile.
            if not await is_registered(l1, registrar, pair):
                raise


async def is_registered(l1: LayerOne, registrar: Address, pair: Pair) -> bool:
    """Return whether L1 has told a chain of another."""
    signature = "isRegistered(uint256,uint256)"
    return bool(await read_contract(l1, registrar, signature, "bool", *pair))
