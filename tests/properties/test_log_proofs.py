"""The real contract accepts every proof of the prover, and no forgery."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import ExecutionReverted
from entresol.l1.operator import ALL_STEPS, Operator
from entresol.primitives import abi
from entresol.primitives.l2_to_l1_logs import L2ToL1Log, ProvenLog
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.log_prover import LogProver
from entresol.rollup.settlement.settler import Settler
from tests.support.contracts.merkle_trees import root_of_proof
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded
from tests.support.rollup.settlement_scenario import deploy
from tests.support.rollup.settling_chain import CHAIN_ID, SettlingChain
from tests.support.run.examples import examples

SIZES = (1, 2, 3, 500, 16_384)
PROVE = "proveL2LogInclusion(uint256,uint256,(uint8,bool,uint16,address,bytes32,bytes32),bytes32[])"

ProofCall = tuple[int, int, tuple[Any, ...], list[bytes]]


class Settled:
    """Batches of several sizes that L1 has executed."""

    def __init__(self) -> None:
        self.layer_one = Embedded()
        self.chain = SettlingChain.begin()
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))
        self.prover = LogProver(self.chain.blocks, self.chain.batches)
        asyncio.run(self._settle())

    def accepts(self, proof_call: ProofCall) -> bool:
        """Call the contract; a revert counts as not accepted."""
        call = abi.encode_call(PROVE, *proof_call)
        try:
            response = asyncio.run(self.layer_one.l1.call(self.contract, call))
        except ExecutionReverted:
            return False
        return bool(abi.decode("(bool)", response)[0])

    def proven(self, batch: int, leaf: int) -> ProvenLog:
        return known(self.prover._prove(batch, leaf))

    def leads_to_the_root(self, proof_call: ProofCall) -> bool:
        number, index, words, proof = proof_call
        batch = self.chain.batches.get(number)
        _, is_service, tx_number, address, key, value = words
        log = L2ToL1Log(
            is_service=is_service,
            tx_number=tx_number,
            sender=Address(address),
            key=Hash32(key),
            value=Hash32(value),
        )
        return batch is not None and root_of_proof(log.leaf(), index, proof) == batch.message_root

    async def _settle(self) -> None:
        for size in SIZES:
            left = size
            while left:
                # As many as a transaction can pay for.
                self.chain.send_message(size, times=min(left, 450))
                left -= min(left, 450)
                self.chain.builder.seal()
            completed(self.batcher.seal(0.0))
        genesis = known(self.chain.batches.get(0))
        begun, l1 = stored_info_of(genesis, CHAIN_ID).hash(), self.layer_one.l1
        contracts = await deploy(l1, CHAIN_ID, begun, ACCOUNTS[1].address)
        operator = Operator(l1, ACCOUNTS[1].secret)
        settler = Settler(
            *(self.chain, contracts.chain, {operator: ALL_STEPS}, contracts.timelock),
            message_root=contracts.addresses.message_root,
        )
        while await settler.step(0.0):
            pass
        assert settler.totals.executed == len(SIZES)
        self.contract = contracts.chain.address


@pytest.fixture(scope="module")
def settled() -> Iterator[Settled]:
    made = Settled()
    yield made
    made.chain.close()
    made.layer_one.chain.close()


def call_of(proven: ProvenLog) -> ProofCall:
    log = proven.log
    words = (0, True, log.tx_number, log.sender, log.key, log.value)
    return proven.batch, proven.proof.id, words, list(proven.proof.words)


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)


def forged(field: int, change: Callable[[Any], Any]) -> Callable[[ProofCall], ProofCall]:
    def forge(proof_call: ProofCall) -> ProofCall:
        batch, index, words, proof = proof_call
        return batch, index, (*words[:field], change(words[field]), *words[field + 1 :]), proof

    return forge


def with_flipped_word(word: int, bit: int) -> Callable[[ProofCall], ProofCall]:
    def forge(proof_call: ProofCall) -> ProofCall:
        batch, index, words, proof = proof_call
        proof = [*proof[:word], flipped(proof[word], bit), *proof[word + 1 :]]
        return batch, index, words, proof

    return forge


BITS = st.integers(0, 159)
# The fourth byte of the first word means that nothing follows, by any number but zero.
SAME_MEANING = range(25, 32)
FORGERIES = st.one_of(
    st.builds(
        with_flipped_word, st.just(0), st.sampled_from(sorted({*range(256)} - {*SAME_MEANING}))
    ),
    st.builds(with_flipped_word, st.integers(1, 15), st.integers(0, 255)),
    BITS.map(lambda bit: forged(3, lambda it: flipped(it, bit))),
    BITS.map(lambda bit: forged(4, lambda it: flipped(it, bit))),
    BITS.map(lambda bit: forged(5, lambda it: flipped(it, bit))),
    st.just(forged(2, lambda number: number ^ 1)),
    st.just(forged(1, lambda flag: not flag)),
    st.integers(1, 2**14).map(lambda by: lambda it: (it[0], it[1] ^ by, *it[2:])),
    st.just(lambda it: (it[0] % len(SIZES) + 1, *it[1:])),
    st.just(lambda it: (len(SIZES) + 1, *it[1:])),
    st.just(lambda it: (*it[:3], it[3][:-1])),
    st.just(lambda it: (*it[:3], [*it[3], bytes(32)])),
    st.just(lambda it: (*it[:3], [])),
)


@given(st.integers(1, len(SIZES)), st.data())
@settings(max_examples=examples(150))
def test_a_proof_is_accepted_and_no_forgery_of_it(
    settled: Settled, batch: int, data: st.DataObject
) -> None:
    leaf = data.draw(st.integers(0, SIZES[batch - 1] - 1))
    proof_call = call_of(settled.proven(batch, leaf))
    assert settled.accepts(proof_call)
    forge = data.draw(FORGERIES)
    changed = forge(proof_call)
    accepted = settled.accepts(changed)
    assert accepted == settled.leads_to_the_root(changed)
    # Logs of one transaction may be equal, so another index may have the same proof.
    assert not accepted or (changed[0], *changed[2:]) == (proof_call[0], *proof_call[2:])


@pytest.mark.parametrize("batch", range(1, len(SIZES) + 1))
def test_the_first_and_the_last_log_of_a_batch_are_accepted(settled: Settled, batch: int) -> None:
    for leaf in {0, SIZES[batch - 1] - 1}:
        assert settled.accepts(call_of(settled.proven(batch, leaf)))
