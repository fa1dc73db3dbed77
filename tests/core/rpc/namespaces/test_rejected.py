"""Methods of other nodes that are rejected by name."""

from __future__ import annotations

import pytest

from entresol.rpc.namespaces.rejected import ETHEREUM, Rejected
from tests.support.chain.api_client import ApiClient
from tests.support.rpc_client import RpcError


@pytest.mark.parametrize("row", ETHEREUM, ids=lambda row: row.name)
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
