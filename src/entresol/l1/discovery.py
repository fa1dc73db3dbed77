"""Finding the contracts of a chain on L1, all from the address of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.errors import ExecutionFailed, LayerOneDiffers
from entresol.l1.contracts import Bridgehub, ask
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne


class L1Contracts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the contracts are that a chain has to do with."""

    bridgehub: Address
    chain: Address
    chain_type_manager: Address
    validator_timelock: Address
    asset_router: Address
    nullifier: Address
    native_token_vault: Address
    legacy_bridge: Address
    base_token: Address


async def find_contracts(l1: LayerOne, bridgehub: Address, chain_id: int) -> L1Contracts:
    """Ask the bridgehub for everything else; raises `LayerOneDiffers` if something is not there."""
    if not await l1.code(bridgehub):
        raise LayerOneDiffers(f"there is no bridgehub on {l1.name} at {bridgehub.checksummed()}")
    hub = Bridgehub(l1, bridgehub)
    try:
        chain = await hub.zk_chain(chain_id)
        if chain == Address.zero():
            where = f"the bridgehub {bridgehub.checksummed()} on {l1.name}"
            raise LayerOneDiffers(f"{where} knows no chain {chain_id}")
        manager = await hub.chain_type_manager(chain_id)
        router = await hub.asset_router()
        return L1Contracts(
            bridgehub=bridgehub,
            chain=chain,
            chain_type_manager=manager,
            validator_timelock=await _address(l1, manager, "validatorTimelock()"),
            asset_router=router,
            nullifier=await _address(l1, router, "L1_NULLIFIER()"),
            native_token_vault=await _address(l1, router, "nativeTokenVault()"),
            legacy_bridge=await _address(l1, router, "legacyBridge()"),
            base_token=await hub.base_token(chain_id),
        )
    except ExecutionFailed as error:
        raise LayerOneDiffers(
            f"the contract on {l1.name} at {bridgehub.checksummed()} is no bridgehub: {error}"
        ) from error


async def check_operator(l1: LayerOne, contracts: L1Contracts, operator: Address) -> None:
    """See that an account may settle the chain's batches, and can pay for it."""
    asked = (contracts.chain, operator)
    signature = "validators(address,address)"
    if not await ask(l1, contracts.validator_timelock, signature, "bool", *asked):
        raise LayerOneDiffers(
            f"{operator.checksummed()} may not settle batches on {l1.name}: its timelock "
            f"{contracts.validator_timelock.checksummed()} does not know it"
        )
    if not await l1.balance(operator):
        raise LayerOneDiffers(f"{operator.checksummed()} has no ether on {l1.name} to settle with")


async def _address(l1: LayerOne, contract: Address, signature: str) -> Address:
    return Address(await ask(l1, contract, signature, "address"))
