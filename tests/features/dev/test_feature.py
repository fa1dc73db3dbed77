"""What the methods of developers add to a chain beside themselves."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from entresol.errors import ListenFailed
from entresol.features.dev.checkpoint import MAX_CHECKPOINT_BYTES
from entresol.features.dev.settings import DevConfig
from entresol.node.build_node import build_node
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.rpc.namespaces.rejected import DEVELOPMENT, Rejected
from entresol.server.config import ServerConfig
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import transaction


def test_snapshots_report_their_memory_and_its_limit(client: ApiClient) -> None:
    def snapshots() -> tuple[int, int]:
        return next((it.used, it.limit) for it in client.api.memory() if it.part == "snapshots")

    client.chain.schedule.seal_on_request()
    client("evm_snapshot")
    assert snapshots() == (0, MAX_CHECKPOINT_BYTES)
    client.chain.add(transaction(0))
    client("evm_snapshot")
    assert 0 < snapshots()[0] <= MAX_CHECKPOINT_BYTES


def test_developer_methods_are_not_there_without_them() -> None:
    with running_api(dev_methods=False) as client:
        for method in ("anvil_setFeeToken", "anvil_dropAllTransactions", "evm_mine"):
            rejection = client.error(method)
            assert rejection.message == f"the method {method} does not exist/is not available"


@pytest.mark.parametrize("row", DEVELOPMENT, ids=lambda row: row.name)
def test_a_rejection_has_its_code_and_its_reason_whatever_the_parameters_are(
    client: ApiClient, row: Rejected
) -> None:
    rejection = client.error(row.name, "latest", {"of": ["any kind"]})
    assert rejection.code == row.kind.rpc_code
    assert row.reason in rejection.message
    assert rejection.message.endswith(row.instead)


def test_a_node_that_fails_to_start_dumps_no_state(tmp_path: Path) -> None:
    """The file may be that of the node which has the port."""
    file = tmp_path / "state.json"
    with socket.create_server(("127.0.0.1", 0)) as other:
        config = NodeConfig(
            l1=L1Config(l1=False), server=ServerConfig(port=other.getsockname()[1])
        ).with_(DevConfig, dump_state=str(file))
        with pytest.raises(ListenFailed):
            asyncio.run(_start(config))
    assert not file.exists()


async def _start(config: NodeConfig) -> None:
    await build_node(config).start()
