"""Gas prices and estimates of the layer 2 over JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.fees import FeeModel
from entresol.primitives.base_token import EtherPrice
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain
from tests.support.rpc_client import NamespaceClient

WORD = bytes(range(32))


@pytest.fixture
def model() -> FeeModel:
    return FeeModel()


@pytest.fixture
def zks(model: FeeModel) -> Iterator[NamespaceClient]:
    chain = open_chain()
    client = NamespaceClient(ZksFees(BlockResolver(chain), CallRunner(), model))
    yield client
    client.close()
    chain.close()


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"type": "0x71"},
        {"type": "0x71", "eip712Meta": {"gasPerPubdata": "0x0320"}},
        {"eip712Meta": {"gasPerPubdata": "0x00", "factoryDeps": []}},
        {"eip712Meta": None, "nonce": None, "chain_id": None},
        {"chain_id": 270, "transactionType": "0x71", "gasPrice": "0x0"},
        {"gasPrice": "0x5", "maxPriorityFeePerGas": "0x0"},
        {"maxPriorityFeePerGas": "0x5"},
        {"value": "0xde0b6b3a7640000"},
    ],
)
def test_an_l1_to_l2_estimate_accepts_every_format_that_clients_send(
    zks: NamespaceClient, extra: dict[str, Any]
) -> None:
    call = {"from": str(NOBODY), "to": str(ALICE), "data": "0x", **extra}
    assert zks("zks_estimateGasL1ToL2", call) == hex(10_000 + 173_484 + 88 * 800)


def test_dependencies_make_an_estimate_from_l1_dearer(zks: NamespaceClient) -> None:
    call = {"from": str(NOBODY), "to": str(ALICE)}
    meta = {"gasPerPubdata": "0x320", "factoryDeps": [list(WORD), list(WORD)]}
    plain = int(zks("zks_estimateGasL1ToL2", call), 16)
    assert int(zks("zks_estimateGasL1ToL2", {**call, "eip712Meta": meta}), 16) > plain


def test_prices_have_the_networks_format(zks: NamespaceClient) -> None:
    params = zks("zks_getFeeParams")["V2"]
    assert params["config"]["minimal_l2_gas_price"] == 100_000_000
    assert params["l1_pubdata_price"] == 17 * params["l1_gas_price"]
    assert params["conversion_ratio"] == {
        "numerator": 1,
        "denominator": 1,
        "l1": {"numerator": 1, "denominator": 1},
        "sl": {"numerator": 1, "denominator": 1},
    }
    prices = zks("zks_getBatchFeeInput")
    assert set(prices) == {"fair_l2_gas_price", "fair_pubdata_price", "l1_gas_price"}
    assert zks("zks_getL1GasPrice") == hex(prices["l1_gas_price"])
    assert int(zks("zks_gasPerPubdata"), 16) == -(-prices["fair_pubdata_price"] // 10**8)


def test_prices_in_a_base_token_are_its_units_and_what_they_follow_from_is_ether(
    zks: NamespaceClient, model: FeeModel
) -> None:
    in_ether = zks("zks_getFeeParams")["V2"], zks("zks_getBatchFeeInput")
    l1_gas_price = zks("zks_getL1GasPrice")
    model.set_ether_price(EtherPrice(2**64, 3 * 10**17))
    params, prices = zks("zks_getFeeParams")["V2"], zks("zks_getBatchFeeInput")
    ratio = {"numerator": 2**64, "denominator": 3 * 10**17}
    assert params == in_ether[0] | {"conversion_ratio": ratio | {"l1": ratio, "sl": ratio}}
    assert prices["fair_l2_gas_price"] == model.ether_price.units(10**8)
    assert prices["fair_pubdata_price"] == model.ether_price.units(
        in_ether[1]["fair_pubdata_price"]
    )
    assert hex(prices["l1_gas_price"]) == zks("zks_getL1GasPrice") == l1_gas_price
    call = {"from": str(ALICE), "to": str(NOBODY)}
    assert int(zks("zks_estimateFee", call)["max_fee_per_gas"], 16) == prices["fair_l2_gas_price"]
