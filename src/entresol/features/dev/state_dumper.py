"""Load state files at the start, and dump the chains at intervals and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from entresol.background_task import BackgroundTask
from entresol.bounded_file import read_file
from entresol.errors import EntresolError, InvalidConfig
from entresol.features.dev.settings import DevConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.features.dev.state_file.node_state import NodeState
    from entresol.node.config.schema import NodeConfig

logger = logging.getLogger(__name__)

FILE_NAME: Final = "state.json"
"""The file in a directory."""

MAX_FILE_BYTES: Final = 4 << 30


def load_at_start(
    config: NodeConfig, states: NodeState, layer_two: Chain, layer_one: Chain | None
) -> None:
    """Load the files that flags name into new chains; reject what a chain on disk or on another L1 would lose."""
    _check_init(config)
    sources = dict(_sources(config, layer_two, layer_one))
    if not sources:
        return
    flag = next(iter(sources.values()))[0]
    if config.chain.data_dir is not None:
        raise InvalidConfig(flag, "the chain is in --data-dir, and would be replaced at each start")
    if config.l1.l1 and config.l1.l1_url is not None:
        raise InvalidConfig(flag, "the L1 of --l1-url knows nothing of the blocks of a file")
    try:
        contents = {chain: read_file(path, MAX_FILE_BYTES) for chain, (_, path) in sources.items()}
        with contextlib.closing(states.prepare(contents)) as prepared:
            states.apply(prepared)
    except OSError as error:
        raise InvalidConfig(flag, f"{error.filename}: {error.strerror}") from error
    except EntresolError as error:
        raise InvalidConfig(flag, str(error)) from error


def _sources(
    config: NodeConfig, layer_two: Chain, layer_one: Chain | None
) -> Iterator[tuple[Chain, tuple[str, Path]]]:
    files = config.of(DevConfig)
    for chain, prefix, load, both in (
        (layer_one, "--l1-", files.l1_load_state, files.l1_state),
        (layer_two, "--", files.load_state, files.state),
    ):
        if load is not None or both is not None:
            if chain is None:
                raise InvalidConfig(f"{prefix}state", "there is no development L1")
            path = _file(load or both or "")
            # Without --load-state there need not be a file yet.
            if load is not None or path.exists():
                name = "state" if load is None else "load-state"
                yield chain, (f"{prefix}{name}", path)


STATE_FLAGS: Final = ("load-state", "state", "dump-state")


def _check_init(config: NodeConfig) -> None:
    files = config.of(DevConfig)
    for flag, init, given in (
        ("--init", config.chain.init, (files.load_state, files.state, files.dump_state)),
        (
            "--l1-init",
            config.l1.l1_init,
            (files.l1_load_state, files.l1_state, files.l1_dump_state),
        ),
    ):
        names = [name for name, path in zip(STATE_FLAGS, given, strict=True) if path is not None]
        if init is not None and names:
            other = flag.replace("init", names[0])
            raise InvalidConfig(flag, f"it cannot be combined with {other}, as in anvil")


def _file(path: str) -> Path:
    given = Path(path)
    return given / FILE_NAME if given.is_dir() else given


class StateDumper:
    """Dumps the chains to the files that flags name.

    Remembers: what was dumped last, to skip a dump that would be the same. Persists: the files, each replaced at
    once. Fails: logs it, and tries again after the interval.
    """

    def __init__(
        self, config: NodeConfig, states: NodeState, layer_two: Chain, layer_one: Chain | None
    ) -> None:
        files = config.of(DevConfig)
        self._states = states
        self._interval = files.state_interval
        self._historical = files.preserve_historical_states
        self._targets = {
            chain: _file(path)
            for chain, path in (
                (layer_one, files.l1_dump_state or files.l1_state),
                (layer_two, files.dump_state or files.state),
            )
            if chain is not None and path is not None
        }
        self._dumped: dict[Chain, object] = {}
        self._task = BackgroundTask("the dump of states", self._run)
        self._failures: dict[Chain, str] = {}

    @property
    def problem(self) -> str | None:
        """Why the files are not those of the interval before; None if they are."""
        return self._task.problem or next(iter(self._failures.values()), None)

    async def start(self) -> None:
        """Start to dump at intervals."""
        if self._targets:
            self._task.start()

    async def stop(self) -> None:
        """Dump no more at intervals."""
        await self._task.stop()

    async def dump_last(self) -> None:
        """Dump what the chains are at the end, unless this node has failed to start: the files may be another's then."""
        if self._task.was_started:
            await self.step()

    async def step(self) -> None:
        """Dump each chain that has changed since the last time."""
        for chain, path in self._targets.items():
            version = chain.ledger.head_hash, chain.latest
            if self._dumped.get(chain) == version:
                continue
            work = self._states.dump(chain, historical=self._historical, packed=False)
            try:
                with chain.use.held():
                    await asyncio.to_thread(_write, path, work)
            except (EntresolError, OSError) as error:
                logger.error("the state could not be dumped to %s: %s", path, error)  # noqa: TRY400
                self._failures[chain] = f"the state could not be dumped to {path}: {error}"
            else:
                self._failures.pop(chain, None)
                self._dumped[chain] = version

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self.step()


def _write(path: Path, work: Callable[[], bytes]) -> None:
    """Replace a file at once, so that there is always a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(work())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
