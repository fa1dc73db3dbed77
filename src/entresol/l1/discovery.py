"""Find the settlement contracts of a chain on L1, from the bridgehub's address."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from entresol.errors import (
    ChainNotRegistered,
    ExecutionFailed,
    LayerOneMalformed,
    LayerOneMismatch,
    LayerOneRejected,
)
from entresol.l1.contracts import Bridgehub, failure_reason, read_contract
from entresol.l1.deployment import SettlementContracts
from entresol.l1.layer_one import MAX_REORG_DEPTH, agreed
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne

log = logging.getLogger(__name__)


async def find_contracts(l1: LayerOne, bridgehub: Address, chain_id: int) -> SettlementContracts:
    """Return the contracts of a chain, read twice; raises `LayerOneMismatch` if it is not registered."""
    if not await l1.code(bridgehub):
        raise LayerOneMismatch(f"there is no contract at {bridgehub.checksummed()} on {l1.name}")
    try:
        hub = Bridgehub(l1, bridgehub)
        what = f"the contracts of chain {chain_id}"
        return await agreed(l1, what, lambda: _read_addresses(l1, hub, chain_id))
    except ExecutionFailed as error:
        raise LayerOneMismatch(
            f"the contract at {bridgehub.checksummed()} on {l1.name} is not a bridgehub: {failure_reason(error)}"
        ) from error


async def block_before_now(l1: LayerOne) -> int:
    """Return an L1 block that is before all that is deployed from now on, whatever a reorg moves.

    Of two responses the lower one counts: logs before a block that is too high would never be read.
    """
    last = min([await l1.block_number() for _ in range(2)])
    return max(0, last - MAX_REORG_DEPTH)


async def find_deployment_block(l1: LayerOne, contract: Address) -> int:
    """Return an L1 block before which a contract did not exist; 0 if L1 has no old states.

    A reorg may have moved the deployment, so the block is a little earlier than the contract.
    """
    first, last = 0, await l1.block_number()
    try:
        while first < last:
            middle = (first + last) // 2
            if await l1.code(contract, middle):
                last = middle
            else:
                first = middle + 1
        # One wrong response would move it for good, and deposits before it would never be read.
        if not await l1.code(contract, first) or (first and await l1.code(contract, first - 1)):
            problem = f"block {first} is not the first one with {contract.checksummed()}"
            raise LayerOneMalformed("eth_getCode", problem)
    except LayerOneRejected as rejection:
        log.info("logs are read from block 0 on, as the deployment is not known: %s", rejection)
        return 0
    return max(0, first - MAX_REORG_DEPTH)


async def _read_addresses(l1: LayerOne, hub: Bridgehub, chain_id: int) -> SettlementContracts:
    chain = await hub.zk_chain(chain_id)
    if chain == Address.zero():
        raise ChainNotRegistered(
            f"chain {chain_id} is not registered at {hub.address.checksummed()} on {l1.name}"
        )
    router, manager = await hub.asset_router(), await hub.chain_type_manager(chain_id)
    bridge = await _address(l1, router, "legacyBridge()")
    return SettlementContracts(
        bridgehub=hub.address,
        chain=chain,
        asset_router=router,
        nullifier=await _address(l1, router, "L1_NULLIFIER()"),
        native_token_vault=await _address(l1, router, "nativeTokenVault()"),
        validator_timelock=await _address(l1, manager, "validatorTimelock()"),
        chain_type_manager=manager,
        verifier=await _address(l1, chain, "getVerifier()"),
        # It serves the first chain alone; the router takes the same deposits of all.
        legacy_bridge=bridge if await _chain_of(l1, bridge) == chain_id else router,
        bytecodes_supplier=await _address(l1, manager, "L1_BYTECODES_SUPPLIER()"),
        message_root=await _address(l1, hub.address, "messageRoot()"),
        chain_registration_sender=await _address(l1, hub.address, "chainRegistrationSender()"),
    )


async def _chain_of(l1: LayerOne, bridge: Address) -> int:
    return int(await read_contract(l1, bridge, "CHAIN_ID()", "uint256"))


async def _address(l1: LayerOne, contract: Address, signature: str) -> Address:
    return Address(await read_contract(l1, contract, signature, "address"))
