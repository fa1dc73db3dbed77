from __future__ import annotations

import msgspec
import pytest

from entresol.rpc.jsonrpc.transport_errors import JSON_RPC


@pytest.mark.parametrize(
    "body",
    [JSON_RPC.malformed, JSON_RPC.rate_limited, JSON_RPC.too_large % 7, JSON_RPC.internal_error],
)
def test_errors_of_the_server_are_json_rpc(body: bytes) -> None:
    response = msgspec.json.decode(body)
    assert (response["jsonrpc"], response["id"]) == ("2.0", None)
    assert set(response["error"]) >= {"code", "message"}
