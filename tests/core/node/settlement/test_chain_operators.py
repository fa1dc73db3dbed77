"""The keys of the operators of several L2s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.l1.operator import OperatorKeys
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.development_keys import OPERATOR
from entresol.node.settlement.chain_operators import ChainOperators, derived_key, is_public
from entresol.node.settlement.settlement_layer import check_development_l1
from entresol.primitives.values import Hash32

A, B, C = (Hash32(bytes([number]) * 32) for number in (1, 2, 3))


def operators(config: NodeConfig) -> ChainOperators:
    return ChainOperators(config, layer_two_configs(config))


def configured(file: Path | None = None, **flags: Any) -> NodeConfig:
    return SETTINGS.load({"port": 0, "l1_url": "http://l1.example", **flags}, {}, file)


def tables(path: Path, *keys: str) -> Path:
    text = "".join(f"[[chains]]\nchain_id = {300 + n}\n{it}\n" for n, it in enumerate(keys))
    path.write_text(text, encoding="utf-8")
    return path


def test_one_chain_has_the_keys_of_the_node() -> None:
    found = operators(configured(operator_key=str(A), prove_key=str(B)))
    assert found.keys == [OperatorKeys.of(A, B)]
    assert found.deployer == A
    assert not found.derived


def test_without_a_key_the_first_chain_has_the_one_of_development() -> None:
    found = operators(configured(chains="2"))
    assert found.deployer == OPERATOR.secret
    assert found.keys == [
        OperatorKeys.of(OPERATOR.secret),
        OperatorKeys.of(derived_key(OPERATOR.secret, 271)),
    ]


def test_chains_after_the_first_derive_every_key_by_their_ids() -> None:
    found = operators(configured(chains="3", operator_key=str(A), execute_key=str(B)))
    assert found.keys == [
        OperatorKeys.of(A, None, B),
        OperatorKeys.of(derived_key(A, 271), None, derived_key(B, 271)),
        OperatorKeys.of(derived_key(A, 272), None, derived_key(B, 272)),
    ]
    assert found.derived == {key.address for keys in found.keys[1:] for key in keys.keys}


def test_a_key_in_a_table_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tables(tmp_path / "node.toml", f'operator_key = "{B}"', f'operator_key = "{C}"')
    found = operators(configured(file, operator_key=str(A)))
    assert found.keys == [OperatorKeys.of(B), OperatorKeys.of(C)]
    assert found.deployer == A
    assert operators(configured(file)).deployer == B


def test_two_chains_with_one_key_are_rejected(tmp_path: Path) -> None:
    file = tables(tmp_path / "node.toml", f'operator_key = "{B}"', f'prove_key = "{B}"')
    with pytest.raises(InvalidConfig, match="--prove-key: the chains 300 and 301 have the same"):
        operators(configured(file))


def test_a_key_that_follows_from_a_public_one_is_public() -> None:
    assert is_public(OPERATOR.secret, 270)
    assert is_public(derived_key(OPERATOR.secret, 271), 271)
    assert not is_public(derived_key(OPERATOR.secret, 271), 270)
    assert not is_public(A, 270)


def test_a_key_in_a_table_needs_a_remote_l1(tmp_path: Path) -> None:
    file = tables(tmp_path / "node.toml", "", f'operator_key = "{B}"')
    with pytest.raises(InvalidConfig, match="--operator-key: this needs the L1's --l1-url"):
        check_development_l1(configured(file, l1_url=None))
