"""Decoding of the contracts' custom errors."""

from __future__ import annotations

import pytest

from entresol.errors import ExecutionFailed, ExecutionHalted, ExecutionReverted
from entresol.l1.contracts import failure_reason
from entresol.primitives import abi


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            ExecutionReverted(abi.encode_call("BatchNumberMismatch(uint256,uint256)", 3, 5)),
            "BatchNumberMismatch(3, 5)",
        ),
        (
            ExecutionReverted(abi.encode_call("Unauthorized(address)", b"\x11" * 20)),
            "Unauthorized(0x" + "11" * 20 + ")",
        ),
        (ExecutionReverted(abi.selector("InvalidProof()")), "InvalidProof()"),
        (ExecutionReverted(abi.selector("Unauthorized(address)")), "Unauthorized"),
        (ExecutionReverted(b"\1\2\3\4"), "execution reverted with 0x01020304"),
        (ExecutionReverted(b"", None), "execution reverted"),
        (ExecutionReverted(b"\x08\xc3", "because"), "execution reverted: because"),
    ],
)
def test_a_revert_is_decoded_to_its_custom_error_or_its_bytes(
    failure: ExecutionFailed, words: str
) -> None:
    assert failure_reason(failure) == words


def test_another_failure_keeps_its_message() -> None:
    halted = ExecutionHalted("out of gas")
    assert failure_reason(halted) == str(halted)
