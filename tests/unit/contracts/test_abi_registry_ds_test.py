from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.contracts.abi_registry import project_abis
from entresol.primitives import abi


@pytest.mark.parametrize(
    ("signature", "values", "shown"),
    [
        ("log(string)", ["hello"], 'log(val: "hello")'),
        ("log_uint(uint256)", [7], "log_uint(val: 7)"),
        ("log_named_uint(string,uint256)", ["x", 7], 'log_named_uint(key: "x", val: 7)'),
        ("log_array(int256[])", [[-1, 2]], "log_array(val: [-1, 2])"),
        (
            "log_named_decimal_int(string,int256,uint256)",
            ["x", -5, 1],
            'log_named_decimal_int(key: "x", val: -5, decimals: 1)',
        ),
    ],
)
def test_events_of_forge_std_are_known(signature: str, values: list[object], shown: str) -> None:
    kinds = signature[signature.index("(") :]
    topic = keccak256(signature.encode())
    assert project_abis().event([topic], abi.encode(kinds, values)) == shown
