"""Transactions that nobody signs."""

from __future__ import annotations

import pytest

from entresol.dev.keyring import Keyring
from tests.support.chain.api_client import ACCOUNTS, ApiClient
from tests.support.chain.dev_chain import ALICE, ETHER, NOBODY, open_chain
from tests.support.rpc_client import RpcError

STRANGER = "0x" + "ab" * 20


def test_any_account_sends_without_impersonation(client: ApiClient) -> None:
    client("anvil_setBalance", STRANGER, hex(ETHER))
    sent = client("eth_sendUnsignedTransaction", {"from": STRANGER, "to": str(NOBODY)})
    assert client("eth_getTransactionReceipt", sent)["from"] == STRANGER
    with pytest.raises(RpcError, match="unknown account"):
        client("eth_sendTransaction", {"from": STRANGER, "to": str(NOBODY)})


def test_the_first_account_sends_if_none_is_named(client: ApiClient) -> None:
    sent = client("eth_sendUnsignedTransaction", {"to": str(NOBODY)})
    assert client("eth_getTransactionReceipt", sent)["from"] == str(ALICE)


@pytest.mark.parametrize(
    ("locked", "dev_methods", "code"), [("strangers listen", True, -32000), (None, False, -32601)]
)
def test_nobody_sends_for_others_where_strangers_listen(
    locked: str | None, dev_methods: bool, code: int
) -> None:
    chain = open_chain()
    client = ApiClient(chain, keyring=Keyring(ACCOUNTS, locked=locked), dev_methods=dev_methods)
    with pytest.raises(RpcError) as rejection:
        client("eth_sendUnsignedTransaction", {"from": STRANGER, "to": str(NOBODY)})
    assert rejection.value.code == code
    client.api.close()
    chain.close()
