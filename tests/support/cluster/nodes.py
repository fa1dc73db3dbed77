"""A cluster of real processes: PostgreSQL, an L1, and nodes that are started, killed and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.primitives.values import Address
from tests.support.cluster.postgres import Postgres, execute, fetch_value
from tests.support.inprocess_node import inprocess_anvil, run_command
from tests.support.node_process import ENTRESOL, RunningNode, starting_node
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, health_of

OPERATOR = derive(DEVELOPMENT_MNEMONIC, 1)[0]
LEASE_SECONDS = 1.0


class ClusterNodeProcess:
    """A node of a cluster, which may be killed and started again on its directory."""

    def __init__(
        self,
        cluster: ClusterProcesses,
        name: str,
        flags: tuple[str, ...],
        command: Sequence[str] = ENTRESOL,
    ) -> None:
        self.name = name
        self.flags = flags
        self._command = command
        self._cluster = cluster
        self._stack = contextlib.ExitStack()
        self._running: RunningNode | None = None
        self._client: HttpRpcClient | None = None
        self._before = ""
        self._printed = ""

    @property
    def url(self) -> str:
        """The URL of the node; it changes with each start."""
        assert self._running is not None
        return self._running.url

    @property
    def running(self) -> RunningNode:
        assert self._running is not None
        return self._running

    @property
    def known_url(self) -> str | None:
        """The URL, while a process is known to be there; other threads may ask."""
        running = self._running
        return None if running is None else running.url

    @property
    def client(self) -> HttpRpcClient:
        if self._client is None:
            self._client = HttpRpcClient(self.url)
            self._stack.callback(self._client.close)
        return self._client

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.process.poll() is None

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.process.pid

    @property
    def data_dir(self) -> Path:
        return self._cluster.folder / self.name

    def start(self) -> None:
        data = ("--data-dir", str(self.data_dir))
        arguments = (*self._cluster.flags, *data, *self.flags)
        starting = starting_node(*arguments, command=self._command)
        self._running = self._stack.enter_context(starting).ready()

    def health(self) -> dict[str, Any]:
        return health_of(self.url)[1]

    def printed(self) -> str:
        with contextlib.suppress(OSError):
            self._printed = self._printed if self._running is None else self._running.printed()
        return f"{self.name}:\n{self._before}{self._printed}"

    def kill(self) -> None:
        """Kill the process; nothing is finished."""
        self.printed()
        self._before, self._printed = self._before + self._printed, ""
        self._running = None
        self._stack.close()
        self._client = None

    def stop(self) -> int:
        assert self._running is not None
        return self._running.stop()

    def pause(self) -> None:
        assert self._running is not None
        self._running.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._running is not None
        self._running.process.send_signal(signal.SIGCONT)


class ClusterProcesses:
    def __init__(self, postgres: Postgres, l1_url: str, folder: Path, url: str) -> None:
        self.postgres = postgres
        self.l1_url = l1_url
        self.folder = folder
        self.url = url
        self.nodes: list[ClusterNodeProcess] = []

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            *("--cluster", self.url, "--l1-url", self.l1_url),
            *("--operator-key", str(OPERATOR.secret)),
            *("--lease-seconds", str(LEASE_SECONDS)),
        )

    def add(self, *flags: str, command: Sequence[str] = ENTRESOL) -> ClusterNodeProcess:
        node = ClusterNodeProcess(self, node_name(len(self.nodes)), flags, command)
        self.nodes.append(node)
        node.start()
        return node

    def producer(self) -> ClusterNodeProcess:
        def found() -> ClusterNodeProcess | None:
            for node in self.nodes:
                with contextlib.suppress(OSError):
                    if node.is_running and node.health().get("role") == "producer":
                        return node
            return None

        return eventually(found, lambda: "\n".join(node.printed() for node in self.nodes))

    def run(self, *arguments: str) -> str:
        done = run_command("cluster", *arguments, "--cluster", self.url)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def lease_seconds(self) -> float:
        return LEASE_SECONDS

    def url_by_port(self, port: int) -> str:
        name = urlsplit(self.url).path
        return f"postgresql://postgres@127.0.0.1:{port}{name}"

    def contracts(self) -> dict[str, Address]:
        document = self.fetch_value("select settlement::text from entresol.chain")
        contracts = json.loads(document)["contracts"]
        return {name: Address.parse(text) for name, text in contracts.items()}

    def fetch_value(self, query: str) -> Any:
        return asyncio.run(fetch_value(self.url, query))

    def execute(self, statement: str) -> None:
        asyncio.run(execute(self.url, statement))

    def close(self) -> None:
        for node in self.nodes:
            node.kill()


def node_name(number: int) -> str:
    return f"node-{number}"


@contextlib.contextmanager
def running_cluster(
    postgres: Postgres, folder: Path, *flags: str, nodes: int = 0
) -> Iterator[ClusterProcesses]:
    """Create a chain on an L1 of its own, start nodes, and kill them at the end whatever happens."""
    with (
        _new_chain(postgres, flags) as (l1_url, database),
        contextlib.closing(ClusterProcesses(postgres, l1_url, folder, database)) as cluster,
    ):
        for _ in range(nodes):
            cluster.add()
        yield cluster


class ChainTemplate:
    """An L1 with the contracts of a chain, and a database with its beginning, which each cluster gets anew.

    Starting an L1 and creating a chain take longer than most tests of a cluster.
    """

    def __init__(self, postgres: Postgres, flags: tuple[str, ...]) -> None:
        self._postgres = postgres
        self._l1 = postgres.cleanup.enter_context(inprocess_anvil("anvil"))
        self._database = postgres.new_database()
        self._is_used = False
        settings = ("--l1-url", self._l1.url, "--operator-key", str(OPERATOR.secret))
        chain = ("--deploy-l1", "--accounts", "10", "--l1-confirmations", "0", *flags)
        done = run_command("cluster", "init", *settings, *chain, "--cluster", self._database)
        assert done.returncode == 0, done.stderr
        self._snapshot = self._l1("evm_snapshot")

    @property
    def is_free(self) -> bool:
        return not self._is_used

    @contextlib.contextmanager
    def copied(self) -> Iterator[tuple[str, str]]:
        """Yield the URLs of the L1 and of a copy of the database; afterwards the L1 is as before."""
        self._is_used = True
        try:
            yield self._l1.url, self._postgres.new_database(self._database)
        finally:
            # A connection of its own: an idle one may be closed by now.
            with contextlib.closing(HttpRpcClient(self._l1.url)) as l1:
                l1("evm_setAutomine", True)
                assert l1("evm_revert", self._snapshot) is True
                self._snapshot = l1("evm_snapshot")
            self._is_used = False


def _new_chain(
    postgres: Postgres, flags: tuple[str, ...]
) -> contextlib.AbstractContextManager[tuple[str, str]]:
    templates = postgres.templates.setdefault(flags, [])
    found = next((template for template in templates if template.is_free), None)
    if found is None:
        found = ChainTemplate(postgres, flags)
        templates.append(found)
    return found.copied()
