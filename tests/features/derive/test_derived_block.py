"""Blocks that differ from the rules in one field, and chains whose rules change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.chain.edits import BlockSettings
from entresol.chain.fees import FeeConstants
from entresol.errors import DerivationAlarm
from entresol.features.derive.opening import open_derived
from entresol.primitives.headers import Header
from entresol.primitives.published import writer
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.limits import MAX_BLOCK_GAS, MAX_BLOCKS
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.values import Address, Hash32
from entresol.rollup.publication.publication import MAX_BLOCK_BYTES
from tests.support.chain.dev_chain import deposit, root
from tests.support.features.derive.operated_chain import (
    DerivedChain,
    OperatedChain,
    assert_same,
    seen,
)
from tests.support.rollup.published_traffic import EDITED, Traffic

SOMEBODY = Address(b"\xb5" * 20)

SETTINGS: dict[str, BlockSettings] = {
    "gas_limit": BlockSettings(gas_limit=40_000_000),
    "beneficiary": BlockSettings(beneficiary=SOMEBODY),
    "base_fee_per_gas": BlockSettings(base_fee=9),
    "mix_hash": BlockSettings(prevrandao=Hash32(b"\x07" * 32)),
}
COMPUTED = {"parent_hash", "state_root", "transactions_root", "receipts_root", "logs_bloom", "number", "gas_used"}  # fmt: skip
CONSTANT = {"ommers_hash", "difficulty", "extra_data", "nonce"}
RULES: dict[str, Any] = {
    "fork": "prague",
    "code_size_limit": None,
    "caps_gas": True,
    "gas_limit": 20_000_000,
    "beneficiary": SOMEBODY,
}
CONSTANTS = {
    "minimal_l2_gas_price": 200_000_000,
    "compute_overhead_part": 1_000_000,
    "pubdata_overhead_part": 500_000,
    "batch_overhead_l1_gas": 900_000,
    "max_gas_per_batch": 100_000_000,
    "max_pubdata_per_batch": 100_000,
}


def test_every_field_of_a_header_is_tried() -> None:
    ethereum = {"withdrawals_root", "blob_gas_used", "excess_blob_gas", "parent_beacon_block_root", "requests_hash", "given_hash"}  # fmt: skip
    fields = {*Header.__struct_fields__} - ethereum
    assert fields == COMPUTED | CONSTANT | SETTINGS.keys() | {"timestamp"}
    assert {*BlockRules.__struct_fields__} == (
        {"version", "chain_id", "is_development"} | RULES.keys() | CONSTANTS.keys()
    )


@pytest.mark.parametrize("field", SETTINGS)
def test_a_block_that_differs_from_the_rules_in_one_field_is_derived(field: str) -> None:
    operator = OperatedChain()
    traffic = Traffic(operator)
    operator.seal()
    operator.chain.configure(SETTINGS[field])
    operator.seal()
    changed = operator.chain.head
    operator.chain.configure(BlockSettings())
    traffic.begin()
    _assert_derived(operator)
    assert getattr(operator.chain.ledger.header(1), field) != getattr(changed, field)
    operator.close()


@pytest.mark.parametrize("gas_limit", [100_000, 80_000_000, 2**62])
@pytest.mark.parametrize("roots", [0, 100])
def test_a_gas_limit_that_was_raised_for_a_deposit_follows(gas_limit: int, roots: int) -> None:
    operator = OperatedChain()
    operator.deposit(deposit(0, gas_limit=gas_limit))
    operator.chain.filler.roots.extend([root(number) for number in range(1, roots + 1)])
    operator.seal()
    _assert_derived(operator)
    operator.close()


@pytest.mark.parametrize("is_mid_batch", [True, False], ids=["in a batch", "between batches"])
@pytest.mark.parametrize("name", [*RULES, *CONSTANTS])
def test_a_chain_whose_rules_change_is_derived(
    tmp_path: Path, name: str, *, is_mid_batch: bool
) -> None:
    operator = OperatedChain(tmp_path / "operator")
    operator.fees.observe(3 * 10**12)
    Traffic(operator).begin()
    if not is_mid_batch:
        operator.seal_batch()
    if name in RULES:
        operator.reopen(**{name: RULES[name]})
    else:
        operator.reopen(msgspec.structs.replace(FeeConstants(), **{name: CONSTANTS[name]}))
    operator.fees.observe(3 * 10**12)
    traffic = Traffic(operator, 1)
    changed = operator.chain.number + 1
    for _ in range(3):
        traffic.block()
    rules = operator.chain.ledger.store.rules
    assert rules.changes_at(changed)
    assert rules.at(changed) != rules.at(changed - 1)
    _assert_derived(operator)
    operator.close()


def test_rules_that_change_and_return_are_derived_after_a_restart(tmp_path: Path) -> None:
    operator = OperatedChain(tmp_path / "operator")
    claims = []
    for gas_limit in (30_000_000, 20_000_000, 30_000_000):
        operator.reopen(gas_limit=gas_limit)
        operator.seal()
        claims.append(operator.seal_batch())
    for claim in claims:
        derived = DerivedChain(operator, tmp_path / "derived")
        derived.derive(claim)
        derived.close()
    chain = open_derived(tmp_path / "derived", operator.genesis())
    assert_same(chain, operator.chain)
    assert chain.rules.gas_limit == 30_000_000
    chain.close()
    operator.close()


@pytest.mark.parametrize(
    ("field", "gas_limit"), [("rules.gas_limit", 20_000_000), ("gas_limit", 40_000_000)]
)
def test_a_gas_limit_that_would_take_for_ever_is_an_alarm(
    tmp_path: Path, field: str, gas_limit: int
) -> None:
    operator = OperatedChain(tmp_path / "operator")
    if field == "gas_limit":
        operator.chain.configure(BlockSettings(gas_limit=gas_limit))
    else:
        operator.reopen(gas_limit=gas_limit)
    operator.seal()
    claim = operator.seal_batch()
    body = decompress(claim.data)
    changed = body.replace(writer.varint(gas_limit, field), writer.varint(2**63, field))
    derived = DerivedChain(operator)
    with pytest.raises(DerivationAlarm, match=rf"{field}.*0 to {MAX_BLOCK_GAS} expected"):
        derived.derive(msgspec.structs.replace(claim, data=compress(changed)))
    derived.close()
    operator.close()


def test_a_run_of_as_many_empty_blocks_as_a_batch_has_is_derived() -> None:
    operator = OperatedChain()
    for _ in range(MAX_BLOCKS + 1):
        operator.seal()
    _assert_derived(operator)
    first, second = operator.claims()
    assert first.last_block == MAX_BLOCKS
    assert second.first_block == second.last_block == MAX_BLOCKS + 1
    operator.close()


def _assert_derived(operator: OperatedChain) -> None:
    """Check that the chain of an operator is derived byte for byte."""
    operator.seal_batch()
    derived = DerivedChain(operator)
    derived.derive(*operator.claims())
    assert_same(derived.chain, operator.chain)
    derived.close()


CODE = b"\x00" + bytes(range(1, 256)) * (MAX_BLOCK_BYTES // 255 + 1)


class Elsewhere:
    """Somebody who has edits, or says so."""

    def __init__(self, found: bytes | None) -> None:
        self.found = found
        self.asked: list[tuple[int, EditsByHash]] = []

    def edits(self, block: int, wanted: EditsByHash) -> bytes | None:
        self.asked.append((block, wanted))
        return self.found


class Edited:
    """An operator with a block of large edits, and one more that the edited account is in."""

    def __init__(self) -> None:
        self.operator = OperatedChain()
        self.operator.seal()
        self.first = self.operator.seal_batch()
        chain = self.operator.chain
        chain.edit(EDITED, lambda state: state.set_code(EDITED, CODE))
        self.operator.seal()
        record = chain.ledger.record(chain.number)
        self.edits = PublishedEdits(record.edits, (CODE,))
        chain.edit(EDITED, lambda state: state.set_balance(EDITED, 1))
        self.operator.seal()
        self.operator.seal_batch()

    def derived(self, found: bytes | None) -> tuple[DerivedChain, Elsewhere]:
        """Return a chain with the first batch, and whom it asks for edits."""
        elsewhere = Elsewhere(found)
        derived = DerivedChain(self.operator, edits=elsewhere)
        derived.derive(self.first)
        return derived, elsewhere


@pytest.fixture(scope="module")
def edited() -> Iterator[Edited]:
    found = Edited()
    yield found
    found.operator.close()


def test_edits_by_hash_come_from_who_has_them(edited: Edited) -> None:
    derived, elsewhere = edited.derived(edited.edits.encode())
    derived.derive(*edited.operator.claims()[1:])
    assert_same(derived.chain, edited.operator.chain)
    assert elsewhere.asked == [(2, edited.edits.by_hash())]
    derived.close()


@pytest.mark.parametrize("is_asked", [True, False])
def test_without_them_derivation_says_from_which_block_on_l1_is_not_enough(
    edited: Edited, *, is_asked: bool
) -> None:
    derived, _ = edited.derived(None)
    if not is_asked:
        derived.close()
        derived = DerivedChain(edited.operator)
        derived.derive(edited.first)
    before = seen(derived.chain)
    with pytest.raises(DerivationAlarm, match="from block 2 on L1 is not enough") as caught:
        derived.derive(edited.operator.claim(2))
    assert (caught.value.batch, caught.value.field) == (2, "edits of block 2")
    assert f"0x{edited.edits.by_hash().hash.hex()}" in caught.value.expected
    assert seen(derived.chain) == before
    derived.close()


@pytest.mark.parametrize("lie", ["shorter", "other", "unreadable"])
def test_edits_that_are_not_those_of_the_hash_are_an_alarm(edited: Edited, lie: str) -> None:
    encoded = edited.edits.encode()
    found = {
        "shorter": encoded[:-1],
        "other": encoded[:-1] + bytes((encoded[-1] ^ 1,)),
        "unreadable": bytes(len(encoded)),
    }[lie]
    derived, _ = edited.derived(found)
    before = seen(derived.chain)
    with pytest.raises(DerivationAlarm, match=r"batch 2, block 2, edits\.(size|hash): "):
        derived.derive(edited.operator.claim(2))
    assert seen(derived.chain) == before
    derived.close()
