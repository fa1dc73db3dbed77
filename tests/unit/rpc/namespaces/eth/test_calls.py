"""Calls and estimates over JSON-RPC."""

from __future__ import annotations

import pytest

from entresol.node.api.dialect import Dialect
from entresol.node.config.api import ApiConfig
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import REVERT, TARGET, ApiClient, running_api, with_code
from tests.support.chain.dev_chain import ALICE, ETHER, NOBODY, transaction
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError

RETURN_NUMBER = "0x43 5f 52 6020 5f f3".replace(" ", "")
RETURN_SLOT_0 = "0x5f 54 5f 52 6020 5f f3".replace(" ", "")
LOOP_10_000 = "0x612710 5b 6001 90 03 80 6003 57".replace(" ", "")


def test_a_call_runs_on_the_block_it_names(client: ApiClient) -> None:
    for nonce in range(3):
        InlineSequencer(client.chain).submit(transaction(nonce).raw)
    responses = [
        client("eth_call", {"to": TARGET}, block, with_code(RETURN_NUMBER))
        for block in ("latest", "0x1", "earliest", {"blockNumber": "0x2"})
    ]
    assert responses == [hexed(word(number)) for number in (3, 1, 0, 2)]


def test_a_block_override_changes_what_a_call_sees(client: ApiClient) -> None:
    code = with_code(RETURN_NUMBER)
    response = client("eth_call", {"to": TARGET}, "latest", code, {"number": "0x4d"})
    assert response == hexed(word(0x4D))


@pytest.mark.parametrize("key", ["state", "stateDiff"])
def test_storage_can_be_overridden(client: ApiClient, key: str) -> None:
    overrides = with_code(RETURN_SLOT_0, **{key: {"0x0": hexed(word(9))}})
    assert client("eth_call", {"to": TARGET}, "latest", overrides) == hexed(word(9))


def test_a_revert_has_code_3_its_reason_and_its_data(client: ApiClient) -> None:
    with pytest.raises(RpcError) as caught:
        client("eth_call", {"to": TARGET}, "latest", with_code(REVERT))
    assert (caught.value.code, caught.value.message) == (3, "execution reverted: no")
    assert caught.value.data.startswith("0x08c379a0")


def test_a_revert_without_a_reason_still_has_data(client: ApiClient) -> None:
    with pytest.raises(RpcError) as caught:
        client("eth_call", {"to": TARGET}, "latest", with_code("0x5f5ffd"))
    assert (caught.value.message, caught.value.data) == ("execution reverted", "0x")


def test_a_long_call_is_offloaded(client: ApiClient) -> None:
    code = with_code(LOOP_10_000 + RETURN_NUMBER[2:])
    assert client("eth_call", {"to": TARGET}, "latest", code) == hexed(word(0))


def test_clients_send_data_under_either_name_or_both(client: ApiClient) -> None:
    echo = with_code("0x365f5f37 365ff3".replace(" ", ""))
    for fields in ({"data": "0x12"}, {"input": "0x12"}, {"data": "0x12", "input": "0x12"}):
        assert client("eth_call", {"to": TARGET, **fields}, "latest", echo) == "0x12"
    with pytest.raises(RpcError, match="data and input are both given and differ"):
        client("eth_call", {"to": TARGET, "data": "0x12", "input": "0x13"}, "latest", echo)


def test_unknown_and_null_keys_are_ignored(client: ApiClient) -> None:
    strange = {
        "to": TARGET,
        "from": None,
        "chain_id": None,
        "nonce": None,
        "transactionType": "0x71",
        "eip712Meta": {"gasPerPubdata": "0x0320"},
    }
    assert client("eth_call", strange, "latest", with_code(RETURN_NUMBER)) == hexed(word(0))


def test_a_transfer_is_estimated_exactly(client: ApiClient) -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), "value": "0x1"}
    assert client("eth_estimateGas", request) == hex(21_000)
    assert client("eth_estimateGas", request, "pending") == hex(21_000)


@pytest.mark.parametrize("more", [{"value": hex(1_000 * ETHER)}, {"gasPrice": hex(ETHER)}])
def test_a_transfer_beyond_the_balance_has_an_estimate_for_developers(
    client: ApiClient, more: dict[str, str]
) -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), **more}
    assert client("eth_estimateGas", request) == hex(21_000)
    with pytest.raises(RpcError, match="-32000: "):
        client("eth_estimateGas", {**request, "to": TARGET}, "latest", with_code("0x00"))


def test_an_estimate_beyond_the_balance_is_rejected() -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), "value": hex(1_000 * ETHER)}
    rejected = pytest.raises(RpcError, match="-32000: insufficient funds")
    with running_api(dev_methods=False) as client, rejected:
        client("eth_estimateGas", request)


def test_an_estimate_of_a_reverting_call_reports_the_reason(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="3: execution reverted: no"):
        client("eth_estimateGas", {"to": TARGET}, "latest", with_code(REVERT))


def test_an_access_list_names_what_is_touched(client: ApiClient) -> None:
    client.chain.edit(NOBODY, lambda state: state.set_code(NOBODY, bytes.fromhex("5f54")))
    response = client("eth_createAccessList", {"from": hexed(ALICE), "to": hexed(NOBODY)})
    assert response["accessList"] == [{"address": hexed(NOBODY), "storageKeys": [hexed(word(0))]}]


@pytest.mark.parametrize("extra", [{}, {"accessList": []}])
def test_an_access_list_has_an_error_only_if_the_call_has_failed(
    client: ApiClient, extra: dict[str, object]
) -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), **extra}
    assert client("eth_createAccessList", request).keys() == {"accessList", "gasUsed"}
    client("anvil_setCode", hexed(NOBODY), REVERT)
    failed = client("eth_createAccessList", request)
    assert failed["error"] == "execution reverted: no"


HARDHAT = ApiConfig(hardhat_errors=True)
RETURNING = ApiConfig(hardhat_call_failures=False)


@pytest.mark.parametrize("extra", [{}, {"gasPrice": "0x77359400"}, {"data": "0x1234"}])
def test_in_hardhat_a_transaction_that_its_sender_cannot_pay_for_has_an_estimate(
    extra: dict[str, object],
) -> None:
    request = {"from": TARGET, "to": hexed(NOBODY), "value": hex(ETHER), **extra}
    with running_api(config=HARDHAT, dialect=Dialect.layer_two(HARDHAT)) as client:
        assert int(client("eth_estimateGas", request), 16) >= 21_000
        client("anvil_setCode", hexed(NOBODY), REVERT)
        with pytest.raises(RpcError, match="3: execution reverted: no"):
            client("eth_estimateGas", request)


def test_a_failed_call_may_have_a_result() -> None:
    with running_api(config=RETURNING) as client:
        assert client("eth_call", {"to": TARGET}, "latest", with_code("0xfe")) == "0x"
        returned = client("eth_call", {"to": TARGET}, "latest", with_code(REVERT))
        assert returned.startswith("0x08c379a0")
        client("anvil_setCode", TARGET, REVERT)
        assert client("eth_call", {"to": TARGET}) == returned
        with pytest.raises(RpcError, match="3: execution reverted: no"):
            client("eth_estimateGas", {"to": TARGET})


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ([{"to": "0x12"}], "params[0].to: an address is 20 bytes, got 1"),
        ([{"gas": "lots"}], "params[0].gas"),
        ([{}, "latest", {"0x12": {}}], "0x12: an address is 20 bytes, got 1"),
        ([{}, "latest", {TARGET: {"balance": "-1"}}], "balance"),
    ],
)
def test_a_wrong_field_is_named(client: ApiClient, params: list[object], place: str) -> None:
    with pytest.raises(RpcError) as caught:
        client("eth_call", *params)
    assert caught.value.code == -32602
    assert place in caught.value.message


def test_a_precompile_can_be_moved_for_a_call(client: ApiClient) -> None:
    identity = "0x" + "00" * 19 + "04"
    moved = {identity: {"movePrecompileToAddress": TARGET}}
    assert client("eth_call", {"to": TARGET, "data": "0xabcd"}, "latest", moved) == "0xabcd"
    assert client("eth_call", {"to": identity, "data": "0xabcd"}, "latest", moved) == "0x"


@pytest.mark.parametrize("kind", ["0x7f", "0xff"])
def test_an_estimate_of_a_priority_transaction_is_what_l1_demands(
    client: ApiClient, kind: str
) -> None:
    call = {"from": str(NOBODY), "to": str(ALICE), "value": hex(10**30), "type": kind}
    assert client("eth_estimateGas", call) == hex(10_000 + 173_484 + 88 * 800)
    data = "0x" + "01" * 20_000
    assert int(client("eth_estimateGas", {**call, "data": data}), 16) >= 821_000


@pytest.mark.parametrize("kind", ["0x7f", "0xff"])
def test_a_priority_transaction_creates_no_contract(client: ApiClient, kind: str) -> None:
    with pytest.raises(RpcError, match="toAddressIsNull"):
        client("eth_estimateGas", {"from": str(NOBODY), "data": "0x00", "type": kind})
