"""The topology of `deploy/compose.yaml` as processes: its commands and its environment, without containers."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML

from tests.support.anvil import free_port, running_anvil
from tests.support.cluster.nodes import OPERATOR
from tests.support.cluster.postgres import Postgres
from tests.support.node_process import ENTRESOL, RunningNode, run_entresol, starting_node

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
HAPROXY = DEPLOY / "haproxy.cfg"

PASSWORD = "postgres"  # noqa: S105 - a server of tests has none
_VARIABLE = re.compile(r"\$\{POSTGRES_PASSWORD:\?[^}]*\}")


def read_compose() -> dict[str, Any]:
    document: dict[str, Any] = YAML(typ="safe").load(COMPOSE.read_text(encoding="utf-8"))
    return document


class ComposedCluster:
    """The services of the file, started as processes of this machine."""

    def __init__(self, postgres: Postgres, folder: Path) -> None:
        self._services: dict[str, Any] = read_compose()["services"]
        self._folder = folder
        self._database = postgres.new_database()
        self._stack = contextlib.ExitStack()
        self._l1_url = ""
        self.nodes: dict[str, RunningNode] = {}
        key = folder / "operator.key"
        key.write_text(str(OPERATOR.secret), encoding="utf-8")
        key.chmod(0o600)
        self._key = key

    def start(self) -> None:
        command = self._services["l1"]["command"]
        assert " ".join(command[:5]) == "anvil --host 0.0.0.0 --port 8545"
        program = (*ENTRESOL, "anvil")
        self._l1_url = self._stack.enter_context(running_anvil(*command[5:], program=program)).url
        init = self._services["init"]
        done = run_entresol(*init["command"], **self._environment("init"))
        assert done.returncode == 0, done.stderr
        for name in self._services:
            if name.startswith("node-"):
                self._start_node(name)

    def _start_node(self, name: str) -> None:
        port = self._stack.enter_context(free_port())
        environment = {**os.environ, **self._environment(name, port)}
        command = self._services[name].get("command", ())
        started = starting_node(*command, environment=environment, port=port)
        self.nodes[name] = self._stack.enter_context(started).ready()

    @contextlib.contextmanager
    def balanced(self, program: str) -> Iterator[str]:
        with free_port() as port:
            addresses = {
                name.upper().replace("-", "_"): urlsplit(node.url).netloc
                for name, node in self.nodes.items()
            }
            environment = {**os.environ, **addresses, "PORT": str(port)}
            process = subprocess.Popen([program, "-f", str(HAPROXY)], env=environment)
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                process.kill()
                process.wait()

    def close(self) -> None:
        self._stack.close()

    def _environment(self, name: str, port: int = 0) -> dict[str, str]:
        """Return the environment of a service; what containers provide is what this machine has."""
        provided = {
            "postgresql://entresol@postgres:5432/entresol": self._database,
            "http://l1:8545": self._l1_url,
            "/run/secrets/operator_key": str(self._key),
            f"http://{name}:3050": f"http://127.0.0.1:{port}",
            "/var/lib/entresol/chain": str(self._folder / name),
        }
        found: Mapping[str, str] = self._services[name]["environment"]
        values = {key: _VARIABLE.sub(PASSWORD, value) for key, value in found.items()}
        return {key: provided.get(value, value) for key, value in values.items()}


def find_haproxy() -> str | None:
    return shutil.which(os.environ.get("HAPROXY", "haproxy"))
