from __future__ import annotations

from pathlib import Path

from entresol.chain.genesis.genesis import Genesis
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import health_of


def test_the_relay_of_a_chain_whose_genesis_file_says_its_id_is_in_its_health(
    tmp_path: Path,
) -> None:
    file = tmp_path / "genesis.json"
    file.write_bytes(Genesis(chain_id=999, alloc={}).dump())
    with inprocess_node("--genesis", str(file), "--relay", "0") as node:
        _, health = health_of(node.url)
    assert health["relay"] is None
