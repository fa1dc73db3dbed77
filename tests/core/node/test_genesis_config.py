from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import DevAccount
from entresol.contracts import Artifact, artifact
from entresol.errors import GenesisMismatch, InvalidConfig
from entresol.node.base_tokens import development_base_tokens
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.dev_features import funded_accounts, init_signers
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.settlement_layer import configured_contracts
from entresol.primitives.values import Address, Data, Hash32

CUSTOM = "legal winner thank year wave sausage worth useful legal winner thank yellow"
OWNER = Address(b"\x77" * 20)
FILE: dict[str, Any] = {
    "config": {"chainId": 270},
    "timestamp": "0x5",
    "gasLimit": "0x1c9c380",
    "alloc": {str(OWNER): {"balance": "0x9", "storage": {"0x1": "0x0"}}},
}


@contextmanager
def opened(config: NodeConfig) -> Iterator[tuple[Chain, Chain | None]]:
    """Open the L2, and the development L1 unless the L1 is remote."""
    tokens = development_base_tokens([config])
    layer_two, _ = open_layer_two(config, *configured_contracts(config), base_token=tokens[0])
    with closing(layer_two):
        if not config.l1.l1 or config.l1.l1_url is not None:
            yield layer_two, None
            return
        with closing(open_layer_one(config, (layer_two,), base_tokens=tokens)) as layer_one:
            yield layer_two, layer_one


def open_once(config: NodeConfig) -> None:
    with opened(config):
        pass


def configured(
    path: Path, l1: dict[str, Any] | None = None, genesis: object = None, **chain: Any
) -> NodeConfig:
    path.mkdir(exist_ok=True)
    if genesis is not None:
        chain["genesis"] = str(path / "genesis.json")
        (path / "genesis.json").write_text(json.dumps(genesis), encoding="utf-8")
    settings = ChainConfig(data_dir=str(path / "chain"), **chain)
    return NodeConfig(chain=settings, l1=L1Config(**(l1 or {})))


def with_other_contracts(config: NodeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for module in ("rollup.system_contracts", "l1.deployment", "node.opening.layer_one"):
            patch.setattr(f"entresol.{module}.artifact", changed_artifact)
        open_once(config)


def changed_artifact(name: str) -> Artifact:
    today, more = artifact(name), b"\xfe"
    return msgspec.structs.replace(today, runtime=Data(today.runtime + more))


@pytest.mark.parametrize(
    ("created", "given", "difference"),
    [
        ({}, {"chain_id": 271}, "--chain-id: 270, not 271"),
        ({}, {"accounts": 3}, "--accounts: 10, not 3"),
        ({}, {"balance": 5}, "--balance: 10,000, not 5"),
        ({"timestamp": 5}, {"timestamp": 6}, "--timestamp: 5, not 6"),
        ({}, {"mnemonic": CUSTOM}, "--mnemonic or --genesis: it funds 0x"),
        ({}, {"l1": {"l1": False}}, "--no-l1: it was created with an L1"),
        ({"l1": {"l1": False}}, {}, "--no-l1: it was created without an L1"),
        (
            {},
            {"l1": {"l1_chain_id": 5}},
            "--l1-chain-id or --l1-url: the chain id of its L1 is 31337, not 5",
        ),
        ({}, {"base_token": "ZOO"}, "--base-token: ETH, not ZOO (0x"),
        ({"base_token": "ZOO"}, {"base_token": "APE"}, "--base-token: ZOO (0x"),
        (
            {"base_token": "ZOO"},
            {"base_token": "ZOO", "base_token_decimals": 6},
            "--base-token-decimals: 18, not 6",
        ),
        (
            {"base_token": "ZOO", "base_token_ratio": "628/17"},
            {"base_token": "ZOO"},
            "--base-token-ratio: 628/17 at the start, not 1",
        ),
        ({}, {"genesis": FILE}, "--genesis: "),
        (
            {"genesis": FILE},
            {"genesis": {**FILE, "config": {"chainId": 271}}},
            "--genesis: config.chainId: 270, not 271",
        ),
        (
            {"genesis": FILE},
            {"genesis": {**FILE, "alloc": {str(OWNER): {"balance": "0x8"}}}},
            f"--genesis: alloc.{OWNER}.balance: 9, not 8",
        ),
        ({"genesis": FILE}, {"genesis": {**FILE, "alloc": {}}}, "not given now"),
    ],
)
def test_a_flag_that_differs_from_the_genesis_of_the_chain_is_named(
    tmp_path: Path, created: dict[str, Any], given: dict[str, Any], difference: str
) -> None:
    open_once(configured(tmp_path, **created))
    with pytest.raises(GenesisMismatch) as caught, opened(configured(tmp_path, **given)):
        pass
    assert any(difference in it for it in caught.value.differences), caught.value.differences


def test_a_genesis_file_with_contracts_of_another_base_token_is_rejected(tmp_path: Path) -> None:
    with opened(configured(tmp_path / "ether")) as (layer_two, _):
        whole = json.loads(layer_two.genesis.dump())
    open_once(configured(tmp_path / "same", genesis=whole))
    problem = r"--genesis: its contracts have another --base-token: ETH, not ZOO \(0x"
    with (
        pytest.raises(InvalidConfig, match=problem),
        opened(configured(tmp_path / "other", genesis=whole, base_token="ZOO")),  # noqa: S106
    ):
        pass


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"genesis": FILE},
        {"base_token": "ZOO", "base_token_ratio": 3000, "base_token_decimals": 6},
    ],
)
def test_a_chain_opens_with_the_contracts_that_it_was_created_with(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
) -> None:
    caplog.set_level(logging.INFO)
    config = configured(tmp_path, **settings)
    with_other_contracts(config, monkeypatch)
    assert caplog.messages == []
    with opened(config) as (layer_two, layer_one):
        assert layer_one is not None
        for chain in (layer_two, layer_one):
            codes = {keccak256(it.code) for it in chain.genesis.alloc.values() if it.code}
            assert codes == {keccak256(code) for code in chain.blocks.record(0).codes}
            chain.verify()
    directory = tmp_path / "chain"
    assert caplog.messages == [
        f"{directory} was created with other system contracts than this version's, and keeps them",
        f"{directory / 'l1'} was created with other settlement contracts than this version's, and keeps them",
    ]


def test_a_development_l1_of_another_l2_is_rejected(tmp_path: Path) -> None:
    config = configured(tmp_path, accounts=1)
    open_once(config)
    other = configured(tmp_path / "other", accounts=2)
    with opened(other) as (layer_two, _), pytest.raises(GenesisMismatch, match="the L2 beside it"):
        open_layer_one(config, (layer_two,))


def test_the_time_of_a_genesis_is_not_compared_unless_a_flag_gives_it(tmp_path: Path) -> None:
    for timestamp in (5, None, 5):
        with opened(configured(tmp_path, timestamp=timestamp)) as (layer_two, layer_one):
            assert layer_one is not None
            assert (layer_two.genesis.timestamp, layer_one.genesis.timestamp) == (5, 5)


SIGNER = DevAccount.from_secret(Hash32(b"\x77" * 32))
INIT = {**FILE, "alloc": {**FILE["alloc"], str(SIGNER.address): {"secretKey": str(SIGNER.secret)}}}


def initialized(path: Path, init: object, l1_init: object = None, **l1: Any) -> NodeConfig:
    config = configured(path)
    paths = [path / "init.json", path / "l1-init.json"]
    for file, document in zip(paths, (init, l1_init), strict=True):
        file.write_text(json.dumps(document), encoding="utf-8")
    layer_one = L1Config(l1_init=None if l1_init is None else str(paths[1]), **l1)
    chain = msgspec.structs.replace(config.chain, init=str(paths[0]))
    return msgspec.structs.replace(config, chain=chain, l1=layer_one)


def test_an_init_file_is_a_genesis_with_the_development_accounts_on_either_layer(
    tmp_path: Path,
) -> None:
    l1_file = {**INIT, "config": {"chainId": 31337}, "baseFeePerGas": "0x7"}
    config = initialized(tmp_path, INIT, l1_file)
    for _ in ("created", "opened again"):
        with opened(config) as chains:
            for chain in chains:
                assert chain is not None
                assert chain.genesis.alloc[OWNER].balance == 9
                assert len(funded_accounts(config.chain, chain.genesis)) == 12
            assert (chains[0].rules.chain_id, chains[0].genesis.timestamp) == (270, 5)
            assert chains[1] is not None
            assert chains[1].genesis.base_fee == 7
    assert init_signers(config.chain.init) == (SIGNER,)


@pytest.mark.parametrize(
    ("init", "l1_init", "difference"),
    [
        ({**INIT, "alloc": {}}, None, "--init: alloc."),
        (INIT, {**INIT, "config": {"chainId": 31337}}, "--l1-init: alloc."),
    ],
)
def test_an_init_file_that_differs_from_the_genesis_of_the_chain_is_named(
    tmp_path: Path, init: object, l1_init: object, difference: str
) -> None:
    open_once(initialized(tmp_path, INIT))
    with pytest.raises(GenesisMismatch, match=re.escape(difference)):
        open_once(initialized(tmp_path, init, l1_init))


def test_the_chain_id_of_an_init_file_of_l1_has_to_be_that_of_the_flag(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="give --l1-chain-id 270, too"):
        open_once(msgspec.structs.replace(initialized(tmp_path, INIT, INIT), chain=ChainConfig()))


def test_a_chain_has_one_genesis_file(tmp_path: Path) -> None:
    config = configured(tmp_path, genesis=FILE, init="init.json")
    with pytest.raises(InvalidConfig, match="--init: it cannot be combined with --genesis"):
        open_layer_two(config, None, None)


def test_the_clock_of_an_opened_chain_continues_from_the_last_block(tmp_path: Path) -> None:
    config = configured(tmp_path, timestamp=1_000)
    with opened(config) as (layer_two, _):
        layer_two.clock.set_next_timestamp(5_000, layer_two.head.timestamp)
        layer_two.builder.seal()
    with opened(config) as (layer_two, _):
        assert 5_000 <= layer_two.clock.now() < 5_060
