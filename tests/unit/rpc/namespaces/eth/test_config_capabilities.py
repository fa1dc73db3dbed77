"""What routers learn of a node."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE
from tests.support.chain.state_files import anvil_file
from tests.support.rpc_client import RpcError


def test_everything_is_there_from_the_first_block_on(client: ApiClient) -> None:
    send(client)
    capabilities = client("eth_capabilities")
    block = client("eth_getBlockByNumber", "latest", False)
    assert capabilities.pop("head") == {"number": block["number"], "hash": block["hash"]}
    kinds = ["state", "tx", "logs", "receipts", "blocks", "stateproofs"]
    assert capabilities == {kind: {"disabled": False, "oldestBlock": "0x0"} for kind in kinds}


def test_states_begin_where_a_state_file_has_them(client: ApiClient) -> None:
    document = {**anvil_file(), "historical_states": None}
    client("anvil_loadState", "0x" + gzip.compress(json.dumps(document).encode()).hex())
    capabilities = client("eth_capabilities")
    assert capabilities["state"] == capabilities["stateproofs"]
    oldest = capabilities["state"]["oldestBlock"]
    assert oldest == capabilities["head"]["number"] == "0x2"
    client("eth_getProof", str(ALICE), [], oldest)
    with pytest.raises(RpcError, match="is not known"):
        client("eth_getBalance", str(ALICE), "0x1")
    assert capabilities["blocks"]["oldestBlock"] == "0x0"
