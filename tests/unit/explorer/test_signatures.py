from __future__ import annotations

from entresol import contracts
from entresol.explorer.signatures import signatures


def test_every_contract_is_there() -> None:
    assert sorted(signatures()) == contracts.names()


def test_lines_have_types_names_and_what_a_function_does() -> None:
    lines = signatures()
    assert "e L1MessageSent(address* sender,bytes32* hash,bytes message)" in lines["L1Messenger"]
    assert "f sendToL1(bytes message) (bytes32 hash)" in lines["L1Messenger"]
    assert "f l2LogsRootHash(uint256 batchNumber) (bytes32) v" in lines["ZKChain"]
    assert "f withdraw(address l1Receiver) p" in lines["L2BaseToken"]
    assert "x BatchNotExecuted(uint256 batchNumber)" in lines["ZKChain"]


def test_a_tuple_is_written_with_its_parts() -> None:
    (line,) = (it for it in signatures()["L1Nullifier"] if it.startswith("f finalizeDeposit"))
    assert line.startswith("f finalizeDeposit((uint256 chainId,uint256 l2BatchNumber,")
    assert line.endswith("bytes32[] merkleProof) params)")
