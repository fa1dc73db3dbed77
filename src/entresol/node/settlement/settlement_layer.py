"""Where a layer 2 settles: which L1, which contracts on it, and who signs for the operator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from entresol.errors import InvalidConfig, LayerOneMismatch, LayerOneUnreachable, MalformedValue
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import Deployment, SettlementContracts, addresses_of, deploy
from entresol.l1.discovery import check_operator, find_contracts
from entresol.l1.operator import Operator
from entresol.l1.remote import RemoteLayerOne
from entresol.l1.urls import Endpoint
from entresol.node.chains import OPERATOR, chain_id_of, genesis_batch_hash, open_layer_two
from entresol.node.settlement.manifest import ManifestFile, SettlementManifest
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config.schema import NodeConfig

log = logging.getLogger(__name__)

T = TypeVar("T")

WAIT_SECONDS: Final = 2.0


class SettlementLayer(msgspec.Struct, frozen=True, kw_only=True):
    """An L1, the contracts of this chain on it, and who settles there."""

    l1: LayerOne
    l1_chain_id: int
    contracts: SettlementContracts
    operator_secret: Hash32


def embedded_contracts() -> SettlementContracts:
    """Return where the contracts are on every development L1."""
    return addresses_of(OPERATOR.address)


def known_settlement_layer(
    config: NodeConfig,
) -> tuple[int, SettlementContracts] | tuple[None, None]:
    """Return the chain id of L1 and the contracts there, as far as they are known without asking it."""
    if not config.l1.l1:
        return None, None
    note = ManifestFile(config.chain).note
    if note is None:
        return config.l1.l1_chain_id, embedded_contracts()
    return note.l1_chain_id, note.contracts


def check_development(config: NodeConfig) -> None:
    """Reject to settle on the development L1 if that is not what was asked for, or done before."""
    asked = {"--bridgehub": config.l1.bridgehub is not None, "--deploy-l1": config.l1.deploy_l1}
    for flag, given in asked.items():
        if given:
            raise InvalidConfig(flag, "say on which L1 by --l1-url")
    manifest_file = ManifestFile(config.chain)
    if manifest_file.note is not None:
        raise InvalidConfig(
            "--l1-url",
            f"what is in {config.chain.data_dir} settles on chain {manifest_file.note.l1_chain_id}: say "
            "where that is",
        )


async def find_settlement_layer(config: NodeConfig) -> SettlementLayer:
    """Find the contracts on the L1 of `--l1-url`, or put them there, waiting for it if it is away."""
    finder = _Finder(config)
    try:
        return await _when_reachable(finder.l1, finder.find)
    except BaseException:
        await finder.l1.close()
        raise


async def tie(config: NodeConfig, settlement_layer: SettlementLayer, chain: Chain) -> None:
    """Write down that `chain` settles there, once it is known to be the one that is registered."""
    contract = ZkChain(settlement_layer.l1, settlement_layer.contracts.chain)
    registered = await _when_reachable(settlement_layer.l1, lambda: contract.stored_batch_hash(0))
    if registered != genesis_batch_hash(chain):
        raise LayerOneMismatch(
            f"chain {chain.rules.chain_id} began otherwise than the one that is registered on "
            f"{settlement_layer.l1.name}: give it the same genesis, accounts and balances"
        )
    manifest_file = ManifestFile(config.chain)
    if manifest_file.note is None:
        manifest_file.write(
            SettlementManifest(
                l1_chain_id=settlement_layer.l1_chain_id, contracts=settlement_layer.contracts
            )
        )


class _Finder:
    """Looks for the contracts; it can be asked again after L1 was away.

    Remembers: how far a deployment went. Persists: that, if the chain is not temporary.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._bridgehub = _named_bridgehub(config)
        self._secret = _operator_secret(config)
        self._notebook = ManifestFile(config.chain)
        self.l1: LayerOne = RemoteLayerOne(_checked_url(config))
        self._operator = Operator(self.l1, self._secret)
        self._check_flags()

    async def find(self) -> SettlementLayer:
        """Return the site."""
        l1_chain_id = await self.l1.chain_id()
        self._check_chain(l1_chain_id)
        if self._deploys:
            contracts = await self._deploy(l1_chain_id)
        else:
            contracts = await self._discover()
        return SettlementLayer(
            l1=self.l1,
            l1_chain_id=l1_chain_id,
            contracts=contracts,
            operator_secret=self._secret,
        )

    @property
    def _deploys(self) -> bool:
        note = self._notebook.note
        return self._config.l1.deploy_l1 and (note is None or note.first_nonce is not None)

    async def _discover(self) -> SettlementContracts:
        note, bridgehub = self._notebook.note, self._bridgehub
        if bridgehub is None:
            if note is None:
                raise InvalidConfig(
                    "--l1-url",
                    "say where the contracts are by --bridgehub, or have them deployed by --deploy-l1",
                )
            bridgehub = note.contracts.bridgehub
        elif note is not None and bridgehub != note.contracts.bridgehub:
            raise InvalidConfig(
                "--bridgehub",
                f"what is in {self._config.chain.data_dir} settles at "
                f"{note.contracts.bridgehub.checksummed()}",
            )
        return await self._registered(bridgehub)

    async def _registered(self, bridgehub: Address) -> SettlementContracts:
        chain_id = chain_id_of(self._config.chain)
        contracts = await find_contracts(self.l1, bridgehub, chain_id)
        if self._config.settlement.settle:
            await check_operator(self.l1, contracts, self._operator.address)
        return contracts

    async def _deploy(self, l1_chain_id: int) -> SettlementContracts:
        """Deploy, or go on with a deployment that was interrupted."""
        nonce, note = await self.l1.nonce(self._operator.address), self._notebook.note
        first = nonce if note is None or note.first_nonce is None else note.first_nonce
        contracts = addresses_of(self._operator.address, first)
        if note is not None and note.contracts != contracts:
            raise InvalidConfig(
                "--operator-key",
                f"another account deployed what {self._notebook.path} tells of: name that one, or "
                "leave --deploy-l1 out",
            )
        if nonce < first:
            raise LayerOneMismatch(
                f"{self.l1.name} went back to before the deployment: the operator had sent {first} "
                f"transactions when it began, and now {nonce}"
            )
        deployment = self._deployment(l1_chain_id, first)
        if note is None:
            self._notebook.write(
                SettlementManifest(l1_chain_id=l1_chain_id, contracts=contracts, first_nonce=first)
            )
            for name, address in msgspec.structs.asdict(contracts).items():
                log.info("%s: %s", name.replace("_", " "), address.checksummed())
        await deploy(self.l1, self._operator, deployment, _tell, done=nonce - first)
        # Others may have used the account between the steps, and a step may have failed unseen.
        if await self._registered(contracts.bridgehub) != contracts:
            raise LayerOneMismatch(
                f"the contracts on {self.l1.name} are not those of the deployment"
            )
        return contracts

    def _deployment(self, l1_chain_id: int, first_nonce: int) -> Deployment:
        operator = self._operator.address
        contracts = addresses_of(operator, first_nonce)
        # What the chain begins with has to be known before it can be registered.
        chain, _ = open_layer_two(self._config.chain, l1_chain_id, contracts)
        try:
            return Deployment(
                l1_chain_id=l1_chain_id,
                chain_id=chain.rules.chain_id,
                deployer=operator,
                operator=operator,
                genesis_batch_hash=genesis_batch_hash(chain),
                first_nonce=first_nonce,
            )
        finally:
            chain.close()

    def _check_flags(self) -> None:
        if self._config.l1.deploy_l1 and self._bridgehub is not None:
            raise InvalidConfig("--bridgehub", "it is there already, so leave --deploy-l1 out")
        if self._notebook.note is None and self._notebook.is_development:
            raise InvalidConfig(
                "--l1-url", f"what is in {self._config.chain.data_dir} settles on the L1 in it"
            )

    def _check_chain(self, l1_chain_id: int) -> None:
        note = self._notebook.note
        if note is not None and note.l1_chain_id != l1_chain_id:
            raise InvalidConfig(
                "--l1-url",
                f"it is chain {l1_chain_id}, and what is in {self._config.chain.data_dir} settles on "
                f"chain {note.l1_chain_id}",
            )
        if l1_chain_id == chain_id_of(self._config.chain):
            raise InvalidConfig("--l1-url", f"it is chain {l1_chain_id}, as is the layer 2 itself")


def _tell(done: int, steps: int, what: str) -> None:
    log.info("contracts on L1: %d of %d, %s", done, steps, what)


async def _when_reachable(l1: LayerOne, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what an attempt does, waiting for L1 as long as it takes."""
    told = ""
    while True:
        try:
            done = await attempt()
        except LayerOneUnreachable as error:
            if str(error) != told:
                log.warning("%s; waiting for it", error)
            told = str(error)
            await asyncio.sleep(WAIT_SECONDS)
        else:
            if told:
                log.info("L1 at %s answers", l1.name)
            return done


def _checked_url(config: NodeConfig) -> str:
    url = config.l1.l1_url
    assert url is not None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = Endpoint(url).redacted
        raise InvalidConfig("--l1-url", f"{shown!r} is no URL that begins with http:// or https://")
    return url


def _operator_secret(config: NodeConfig) -> Hash32:
    if config.l1.operator_key is None:
        return OPERATOR.secret
    try:
        return Hash32.parse(config.l1.operator_key)
    except MalformedValue as error:
        raise InvalidConfig("--operator-key", error.problem) from error


def _named_bridgehub(config: NodeConfig) -> Address | None:
    if config.l1.bridgehub is None:
        return None
    try:
        return Address.parse(config.l1.bridgehub)
    except MalformedValue as error:
        raise InvalidConfig("--bridgehub", error.problem) from error
