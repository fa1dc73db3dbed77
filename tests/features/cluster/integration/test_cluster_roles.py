"""The roles of docs/cluster.md: nodes work with the rights that it lists, and readers change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.inprocess_node import run_command
from tests.support.polling import eventually

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[4] / "docs" / "cluster.md"


@pytest.fixture
def cluster(postgres: Postgres, tmp_path: Path) -> Iterator[ClusterProcesses]:
    if not postgres.can_restart:
        pytest.skip("the server is not ours")
    (statements,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with running_cluster(postgres, tmp_path, "--no-settle") as created:
        created.execute(statements)
        try:
            yield created
        finally:
            created.close()
            for role in ("node", "reader"):
                created.execute(f"drop owned by {role}; drop role {role}")


def url_of(cluster: ClusterProcesses, role: str) -> str:
    url = cluster.url.replace("//postgres:@", f"//{role}@")
    assert role in url
    return url


def test_a_node_produces_and_unwinds_with_the_rights_of_its_role(cluster: ClusterProcesses) -> None:
    url = url_of(cluster, "node")
    node = cluster.add("--cluster", url)
    eventually(lambda: node.health()["role"] == "producer", node.printed)
    # The second one cannot be in a block yet, so it has a row in the pool.
    sent = [node.client("eth_sendRawTransaction", signed_transfer(number)) for number in (0, 2)]
    assert node.client("eth_getTransactionReceipt", sent[0])["status"] == "0x1"
    done = run_command("cluster", "unwind", "--to", "0", "--cluster", url)
    assert done.returncode == 0, done.stderr
    eventually(lambda: node.client("eth_getTransactionReceipt", sent[0]), node.printed)
    node.client("eth_sendRawTransaction", signed_transfer(1))
    assert node.client("eth_getTransactionReceipt", sent[1])["status"] == "0x1"
    eventually(lambda: node.url in cluster.run("status"))
    assert node.stop() == 0
    assert "denied" not in node.printed()


def test_a_reader_sees_the_state_and_changes_nothing(cluster: ClusterProcesses) -> None:
    url = url_of(cluster, "reader")
    status = run_command("cluster", "status", "--cluster", url)
    assert status.returncode == 0, status.stderr
    unwind = run_command("cluster", "unwind", "--to", "0", "--cluster", url)
    assert unwind.returncode == 2
    assert "--cluster: " in unwind.stderr
    assert "permission denied for table lease" in unwind.stderr
