"""Requests to a layer, and its clients."""

from __future__ import annotations

import pytest

from entresol import Devnet
from entresol.errors import MethodFailed


def test_an_error_is_raised_with_code_and_data(net: Devnet) -> None:
    with pytest.raises(MethodFailed, match=r"eth_nothing: .* \(-32601\)") as raised:
        net.l2.request("eth_nothing")
    assert (raised.value.method, raised.value.code) == ("eth_nothing", -32601)
    code = "0x60aa5f526001601ffd"
    with pytest.raises(MethodFailed, match="execution reverted") as raised:
        net.l2.request("eth_call", {"data": code})
    assert (raised.value.code, raised.value.data) == (3, "0xaa")


def test_a_client_is_made_once_and_others_on_request(net: Devnet) -> None:
    assert net.l2.w3 is net.l2.w3
    assert net.l2.async_w3 is net.l2.async_w3
    assert net.l2.new_w3() is not net.l2.w3
    assert net.l2.new_async_w3() is not net.l2.async_w3
