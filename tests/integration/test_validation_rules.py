"""The rules of validations in the pool, with and without --disable-validation-rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.contracts.accounts import (
    AGREES,
    EAT_GAS,
    EXECUTE,
    GAS,
    PAY,
    VALIDATE,
    Script,
    deploy_account,
    fill,
    pay,
    use_nonce,
)
from tests.support.contracts.layer_two import FEE
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

READS_ORIGIN = Script((use_nonce(0),), output=AGREES, is_logged=True)
PAYS_AND_EXECUTES = {PAY: Script((pay(GAS * FEE),)), EXECUTE: Script()}


@pytest.fixture(scope="module", params=[False, True], ids=["rules", "no rules"])
def node(request: pytest.FixtureRequest) -> Iterator[tuple[HttpRpcClient, bool]]:
    """Return the client of a node, and whether it was started without rules."""
    flags = ["--disable-validation-rules"] if request.param else []
    with inprocess_node(*flags) as running, closing(HttpRpcClient(running.url)) as client:
        yield client, request.param


def send(client: HttpRpcClient, validate: Script) -> str:
    """Send the first transaction of an account that validates so, and return its hash."""
    account = deploy_account(client, {VALIDATE: validate, **PAYS_AND_EXECUTES})
    raw = fill(account, custom_signature=b"signature").encode()
    return str(client("eth_sendRawTransaction", "0x" + raw.hex()))


def test_a_validation_reads_the_origin_only_without_rules(
    node: tuple[HttpRpcClient, bool],
) -> None:
    client, has_no_rules = node
    if has_no_rules:
        assert client.receipt(send(client, READS_ORIGIN))["status"] == "0x1"
        return
    with pytest.raises(RpcError, match="Violated validation rules: Touched disallowed context"):
        send(client, READS_ORIGIN)


def test_the_gas_limit_holds_without_rules_too(node: tuple[HttpRpcClient, bool]) -> None:
    client, _ = node
    with pytest.raises(RpcError, match="Took too many computational gas, allowed limit: 300000"):
        send(client, Script((use_nonce(0),), ending=EAT_GAS))


def test_every_method_counts_against_the_budget_of_an_account(
    node: tuple[HttpRpcClient, bool],
) -> None:
    client, _ = node
    account = deploy_account(client, {VALIDATE: Script(ending=EAT_GAS)})
    raw = "0x" + fill(account, gas_limit=2_000_000, custom_signature=b"signature").encode().hex()

    def is_throttled(method: str) -> bool:
        with pytest.raises(RpcError) as caught:
            client(method, raw)
        return "have failed too often lately" in str(caught.value)

    # A validation takes some 0.7 ms. 10 ms are in a budget, and 2 ms more after a second.
    detailed = "zks_sendRawTransactionWithDetailedOutput"
    assert any(is_throttled(detailed) for _ in range(500))
    assert any(is_throttled("eth_sendRawTransaction") for _ in range(3))
