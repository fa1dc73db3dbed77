"""Registers an L2 of this node on a Bridgehub that another node, or anybody, has deployed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from entresol.errors import ChainNotRegistered, InvalidConfig, LayerOneMismatch
from entresol.l1.deployment import (
    RegisteredChain,
    Registration,
    SettlementContracts,
    chain_creation,
    send_step,
)
from entresol.l1.discovery import block_before_now
from entresol.l1.layer_one import agreed
from entresol.l1.operator import Operator
from entresol.l1.registration import (
    Ecosystem,
    check_origin,
    ensure_registered,
    find_ecosystem,
    register,
)
from entresol.l1.validators import add_validators
from entresol.node.config.secrets import parse_private_key
from entresol.node.opening.availability import data_scheme_of
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.manifest import ManifestFile, RecordedToken, SettlementManifest
from entresol.node.settlement.remote_tokens import requested_token
from entresol.node.settlement.settlement_layer import fee_limits
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import create_address
from entresol.rollup.batches import genesis_batch_hash

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import OperatorKeys
    from entresol.node.config.schema import NodeConfig
    from entresol.primitives.base_token import BaseToken
    from entresol.primitives.values import Address

log = logging.getLogger(__name__)

FLAG = "--bridgehub-owner-key"
_ATTEMPTS = 3
"""Another process may send from the account, too, and take the nonce."""


class ChainRegistrar:
    """Creates the contract of a chain, with its operator as the admin, and has the Bridgehub's owner register it.

    Persists: where the contract will be, before it is created, so that an interrupted registration, or one whose owner
    is somebody else, is continued. Assumes: an L1 for development. Fails: with the call that the owner has to make, if
    its key is not given.
    """

    def __init__(self, l1: LayerOne, l1_chain_id: int, bridgehub: Address) -> None:
        self._l1 = l1
        self._l1_chain_id = l1_chain_id
        self._bridgehub = bridgehub

    async def register(self, config: NodeConfig, keys: OperatorKeys, file: ManifestFile) -> None:
        """Register a chain, which the Bridgehub does not know."""
        shared = await find_ecosystem(self._l1, self._bridgehub)
        token = (
            await requested_token(self._l1, config)
            if file.manifest is None
            else file.manifest.base_token
        )
        await check_origin(self._l1, shared.contracts, token.l1_address)
        owner = self._owner(config, shared)
        if owner is None and not config.l1.deploy_l1:
            chain, known = self._described(config, keys, shared, token), await self._known(file)
            raise self._unregistered(self._call(chain, shared, known), shared)
        if owner is None and file.path is None:
            raise InvalidConfig(
                "--data-dir",
                f"without it the chain's contract is forgotten: give it, or {FLAG}-file",
            )
        admin = self._operator(config, keys.deployer.secret)
        chain = registered_chain(config, keys, self._l1_chain_id, shared.contracts, token)
        contracts = await self._created(chain, shared, admin, file)
        await ensure_registered(self._l1, admin, contracts, token.l1_address)
        call = self._call(chain, shared, contracts)
        if owner is None:
            raise self._unregistered(call, shared)
        log.info("registering chain %d at %s", chain.chain_id, self._bridgehub.checksummed())
        await register(self._l1, owner, call)
        await add_validators(self._l1, admin, contracts, keys, log.info)

    def _owner(self, config: NodeConfig, shared: Ecosystem) -> Operator | None:
        text = config.l1.bridgehub_owner_key
        if text is None:
            return None
        owner = self._operator(config, parse_private_key(text, FLAG), "the owner of the Bridgehub")
        if owner.address != shared.owner:
            raise InvalidConfig(
                FLAG,
                f"{self._bridgehub.checksummed()} is owned by {shared.owner.checksummed()}, and not by "
                f"{owner.address.checksummed()}, the account of the key",
            )
        return owner

    def _operator(self, config: NodeConfig, secret: bytes, name: str = "the operator") -> Operator:
        return Operator(
            *(self._l1, secret, fee_limits(config.l1), name), chain_id=self._l1_chain_id
        )

    def _described(
        self, config: NodeConfig, keys: OperatorKeys, shared: Ecosystem, token: BaseToken
    ) -> RegisteredChain:
        """Return the chain without creating anything in its data directory."""
        settings = msgspec.structs.replace(config.chain, data_dir=None)
        temporary = msgspec.structs.replace(config, chain=settings)
        return registered_chain(temporary, keys, self._l1_chain_id, shared.contracts, token)

    async def _created(
        self, chain: RegisteredChain, shared: Ecosystem, admin: Operator, file: ManifestFile
    ) -> SettlementContracts:
        """Return the contracts of a chain, after its own was created, by this start or an earlier one."""
        for _ in range(_ATTEMPTS):
            known, manifest = await self._known(file), file.manifest
            if known is not None:
                return known
            nonce = await agreed(
                self._l1, "the nonce of the admin", lambda: self._l1.nonce(admin.address)
            )
            if manifest is None or manifest.creation_nonce != nonce:
                # Nothing is registered with the address that another transaction has taken meanwhile.
                manifest = await self._planned(chain, shared, admin.address, nonce)
                file.write(manifest)
            log.info(
                "contract of chain %d: %s", chain.chain_id, manifest.contracts.chain.checksummed()
            )
            step = chain_creation(chain, manifest.contracts, admin.address, shared.facets)
            await send_step(self._l1, admin, step, nonce)
        raise LayerOneMismatch(
            f"the contract of chain {chain.chain_id} cannot be created on {self._l1.name}: another process uses "
            f"the account {admin.address.checksummed()}"
        )

    async def _known(self, file: ManifestFile) -> SettlementContracts | None:
        """Return the contracts of a chain whose own was created before."""
        manifest = file.manifest
        if manifest is None or not await self._l1.code(manifest.contracts.chain):
            return None
        return manifest.contracts

    async def _planned(
        self, chain: RegisteredChain, shared: Ecosystem, admin: Address, nonce: int
    ) -> SettlementManifest:
        block, contracts = await block_before_now(self._l1), shared.contracts
        return SettlementManifest(
            l1_chain_id=self._l1_chain_id,
            contracts=contracts.of_another_chain(create_address(admin, nonce)),
            creation_nonce=nonce,
            deployment_block=block,
            paid_in=RecordedToken.of(chain.base_token),
        )

    def _call(
        self,
        chain: RegisteredChain,
        shared: Ecosystem,
        contracts: SettlementContracts | None = None,
    ) -> Registration:
        return Registration(
            bridgehub=self._bridgehub,
            chain_id=chain.chain_id,
            chain_type_manager=shared.contracts.chain_type_manager,
            chain=None if contracts is None else contracts.chain,
            base_token=asset_id(self._l1_chain_id, chain.base_token.l1_address),
            genesis_batch_hash=chain.genesis_batch_hash,
        )

    def _unregistered(self, call: Registration, shared: Ecosystem) -> ChainNotRegistered:
        if call.chain is None:
            creates = f"{FLAG}-file or --deploy-l1 creates the contract of the chain. "
        else:
            creates = "Then start the node again. "
        return ChainNotRegistered(
            f"chain {call.chain_id} is not registered at {self._bridgehub.checksummed()} on {self._l1.name}. Its owner, "
            f"{shared.owner.checksummed()}, has to call {call}. {creates}A start with the owner's key, {FLAG}-file, "
            "makes the call itself"
        )


def registered_chain(
    config: NodeConfig,
    keys: OperatorKeys,
    l1_chain_id: int,
    contracts: SettlementContracts,
    base_token: BaseToken,
) -> RegisteredChain:
    """Return how a chain is registered; its genesis has to be known before, and is created if it is new."""
    chain, _ = open_layer_two(config, l1_chain_id, contracts, base_token=base_token)
    try:
        _check_time(config, chain)
        return RegisteredChain(
            chain_id=chain.rules.chain_id,
            operator=keys.deployer.address,
            genesis_batch_hash=genesis_batch_hash(chain),
            priority_tx_max_gas=chain.rules.gas_limit,
            base_token=base_token,
            is_development=chain.rules.is_development,
            data_scheme=data_scheme_of(chain),
        )
    finally:
        chain.close()


def _check_time(config: NodeConfig, chain: Chain) -> None:
    """Reject a genesis that has the time of now, and would have another when the chain is opened to be served.

    That of a chain that publishes is registered as a whole, and not by its state alone.
    """
    settings = config.chain
    given = (settings.data_dir, settings.timestamp, settings.genesis, settings.init)
    if chain.rules.publishes and given == (None,) * len(given):
        raise InvalidConfig(
            "--timestamp",
            "the genesis of a chain that publishes is registered on L1 with its time: give one, or a --data-dir that "
            "keeps the genesis",
        )
