"""Chains of a node learn of each other's messages: roots are imported, and messages are proven to other L2s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.primitives import abi
from tests.support.ecosystem.bundles import MESSAGE_ROOT, has_root, proof_of
from tests.support.ecosystem.several_chains import SeveralChains, several_chains, several_config
from tests.support.polling import eventually
from tests.support.rollup.pair import USER, Pair

VERIFICATION = "0x0000000000000000000000000000000000010009"
PROVE = "proveL2MessageInclusionShared(uint256,uint256,uint256,(uint16,address,bytes),bytes32[])"


@pytest.fixture
def chains() -> Iterator[SeveralChains]:
    with several_chains(several_config(3)) as chains:
        yield chains


def numbers(chains: SeveralChains) -> list[int]:
    return [int(pair.l2("eth_blockNumber"), 16) for pair in chains.pairs]


def is_accepted(pair: Pair, source: Pair, sent: str, message: bytes, proof: dict[str, Any]) -> bool:
    """Return whether a chain accepts the proof of a message of another."""
    index = int(source.l2.receipt(sent)["transactionIndex"], 16)
    words = [bytes.fromhex(word[2:]) for word in proof["proof"]]
    value = (index, bytes(USER), message)
    call = abi.encode_call(PROVE, source.chain_id, proof["batchNumber"], proof["id"], value, words)
    return int(pair.l2("eth_call", {"to": VERIFICATION, "data": "0x" + call.hex()}), 16) == 1


def test_a_message_of_one_chain_is_proven_on_the_others(chains: SeveralChains) -> None:
    source, *others = chains.pairs
    sent = source.send_message(b"hello")
    proof = proof_of(source, sent)
    assert all(len(word) == 66 for word in proof["proof"])
    for other in others:
        eventually(lambda other=other: has_root(other, proof))  # type: ignore[misc]
        assert is_accepted(other, source, sent, b"hello", proof)
        assert not is_accepted(other, source, sent, b"jello", proof)
    # The form for L1 is as it was.
    plain = source.l2("zks_getL2ToL1LogProof", sent, 0)
    assert plain == source.l2("zks_getL2ToL1LogProof", sent, 0, "l1BatchRoot")
    assert plain == source.l2("zks_getL2ToL1LogProof", sent, 0, None)
    assert "gatewayBlockNumber" not in plain
    assert plain["root"] != proof["root"]
    # The source itself has no use for it.
    chains.quiet()
    assert not has_root(source, proof)


def test_idle_chains_make_no_block(chains: SeveralChains) -> None:
    for pair in chains.pairs:
        pair.l2.receipt(pair.send_message(b"the last one"))
    chains.quiet()
    before, l1 = numbers(chains), chains.pairs[0].l1
    head = int(l1("eth_blockNumber"), 16)
    for _ in range(20):
        l1("evm_mine")
        chains.quiet()
    assert numbers(chains) == before
    assert int(l1("eth_blockNumber"), 16) == head + 20


def test_a_revert_of_all_chains_takes_proofs_and_imports_back(chains: SeveralChains) -> None:
    source, other, _ = chains.pairs
    chains.quiet()
    snapshot = source.l2("evm_snapshot")
    first = source.send_message(b"first")
    proof = proof_of(source, first)
    eventually(lambda: has_root(other, proof))
    assert other.l2("evm_revert", snapshot) is True
    assert source.l2("zks_getL2ToL1LogProof", first, 0, MESSAGE_ROOT) is None
    assert not has_root(other, proof)
    second = source.send_message(b"second")
    again = proof_of(source, second)
    eventually(lambda: has_root(other, again))
    assert is_accepted(other, source, second, b"second", again)
