"""Prices, estimates, published code and addresses of a layer 2, over JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.fees.l2_fees import FeeModel
from entresol.primitives.bytecode import evm_hash, pad_evm
from entresol.rpc.namespaces.zks.bytecode import ZksBytecode
from entresol.rpc.namespaces.zks.contracts import ZksContracts
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from tests.support.chain.api_client import REVERT, TARGET, with_code
from tests.support.chain.dev_chain import ALICE, LOG_CODE, NOBODY, open_chain
from tests.support.rollup.settlement_contracts import ON_L1, ON_L2
from tests.support.rpc_client import NamespaceClient, RpcError

WORD = bytes(range(32))


class Zks(NamespaceClient):
    """Asks the two namespaces of a chain."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        super().__init__(
            ZksFees(BlockResolver(chain), CallRunner(), FeeModel()),
            ZksBytecode(chain.ledger.store),
            ZksContracts(31337, ON_L1, ON_L2),
        )


@pytest.fixture
def zks() -> Iterator[Zks]:
    chain = open_chain()
    client = Zks(chain)
    yield client
    client.close()
    chain.close()


def numbers(code: bytes) -> list[int]:
    return list(code)


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
        {"value": "0xde0b6b3a7640000"},
    ],
)
def test_an_estimate_from_l1_takes_every_form_that_clients_send(
    zks: Zks, extra: dict[str, Any]
) -> None:
    call = {"from": str(NOBODY), "to": str(ALICE), "data": "0x", **extra}
    assert zks("zks_estimateGasL1ToL2", call) == hex(10_000 + 173_484 + 88 * 800)


def test_dependencies_make_an_estimate_from_l1_dearer(zks: Zks) -> None:
    call = {"from": str(NOBODY), "to": str(ALICE)}
    meta = {"gasPerPubdata": "0x320", "factoryDeps": [numbers(WORD), numbers(WORD)]}
    plain = int(zks("zks_estimateGasL1ToL2", call), 16)
    assert int(zks("zks_estimateGasL1ToL2", {**call, "eip712Meta": meta}), 16) > plain


@pytest.mark.parametrize("method", ["zks_estimateGasL1ToL2", "zks_estimateFee"])
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (WORD * 2, "Bytecode has even number of 32-byte words"),
        (WORD + b"\0", "Bytecode length is not divisible by 32"),
        (b"", "Bytecode has even number of 32-byte words"),
    ],
)
def test_a_dependency_that_cannot_be_published_is_rejected_in_the_networks_words(
    zks: Zks, method: str, code: bytes, problem: str
) -> None:
    meta = {"gasPerPubdata": "0x320", "factoryDeps": [numbers(WORD), numbers(code)]}
    with pytest.raises(RpcError) as caught:
        zks(method, {"from": str(ALICE), "to": str(ALICE), "eip712Meta": meta})
    expected = f"Failed to serialize transaction: factory dependency #1 is invalid: {problem}"
    assert (caught.value.code, caught.value.message, caught.value.data) == (3, expected, None)


def test_a_request_from_l1_without_a_target_is_rejected(zks: Zks) -> None:
    with pytest.raises(RpcError) as caught:
        zks("zks_estimateGasL1ToL2", {"from": str(ALICE), "data": "0x00"})
    assert caught.value.code == 3
    assert caught.value.message == "Failed to serialize transaction: toAddressIsNull"


def test_more_ether_than_there_can_be_is_rejected(zks: Zks) -> None:
    with pytest.raises(RpcError) as caught:
        zks("zks_estimateGasL1ToL2", {"to": str(ALICE), "value": hex(2**256 - 1)})
    assert caught.value.code == 3
    assert caught.value.message == "integer overflow computing base token amount to mint"


def test_a_revert_on_l2_has_its_reason_and_its_data(zks: Zks) -> None:
    with pytest.raises(RpcError) as caught:
        zks("zks_estimateGasL1ToL2", {"to": TARGET}, with_code(REVERT))
    assert (caught.value.code, caught.value.message) == (3, "execution reverted: no")
    assert caught.value.data.startswith("0x08c379a0")


def test_a_fee_is_spelled_with_underscores_and_in_hex(zks: Zks) -> None:
    fee = zks("zks_estimateFee", {"from": str(ALICE), "to": str(NOBODY), "value": "0x1"})
    assert fee == {
        "gas_limit": "0x5208",
        "max_fee_per_gas": hex(100_000_000),
        "max_priority_fee_per_gas": "0x0",
        "gas_per_pubdata_limit": fee["gas_per_pubdata_limit"],
    }
    assert 1 <= int(fee["gas_per_pubdata_limit"], 16) <= 50_000


def test_prices_are_told_in_the_networks_shapes(zks: Zks) -> None:
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


@pytest.mark.parametrize(
    ("name", "code"), [(keccak256(LOG_CODE), LOG_CODE), (evm_hash(LOG_CODE), pad_evm(LOG_CODE))]
)
def test_deployed_code_is_an_array_of_numbers(zks: Zks, name: bytes, code: bytes) -> None:
    assert zks("zks_getBytecodeByHash", "0x" + name.hex()) == numbers(code)


def test_code_that_a_block_took_back_is_null_again(zks: Zks) -> None:
    checkpoint = zks.chain.checkpoint()
    code = b"\x5b" * 100
    name = "0x" + keccak256(code).hex()
    zks.chain.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, code))
    zks.chain.seal()
    assert [zks("zks_getBytecodeByHash", name) for _ in range(2)] == [numbers(code)] * 2
    zks.chain.restore(checkpoint)
    assert zks("zks_getBytecodeByHash", name) is None


def test_unknown_code_is_null(zks: Zks) -> None:
    assert zks("zks_getBytecodeByHash", "0x" + "12" * 32) is None


@pytest.mark.parametrize("name", ["0x12", 5, None, "0x" + "zz" * 32])
def test_what_is_no_hash_is_rejected_by_name(zks: Zks, name: object) -> None:
    with pytest.raises(RpcError) as caught:
        zks("zks_getBytecodeByHash", name)
    assert caught.value.code == -32602
    assert caught.value.message.startswith("params[0]")


def test_the_contracts_of_both_layers_are_told(zks: Zks) -> None:
    assert zks("zks_getBridgehubContract") == str(ON_L1.bridgehub)
    assert zks("zks_getMainContract") == str(ON_L1.chain)
    assert zks("zks_L1ChainId") == hex(31337)
    assert zks("zks_getBaseTokenL1Address") == "0x0000000000000000000000000000000000000001"
    bridges = zks("zks_getBridgeContracts")
    assert all(isinstance(address, str) for address in bridges.values())
    assert set(bridges) == {
        "l1Erc20DefaultBridge",
        "l2Erc20DefaultBridge",
        "l1SharedDefaultBridge",
        "l2SharedDefaultBridge",
        "l1WethBridge",
        "l2WethBridge",
        "l2LegacySharedBridge",
        "l1Nullifier",
        "l1NativeTokenVault",
    }
