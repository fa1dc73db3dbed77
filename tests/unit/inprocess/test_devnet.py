"""Both layers in this process, from start to stop."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entresol.errors import DevnetStopped, InvalidConfig, MethodFailed, StoreForeign
from entresol.inprocess.devnet import Devnet, devnet, devnet_config
from entresol.inprocess.devnet_settings import SettingValue
from entresol.inprocess.layer import DevnetLayer
from entresol.inprocess.provider import EntresolProvider
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import HttpRpcClient


def names_of_threads() -> set[str]:
    return {it.name for it in threading.enumerate()}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env=os.environ | environment,
    )


def test_it_serves_both_layers_over_http(net: Devnet) -> None:
    for layer, chain_id in ((net.l1, 31337), (net.l2, 270)):
        client = HttpRpcClient(layer.url)
        assert int(client("eth_chainId"), 16) == layer.chain_id == chain_id
        client.close()
        assert layer.ws_url == layer.url.replace("http", "ws")
    assert net.layers == (net.l1, net.l2)


@pytest.mark.usefixtures("running")  # The first devnet of a process opens a pipe, which stays.
def test_nothing_is_left_when_it_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before, descriptors = names_of_threads(), len(list(Path("/dev/fd").iterdir()))
    with devnet() as net:
        net.l2.request("evm_mine")
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    eventually(lambda: names_of_threads() <= before, lambda: str(names_of_threads()))
    eventually(lambda: len(list(Path("/dev/fd").iterdir())) <= descriptors)
    for request in (lambda: net.l2.request("eth_blockNumber"), net.snapshot):
        with pytest.raises(DevnetStopped):
            request()
    net.stop()


async def test_it_is_an_asynchronous_context_too() -> None:
    async with devnet(l1=False) as net:
        assert await net.l2.async_w3.eth.block_number == 0
        # A synchronous client in a coroutine does not wait for itself.
        assert net.l2.w3.eth.block_number == 0


def test_a_devnet_without_an_l1_has_none() -> None:
    with devnet(l1=False) as net:
        assert net.layers == (net.l2,)
        with pytest.raises(InvalidConfig, match="started with l1=False"):
            _ = net.l1


def test_a_failed_start_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    before = names_of_threads()
    with pytest.raises(StoreForeign), devnet(data_dir=tmp_path):
        pass
    assert names_of_threads() <= before


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"chain_idd": 1}, "chain_idd: there is no such setting; did you mean chain_id?"),
        ({"chain_id": 0}, "--chain-id: expected a whole number of at least 1, got 0"),
        ({"l1_url": "http://localhost:1"}, "l1_url: a devnet has all of its chains in one process"),
        ({"chains": [{"chain_di": 7}]}, "chains[0].chain_di: there is no such setting; did you"),
        ({"chains": [{"chain_id": 7}, 8]}, "chains: say [[chains]], a table for each"),
        ({"chains": [{"silent": True}]}, "chains[0].silent: it is a setting of the whole node"),
        ({"cluster": "postgresql://x/y"}, "cluster: a devnet has all of its chains"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, SettingValue], problem: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        devnet(**settings)
    assert str(raised.value).startswith(problem)


def test_settings_are_those_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTRESOL_CHAIN_ID", "5")
    config = devnet_config({"gas_limit": 10**9, "abi": ("a", "b"), "data_dir": Path("x")})
    assert (config.chain.gas_limit, config.log.abi, config.chain.data_dir) == (
        10**9,
        ("a", "b"),
        "x",
    )
    assert (config.chain.chain_id, config.server.port, config.log.silent) == (270, 0, True)


def test_it_is_silent_and_leaves_logging_alone() -> None:
    shown = run("""
import entresol, logging
with entresol.devnet(l1=False) as net:
    net.l2.request("eth_blockNumber")
    logging.getLogger("entresol.node").warning("a warning")
assert logging.getLogger().handlers == []
""")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")


def test_importing_the_package_imports_nothing_else() -> None:
    shown = run("""
import sys
before = set(sys.modules)
import entresol
print(sorted(it for it in set(sys.modules) - before if it.partition(".")[0] in ("entresol", "web3")))
assert {"devnet", "EntresolProvider"} <= set(dir(entresol))
""")
    assert (shown.stdout, shown.stderr) == ("['entresol']\n", "")


def test_it_works_without_web3_except_for_clients() -> None:
    shown = run("""
import sys
sys.modules["web3"] = None
import entresol
with entresol.devnet(l1=False) as net:
    assert net.l2.request("eth_blockNumber") == "0x0"
    for name in ("w3", "async_w3"):
        try:
            getattr(net.l2, name)
        except entresol.errors.InvalidConfig as error:
            print(error)
""")
    needs = "this needs web3.py: pip install 'entresol[testing]'\n"
    assert (shown.stdout, shown.stderr) == (needs * 2, "")


def test_several_chains_have_a_bridge_each_and_one_snapshot() -> None:
    receiver = "0x" + "77" * 20
    with devnet(chains=2, l1_delay=0) as net:
        assert [it.chain_id for it in net.l2s] == [270, 271]
        assert net.l2 is net.l2s[0]

        def balances() -> list[int]:
            found = (it.request("eth_getBalance", receiver, "latest") for it in net.l2s)
            return [int(balance, 16) for balance in found]

        snapshot = net.snapshot()
        for amount, bridge in enumerate(net.bridges, start=1):
            bridge.deposit(amount, to=receiver)
        assert balances() == [1, 2]
        assert net.revert(snapshot)
        assert balances() == [0, 0]


def test_the_ports_of_a_preset_are_left_to_nodes_on_the_command_line() -> None:
    config = devnet_config({"preset": "zksync-os"})
    assert (config.chain.chain_id, config.ecosystem.chains) == (6565, ("2",))
    assert (config.server.port, config.l1.l1_port, config.l1.l1_extra_port) == (0, 0, None)
    assert devnet_config({"preset": "zksync-os", "l1_extra_port": 7}).l1.l1_extra_port == 7


def test_nothing_of_a_devnet_exists_before_its_start() -> None:
    net = devnet(chains=2)
    for name in ("l1", "l2", "l2s", "bridge", "bridges"):
        with pytest.raises(DevnetStopped):
            getattr(net, name)


PROGRAM = """
from concurrent.futures import ThreadPoolExecutor
from entresol.inprocess.devnet import need_not_stop, stop_at_exit

class Started:
    def __init__(self, name):
        self.name = name
    def stop(self):
        with ThreadPoolExecutor() as pool:
            print(pool.submit(lambda: f"stopped {self.name}").result())

kept, stopped = Started("one"), Started("two")
stop_at_exit(kept.stop)
stop_at_exit(stopped.stop)
need_not_stop(stopped.stop)
print("ends")
"""


def test_it_is_stopped_while_thread_pools_still_work() -> None:
    shown = run(PROGRAM)
    assert (shown.stdout, shown.stderr) == ("ends\nstopped one\n", "")


NOBODY = "0x00000000000000000000000000000000deadbeef"
WORD = "0x" + "11" * 32
FAR = 4_000_000_000
"""A time that is some decades ahead."""


def of_pending(field: str) -> Callable[[DevnetLayer], Any]:
    return lambda layer: layer.request("eth_getBlockByNumber", "pending", False)[field]


def is_pending_late(layer: DevnetLayer) -> bool:
    """Return whether the pending block is more than an hour ahead of the system time."""
    return int(of_pending("timestamp")(layer), 16) > time.time() + 3_600


def result_of(method: str, *params: Any) -> Callable[[DevnetLayer], Any]:
    return lambda layer: layer.request(method, *params)


def error_of_sending(layer: DevnetLayer) -> str:
    """Return why an account without ether cannot send."""
    with pytest.raises(MethodFailed) as raised:
        layer.request("eth_sendTransaction", {"from": NOBODY, "to": NOBODY})
    return str(raised.value)


CHANGES: dict[str, tuple[tuple[tuple[str, Any], ...], Callable[[DevnetLayer], Any]]] = {
    "a block": ((("evm_mine", ()),), result_of("eth_blockNumber")),
    "a balance": (
        (("anvil_setBalance", (NOBODY, "0x5")),),
        result_of("eth_getBalance", NOBODY, "latest"),
    ),
    "a slot": (
        (("anvil_setStorageAt", (NOBODY, "0x0", WORD)),),
        result_of("eth_getStorageAt", NOBODY, "0x0", "latest"),
    ),
    "automine": ((("evm_setAutomine", (False,)),), result_of("anvil_getAutomine")),
    "an interval": ((("evm_setIntervalMining", (1_000,)),), result_of("anvil_getIntervalMining")),
    "the base fee": (
        (("anvil_setNextBlockBaseFeePerGas", (hex(10**12),)),),
        of_pending("baseFeePerGas"),
    ),
    "the beneficiary": ((("anvil_setCoinbase", (NOBODY,)),), of_pending("miner")),
    "the gas limit": ((("evm_setBlockGasLimit", (hex(12_345_678),)),), of_pending("gasLimit")),
    "PREVRANDAO": ((("hardhat_setPrevRandao", (WORD,)),), of_pending("mixHash")),
    "the offset of the clock": ((("evm_increaseTime", (10**6,)),), is_pending_late),
    "the time of the next block": ((("evm_setNextBlockTimestamp", (FAR,)),), is_pending_late),
    "the time between blocks": ((("anvil_setBlockTimestampInterval", (10**6,)),), is_pending_late),
    "a pending transaction": (
        (("evm_setAutomine", (False,)), ("eth_sendTransaction", ({"to": NOBODY},))),
        result_of("txpool_status"),
    ),
    "an impersonated account": (
        (("anvil_impersonateAccount", (NOBODY,)),),
        result_of("eth_accounts"),
    ),
    "all accounts impersonated": ((("anvil_autoImpersonateAccount", (True,)),), error_of_sending),
}


@pytest.mark.parametrize("layer", ["l1", "l2"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_that_of_one_test(net: Devnet, change: str, layer: str) -> None:
    requests, read = CHANGES[change]
    changed = getattr(net, layer)
    before = read(changed)
    with net.isolated():
        for method, params in requests:
            changed.request(method, *params)
        assert read(changed) != before
    assert read(changed) == before


def test_what_stays_is_settled_by_each_test_anew(net: Devnet) -> None:
    withdrawal = net.bridge.withdraw(10**18)
    before = net.l2.request("zks_L1BatchNumber")
    for _ in range(2):
        with net.isolated():
            net.bridge.finalize(withdrawal)
            receipt = net.l2.request(
                "eth_getTransactionReceipt", withdrawal.receipt["transactionHash"].to_0x_hex()
            )
            assert receipt["l1BatchNumber"] == "0x1"
        assert net.l2.request("zks_L1BatchNumber") == before
        receipt = net.l2.request(
            "eth_getTransactionReceipt", withdrawal.receipt["transactionHash"].to_0x_hex()
        )
        assert receipt["l1BatchNumber"] is None
        assert net.l2.request("zks_getL1BatchDetails", 1) is None


def test_a_type_checker_knows_the_names_of_settings() -> None:
    """It reports an ignored error that is none."""
    with pytest.raises(InvalidConfig, match="did you mean block_time"):
        devnet(block_tim=3)  # type: ignore[call-arg]
    with pytest.raises(InvalidConfig, match="did you mean block_time"):
        EntresolProvider(block_tim=3)  # type: ignore[call-arg]
