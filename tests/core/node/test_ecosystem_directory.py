"""The data directory of several chains: one lock, and chains that belong together."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from entresol.cli.data_directory import back_up, rebuild_chains, verify_chains
from entresol.errors import EntresolError, InvalidConfig, StoreLocked
from entresol.l1.contracts import Bridgehub, ZkChain
from entresol.node import ecosystem_directory
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.ecosystem_directory import CHAINS_FILE
from entresol.node.open_node import open_node
from entresol.rollup.batches import genesis_batch_hash
from entresol.storage.database import directory as directories
from entresol.storage.database.directory import FORMAT_FILE, Directory
from entresol.storage.database.key_value import KeyValueStore

CHAINS = (270, 271, 272)


def configured(path: Path, **flags: Any) -> NodeConfig:
    given = {"chains": "3", "port": 0, "l1_port": 0, "data_dir": str(path)}
    return SETTINGS.load(given | flags, {}, None)


def opened_once(config: NodeConfig) -> None:
    """Open the chains, check that L1 has registered exactly what they are, and close them."""

    async def check() -> None:
        node = await open_node(config)
        try:
            for service, rollup in zip(node.layer_twos, node.rollups, strict=True):
                layer, chain = rollup.settlement_layer, service.chain
                hub = Bridgehub(layer.l1, layer.contracts.bridgehub)
                assert await hub.zk_chain(chain.rules.chain_id) == layer.contracts.chain
                registered = await ZkChain(layer.l1, layer.contracts.chain).stored_batch_hash(0)
                assert registered == genesis_batch_hash(chain)
            assert tuple(layer_two.chain.rules.chain_id for layer_two in node.layer_twos) == CHAINS
        finally:
            await node.stop()

    asyncio.run(check())


def files_of(path: Path) -> dict[str, bytes]:
    return {str(it.relative_to(path)): it.read_bytes() for it in path.rglob("*") if it.is_file()}


def rejected(
    config: NodeConfig,
    kind: type[EntresolError],
    problem: str,
    start: Callable[[NodeConfig], object] = opened_once,
) -> None:
    """Check that a start fails with this problem, and changes nothing."""
    path = Path(config.chain.data_dir or "")
    before = files_of(path)
    with pytest.raises(kind) as raised:
        start(config)
    assert problem in str(raised.value)
    assert files_of(path) == before


@pytest.fixture
def created(tmp_path: Path) -> Path:
    path = tmp_path / "chains"
    opened_once(configured(path))
    return path


@pytest.mark.parametrize("start", [opened_once, verify_chains, rebuild_chains])
def test_a_second_process_on_the_directory_is_rejected_by_its_one_lock(
    created: Path, start: Callable[[NodeConfig], object]
) -> None:
    with closing(directories.DirectoryLock(created)):
        rejected(configured(created), StoreLocked, f"{created} is in use", start)
    assert start(configured(created)) in {None, 0}


@pytest.mark.parametrize("folder", ["270", "272", "l1"])
def test_a_folder_of_several_chains_is_not_opened_alone(created: Path, folder: str) -> None:
    config = configured(created / folder, chains=None)
    problem = f"is a folder of several chains with one L1: give {created} and --chains 270,271,272"
    rejected(config, InvalidConfig, problem)


@pytest.mark.parametrize("chains", [None, "2", "4", "271,270,272", "5,6,7"])
def test_the_directory_is_opened_with_its_chains_in_their_order_alone(
    created: Path, chains: str | None
) -> None:
    problem = "it has the chains 270, 271, 272, in this order: give --chains 270,271,272"
    rejected(configured(created, chains=chains), InvalidConfig, problem)


def test_a_directory_of_one_chain_is_not_for_several(tmp_path: Path) -> None:
    (tmp_path / FORMAT_FILE).touch()
    problem = "has one chain, and its L1 knows no other"
    rejected(configured(tmp_path), InvalidConfig, problem)


@pytest.mark.parametrize("folder", ["270", "272", "l1"])
def test_a_folder_that_was_moved_away_is_not_created_anew(created: Path, folder: str) -> None:
    (created / folder).rename(created.parent / "elsewhere")
    rejected(configured(created), InvalidConfig, f"{created / folder} is missing, and the other")
    (created.parent / "elsewhere").rename(created / folder)
    opened_once(configured(created))


@pytest.mark.parametrize("folder", ["271", "l1"])
def test_a_folder_of_another_directory_is_rejected(created: Path, folder: str) -> None:
    other = created.parent / "other"
    opened_once(configured(other, timestamp=1_700_000_000))
    shutil.rmtree(created / folder)
    shutil.copytree(other / folder, created / folder)
    before = (created / CHAINS_FILE).read_bytes()
    with pytest.raises(InvalidConfig, match=f"{created / folder} has another chain than the one"):
        opened_once(configured(created))
    assert (created / CHAINS_FILE).read_bytes() == before


def test_a_chain_that_has_blocks_gets_no_new_l1(tmp_path: Path) -> None:
    path = tmp_path / "chain"
    config = configured(path, chains=None)

    async def seal() -> None:
        node = await open_node(config)
        node.chain.builder.seal()
        await node.stop()

    asyncio.run(seal())
    shutil.rmtree(path / "l1")
    with pytest.raises(
        InvalidConfig, match=f"chain 270 is at block 1, and its L1 is missing in {path}/l1"
    ):
        asyncio.run(seal())
    assert not (path / "l1").exists()


def test_a_backup_has_all_chains_and_starts(created: Path) -> None:
    copy = created.parent / "copy"
    assert back_up(configured(created), copy) == 0
    opened_once(configured(copy))
    assert verify_chains(configured(copy)) == 0


def test_a_first_start_that_was_killed_between_any_two_steps_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cuts = tmp_path / "chains", tmp_path / "cuts"

    def cutting(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            # What a process has written is there after it was killed.
            shutil.copytree(path, cuts / f"{len(list(cuts.iterdir())):02d}")
            return result

        return run

    cuts.mkdir()
    with monkeypatch.context() as patched:
        for owner, name in (
            (directories, "write_durably"),
            (ecosystem_directory, "write_durably"),
            (ecosystem_directory, "DirectoryLock"),
            (Directory, "__init__"),
            (KeyValueStore, "__init__"),
            (KeyValueStore, "_write"),
        ):
            patched.setattr(owner, name, cutting(getattr(owner, name)))
        opened_once(configured(path))
    copies = sorted(cuts.iterdir())
    # The lock, the list of chains twice; of each chain lock, database, format and genesis.
    assert len(copies) >= 3 + 4 * (len(CHAINS) + 1)
    for copy in copies:
        opened_once(configured(copy))
