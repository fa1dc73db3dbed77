"""Transactions from accounts without keys."""

from __future__ import annotations

import pytest
from web3 import Web3
from web3.exceptions import Web3RPCError

from entresol.testing import impersonated

NOBODY = "0x00000000000000000000000000000000deadbeef"


def test_an_account_sends_only_while_it_is_impersonated(l2: Web3) -> None:
    receiver = l2.eth.accounts[0]
    with impersonated(l2, NOBODY, balance=10**18) as sender:
        sent = l2.eth.send_transaction(
            {"from": sender, "to": receiver, "value": Web3.to_wei(1, "gwei")}
        )
        assert l2.eth.get_transaction_receipt(sent)["from"] == sender
    with pytest.raises(Web3RPCError):
        l2.eth.send_transaction({"from": sender, "to": receiver})
