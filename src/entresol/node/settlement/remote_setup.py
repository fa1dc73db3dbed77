"""Set up settlement on a remote L1: find the contracts there, or deploy them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from entresol.errors import InvalidConfig, LayerOneMismatch, MalformedValue
from entresol.l1.deployment import (
    Deployment,
    RegisteredChain,
    SettlementContracts,
    addresses_of,
    deploy,
    is_divided,
)
from entresol.l1.discovery import find_contracts, find_deployment_block
from entresol.l1.embedded_genesis import development_problem
from entresol.l1.layer_one import MAX_REORG_DEPTH
from entresol.l1.operator import Operator
from entresol.l1.remote.remote import RemoteLayerOne
from entresol.l1.urls import Endpoint, is_http_url
from entresol.l1.validators import add_validators, check_validators
from entresol.node.config.secrets import operator_keys
from entresol.node.dev_features import funding
from entresol.node.open_chains import OPERATOR, chain_id_of, genesis_batch_hash, open_layer_two
from entresol.node.settlement.manifest import ManifestFile, SettlementManifest
from entresol.node.settlement.settlement_layer import (
    SettlementLayer,
    fee_limits,
    retry_until_reachable,
)
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config.schema import NodeConfig

log = logging.getLogger(__name__)


async def connect_remote(config: NodeConfig) -> SettlementLayer:
    """Find the contracts on the L1 of `--l1-url`, or deploy them; retry until L1 can be reached."""
    setup = RemoteSetup(config)
    try:
        return await retry_until_reachable(setup.l1, setup.run)
    except BaseException:
        await setup.l1.close()
        raise


class RemoteSetup:
    """Finds or deploys the contracts; it can be run again after L1 was unreachable.

    Remembers: how far a deployment is. Persists: the manifest, unless the chain is temporary.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._bridgehub = _bridgehub(config)
        self._keys = operator_keys(config.l1, OPERATOR.secret)
        self._file = ManifestFile(config.chain)
        self.l1: LayerOne = RemoteLayerOne(checked_url(config))
        self._operator = self._operator_for(None)
        self._check_flags()

    async def run(self) -> SettlementLayer:
        """Return the settlement layer."""
        l1_chain_id = await self.l1.chain_id()
        self._check_chain_id(l1_chain_id)
        # From now on it signs for no other chain, whatever L1 says.
        self._operator = self._operator_for(l1_chain_id)
        if self._deploys:
            contracts = await self._deploy(l1_chain_id)
        else:
            contracts = await self._discover()
        manifest = self._file.manifest
        block = None if manifest is None else manifest.deployment_block
        if block is None:
            block = await find_deployment_block(self.l1, contracts.chain)
        return SettlementLayer(
            l1=self.l1,
            l1_chain_id=l1_chain_id,
            contracts=contracts,
            operator_keys=self._keys,
            deployment_block=block,
        )

    def _operator_for(self, l1_chain_id: int | None) -> Operator:
        secret, limits = self._keys.deployer.secret, fee_limits(self._config.l1)
        return Operator(self.l1, secret, limits, chain_id=l1_chain_id)

    @property
    def _deploys(self) -> bool:
        manifest = self._file.manifest
        return self._config.l1.deploy_l1 and (manifest is None or manifest.first_nonce is not None)

    async def _discover(self) -> SettlementContracts:
        manifest, bridgehub = self._file.manifest, self._bridgehub
        if bridgehub is None:
            if manifest is None:
                raise InvalidConfig(
                    "--l1-url",
                    "give the address of the contracts by --bridgehub, or deploy them by --deploy-l1",
                )
            bridgehub = manifest.contracts.bridgehub
        elif manifest is not None and bridgehub != manifest.contracts.bridgehub:
            raise InvalidConfig(
                "--bridgehub",
                f"the chain in {self._config.chain.data_dir} is registered with "
                f"{manifest.contracts.bridgehub.checksummed()}",
            )
        return await self._registered(bridgehub)

    async def _registered(self, bridgehub: Address) -> SettlementContracts:
        chain_id = chain_id_of(self._config.chain)
        contracts = await find_contracts(self.l1, bridgehub, chain_id)
        if self._config.settlement.settle:
            if self._config.l1.deploy_l1:
                await add_validators(self.l1, self._operator, contracts, self._keys, log.info)
            await check_validators(self.l1, contracts, self._keys)
        return contracts

    async def _deploy(self, l1_chain_id: int) -> SettlementContracts:
        """Deploy the contracts, or resume a deployment that was interrupted."""
        nonce, manifest = await self.l1.nonce(self._operator.address), self._file.manifest
        recorded = None if manifest is None else manifest.first_nonce
        first = nonce if recorded is None else recorded
        contracts = self._deployed_contracts(first)
        self._check_deployment(contracts, first, nonce)
        deployment = msgspec.structs.replace(
            self._deployment(l1_chain_id, first, contracts),
            has_facets=await is_divided(self.l1, self._operator.address, first),
        )
        if manifest is None:
            head = await self.l1.block_number()
            self._file.write(
                SettlementManifest(
                    l1_chain_id=l1_chain_id,
                    contracts=contracts,
                    first_nonce=first,
                    deployment_block=max(0, head - MAX_REORG_DEPTH),
                )
            )
            for name, address in msgspec.structs.asdict(contracts).items():
                log.info("%s: %s", name.replace("_", " "), address.checksummed())
        await deploy(self.l1, self._operator, deployment, _log_progress, done=nonce - first)
        # Another process may have used the account between the steps, and a step may have failed meanwhile.
        if await self._registered(contracts.bridgehub) != contracts:
            raise LayerOneMismatch(
                f"the contracts on {self.l1.name} are not those of the deployment"
            )
        return contracts

    def _check_deployment(self, contracts: SettlementContracts, first: int, nonce: int) -> None:
        manifest = self._file.manifest
        if manifest is not None and manifest.contracts != contracts:
            raise InvalidConfig(
                "--operator-key",
                f"the contracts in {self._file.path} were deployed by another account: give its "
                "key, or omit --deploy-l1",
            )
        if nonce < first:
            raise LayerOneMismatch(
                f"{self.l1.name} was reset to before the deployment: the operator's nonce was "
                f"{first} when it began, and is {nonce} now"
            )

    def _deployed_contracts(self, first_nonce: int) -> SettlementContracts:
        """Return the contracts of the deployment; one that an earlier version began has fewer."""
        contracts, manifest = addresses_of(self._operator.address, first_nonce), self._file.manifest
        if manifest is None or manifest.contracts.bytecodes_supplier is not None:
            return contracts
        return contracts.without_supplier()

    def _deployment(
        self, l1_chain_id: int, first_nonce: int, contracts: SettlementContracts
    ) -> Deployment:
        operator = self._operator.address
        # The genesis has to be known before the chain can be registered.
        chain, _ = open_layer_two(self._config, l1_chain_id, contracts)
        try:
            registered = RegisteredChain(
                chain_id=chain.rules.chain_id,
                operator=operator,
                genesis_batch_hash=genesis_batch_hash(chain),
                priority_tx_max_gas=chain.rules.gas_limit,
            )
            return Deployment(
                l1_chain_id=l1_chain_id,
                deployer=operator,
                chains=(registered,),
                first_nonce=first_nonce,
                has_bytecodes_supplier=contracts.bytecodes_supplier is not None,
            )
        finally:
            chain.close()

    def _check_flags(self) -> None:
        if self._config.chain.base_token is not None:
            raise InvalidConfig("--base-token", "it needs the development L1")
        if self._config.l1.deploy_l1 and self._bridgehub is not None:
            raise InvalidConfig("--bridgehub", "this cannot be combined with --deploy-l1")
        if self._file.manifest is None and self._file.has_development_l1:
            raise InvalidConfig(
                "--l1-url",
                f"the chain in {self._config.chain.data_dir} settles on its development L1",
            )

    def _check_chain_id(self, l1_chain_id: int) -> None:
        manifest = self._file.manifest
        if manifest is not None and manifest.l1_chain_id != l1_chain_id:
            raise InvalidConfig(
                "--l1-url",
                f"its chain id is {l1_chain_id}, but the chain in {self._config.chain.data_dir} "
                f"settles on chain {manifest.l1_chain_id}",
            )
        if l1_chain_id == chain_id_of(self._config.chain):
            raise InvalidConfig(
                "--l1-url", f"its chain id is {l1_chain_id}, the same as that of the L2"
            )
        problem = development_problem(
            l1_chain_id, is_development=self._config.settlement.l1_development
        )
        if problem is not None and self._deploys:
            raise InvalidConfig("--deploy-l1", problem)
        if problem is not None and manifest is None and funding(self._config):
            raise InvalidConfig(
                "--accounts", f"they would have ether that nobody deposited: {problem}"
            )


def _log_progress(done: int, steps: int, step: str) -> None:
    log.info("contracts on L1: %d of %d, %s", done, steps, step)


def checked_url(config: NodeConfig) -> str:
    """Return the URL of `--l1-url`; reject what is none, without what may be secret in it."""
    url = config.l1.l1_url
    assert url is not None
    if not is_http_url(url):
        redacted = Endpoint(url).redacted
        raise InvalidConfig(
            "--l1-url", f"{redacted!r} is no URL that begins with http:// or https://"
        )
    return url


def _bridgehub(config: NodeConfig) -> Address | None:
    if config.l1.bridgehub is None:
        return None
    try:
        return Address.parse(config.l1.bridgehub)
    except MalformedValue as error:
        raise InvalidConfig("--bridgehub", error.problem) from error
