"""Flags of the EVM, against a real anvil that is started with the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.support.anvil import running_anvil
from tests.support.inprocess_node import inprocess_anvil, inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

SENDER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
DEPLOYER = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
GAS = 12_000_000


@contextmanager
def both(*flags: str) -> Iterator[tuple[HttpRpcClient, HttpRpcClient, HttpRpcClient]]:
    """Yield clients of an L2, of `entresol anvil` and of anvil that were started with the same flags."""
    with (
        inprocess_node("--no-l1", *flags) as node,
        closing(HttpRpcClient(node.url)) as client,
        inprocess_anvil("anvil", *flags) as ours,
        running_anvil(*flags) as anvil,
    ):
        yield client, ours, anvil


def created_size(client: HttpRpcClient, size: int, *, padding: int = 0) -> int:
    """Deploy `size` zero bytes by init code with `padding`; return the size of what was created."""
    data = f"0x62{size:06x}5ff3{'00' * padding}"
    sent = client("eth_sendTransaction", {"from": SENDER, "data": data, "gas": hex(GAS)})
    receipt = client.receipt(sent)
    code: str = client("eth_getCode", receipt["contractAddress"], "latest")
    assert (receipt["status"] == "0x1") is (code != "0x")
    return len(code) // 2 - 1


@pytest.mark.parametrize(
    ("flags", "sizes"),
    [
        ((), {24_576: 24_576, 24_577: 0}),
        (("--code-size-limit", "30000"), {30_000: 30_000, 30_001: 0}),
        (("--disable-code-size-limit",), {50_000: 50_000}),
    ],
)
def test_deployed_code_has_the_limit_of_the_flags(
    flags: tuple[str, ...], sizes: dict[int, int]
) -> None:
    with both(*flags) as clients:
        for client in clients:
            assert {size: created_size(client, size) for size in sizes} == sizes


@pytest.mark.parametrize("flag", ["--no-create2", "--disable-default-create2-deployer"])
def test_the_create2_deployer_is_left_out_by_either_flag(flag: str) -> None:
    with inprocess_anvil("anvil", flag) as client:
        assert client("eth_getCode", DEPLOYER, "latest") == "0x"


def test_a_transaction_may_use_more_gas_than_the_cap_of_osaka_unless_a_flag_applies_it() -> None:
    request = {"from": SENDER, "to": SENDER, "gas": hex(2**24 + 1)}
    with both() as clients:
        for client in clients:
            assert client("eth_sendTransaction", request)
    with inprocess_node("--no-l1", "--enable-tx-gas-limit") as node:
        client = HttpRpcClient(node.url)
        with closing(client), pytest.raises(RpcError) as caught:
            client("eth_sendTransaction", request)
    expected = "transaction gas limit too high (cap: 16777216, tx: 16777217)"
    assert (caught.value.code, caught.value.message) == (-32000, expected)
