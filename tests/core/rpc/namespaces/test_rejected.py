"""Methods of other nodes that are rejected by name."""

from __future__ import annotations

import pytest

from entresol.rpc.namespaces.rejected import DEVELOPMENT, ETHEREUM, Rejected
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.rpc_client import RpcError


@pytest.mark.parametrize("row", [*ETHEREUM, *DEVELOPMENT], ids=lambda row: row.name)
def test_a_rejection_has_its_code_and_its_reason_whatever_the_parameters_are(
    client: ApiClient, row: Rejected
) -> None:
    rejection = client.error(row.name, "latest", {"of": ["any kind"]})
    assert rejection.code == row.kind.rpc_code
    assert row.reason in rejection.message
    assert rejection.message.endswith(row.instead)


def test_the_text_of_one_that_clients_do_without_begins_as_that_of_an_unknown_method(
    client: ApiClient,
) -> None:
    with pytest.raises(RpcError, match="Tempo") as rejection:
        client("eth_signRawTransaction", "latest")
    assert rejection.value.code == -32601
    assert rejection.value.message.startswith(
        "the method eth_signRawTransaction does not exist/is not available"
    )


def test_developer_methods_are_not_there_without_them() -> None:
    with running_api(dev_methods=False) as client:
        for method in ("anvil_setFeeToken", "anvil_dropAllTransactions", "evm_mine"):
            rejection = client.error(method)
            assert rejection.message == f"the method {method} does not exist/is not available"
