"""`deploy/`: valid, and a cluster that works when its services run as processes."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from shutil import which

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from tests.support.clients.accounts import ALICE, signed_transfer
from tests.support.cluster.compose import (
    DEPLOY,
    HAPROXY,
    ComposedCluster,
    find_haproxy,
    read_compose,
)
from tests.support.cluster.postgres import Postgres
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, RpcError, health_of

ROOT = DEPLOY.parent
CONTAINERFILE = DEPLOY / "Containerfile"


def steps(instruction: str) -> list[str]:
    """Return the arguments of an instruction, stage after stage."""
    lines = CONTAINERFILE.read_text(encoding="utf-8").splitlines()
    return [
        line.split(maxsplit=1)[1] for line in lines if line.split(maxsplit=1)[:1] == [instruction]
    ]


@pytest.fixture
def cluster(postgres: Postgres, tmp_path: Path) -> Iterator[ComposedCluster]:
    with contextlib.closing(ComposedCluster(postgres, tmp_path)) as composed:
        composed.start()
        yield composed


def test_the_compose_file_follows_the_specification() -> None:
    schemas = files("check_jsonschema.builtin_schemas").joinpath("vendor/compose-spec.json")
    jsonschema.validate(read_compose(), json.loads(schemas.read_text(encoding="utf-8")))


def test_the_image_is_built_from_what_there_is_and_does_not_run_as_root() -> None:
    copied = [step.split()[:-1] for step in steps("COPY") if not step.startswith("--from")]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert len(steps("FROM")) == 2
    assert steps("USER")[-1] not in {"root", "0"}
    assert steps("ENTRYPOINT") == ['["entresol"]']
    (build,) = {
        service["build"]["dockerfile"]
        for service in read_compose()["services"].values()
        if "build" in service
    }
    assert (ROOT / build).samefile(CONTAINERFILE)


def test_systemd_finds_nothing_wrong_with_the_service(tmp_path: Path) -> None:
    systemd = which("systemd-analyze") or pytest.skip("no systemd here")
    unit = tmp_path / "entresol.service"
    text = (DEPLOY / unit.name).read_text(encoding="utf-8")
    assert "ExecStart=/opt/entresol/bin/entresol --data-dir" in text
    unit.write_text(text.replace("/opt/entresol/bin/entresol", sys.executable), encoding="utf-8")
    ran = subprocess.run([systemd, "verify", unit], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_the_services_run_as_one_cluster_that_survives_its_producer(
    cluster: ComposedCluster,
) -> None:
    nodes = cluster.nodes
    assert len(nodes) == 3
    for number, node in enumerate(nodes.values()):
        eventually(lambda: is_sent(node.url, number), node.printed)  # noqa: B023 - it is called at once
    roles = {name: health_of(node.url)[1]["role"] for name, node in nodes.items()}
    (producer,) = [name for name, role in roles.items() if role == "producer"]
    nodes.pop(producer).process.kill()
    for number, node in enumerate(nodes.values(), 3):
        eventually(lambda: is_sent(node.url, number), node.printed)  # noqa: B023 - it is called at once
        assert nonce_at(node.url) == number + 1


def nonce_at(url: str) -> int:
    """Return how many transactions were included."""
    with contextlib.closing(HttpRpcClient(url)) as client:
        return int(client("eth_getTransactionCount", ALICE.address, "latest"), 16)


def is_sent(url: str, nonce: int) -> bool:
    """Send a transaction; nobody may produce at the moment."""
    with contextlib.closing(HttpRpcClient(url)) as client:
        try:
            return bool(client("eth_sendRawTransaction", signed_transfer(nonce)))
        except (OSError, http.client.HTTPException, msgspec.DecodeError, RpcError):
            return False


@pytest.mark.slow
@pytest.mark.skipif(find_haproxy() is None, reason="no haproxy here; HAPROXY names one")
def test_the_load_balancer_takes_a_node_out_that_is_away_and_hides_what_nodes_share(
    cluster: ComposedCluster,
) -> None:
    program = find_haproxy()
    assert program is not None
    subprocess.run([program, "-c", "-f", str(HAPROXY)], check=True)
    with cluster.balanced(program) as url:
        eventually(lambda: is_healthy(url))
        assert nonce_at(url) == 0
        for path in ("/cluster/0", "/metrics"):
            assert status_of(url + path) == 403
        for number, node in enumerate(cluster.nodes.values()):
            eventually(lambda: is_sent(url, number), node.printed)  # noqa: B023 - it is called at once
            if number < 2:
                node.process.kill()


def is_healthy(url: str) -> bool:
    """Return whether there is a node behind the load balancer."""
    try:
        return status_of(f"{url}/health") == 200
    except OSError:
        return False


def status_of(url: str) -> int:
    """Return the status of a page."""
    try:
        with urllib.request.urlopen(url) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
