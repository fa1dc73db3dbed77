"""Where a layer 2 settles: which L1, which contracts on it, and who signs for the operator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol.errors import InvalidConfig, LayerOneUnreachable, MalformedValue
from entresol.l1.deployment import (
    Deployment,
    SettlementContracts,
    addresses_of,
    deploy,
)
from entresol.l1.discovery import find_contracts
from entresol.l1.operator import Operator
from entresol.l1.remote import RemoteLayerOne
from entresol.node.chains import OPERATOR, chain_id_of, genesis_batch_hash, open_layer_two
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config import NodeConfig

log = logging.getLogger(__name__)

T = TypeVar("T")

NOTE_FILE: Final = "settlement.json"
"""Where in the data directory it is written down what is on another L1."""

WAIT_SECONDS: Final = 2.0


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """An L1 other than the development one, with the contracts of this chain on it."""

    l1: LayerOne
    l1_chain_id: int
    contracts: SettlementContracts
    operator_secret: Hash32


class Note(msgspec.Struct, frozen=True):
    """What is written down before a deployment, so that it can be gone on with."""

    l1_chain_id: int
    first_nonce: int
    bridgehub: Address


def embedded_contracts() -> SettlementContracts:
    """Return where the contracts are on every development L1."""
    return addresses_of(OPERATOR.address)


async def find_site(config: NodeConfig) -> Site:
    """Find the contracts on the L1 of `--l1-url`, or put them there, waiting for it if it is away."""
    assert config.l1.l1_url is not None
    l1 = RemoteLayerOne(config.l1.l1_url)
    try:
        return await _when_reachable(lambda: _find_site(config, l1))
    except BaseException:
        await l1.close()
        raise


async def _find_site(config: NodeConfig, l1: LayerOne) -> Site:
    chain_id, secret = await l1.chain_id(), _operator_secret(config)
    noted = _read_note(config, chain_id)
    if config.l1.bridgehub is None and config.l1.deploy_l1:
        contracts = await _deploy(config, l1, Operator(l1, secret), chain_id, noted)
    else:
        bridgehub = _named_bridgehub(config)
        if bridgehub is None and noted is not None:
            bridgehub = noted.bridgehub
        if bridgehub is None:
            raise InvalidConfig(
                "--l1-url",
                "say where the contracts are by --bridgehub, or have them deployed by --deploy-l1",
            )
        contracts = await find_contracts(l1, bridgehub, chain_id_of(config.chain))
    return Site(l1=l1, l1_chain_id=chain_id, contracts=contracts, operator_secret=secret)


async def _deploy(
    config: NodeConfig, l1: LayerOne, operator: Operator, chain_id: int, noted: Note | None
) -> SettlementContracts:
    """Deploy, or go on with a deployment that was interrupted."""
    nonce = await l1.nonce(operator.address)
    first = nonce if noted is None else noted.first_nonce
    contracts = addresses_of(operator.address, first)
    # What the chain begins with has to be known before it can be registered.
    chain, _ = open_layer_two(config.chain, chain_id, contracts)
    try:
        deployment = Deployment(
            l1_chain_id=chain_id,
            chain_id=chain.rules.chain_id,
            deployer=operator.address,
            operator=operator.address,
            genesis_batch_hash=genesis_batch_hash(chain),
            first_nonce=first,
        )
    finally:
        chain.close()
    _write_note(config, Note(chain_id, first, contracts.bridgehub))
    for name, address in msgspec.structs.asdict(contracts).items():
        log.info("%s: %s", name.replace("_", " "), address.checksummed())
    return await deploy(l1, operator, deployment, _tell, done=nonce - first)


def _tell(done: int, steps: int, what: str) -> None:
    log.info("contracts on L1: %d of %d, %s", done, steps, what)


async def _when_reachable(attempt: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await attempt()
        except LayerOneUnreachable as error:
            log.warning("%s; waiting for it", error)
            await asyncio.sleep(WAIT_SECONDS)


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


def _read_note(config: NodeConfig, l1_chain_id: int) -> Note | None:
    """Return what was written down for this data directory, if it is about this very L1."""
    path = _note_file(config)
    if path is None or not path.exists():
        return None
    try:
        note = msgspec.json.decode(path.read_bytes(), type=Note, dec_hook=_parse)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidConfig("--data-dir", f"{path} cannot be read: {error}") from error
    if note.l1_chain_id != l1_chain_id:
        raise InvalidConfig(
            "--l1-url",
            f"it is chain {l1_chain_id}, and what is in {path.parent} settles on chain "
            f"{note.l1_chain_id}",
        )
    return note


def _write_note(config: NodeConfig, note: Note) -> None:
    path = _note_file(config)
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(note, enc_hook=str)) + b"\n")


def _note_file(config: NodeConfig) -> Path | None:
    directory = config.chain.data_dir
    return None if directory is None else Path(directory) / NOTE_FILE


def _parse(kind: type[Address], value: object) -> Address:
    return kind.parse(value)
