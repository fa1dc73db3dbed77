"""Chains that begin with a published genesis."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from entresol.errors import GenesisMismatch, UnreadableData
from entresol.features.derive.opening import open_derived, rules_of
from entresol.primitives.transactions import FeeMarketTransaction
from tests.support.features.derive.operated_chain import OperatedChain
from tests.support.published.values import DEVELOPMENT_RULES


def test_a_directory_with_another_chain_is_rejected(tmp_path: Path) -> None:
    operator = OperatedChain()
    genesis = operator.genesis()
    open_derived(tmp_path, genesis).close()
    other = msgspec.structs.replace(
        genesis, rules=msgspec.structs.replace(genesis.rules, gas_limit=1)
    )
    with pytest.raises(GenesisMismatch, match="its rules are not those"):
        open_derived(tmp_path, other)
    later = msgspec.structs.replace(genesis, timestamp=genesis.timestamp + 1)
    with pytest.raises(GenesisMismatch, match="timestamp"):
        open_derived(tmp_path, later)
    open_derived(tmp_path, genesis).close()
    operator.close()


def test_a_genesis_with_a_fork_that_is_not_known_is_rejected_by_name() -> None:
    rules = msgspec.structs.replace(DEVELOPMENT_RULES, fork="amsterdam")
    with pytest.raises(UnreadableData, match=r"rules.fork, .* amsterdam is not known: update"):
        rules_of(rules)


def test_the_rules_of_a_derived_chain_are_those_that_were_published() -> None:
    rules = rules_of(DEVELOPMENT_RULES)
    assert rules.publishes
    assert rules.is_development
    assert FeeMarketTransaction.type in rules.accepted_types
