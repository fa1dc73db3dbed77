"""A test leaves nothing behind: what it may change on a layer, one by one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from entresol import Devnet, devnet
from entresol.chain.mining_schedule import MiningMode
from entresol.errors import MethodFailed
from entresol.inprocess.layer import DevnetLayer

NOBODY = "0x00000000000000000000000000000000deadbeef"
WORD = "0x" + "11" * 32
FAR = 4_000_000_000
"""A time that is some decades ahead."""


def of_pending(field: str) -> Callable[[DevnetLayer], Any]:
    """Return a field of the pending block."""
    return lambda layer: layer.request("eth_getBlockByNumber", "pending", False)[field]


def is_pending_late(layer: DevnetLayer) -> bool:
    """Return whether the pending block is more than an hour ahead of the system time."""
    return int(of_pending("timestamp")(layer), 16) > time.time() + 3_600


def result_of(method: str, *params: Any) -> Callable[[DevnetLayer], Any]:
    """Return the result of a method."""
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
    "a nonce": (
        (("anvil_setNonce", (NOBODY, "0x5")),),
        result_of("eth_getTransactionCount", NOBODY, "latest"),
    ),
    "a code": ((("anvil_setCode", (NOBODY, "0x00")),), result_of("eth_getCode", NOBODY, "latest")),
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
    "the time": ((("evm_setTime", (FAR,)),), is_pending_late),
    "the time of the next block": ((("evm_setNextBlockTimestamp", (FAR,)),), is_pending_late),
    "the time between blocks": (
        (("anvil_setBlockTimestampInterval", (10**6,)),),
        is_pending_late,
    ),
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


def test_a_filter_is_that_of_one_test(net: Devnet) -> None:
    own = net.l2.request("eth_newBlockFilter")
    with net.isolated():
        of_test = net.l2.request("eth_newBlockFilter")
        net.l2.request("evm_mine")
    assert net.l2.request("eth_getFilterChanges", own) == []
    with pytest.raises(MethodFailed, match="filter not found"):
        net.l2.request("eth_getFilterChanges", of_test)


def test_accounts_that_were_impersonated_before_still_are(net: Devnet) -> None:
    net.l2.request("anvil_impersonateAccount", NOBODY)
    with net.isolated():
        net.l2.request("anvil_stopImpersonatingAccount", NOBODY)
    assert NOBODY in net.l2.request("eth_accounts")
    net.l2.request("anvil_stopImpersonatingAccount", NOBODY)


def test_the_log_is_on_again() -> None:
    with devnet(l1=False, silent=False) as net:
        with net.isolated():
            net.l2.request("anvil_setLoggingEnabled", False)
        assert net._log is not None
        assert net._log.is_enabled


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({"l1_delay": 0.5}, MiningMode.DELAYED),
        ({"l1_block_time": 1_000.5}, MiningMode.INTERVAL),
    ],
    ids=["delayed", "interval"],
)
def test_the_mode_of_the_settings_is_restored(settings: dict[str, Any], mode: MiningMode) -> None:
    with devnet(settle=False, **settings) as net:
        assert net._node is not None
        assert net._node.layer_one is not None
        schedule = net._node.layer_one.chain.schedule
        before = schedule.state
        with net.isolated():
            net.l1.request("evm_setAutomine", True)
        assert schedule.state == before
        assert schedule.mode is mode


def test_a_revert_logs_no_warning(net: Devnet, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with net.isolated():
            net.bridge.deposit(10**18)
            net.bridge.finalize(net.bridge.withdraw(10**18))
    with net.isolated():
        net.bridge.deposit(10**18)
    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ] == []


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
