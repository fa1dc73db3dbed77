"""A devnet: both layers, started and stopped by a Python program in its own process."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, Unpack

from entresol.errors import DevnetError, DevnetStopped, InvalidConfig
from entresol.features.cluster.settings import ClusterConfig
from entresol.features.debugger.settings import DebuggerConfig
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.inprocess.channel import LayerChannel
from entresol.inprocess.failures import FailureRecorder
from entresol.inprocess.layer import DevnetAccount, DevnetLayer, LayerAddress
from entresol.inprocess.loop_thread import LoopThread
from entresol.inprocess.shell import ConsoleRecorder
from entresol.inprocess.web3_package import require_web3
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.config.secrets import read_secret_files
from entresol.node.config.suggestions import similar
from entresol.node.open_node import open_node
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.terminal.log import NodeLog
from entresol.terminal.log_details import abis_of
from entresol.terminal.writer import OUT, TerminalWriter

if TYPE_CHECKING:
    from web3 import Web3

    from entresol.chain.keyring import Impersonation
    from entresol.chain.mining_schedule import MiningState
    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.inprocess.bridge import Bridge
    from entresol.inprocess.devnet_settings import DevnetSettings, SettingValue
    from entresol.inprocess.interop.relaying import Relayed
    from entresol.inprocess.profiling.profiler import Profiler
    from entresol.node.chain_service import ChainService
    from entresol.node.node import Node
    from entresol.server.handler import ClientConnection


class SavedControls(NamedTuple):
    """The mining mode, the impersonated accounts and the filters of a layer. The node's event loop uses it."""

    mining: MiningState
    impersonation: Impersonation
    filters: frozenset[int]

    @classmethod
    def of(cls, service: ChainService) -> Self:
        """Return those of now."""
        api = service.api
        return cls(service.chain.schedule.state, api.keyring.impersonation, frozenset(api.filters))

    def restore(self, service: ChainService) -> None:
        """Set them again, and remove the filters that were installed since."""
        service.chain.schedule.restore(self.mining, time.monotonic())
        api = service.api
        api.keyring.impersonation = self.impersonation
        for installed in api.filters:
            if installed not in self.filters:
                api.filters.uninstall(installed)
        api.forget_failures()


_running: dict[Callable[[], object], None] = {}


def stop_at_exit(stop: Callable[[], object]) -> None:
    """Call `stop` when the program ends."""
    _register()
    _running[stop] = None


def need_not_stop(stop: Callable[[], object]) -> None:
    """Do not call `stop` when the program ends."""
    _running.pop(stop, None)


@cache
def _register() -> None:
    # Once `atexit` runs its functions, thread pools accept no work, and a node stops by theirs.
    register: Callable[[Callable[[], None]], object]
    register = getattr(threading, "_register_atexit", atexit.register)
    register(_stop_all)


def _stop_all() -> None:
    for stop in list(_running):
        stop()


DEFAULTS: Final[Mapping[str, SettingValue]] = {
    # Any number of devnets run beside each other.
    "port": 0,
    "l1_port": 0,
    "l1_extra_port": None,
    # A program reads its own output; `silent=False` shows the log of the node.
    "silent": True,
    # A test need not wait for L1; only clients that cache a nonce need the delay.
    "l1_delay": 0.0,
}
"""Where a devnet differs from a node on the command line."""

LOGGER: Final = logging.getLogger("entresol")
# Programs that configure no logging should not see warnings of a node on stderr.
LOGGER.addHandler(logging.NullHandler())


def devnet(**settings: Unpack[DevnetSettings]) -> Devnet:
    """Return a devnet with these settings, which have the names of the configuration (docs/config.md).

    `with devnet() as net` starts both layers, and stops them at the end; so does `async with`. With `chains=2`, or with
    the settings of each chain, `chains=[{"chain_id": 6565}, {"chain_id": 6566}]`, there are several L2s on one L1.
    """
    return Devnet(devnet_config(settings))


def devnet_config(
    settings: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> NodeConfig:
    """Return the configuration of a devnet; only variables of `environment` and a `file` have an influence on it."""
    known = {setting.name for setting in SETTINGS.all}
    for name in settings:
        if name not in known:
            nearest = similar(name, known)
            hint = f"did you mean {nearest}?" if nearest else "docs/config.md has all of them"
            raise InvalidConfig(name, f"there is no such setting; {hint}")
    given = {name: _plain(value) for name, value in settings.items()}
    loaded = SETTINGS.load(given, environment or {}, file, defaults=DEFAULTS)
    config = read_secret_files(loaded)
    if config.of(ClusterConfig).cluster is not None or config.l1.l1_url is not None:
        name = "cluster" if config.l1.l1_url is None else "l1_url"
        raise InvalidConfig(name, "a devnet has all of its chains in one process; run `entresol`")
    return config


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


class Devnet:
    """Both layers in this process, on a thread with an event loop of its own.

    Any thread and any event loop may use it. Remembers: nothing of its own. Persists: the chains, if there is a
    `data_dir`. Assumes: nothing about the caller. Fails: to start, with the error that says why; nothing is left
    running then. Requests before the start and after the stop fail with `DevnetStopped`.
    """

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.console = ConsoleRecorder()
        """The output of contracts by `console.log`."""
        self.failures = FailureRecorder()
        """The requests and transactions that have failed."""
        self.profiler: Profiler | None = None
        """Counts what its contracts do, once `profile` was called."""
        self._loop = LoopThread("entresol devnet")
        self._l1: DevnetLayer | None = None
        self._l2s: tuple[DevnetLayer, ...] = ()
        self._node: Node | None = None
        self._labels: list[str] = []
        self._l2_count = 0
        self._log: NodeLog | None = None

    def __repr__(self) -> str:
        if self._node is None:
            return "<devnet that does not run>"
        return f"<devnet: {', '.join(layer.title for layer in self.layers)}>"

    def profile(self, profiler: Profiler | None = None) -> Profiler:
        """Count what contracts do from now on, also before the start; several devnets may share a profiler.

        Sealed transactions, and calls of clients in this process, are executed once more for it.
        """
        if self.profiler is None:
            from entresol.inprocess.profiling.profiler import Profiler  # noqa: PLC0415 - nothing else needs it

            self.profiler = profiler or Profiler()
            for service in self._services:
                self.profiler.follow(service.chain)
        return self.profiler

    # From start to stop

    def start(self) -> Self:
        """Start both layers, and return once they serve requests."""
        self._log = self._open_log()
        self._loop.start()
        try:
            self._loop.run(self._start())
        except BaseException:
            self.stop()
            raise
        stop_at_exit(self.stop)
        return self

    def stop(self) -> None:
        """Stop both layers, and return once nothing of them runs; again it does nothing."""
        need_not_stop(self.stop)
        node, self._node = self._node, None
        log, self._log = self._log, None
        try:
            if node is not None:
                with contextlib.suppress(DevnetStopped):
                    self._loop.run(node.stop())
        finally:
            self._loop.stop()
            if log is not None:
                LOGGER.removeHandler(log.handler)
                log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: what it starts is stopped.
            with contextlib.suppress(Exception):
                await starting
            await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    # What is on it

    @property
    def l1(self) -> DevnetLayer:
        """The layer 1."""
        if self._l1 is not None:
            return self._l1
        if self._l2s:
            raise InvalidConfig("l1", "this devnet has no L1: it was started with l1=False")
        raise DevnetStopped

    @property
    def l2(self) -> DevnetLayer:
        """The layer 2; the first one if there are several."""
        return self.l2s[0]

    @property
    def l2s(self) -> tuple[DevnetLayer, ...]:
        """All chains of layer 2, in the order of the setting `chains`."""
        if not self._l2s:
            raise DevnetStopped
        return self._l2s

    @property
    def layers(self) -> tuple[DevnetLayer, ...]:
        """The layers that there are, the L1 first."""
        return self._l2s if self._l1 is None else (self._l1, *self._l2s)

    @property
    def accounts(self) -> tuple[DevnetAccount, ...]:
        """The development accounts, which have ether, or what pays for gas, on all layers."""
        return self.l2.accounts

    @cached_property
    def bridge(self) -> Bridge:
        """The bridge between the layers, by their web3.py clients; that of the first L2 if there are several."""
        return self.bridges[0]

    @cached_property
    def bridges(self) -> tuple[Bridge, ...]:
        """The bridge of each chain in `l2s`."""
        return tuple(self.bridge_of(self.l1.w3, layer.w3) for layer in self.l2s)

    def bridge_of(self, l1: Web3, l2: Web3) -> Bridge:
        """Return the bridge by other clients of the two layers."""
        require_web3()
        from entresol.inprocess.bridge import Bridge  # noqa: PLC0415 - it imports web3.py

        return Bridge(l1, l2, settles_by_itself=self.config.settlement.settle)

    def relay(self, timeout: float = 120.0) -> Relayed:
        """Execute the bundles between all chains that name no executor, and finalize the withdrawals.

        It settles first, or waits up to so many seconds for each, and returns what it has done, and what it could not do.
        """
        require_web3()
        from entresol.inprocess.interop.relaying import relay  # noqa: PLC0415 - it imports web3.py

        return relay(self.bridges, timeout)

    @cached_property
    def abis(self) -> AbiRegistry:
        """The ABIs of the settings `sources` and `abi`, and those of the contracts of both layers."""
        others = abis_of(self.config.log)
        return SourceRegistry.of_paths(self.config.of(DebuggerConfig).sources).abis().over(others)

    # Both layers at once

    def snapshot(self) -> str:
        """Take a snapshot of both layers, and return its id."""
        taken: str = self.l2.request("evm_snapshot")
        return taken

    def revert(self, snapshot: str) -> bool:
        """Revert both layers to a snapshot, and return whether it existed."""
        existed: bool = self.l2.request("evm_revert", snapshot)
        return existed

    @contextlib.contextmanager
    def isolated(self) -> Iterator[None]:
        """Revert both layers at the end to what they are now, with mining modes, impersonation, filters and the log.

        Raises a `DevnetError` if that is not possible, because something has reset the chains.
        """
        saved = self._loop.run(self._save())
        snapshot = self.snapshot()
        try:
            yield
        finally:
            is_reverted = self.revert(snapshot)
            self._loop.run(self._restore(*saved))
        if not is_reverted:
            raise DevnetError(
                "the chains cannot be reverted: they were reset, or reverted to an earlier snapshot, meanwhile"
            )

    async def _save(self) -> tuple[list[SavedControls], bool]:
        is_logged = self._log is not None and self._log.is_enabled
        return [SavedControls.of(service) for service in self._services], is_logged

    async def _restore(self, saved: list[SavedControls], is_logged: bool) -> None:  # noqa: FBT001 - as saved
        for controls, service in zip(saved, self._services, strict=True):
            controls.restore(service)
        if self._log is not None:
            self._log.is_enabled = is_logged

    @property
    def _services(self) -> list[ChainService]:
        """The chains that the devnet was started with, L1 last; those that were added are served by their URLs."""
        node = self._node
        if node is None:
            return []
        layer_one = [] if node.layer_one is None else [node.layer_one]
        return [*node.layer_twos[: self._l2_count], *layer_one]

    def _open_log(self) -> NodeLog | None:
        if self.config.log.silent:
            return None
        coloured = os.isatty(OUT) and "NO_COLOR" not in os.environ
        log = NodeLog(self.config.log, TerminalWriter(), colours=coloured)
        LOGGER.addHandler(log.handler)
        return log

    async def _start(self) -> None:
        node = self._node = await open_node(self.config, self._log)
        await node.start()
        node.replaced.add(self._follow)
        info = node.info()
        if self.config.log.config_out is not None:
            info.write(Path(self.config.log.config_out))
        accounts = [DevnetAccount.of(account) for account in info.accounts]
        self._l2_count = len(node.layer_twos)
        if node.layer_one is not None:
            self._l1 = self._serve("L1", node.layer_one, accounts)
        chains = (info, *info.others)
        self._l2s = tuple(
            self._serve(
                "L2" if len(chains) == 1 else str(known.chain_id),
                service,
                accounts,
                known.base_token,
            )
            for service, known in zip(node.layer_twos, chains, strict=True)
        )

    def _record(self, label: str, service: ChainService) -> None:
        if self.profiler is not None:
            self.profiler.follow(service.chain)
        self.console.follow(service.chain, label)
        self.failures.follow(service.chain, label)
        service.api.on_console.add(partial(self.console.record, label))

    def _follow(self) -> None:
        """Record what the contracts of chains print that have replaced others."""
        services = self._services
        labelled = [services[-1], *services[:-1]] if self._l1 is not None else services
        for label, service in zip(self._labels, labelled, strict=True):
            self._record(label, service)

    def _serve(
        self,
        label: str,
        service: ChainService,
        accounts: list[DevnetAccount],
        base_token: BaseToken = ETHER_TOKEN,
    ) -> DevnetLayer:
        self._labels.append(label)
        self._record(label, service)
        position = self._services.index(service)

        def handle(
            body: bytes, connection: ClientConnection
        ) -> bytes | Awaitable[bytes | None] | None:
            # A reset can replace the chain of a layer.
            service = self._services[position]
            if self.profiler is not None:
                self.profiler.on_request(service, body)
            return service.handler(body, connection)

        channel = LayerChannel(self._loop, handle, self.config.server.body_limit_bytes)
        chain_id = service.chain.rules.chain_id
        served = LayerAddress(label, service.address, chain_id, base_token)
        return DevnetLayer(served, accounts, channel, self.console, self.failures)
