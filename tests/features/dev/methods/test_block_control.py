"""Settings of blocks to come."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import NOBODY

both = pytest.mark.parametrize(("prefix", "result"), [("anvil", None), ("hardhat", True)])


@both
def test_the_coinbase_is_that_of_later_blocks(
    client: ApiClient, prefix: str, result: object
) -> None:
    snapshot = client("evm_snapshot")
    assert client(f"{prefix}_setCoinbase", str(NOBODY)) is result
    client("anvil_mine", 2)
    assert client("eth_getBlockByNumber", "latest", False)["miner"] == str(NOBODY)
    assert client("eth_coinbase") == str(NOBODY)
    client("evm_revert", snapshot)
    assert client("eth_coinbase") == str(client.chain.rules.beneficiary)


@both
@pytest.mark.parametrize("base_fee", [0, 7])
def test_the_base_fee_is_that_of_the_next_block(
    client: ApiClient, prefix: str, result: object, base_fee: int
) -> None:
    usual = client.chain.next_base_fee()
    assert client(f"{prefix}_setNextBlockBaseFeePerGas", base_fee) is result
    assert client("eth_getBlockByNumber", "pending", False)["baseFeePerGas"] == hex(base_fee)
    assert client("eth_feeHistory", 1, "latest", [])["baseFeePerGas"][-1] == hex(base_fee)
    assert client.chain.pool.base_fee == base_fee
    client("evm_mine")
    assert client.chain.head.base_fee_per_gas == base_fee
    assert client.chain.next_base_fee() == client.chain.pool.base_fee == usual


@both
def test_there_is_no_lowest_gas_price(client: ApiClient, prefix: str, result: object) -> None:
    del result
    rejection = client.error(f"{prefix}_setMinGasPrice", 5)
    assert rejection.code == -32602
    text = f"{prefix}_setMinGasPrice is not supported when EIP-1559 is active"
    assert rejection.message == text


@pytest.mark.parametrize(
    ("method", "result"), [("hardhat_setPrevRandao", True), ("anvil_setNextBlockPrevRandao", None)]
)
def test_prevrandao_follows_from_the_parent_and_can_be_set_for_a_block(
    client: ApiClient, method: str, result: object
) -> None:
    chosen = "0x" + "22" * 32
    assert client.chain.head.mix_hash == bytes(32)
    assert client(method, chosen) is result
    client("anvil_mine", 2)
    first, second = (client("eth_getBlockByNumber", number, False) for number in (1, 2))
    assert first["mixHash"] == chosen
    parent = bytes.fromhex(second["parentHash"][2:])
    assert second["mixHash"] == "0x" + keccak256(parent + (2).to_bytes(8, "little")).hex()


def test_prevrandao_is_in_the_header_and_repeats_after_a_revert(client: ApiClient) -> None:
    client("anvil_setCode", str(NOBODY), "0x445f5260205ff3")
    snapshot = client("evm_snapshot")
    client("evm_mine", 9_000)
    seen = client("eth_call", {"to": str(NOBODY)})
    assert seen == client("eth_getBlockByNumber", "latest", False)["mixHash"]
    client("evm_revert", snapshot)
    client("evm_mine", 9_500)
    assert client("eth_call", {"to": str(NOBODY)}) == seen
    client.chain.verify()


def test_blocks_are_an_interval_apart_until_it_is_removed(client: ApiClient) -> None:
    client("evm_mine", 9_000)
    assert client("anvil_setBlockTimestampInterval", 5) is None
    client("anvil_mine", 2)
    assert client.chain.head.timestamp == 9_010
    client("evm_mine", 9_100)
    client("evm_mine")
    assert client.chain.head.timestamp == 9_105
    assert client("anvil_removeBlockTimestampInterval") is True
    assert client("anvil_removeBlockTimestampInterval") is False


@pytest.mark.parametrize("prefix", ["anvil", "hardhat"])
def test_a_delay_is_still_automine(client: ApiClient, prefix: str) -> None:
    client.chain.schedule.seal_after(0.3)
    assert client(f"{prefix}_getAutomine") is True


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("anvil_setBlockTimestampInterval", 2**32),
        ("anvil_setNextBlockBaseFeePerGas", 2**64 - 1),
        ("evm_setBlockGasLimit", 2**64 - 1),
        ("evm_setBlockGasLimit", 0),
        ("hardhat_setPrevRandao", "0x" + "ff" * 32),
        ("evm_setNextBlockTimestamp", 2**63 - 1),
        ("evm_setTime", 0),
    ],
)
def test_blocks_go_on_after_extreme_settings(client: ApiClient, method: str, value: object) -> None:
    client(method, value)
    client("eth_getBlockByNumber", "pending", True)
    client("eth_call", {"to": str(NOBODY)}, "pending")
    client("eth_gasPrice")
    client("eth_feeHistory", 1, "latest", [50])
    client("anvil_mine", 3)
    assert client.chain.number == 3


def test_an_interval_of_more_than_136_years_is_rejected(client: ApiClient) -> None:
    assert client.error("anvil_setBlockTimestampInterval", 2**32 + 1).code == -32602
