"""Set up settlement on a remote L1: find the contracts of each L2 there, or deploy them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from entresol.errors import ChainNotRegistered, InvalidConfig, LayerOneMismatch, MalformedValue
from entresol.l1.deployment import Deployment, SettlementContracts, addresses_of, deploy
from entresol.l1.discovery import block_before_now, find_contracts, find_deployment_block
from entresol.l1.embedded_genesis import development_problem
from entresol.l1.layer_one import agreed
from entresol.l1.operator import Operator
from entresol.l1.registration import pairs_with_all, register_pairs
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.urls import Endpoint, is_http_url
from entresol.l1.validators import add_validators, check_validators, fund
from entresol.node.dev_features import funding
from entresol.node.ecosystem_directory import EcosystemDirectory
from entresol.node.genesis_config import chain_id_of
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.settlement.chain_operators import ChainOperators
from entresol.node.settlement.chain_registrar import ChainRegistrar, registered_chain
from entresol.node.settlement.manifest import ManifestFile, RecordedToken, SettlementManifest
from entresol.node.settlement.remote_tokens import check_flags, registered_token, requested_token
from entresol.node.settlement.settlement_layer import (
    SettlementLayer,
    fee_limits,
    retry_until_reachable,
)
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import OperatorKeys
    from entresol.node.config.schema import NodeConfig
    from entresol.primitives.base_token import BaseToken

log = logging.getLogger(__name__)


async def connect_remote(config: NodeConfig) -> tuple[SettlementLayer, ...]:
    """Find the contracts of each L2 on the L1 of `--l1-url`, or deploy them; retry until L1 can be reached.

    Each L2 has a connection to L1 of its own.
    """
    setup = RemoteSetup(config)
    # Nothing is created in a directory before it is known to be usable, nor while another process uses it.
    directory = EcosystemDirectory.open(config, layer_two_configs(config))
    try:
        return await retry_until_reachable(setup.l1, setup.run)
    except BaseException:
        await setup.l1.close()
        raise
    finally:
        directory.close()


class ChainToSettle(NamedTuple):
    """An L2 of the node: its settings, its operator's keys, and where its contracts are recorded."""

    config: NodeConfig
    keys: OperatorKeys
    file: ManifestFile

    @property
    def chain_id(self) -> int:
        """Its id."""
        return chain_id_of(self.config.chain)


class RemoteSetup:
    """Finds or deploys the contracts; it can be run again after L1 was unreachable.

    Remembers: how far a deployment is. Persists: a manifest for each chain, unless they are temporary.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._bridgehub = given_bridgehub(config)
        chains = layer_two_configs(config)
        self._operators = ChainOperators(config, chains)
        self._chains = [
            ChainToSettle(settings, keys, ManifestFile(settings.chain))
            for settings, keys in zip(chains, self._operators.keys, strict=True)
        ]
        self.l1: LayerOne = RemoteLayerOne(checked_url(config))
        self._l1_chain_id: int | None = None
        self._check_flags()

    async def run(self) -> tuple[SettlementLayer, ...]:
        """Return the settlement layer of each chain."""
        l1_chain_id = await agreed(self.l1, "its chain id", self.l1.chain_id)
        self._check_chain_id(l1_chain_id)
        # From now on it signs for no other chain, whatever L1 says.
        self._l1_chain_id = l1_chain_id
        if self._deploys:
            contracts = await self._deploy(l1_chain_id)
        else:
            contracts = [await self._discover(chain, l1_chain_id) for chain in self._chains]
        tokens = [
            await self._base_token(*pair) for pair in zip(self._chains, contracts, strict=True)
        ]
        blocks = [
            await self._deployment_block(*pair)
            for pair in zip(self._chains, contracts, strict=True)
        ]
        return tuple(
            SettlementLayer(
                l1=RemoteLayerOne(checked_url(self._config)) if index else self.l1,
                l1_chain_id=l1_chain_id,
                contracts=found,
                operator_keys=chain.keys,
                deployment_block=block,
                base_token=token,
            )
            for index, (chain, found, block, token) in enumerate(
                zip(self._chains, contracts, blocks, tokens, strict=True)
            )
        )

    async def _base_token(self, chain: ChainToSettle, contracts: SettlementContracts) -> BaseToken:
        """Return what pays for gas: as it was when the chain was created here, or as L1 has registered it."""
        manifest = chain.file.manifest
        if manifest is None:
            return await registered_token(self.l1, chain.config, contracts)
        check_flags(chain.config, manifest.base_token, f"in {chain.file.path or 'this deployment'}")
        return manifest.base_token

    async def _deployment_block(self, chain: ChainToSettle, contracts: SettlementContracts) -> int:
        manifest = chain.file.manifest
        block = None if manifest is None else manifest.deployment_block
        return await find_deployment_block(self.l1, contracts.chain) if block is None else block

    @property
    def _deployer(self) -> Operator:
        return self._operator_of(self._operators.deployer)

    def _operator_of(self, secret: bytes) -> Operator:
        return Operator(self.l1, secret, fee_limits(self._config.l1), chain_id=self._l1_chain_id)

    @property
    def _manifests(self) -> list[SettlementManifest]:
        """The manifests that exist; a start that was interrupted may have written a part of them, and sent nothing yet."""
        return [chain.file.manifest for chain in self._chains if chain.file.manifest is not None]

    @property
    def _deploys(self) -> bool:
        # Contracts that existed before are found as those of others.
        is_ours = all(manifest.first_nonce is not None for manifest in self._manifests)
        return self._config.l1.deploy_l1 and self._bridgehub is None and is_ours

    async def _discover(self, chain: ChainToSettle, l1_chain_id: int) -> SettlementContracts:
        manifest, bridgehub = chain.file.manifest, self._bridgehub
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
                f"the chain in {chain.config.chain.data_dir} is registered with "
                f"{manifest.contracts.bridgehub.checksummed()}",
            )
        try:
            return await self._registered(chain, bridgehub)
        except ChainNotRegistered:
            if manifest is not None and manifest.creation_nonce is None:
                # It was registered before: this is another L1, or a deployment that --deploy-l1 continues.
                raise
        await self._register(chain, bridgehub, l1_chain_id)
        return await self._registered(chain, bridgehub)

    async def _register(self, chain: ChainToSettle, bridgehub: Address, l1_chain_id: int) -> None:
        """Register a chain that the Bridgehub does not know, if the flags say so."""
        if self._registers:
            problem = self._problem_of(l1_chain_id)
            if problem is not None:
                raise InvalidConfig("--bridgehub", problem)
            await fund(self.l1, self._deployer, self._operators.derived, log.info)
        registrar = ChainRegistrar(self.l1, l1_chain_id, bridgehub)
        await registrar.register(chain.config, chain.keys, chain.file)

    @property
    def _registers(self) -> bool:
        """Whether it may create the contract of a chain, and add validators."""
        return self._config.l1.deploy_l1 or self._config.l1.bridgehub_owner_key is not None

    async def _registered(self, chain: ChainToSettle, bridgehub: Address) -> SettlementContracts:
        contracts, manifest = (
            await find_contracts(self.l1, bridgehub, chain.chain_id),
            chain.file.manifest,
        )
        if manifest is not None and contracts.chain != manifest.contracts.chain:
            raise LayerOneMismatch(
                f"the contract of chain {chain.chain_id} is {contracts.chain.checksummed()} on {self.l1.name}, and "
                f"{manifest.contracts.chain.checksummed()} in {chain.file.path or 'this deployment'}"
            )
        if self._registers:
            # A start that was interrupted may have told some of them.
            pairs = await pairs_with_all(self.l1, bridgehub, chain.chain_id)
            await register_pairs(self.l1, self._deployer, contracts, pairs)
        if chain.config.settlement.settle:
            if self._registers:
                # Whichever of the two is the chain's admin.
                for admin in (self._deployer, self._operator_of(chain.keys.deployer.secret)):
                    await add_validators(self.l1, admin, contracts, chain.keys, log.info)
            await check_validators(self.l1, contracts, chain.keys)
        return contracts

    async def _deploy(self, l1_chain_id: int) -> list[SettlementContracts]:
        """Deploy the contracts, or resume a deployment that was interrupted."""
        deployer = self._deployer.address
        nonce = await agreed(self.l1, "the nonce of the deployer", lambda: self.l1.nonce(deployer))
        first = next(
            (
                manifest.first_nonce
                for manifest in self._manifests
                if manifest.first_nonce is not None
            ),
            nonce,
        )
        # Before the chains are opened, whose genesis is that of these contracts.
        self._check_deployment(first, nonce)
        deployment = await self._deployment(l1_chain_id, first)
        contracts = [deployment.contracts_of(chain.chain_id) for chain in self._chains]
        # All of them before the first transaction, so that every chain knows its deployment.
        await self._record(deployment, contracts)
        await deploy(self.l1, self._deployer, deployment, _log_progress, done=nonce - first)
        await fund(self.l1, self._deployer, self._operators.derived, log.info)
        for chain, expected in zip(self._chains, contracts, strict=True):
            # Another process may have used the account between the steps, and a step may have failed meanwhile.
            if await self._registered(chain, expected.bridgehub) != expected:
                raise LayerOneMismatch(
                    f"the contracts on {self.l1.name} are not those of the deployment"
                )
        return contracts

    async def _record(self, deployment: Deployment, contracts: list[SettlementContracts]) -> None:
        new = [
            (chain, found)
            for chain, found in zip(self._chains, contracts, strict=True)
            if chain.file.manifest is None
        ]
        if not new:
            return
        block = await block_before_now(self.l1)
        paid_in = {chain.chain_id: chain.base_token for chain in deployment.chains}
        for chain, found in new:
            token = paid_in[chain.chain_id]
            chain.file.write(
                SettlementManifest(
                    l1_chain_id=deployment.l1_chain_id,
                    contracts=found,
                    first_nonce=deployment.first_nonce,
                    deployment_block=block,
                    paid_in=RecordedToken.of(token),
                )
            )
        for name, address in msgspec.structs.asdict(contracts[0]).items():
            log.info("%s: %s", name.replace("_", " "), address.checksummed())
        for chain, found in zip(self._chains[1:], contracts[1:], strict=True):
            log.info("chain %d: %s", chain.chain_id, found.chain.checksummed())

    def _check_deployment(self, first: int, nonce: int) -> None:
        bridgehub = addresses_of(self._deployer.address, first).bridgehub
        for chain in self._chains:
            manifest = chain.file.manifest
            if manifest is not None and manifest.contracts.bridgehub != bridgehub:
                raise InvalidConfig(
                    "--operator-key",
                    f"the contracts in {chain.file.path} were deployed by another account: give its "
                    "key, or omit --deploy-l1",
                )
        if nonce < first:
            raise LayerOneMismatch(
                f"{self.l1.name} was reset to before the deployment: the operator's nonce was "
                f"{first} when it began, and is {nonce} now"
            )

    async def _deployment(self, l1_chain_id: int, first_nonce: int) -> Deployment:
        """Return the deployment of all chains."""
        deployer = self._deployer.address
        contracts = addresses_of(deployer, first_nonce)
        chains = []
        for chain in self._chains:
            manifest = chain.file.manifest
            token = (
                await requested_token(self.l1, chain.config)
                if manifest is None
                else manifest.base_token
            )
            chains.append(registered_chain(chain.config, chain.keys, l1_chain_id, contracts, token))
        return Deployment(
            l1_chain_id=l1_chain_id,
            deployer=deployer,
            chains=tuple(chains),
            first_nonce=first_nonce,
        )

    def _check_flags(self) -> None:
        if self._config.l1.bridgehub_owner_key is not None and self._bridgehub is None:
            raise InvalidConfig("--bridgehub-owner-key", "this needs --bridgehub")
        if not self._manifests and ManifestFile(self._config.chain).has_development_l1:
            raise InvalidConfig(
                "--l1-url",
                f"the chain in {self._config.chain.data_dir} settles on its development L1",
            )

    def _check_chain_id(self, l1_chain_id: int) -> None:
        for manifest in self._manifests:
            if manifest.l1_chain_id != l1_chain_id:
                raise InvalidConfig(
                    "--l1-url",
                    f"its chain id is {l1_chain_id}, but the chain in {self._config.chain.data_dir} "
                    f"settles on chain {manifest.l1_chain_id}",
                )
        if l1_chain_id in {chain.chain_id for chain in self._chains}:
            raise InvalidConfig(
                "--l1-url", f"its chain id is {l1_chain_id}, the same as that of the L2"
            )
        problem = self._problem_of(l1_chain_id)
        if problem is not None and self._deploys:
            raise InvalidConfig("--deploy-l1", problem)
        is_new = len(self._manifests) < len(self._chains)
        if problem is not None and is_new and any(funding(chain.config) for chain in self._chains):
            raise InvalidConfig(
                "--accounts", f"they would have ether that nobody deposited: {problem}"
            )

    def _problem_of(self, l1_chain_id: int) -> str | None:
        """Return why an L1 is not for contracts of development."""
        is_development = self._config.settlement.l1_development
        return development_problem(l1_chain_id, is_development=is_development)


def _log_progress(done: int, steps: int, step: str) -> None:
    log.info("contracts on L1: %d of %d, %s", done, steps, step)


def checked_url(config: NodeConfig) -> str:
    """Return the URL of `--l1-url`; reject what is none, without what may be secret in it."""
    url = config.l1.l1_url
    assert url is not None
    if not is_http_url(url):
        redacted = Endpoint(url).redacted
        raise InvalidConfig(
            "--l1-url", f"{redacted!r} is not a URL that begins with http:// or https://"
        )
    return url


def given_bridgehub(config: NodeConfig) -> Address | None:
    """Return the address of `--bridgehub`."""
    if config.l1.bridgehub is None:
        return None
    try:
        return Address.parse(config.l1.bridgehub)
    except MalformedValue as error:
        raise InvalidConfig("--bridgehub", error.problem) from error
