"""Registers an L2 on the development L1 of a running node, by transactions of its operator and of the owner."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from entresol.chain.mining_schedule import MiningMode
from entresol.errors import ExecutionFailed
from entresol.features.adding.errors import ChainNotAdded
from entresol.features.adding.records import REVERTED
from entresol.l1.contracts import Bridgehub, failure_reason
from entresol.l1.deployment import (
    DeploymentStep,
    RegisteredChain,
    Registration,
    SettlementContracts,
    chain_creation,
    pair_registration,
    token_registration,
    validator_addition,
)
from entresol.l1.registration import Ecosystem, find_ecosystem, is_registered, pairs_with_all
from entresol.l1.validators import FUNDS, SHARE
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address, Hash32, create_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.chain.chain import Chain
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator
    from entresol.rollup.settlement.settler import Settler

STEP_SECONDS: Final = 30.0
"""How long L1 may take to seal a block with a transaction."""
_POLL_SECONDS: Final = 0.1


class NewChainRegistrar:
    """Registers a chain; nobody knows it before the last transaction, and with that it is complete.

    Remembers and persists: nothing. Assumes: a development L1 in this process. Fails: with `ChainNotAdded`, and no
    transaction that it has sent is pending then.
    """

    def __init__(self, l1_chain: Chain, l1: LayerOne, settler: Settler) -> None:
        """`settler` has the key of the sender, and lets nothing else use its nonces meanwhile."""
        self._l1_chain = l1_chain
        self._l1 = l1
        self._settler = settler

    async def find(self, bridgehub: Address, chain_id: int) -> Ecosystem:
        """Return what the new chain shares with the others; raises why it cannot be registered."""
        if self._l1_chain.schedule.mode is MiningMode.MANUAL:
            raise ChainNotAdded("the L1 seals blocks on request only: let it seal them by itself")
        shared = await find_ecosystem(self._l1, bridgehub)
        if not self._settler.has_key_of(shared.owner):
            raise ChainNotAdded(
                f"the node has no key of {shared.owner.checksummed()}, the owner of the Bridgehub"
            )
        found = await Bridgehub(self._l1, bridgehub).zk_chain(chain_id)
        if found != Address.zero():
            raise ChainNotAdded(
                f"chain {chain_id} is registered on L1 with the contract {found.checksummed()}"
            )
        return shared

    async def register(
        self,
        chain: RegisteredChain,
        contracts: SettlementContracts,
        operator: Operator,
        shared: Ecosystem,
    ) -> None:
        """Fund the operator, have it create the contract of its chain, and have the owner register that."""
        if not await operator.balance():
            amount = min(FUNDS, await self._l1.balance(shared.owner) // SHARE)
            await self._by_owner(
                "a transfer to the operator", shared, operator.address, b"", amount
            )
        if create_address(operator.address, await self._l1.nonce(operator.address)) != (
            contracts.chain
        ):
            raise ChainNotAdded("the operator of the new chain has sent a transaction meanwhile")
        creation = chain_creation(chain, contracts, operator.address, shared.facets)
        await self._by_operator(creation.description, operator, creation)
        token = chain.base_token.l1_address
        if not chain.base_token.is_ether:
            step = token_registration(contracts.native_token_vault, token)
            await self._by_operator("the registration of the token", operator, step)
        step = validator_addition(
            "the right to settle", contracts.validator_timelock, contracts.chain, operator.address
        )
        await self._by_operator(step.description, operator, step)
        call = Registration(
            bridgehub=contracts.bridgehub,
            chain_id=chain.chain_id,
            chain_type_manager=contracts.chain_type_manager,
            chain=contracts.chain,
            base_token=asset_id(await self._l1.chain_id(), token),
            genesis_batch_hash=chain.genesis_batch_hash,
        ).step
        await self._by_owner("the registration", shared, contracts.bridgehub, call.data)

    async def tell_all(
        self, chain_id: int, contracts: SettlementContracts, operator: Address
    ) -> None:
        """Tell a chain of all others, and all others of it, unless that was done; its operator sends what it takes."""
        registrar = contracts.chain_registration_sender
        assert registrar is not None
        for pair in await pairs_with_all(self._l1, contracts.bridgehub, chain_id):
            if await is_registered(self._l1, registrar, pair):
                continue
            step = pair_registration(registrar, *pair)
            send = partial(self._settler.send_call, operator, registrar, step.data)
            await self._sent(step.description, send, step.to, step.data)

    async def _by_owner(
        self, what: str, shared: Ecosystem, to: Address, data: bytes, value: int = 0
    ) -> None:
        def send() -> Awaitable[Hash32]:
            return self._settler.send_call(shared.owner, to, data, value=value)

        await self._sent(what, send, to, data)

    async def _by_operator(self, what: str, operator: Operator, step: DeploymentStep) -> None:
        async def send() -> Hash32:
            signed = await operator.sign_call(step.to, step.data)
            await operator.send(signed)
            return signed.hash

        await self._sent(what, send, step.to, step.data)

    async def _sent(
        self, what: str, send: Callable[[], Awaitable[Hash32]], to: Address | None, data: bytes
    ) -> None:
        """Send a transaction, and return once a block of L1 has it; otherwise none will."""
        try:
            async with asyncio.timeout(STEP_SECONDS):
                sent = await send()
                while (receipt := await self._l1.receipt(sent)) is None:
                    if sent not in self._l1_chain.pool:
                        raise ChainNotAdded(REVERTED)
                    await self._l1.wait_for_block(_POLL_SECONDS)
        except TimeoutError:
            self._drop(to, data)
            raise ChainNotAdded(
                f"{what} is in no block of L1 after {STEP_SECONDS:g} seconds"
            ) from None
        except ExecutionFailed as error:
            raise ChainNotAdded(f"{what} fails on L1: {failure_reason(error)}") from error
        if not receipt.succeeded:
            raise ChainNotAdded(f"{what} failed on L1: {sent}")

    def _drop(self, to: Address | None, data: bytes) -> None:
        """Remove a transaction that is still pending from the pool of L1."""
        pool = self._l1_chain.pool
        for entry in list(pool.listing().by_sender()):
            payload = entry.transaction.payload
            if payload.to == to and payload.data == data:
                pool.remove(entry.transaction.hash, "the chain is not added")
