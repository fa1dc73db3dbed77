"""A wheel from which folders of features were deleted is a node without them, and whole in all else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import pytest
from web3 import HTTPProvider, Web3

from entresol.inprocess.bridge import Bridge
from entresol.primitives.bytecode import evm_hash
from tests.support.node_process import running_node
from tests.support.packages.distribution import built
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, RpcError

FEATURES = ("debugger", "tracing", "relay", "derive", "explorer", "dev")
METHODS: Final[dict[str, tuple[str, list[Any]]]] = {
    "debugger": ("hardhat_addCompilationResult", ["0.8.30", {}, {}]),
    "tracing": ("debug_getRawHeader", ["latest"]),
    "explorer": ("entresol_getTokens", []),
    "dev": ("anvil_nodeInfo", []),
}
"""A method of each feature that has some."""


class Pair(NamedTuple):
    """Both layers of a node, and the features that it has not."""

    l1_url: str
    url: str
    missing: tuple[str, ...]


@pytest.fixture(scope="module", params=[FEATURES, *((name,) for name in FEATURES)], ids=",".join)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Return a node of a wheel without the folders of some features."""
    folder = tmp_path_factory.mktemp("deleted")
    package, info = folder / "package", folder / "info.json"
    with ZipFile(built("*.whl")) as wheel:
        wheel.extractall(package)
    for name in request.param:
        shutil.rmtree(package / "entresol" / "features" / name)
    environment = os.environ | {"PYTHONPATH": str(package)}
    with running_node("--config-out", str(info), info=info, environment=environment) as node:
        l1 = json.loads(info.read_text(encoding="utf-8"))["l1"]
        yield Pair(l1["http_url"], node.url, request.param)


def test_it_deposits_and_the_five_operations_hold(pair: Pair) -> None:
    l1, l2 = (Web3(HTTPProvider(url)) for url in (pair.l1_url, pair.url))
    bridge, sender = Bridge(l1, l2), l1.eth.accounts[0]
    deposited = bridge.deposit(5, sender=sender)
    assert deposited.l2["status"] == 1
    with closing(HttpRpcClient(pair.url)) as client:
        number = hex(deposited.l2["blockNumber"])
        block = client("eth_getBlockByNumber", number, False)
        assert deposited.l2["transactionHash"].to_0x_hex() in block["transactions"]
        gas = client("zks_estimateGasL1ToL2", {"from": sender, "to": sender, "value": "0x1"})
        assert int(gas, 16) > 21_000
        assert client("eth_uninstallFilter", client("eth_newBlockFilter")) is True
        sent = bridge.withdraw(3, sender=sender)
        proof = eventually(
            lambda: client("zks_getL2ToL1LogProof", sent.receipt["transactionHash"].to_0x_hex())
        )
        assert len(proof["proof"]) > 1
        assert bridge.finalize(sent)["status"] == 1
        code = bytes.fromhex(client("eth_getCode", bridge.base_token.address, "latest")[2:])
        # It is padded to an odd number of words.
        assert bytes(client("zks_getBytecodeByHash", str(evm_hash(code)))).startswith(code)


def test_its_methods_are_not_there_and_those_of_others_are(pair: Pair) -> None:
    with closing(HttpRpcClient(pair.url)) as client:
        for feature, (method, params) in METHODS.items():
            if feature in pair.missing:
                with pytest.raises(RpcError, match="does not exist"):
                    client(method, *params)
            else:
                client(method, *params)
