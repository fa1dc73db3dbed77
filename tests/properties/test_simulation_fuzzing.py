"""Any simulation has a response that is not an internal error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.node.config.api import LimitsConfig
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER, open_chain
from tests.support.rpc_client import RpcError
from tests.support.run.examples import examples

INTERNAL = -32603

addresses = st.sampled_from([str(ALICE), str(BOB), str(LOGGER), f"0x{1:040x}", f"0x{4:040x}"])
words = st.sampled_from([f"0x{number:064x}" for number in (0, 1, 2**256 - 1)])
small = st.integers(0, 300).map(hex)
medium = st.sampled_from([hex(number) for number in (0, 1, 21_000, 10**6, 2**63, 2**64 - 1)])
large = st.sampled_from([hex(number) for number in (0, 1, 10**18, 2**128, 2**256 - 1)])
# Stops, reverts, loops, logs, stores, calls itself with a wei, destroys itself.
codes = st.sampled_from(
    ["0x", "0x5f5ffd", "0x5b5f56", "0x5f5fa0", "0x60015f55", "0x5f5f5f5f6001305af1", "0x33ff", "0xef"]
)  # fmt: skip

calls = st.fixed_dictionaries(
    {},
    optional={
        "from": addresses,
        "to": addresses,
        "gas": medium,
        "gasPrice": large,
        "maxFeePerGas": large,
        "maxPriorityFeePerGas": large,
        "value": large,
        "data": codes,
        "nonce": medium,
        "accessList": st.lists(st.fixed_dictionaries({"address": addresses}), max_size=2),
    },
)
blocks = st.fixed_dictionaries(
    {},
    optional={
        "number": small,
        "time": small | medium,
        "gasLimit": medium,
        "feeRecipient": addresses,
        "prevRandao": words,
        "baseFeePerGas": medium,
        "blobBaseFee": medium,
    },
)
accounts = st.dictionaries(
    addresses,
    st.fixed_dictionaries(
        {},
        optional={
            "balance": large,
            "nonce": medium,
            "code": codes,
            "state": st.dictionaries(words, words, max_size=2),
            "stateDiff": st.dictionaries(words, words, max_size=2),
            "movePrecompileToAddress": addresses,
        },
    ),
    max_size=2,
)
payloads = st.fixed_dictionaries(
    {
        "blockStateCalls": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "blockOverrides": blocks,
                    "stateOverrides": accounts,
                    "calls": st.lists(calls, max_size=3),
                },
            ),
            max_size=3,
        )
    },
    optional={
        "validation": st.booleans(),
        "traceTransfers": st.booleans(),
        "returnFullTransactions": st.booleans(),
    },
)


@pytest.fixture(scope="module")
def node() -> Iterator[ApiClient]:
    chain = open_chain()
    client = ApiClient(chain, limits=LimitsConfig(call_gas_cap=1_000_000))
    yield client
    client.api.close()
    chain.close()


def result_of(client: ApiClient, method: str, *params: object) -> Any:
    try:
        return client(method, *params)
    except RpcError as error:
        if error.code == INTERNAL:
            raise
        return None


@settings(max_examples=examples(100), deadline=None)
@given(payload=payloads)
def test_any_simulation_has_a_response(node: ApiClient, payload: dict[str, Any]) -> None:
    simulated = result_of(node, "eth_simulateV1", payload)
    if simulated is not None:
        numbers = [int(block["number"], 16) for block in simulated]
        assert numbers == list(range(1, len(numbers) + 1))
        wanted = [it.get("calls", []) for it in payload["blockStateCalls"]]
        assert sum(len(block["calls"]) for block in simulated) == sum(map(len, wanted))
