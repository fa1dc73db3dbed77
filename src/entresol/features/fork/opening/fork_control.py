"""The actions of clients on the fork of a layer: reset it to another block, end it, ask another URL."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from msgspec import structs

from entresol.errors import ControlRejected, InvalidConfig, MalformedValue
from entresol.features.fork.config.resolving import PlannedFork, planned_forks
from entresol.features.fork.errors import RemoteMalformed
from entresol.features.fork.settings import ForkConfig
from entresol.features.workers.settings import WorkersConfig, worker_count
from entresol.l1.urls import Endpoint, is_http_url
from entresol.rpc.types.fork_target import (
    ForkControl,
    ForkedNetwork,
    ForkTarget,
    NodeForkConfig,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from entresol.chain.chain import Chain
    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.node.config.schema import NodeConfig
    from entresol.node.reopening import Reopening

_PORTS = {"http": 80, "https": 443}


async def check_client_url(url: str, own_ports: Collection[int]) -> None:
    """Reject a URL that is not http(s), or that a port of the node itself is behind."""
    if not is_http_url(url):
        raise ControlRejected("the URL should begin with http:// or https://, and name a host")
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme]
    if port in own_ports and await _is_local(parts.hostname or ""):
        shown = Endpoint(url).redacted
        raise ControlRejected(f"{shown} is the node itself: a fork needs another one")


def host_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL, by which headers are sent to it or not."""
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)


async def _is_local(host: str) -> bool:
    """Return whether a host is this machine; one that cannot be resolved is none, and fails later."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: int, address: tuple[object, ...]) -> bool:
    """Return whether an address is one of this machine: only such can be listened on."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address[0], 0))
        except OSError:
            return False
    return True


class LayerForks(ForkControl):
    """The fork of one layer, or that it is none, for the methods that are about forks.

    Remembers: nothing; the node does. Assumes: the event loop of the node. Fails: with an error that has no secret;
    then the chain is as it was.
    """

    def __init__(
        self, reopening: Reopening, layer: Literal["l1", "l2"], chain: Chain, fork: OpenFork | None
    ) -> None:
        self._reopening = reopening
        self._layer = layer
        self._chain = chain
        self._fork = fork

    @property
    def is_fork(self) -> bool:
        """Whether the chain is a fork."""
        return self._fork is not None

    @property
    def network(self) -> ForkedNetwork | None:
        """The block that the chain stands on."""
        if self._fork is None:
            return None
        anchor = self._fork.remote.anchor
        return ForkedNetwork(
            chain_id=anchor.chain_id, fork_block_number=anchor.number, fork_block_hash=anchor.hash
        )

    @property
    def config(self) -> NodeForkConfig:
        """Where it reads, without secrets."""
        if self._fork is None:
            return NodeForkConfig()
        remote = self._fork.remote
        return NodeForkConfig(
            fork_url=remote.host,
            fork_block_number=remote.anchor.number,
            fork_retry_backoff=int(remote.settings.backoff * 1000),
        )

    async def reset(self, target: ForkTarget | None) -> None:
        """Stand on another block, with nothing above it; None ends the fork. Both layers of a pair start anew."""
        start = self._reopening.start
        if worker_count(start) > 1 and not planned_forks(start):
            raise ControlRejected("a fork is served by one process: start without --workers")
        try:
            if target is None:
                await self._reopening.reopen(self._ended())
                return
            if target.url is None and self._fork is None:
                raise MalformedValue(
                    "Forking not enabled and RPC URL not provided to start forking"
                )
            if target.url is not None:
                await check_client_url(target.url, self._reopening.ports)
            with _unquoted(target.url):
                await self._reopening.reopen(self._forked(target))
        except InvalidConfig as error:
            raise ControlRejected(str(error)) from error

    async def set_url(self, url: str) -> None:
        """Read from another URL, which has to have the same chain and block; nothing if this is not a fork."""
        if self._fork is None:
            return
        await check_client_url(url, self._reopening.ports)
        with _unquoted(url):
            await self._fork.remote.set_url(url)

    def _ended(self) -> NodeConfig:
        """Return the settings without this fork; the chain keeps its id."""
        prefix, start = self._prefix, self._base()
        name = f"{prefix}chain_id"
        ids: dict[str, Any] = {name: self._chain.rules.chain_id}
        if prefix:
            start = structs.replace(start, l1=structs.replace(start.l1, **ids))
        else:
            start = structs.replace(start, chain=structs.replace(start.chain, **ids))
        start = structs.replace(start, given=start.given | {name})
        return start.with_(ForkConfig, prefix, **structs.asdict(ForkConfig()))

    def _forked(self, target: ForkTarget) -> NodeConfig:
        """Return the settings with a fork of this block; headers go only to hosts that were given at the start."""
        base = self._base()
        begun = self._begun()
        assert target.url is not None or self._fork is not None
        urls = (target.url,) if target.url is not None else self._fork.remote.settings.urls  # type: ignore[union-attr]
        hosts = set() if begun is None else {host_of(url) for url in begun.settings.urls}
        is_given = all(host_of(url) in hosts for url in urls)
        named = {f"{self._prefix}fork_url"} if target.url is not None else set()
        at_start = self._reopening.start.of(ForkConfig, self._prefix)
        base = structs.replace(base, urls_of_clients=base.urls_of_clients | named)
        return base.with_(
            *(ForkConfig, self._prefix),
            fork_url=tuple(urls),
            fork_block_number=target.block,
            fork_block_hash=None,
            fork_transaction_hash=None,
            fork_chain_id=None,
            fork_header=at_start.fork_header if is_given else (),
        )

    @property
    def _prefix(self) -> str:
        """How the names of its settings begin."""
        return "" if self._layer == "l2" else "l1_"

    def _begun(self) -> PlannedFork | None:
        planned = planned_forks(self._reopening.start)
        return planned.l2 if self._layer == "l2" else planned.l1

    def _base(self) -> NodeConfig:
        """Return the settings of the start, with the forks of now."""
        start, now = self._reopening.start, self._reopening.config
        forks = {key: section for key, section in now.features.items() if key[0] is ForkConfig}
        base = structs.replace(
            start, features={**start.features, **forks}, urls_of_clients=now.urls_of_clients
        )
        # The ports are those of one process.
        return base.with_(WorkersConfig, workers=1)


@contextmanager
def _unquoted(url: str | None) -> Iterator[None]:
    """Let an error about the host that a client named have nothing of what it responded."""
    try:
        yield
    except RemoteMalformed as error:
        if url is None:
            raise
        problem = "it does not respond as a node does"
        raise RemoteMalformed(error.host, error.method, problem) from None
