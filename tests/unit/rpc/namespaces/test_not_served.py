"""Methods of other nodes that have no meaning here."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, running_api
from tests.support.rpc_client import RpcError

ACCESS_LISTS = [
    "eth_getBlockAccessList",
    "eth_getBlockAccessListByBlockHash",
    "eth_getBlockAccessListByBlockNumber",
    "eth_getBlockAccessListRaw",
    "debug_getRawBlockAccessList",
]


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        *((method, "Amsterdam") for method in ACCESS_LISTS),
        ("eth_signRawTransaction", "eth_signTransaction signs for an account of the node"),
        ("anvil_classifyTransaction", "lane for payments"),
    ],
)
def test_the_code_is_that_of_an_unknown_method_and_the_text_says_why(
    client: ApiClient, method: str, reason: str
) -> None:
    with pytest.raises(RpcError, match=reason) as rejection:
        client(method, "latest", {"of": ["any kind"]})
    assert rejection.value.code == -32601
    assert rejection.value.message.startswith(
        f"the method {method} does not exist/is not available"
    )


def test_developer_methods_are_not_there_without_them() -> None:
    with running_api(dev_methods=False) as client:
        for method in ("anvil_classifyTransaction", "debug_clearTxpool", "testing_buildBlockV1"):
            with pytest.raises(RpcError) as rejection:
                client(method)
            assert rejection.value.message == f"the method {method} does not exist/is not available"
