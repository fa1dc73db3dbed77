"""zksync2 on a layer 2 alone: transactions of type 0x71, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from eth_typing import HexStr
from web3 import Web3
from zksync2.core.types import PaymasterParams
from zksync2.module.module_builder import ZkSyncBuilder
from zksync2.signer.eth_signer import PrivateKeyEthSigner
from zksync2.transaction.transaction_builders import TxFunctionCall

from tests.support.clients.accounts import ALICE, CHAIN_ID, NOBODY
from tests.support.contracts.layer_two import calldata
from tests.support.inprocess_node import InprocessNode
from tests.support.polling import PATIENCE_SECONDS

pytestmark = pytest.mark.clients

FEE = 100_000_000
GENERAL = calldata("general(bytes)", b"")


@pytest.fixture(scope="module")
def zksync(node: InprocessNode) -> Any:
    web3 = ZkSyncBuilder.build(node.url)
    # An estimate is made on the latest block, and genesis has a base fee of its own.
    return web3.zksync


def function_call(zksync: Any, **fields: Any) -> TxFunctionCall:
    return TxFunctionCall(
        **{
            "chain_id": CHAIN_ID,
            "nonce": zksync.get_transaction_count(ALICE.address, "pending"),
            "from_": ALICE.address,
            "to": NOBODY,
            "value": 7,
            "gas_price": FEE,
            "max_priority_fee_per_gas": FEE,
            **fields,
        }
    )


def signed(call: TxFunctionCall, gas: int) -> bytes:
    transaction = call.tx712(gas)
    signature = PrivateKeyEthSigner(ALICE, CHAIN_ID).sign_typed_data(transaction.to_eip712_struct())
    raw: bytes = transaction.encode(signature)
    return raw


def test_a_transfer_is_estimated_signed_and_sent(zksync: Any) -> None:
    recipient = Account.create().address
    call = function_call(zksync, to=recipient)
    gas = zksync.eth_estimate_gas(call.tx)
    # With room for the signatures of a multisig account, and for its call of a new recipient.
    assert gas == 146_000
    sent = zksync.send_raw_transaction(signed(call, gas))
    receipt = zksync.wait_for_transaction_receipt(sent, timeout=PATIENCE_SECONDS, poll_latency=0.05)
    assert (receipt["status"], receipt["type"]) == (1, 0x71)
    assert zksync.get_balance(recipient) == 7


def test_a_paymaster_that_is_none_is_rejected_before_anything_is_signed(zksync: Any) -> None:
    params = PaymasterParams(paymaster=NOBODY, paymaster_input=GENERAL)
    call = function_call(zksync, paymaster_params=params)
    with pytest.raises(Exception, match="failed paymaster validation"):
        zksync.eth_estimate_gas(call.tx)


def test_the_testnet_paymaster_pays(zksync: Any) -> None:
    paymaster = HexStr(zksync.zks_get_testnet_paymaster_address())
    params = PaymasterParams(paymaster=paymaster, paymaster_input=GENERAL)
    before = zksync.get_balance(ALICE.address)
    call = function_call(zksync, paymaster_params=params)
    sent = zksync.send_raw_transaction(signed(call, zksync.eth_estimate_gas(call.tx)))
    receipt = zksync.wait_for_transaction_receipt(sent, timeout=PATIENCE_SECONDS, poll_latency=0.05)
    assert receipt["status"] == 1
    assert zksync.get_balance(ALICE.address) == before - 7


def test_a_transaction_comes_back_with_its_hash(zksync: Any) -> None:
    sent = zksync.send_raw_transaction(signed(function_call(zksync), 21_000))
    zksync.wait_for_transaction_receipt(sent, timeout=PATIENCE_SECONDS, poll_latency=0.05)
    found = zksync.get_transaction(sent)
    assert found["hash"] == sent
    assert Web3.to_int(found["type"]) == 0x71
