"""Developer methods that are rejected."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.rpc_client import RpcError

SOME = "0x" + "11" * 20


@pytest.mark.parametrize(
    ("method", "params", "code", "reason"),
    [
        ("anvil_setChainId", [5], -32000, "start a new chain with --chain-id or --l1-chain-id"),
        ("anvil_impersonateSignature", [["0x", SOME]], -32000, "use anvil_impersonateAccount"),
        ("anvil_setFeeToken", [SOME, SOME], -32603, "Not implemented: fees are paid in"),
        ("anvil_setValidatorFeeToken", [SOME, SOME], -32603, "Not implemented: fees are paid in"),
        ("anvil_setFeeAmmLiquidity", [], -32603, "Not implemented: fees are paid in"),
    ],
)
def test_a_rejection_has_its_reason(
    client: ApiClient, method: str, params: list[object], code: int, reason: str
) -> None:
    with pytest.raises(RpcError, match=reason) as rejection:
        client(method, *params)
    assert rejection.value.code == code
