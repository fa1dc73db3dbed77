"""Derive a chain from L1: find it, open or create its directory, and derive all of its batches."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from entresol.errors import InvalidConfig, LayerOneMismatch, MalformedValue
from entresol.features.derive.batch_deriver import BatchDeriver
from entresol.features.derive.derivation import (
    MAX_FAILURES,
    Derivation,
    DerivationProgress,
    DerivationSources,
)
from entresol.features.derive.edit_fetcher import EditFetcher
from entresol.features.derive.opening import open_derived
from entresol.features.derive.published_genesis import find_genesis
from entresol.features.derive.snapshot import BatchSnapshot
from entresol.l1.availability.chain_finder import ChainFinder, FoundChain
from entresol.l1.contracts import ZkChain
from entresol.l1.layer_one import LayerOne, agreed
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.urls import Endpoint, is_http_url
from entresol.node.settlement.manifest import ManifestFile, RecordedToken, SettlementManifest
from entresol.node.settlement.remote_setup import checked_url
from entresol.node.settlement.remote_tokens import registered_token
from entresol.node.settlement.settlement_layer import retry_until_reachable
from entresol.primitives.values import Address, Hash32
from entresol.storage.database.directory import check_directory
from entresol.storage.derivation_table import AcceptedBatch
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig

T = TypeVar("T")

_DIRECTORY: Final = "--data-dir"
_SNAPSHOT: Final = "--snapshot"


class DerivedChain(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a derivation."""

    chain_id: int
    batch: int
    """The last batch."""
    block: int
    """The last block."""
    block_hash: Hash32
    derived: int
    """How many batches were derived this time."""
    reverted: int
    """How many batches were removed, because L1 has reverted or replaced them."""
    deposits: int
    """How many deposits L1 has that are in no batch."""
    accepted: tuple[AcceptedBatch, ...] = ()
    """The batches that were taken from a snapshot, now or before."""


class NamedSnapshot(NamedTuple):
    """A batch that does not follow from its data, and the directory that has it."""

    batch: int
    path: Path


async def derive_chain(
    config: NodeConfig,
    *,
    from_block: int | None = None,
    edits_from: str | None = None,
    snapshot: NamedSnapshot | None = None,
    report: Callable[[DerivationProgress], None] = lambda _progress: None,
    l1: LayerOne | None = None,
) -> DerivedChain:
    """Derive the chain that a configuration names into its data directory; `l1` is that of its URL.

    Raises `DerivationAlarm` if a batch is not what L1 says; the directory has those before it. The batch of `snapshot`
    is taken from there if L1 has executed it all the same; edits of which L1 has only the hash come from the node at
    `edits_from`.
    """
    path = _path(config)
    file = ManifestFile(config.chain)
    bridgehub = _bridgehub(config, file)
    check_directory(path)
    if file.has_development_l1:
        raise InvalidConfig(_DIRECTORY, f"{path} has an L1 of its own: give a new directory")
    edits = None if edits_from is None else EditFetcher(_edits_url(edits_from))
    l1 = l1 or RemoteLayerOne(_url(config))
    try:
        finder = ChainFinder(l1, bridgehub, from_block)
        chain_id = config.chain.chain_id if "chain_id" in config.given else None
        found = await _repeated(l1, lambda: finder.find(chain_id))
        with _opened(snapshot, path) as source:
            sources = DerivationSources(edits, source)
            return await _derive(config, l1, found, file, sources, report)
    finally:
        if edits is not None:
            await edits.close()
        await l1.close()


async def _derive(
    config: NodeConfig,
    l1: LayerOne,
    found: FoundChain,
    file: ManifestFile,
    sources: DerivationSources,
    report: Callable[[DerivationProgress], None],
) -> DerivedChain:
    contract = ZkChain(l1, found.contracts.chain, found.first_block)
    manifest = await _repeated(l1, lambda: _manifest(config, l1, found))
    _check_manifest(file, manifest, l1.name)
    given = None if config.chain.genesis is None else Path(config.chain.genesis)
    genesis, data = await _repeated(l1, lambda: find_genesis(found, contract, given))
    with closing(open_derived(_path(config), genesis, data)) as chain:
        _begin(chain)
        file.write(file.manifest or manifest)
        derivation = Derivation(
            chain, contract, BatchDeriver(chain, sources.edits), sources=sources, report=report
        )
        await derivation.run()
        sent = await contract.total_priority_transactions()
        return DerivedChain(
            chain_id=found.chain_id,
            batch=derivation.last.number,
            block=chain.number,
            block_hash=chain.ledger.head_hash,
            derived=derivation.derived,
            reverted=derivation.reverted,
            deposits=max(0, sent - chain.blocks.next_priority_id()),
            accepted=tuple(chain.batches.derivation.accepted()),
        )


@contextmanager
def _opened(snapshot: NamedSnapshot | None, path: Path) -> Iterator[BatchSnapshot | None]:
    if snapshot is None:
        yield None
        return
    if not snapshot.path.is_dir():
        raise InvalidConfig(_SNAPSHOT, f"{snapshot.path} is not a directory")
    if snapshot.path.resolve() == path.resolve():
        raise InvalidConfig(_SNAPSHOT, "it is the directory that is derived")
    check_directory(snapshot.path)
    with closing(Store.open(snapshot.path)) as store:
        yield BatchSnapshot(store, snapshot.batch)


async def _repeated(l1: LayerOne, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a request, which fails as later ones do: a command does not wait for L1 for ever."""
    return await retry_until_reachable(l1, attempt, max_failures=MAX_FAILURES)


async def _manifest(config: NodeConfig, l1: LayerOne, found: FoundChain) -> SettlementManifest:
    """Return what a node that opens the directory has to know of L1."""
    return SettlementManifest(
        l1_chain_id=await agreed(l1, "its chain id", l1.chain_id),
        contracts=found.contracts,
        deployment_block=found.first_block,
        paid_in=RecordedToken.of(await registered_token(l1, config, found.contracts)),
    )


def _check_manifest(file: ManifestFile, manifest: SettlementManifest, l1: str) -> None:
    """Reject another L1, or another chain, than that of an existing directory."""
    stored = file.manifest
    if stored is None:
        return
    if stored.l1_chain_id != manifest.l1_chain_id:
        raise LayerOneMismatch(
            f"{l1} is chain {manifest.l1_chain_id}, and {file.path} names {stored.l1_chain_id}"
        )
    if stored.contracts.chain != manifest.contracts.chain:
        raise InvalidConfig(
            _DIRECTORY,
            f"{file.path} is of the chain with the contract {stored.contracts.chain.checksummed()}, and not "
            f"{manifest.contracts.chain.checksummed()}: give a new directory",
        )


def _begin(chain: Chain) -> None:
    """Reject a chain that a node has continued; L1 does not know its last blocks, and they would be removed."""
    table, last = chain.batches.derivation, chain.batches.last()
    if table.is_open:
        return
    if last is None or last.number or chain.number != last.last_block:
        raise InvalidConfig(
            _DIRECTORY,
            f"the chain in {chain.blocks.path} is not one that was only derived: a node has created or continued it. "
            "Give a new directory",
        )
    table.begin()


def _path(config: NodeConfig) -> Path:
    if config.chain.data_dir is None:
        raise InvalidConfig(_DIRECTORY, "derive needs a directory for the chain")
    return Path(config.chain.data_dir)


def _url(config: NodeConfig) -> str:
    if config.l1.l1_url is None:
        raise InvalidConfig("--l1-url", "derive needs the URL of the L1")
    return checked_url(config)


def _edits_url(url: str) -> str:
    if not is_http_url(url):
        raise InvalidConfig(
            "--edits-from",
            f"{Endpoint(url).redacted!r} is not a URL that begins with http:// or https://",
        )
    return url


def _bridgehub(config: NodeConfig, file: ManifestFile) -> Address:
    stored = None if file.manifest is None else file.manifest.contracts.bridgehub
    if config.l1.bridgehub is None:
        if stored is None:
            raise InvalidConfig("--bridgehub", "derive needs the address of the Bridgehub on L1")
        return stored
    try:
        given = Address.parse(config.l1.bridgehub)
    except MalformedValue as error:
        raise InvalidConfig("--bridgehub", error.problem) from error
    if stored not in (None, given):
        raise InvalidConfig(
            "--bridgehub", f"the chain in {file.path} is registered with {stored.checksummed()}"
        )
    return given
