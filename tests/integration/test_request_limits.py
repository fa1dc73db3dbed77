"""Limits of one request, and the errors above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from entresol.node.config.api import LimitsConfig
from entresol.primitives.values import Address
from entresol.rpc.services import call_runner
from entresol.rpc.types.simulation_request import OverrideLimits
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, open_chain
from tests.support.rpc_client import RpcError

LOOP = {"to": str(ALICE)}
LOOP_CODE = "0x5b5f56"
LOOP_OVERRIDE = {str(ALICE): {"code": LOOP_CODE}}
LOOPING = Address(b"\x10" * 20)

Limited = Callable[..., ApiClient]


@pytest.fixture
def limited() -> Iterator[Limited]:
    """Return what makes a client of a chain with limits of its own."""
    made: list[ApiClient] = []

    def make(**limits: Any) -> ApiClient:
        made.append(ApiClient(open_chain(), limits=LimitsConfig(**limits)))
        return made[-1]

    yield make
    for client in made:
        client.api.close()
        client.chain.close()


def test_a_transaction_that_the_node_fills_in_has_the_allowance_of_an_estimate(
    limited: Limited,
) -> None:
    client = limited(call_gas_cap=100_000)
    client("anvil_setCode", str(LOOPING), LOOP_CODE)
    client("anvil_impersonateAccount", str(ALICE))
    with pytest.raises(RpcError, match=r"gas required exceeds allowance \(100000\)"):
        client("eth_sendTransaction", {"from": str(ALICE), "to": str(LOOPING)})


SIMULATION = {
    "blockStateCalls": [
        {
            "stateOverrides": LOOP_OVERRIDE,
            "blockOverrides": {"gasLimit": hex(10**15)},
            "calls": [{**LOOP, "from": "0x" + "11" * 20}],
        }
    ]
}


@pytest.mark.parametrize(
    "call",
    [
        ("eth_call", LOOP, "latest", LOOP_OVERRIDE),
        ("eth_estimateGas", LOOP, "latest", LOOP_OVERRIDE),
        ("eth_simulateV1", SIMULATION),
    ],
)
def test_what_takes_too_long_is_stopped(limited: Limited, call: tuple[Any, ...]) -> None:
    client = limited(call_gas_cap=10**15, call_seconds=0.001)
    with pytest.raises(RpcError, match=r"execution aborted \(timeout = 0.001s\)") as error:
        client(*call)
    assert error.value.code == -32000


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (lambda values: {"address": [value[:42] for value in values]}, "address"),
        (lambda values: {"topics": [values]}, "topics[0]"),
        (lambda values: {"topics": [None, values[0], values]}, "topics[2]"),
    ],
)
@pytest.mark.parametrize("method", ["eth_getLogs", "eth_newFilter", "eth_subscribe"])
def test_a_filter_names_at_most_so_much_in_one_place(
    limited: Limited, method: str, values: Callable[[list[str]], dict[str, Any]], place: str
) -> None:
    def sent(count: int) -> Any:
        wanted = values([f"0x{number:040x}{number:024x}" for number in range(count)])
        return limited()(method, *(("logs", wanted) if method == "eth_subscribe" else (wanted,)))

    assert sent(1_000) is not None
    with pytest.raises(RpcError) as error:
        sent(1_001)
    message = f"{place}: a filter has at most 1000 values at a position, got 1001"
    assert (error.value.code, error.value.message) == (-32602, message)


@pytest.mark.parametrize("method", ["eth_getProof", "eth_getStorageValues"])
def test_a_request_names_at_most_so_many_slots(limited: Limited, method: str) -> None:
    client = limited()

    def sent(count: int) -> Any:
        slots = [f"0x{number:064x}" for number in range(count)]
        if method == "eth_getStorageValues":
            return client(method, {str(ALICE): slots}, "latest")
        return client(method, str(ALICE), slots, "latest")

    assert sent(1_024) is not None
    with pytest.raises(RpcError) as error:
        sent(1_025)
    message = "too many slots (max 1024): got 1025"
    assert (error.value.code, error.value.message) == (-32602, message)


@pytest.mark.parametrize("method", ["eth_callMany", "eth_simulateV1"])
def test_a_request_makes_at_most_so_many_calls(
    limited: Limited, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(call_runner, "MAX_CALLS", 3)
    client = limited()

    def sent(count: int) -> Any:
        calls = [LOOP] * count
        if method == "eth_callMany":
            return client(method, [{"transactions": calls}])
        return client(method, {"blockStateCalls": [{"calls": calls}]})

    assert sent(3) is not None
    with pytest.raises(RpcError) as error:
        sent(4)
    assert (error.value.code, error.value.message) == (-32602, "too many calls (max 3): got 4")


def overrides_of(accounts: int, slots: int) -> dict[str, Any]:
    """Return overrides of so many accounts, the last of which has so many slots."""
    assumed: dict[str, Any] = {f"0x{number:040x}": {} for number in range(1, accounts + 1)}
    half = {hex(number): "0x" + "11" * 32 for number in range(slots)}
    assumed[f"0x{accounts:040x}"] = {"stateDiff": half}
    return assumed


def requests_overriding(accounts: int, slots: int) -> list[tuple[Any, ...]]:
    """Return the requests that can override so much."""
    given = overrides_of(accounts, slots)
    first, last = dict(list(given.items())[:1]), dict(list(given.items())[1:])
    return [
        ("eth_call", LOOP, "latest", given),
        ("eth_estimateGas", LOOP, "latest", given),
        ("eth_callMany", [{"transactions": [LOOP]}], None, given),
        ("eth_simulateV1", {"blockStateCalls": [{"stateOverrides": given}]}),
        # Blocks count together.
        (
            "eth_simulateV1",
            {"blockStateCalls": [{"stateOverrides": first}, {"stateOverrides": last}]},
        ),
    ]


@pytest.mark.parametrize("index", range(5))
def test_a_request_overrides_at_most_so_many_accounts_and_slots(
    limited: Limited, monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    monkeypatch.setattr(call_runner, "OVERRIDE_LIMITS", OverrideLimits(accounts=3, slots=5))
    client = limited()
    client(*requests_overriding(3, 5)[index])
    for accounts, slots, message in [
        (4, 5, "state overrides: a request overrides at most 3 accounts, got 4"),
        (3, 6, f"account 0x{3:040x}: a request overrides at most 5 slots, got 6"),
    ]:
        with pytest.raises(RpcError) as error:
            client(*requests_overriding(accounts, slots)[index])
        assert (error.value.code, error.value.message) == (-32602, message)
