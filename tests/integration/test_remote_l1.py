"""A node on another L1, which is anvil: deploying there, finding it again, and what can be wrong with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.errors import InvalidConfig, LayerOneMismatch
from entresol.l1.deployment import SettlementContracts
from entresol.l1.layer_one import MAX_REORG_DEPTH
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.dev_features import development_accounts
from entresol.node.open_node import open_node
from entresol.node.settlement.manifest import (
    MANIFEST_FILE,
)
from entresol.server.config import ServerConfig
from tests.support.anvil import Anvil, free_port, running_anvil
from tests.support.cluster.skewed_clock import SkewedClock
from tests.support.inprocess_node import inprocess_anvil, inprocess_node, run_command
from tests.support.node_process import running_node, starting_node
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rollup.pair import settled_in_metrics
from tests.support.rpc_client import HttpRpcClient, RpcError, health_of

pytestmark = pytest.mark.peer

OPERATOR, OTHER = derive(DEVELOPMENT_MNEMONIC, 2)
KEY = str(OPERATOR.secret)
ETHER = 10**18
STEPS = 16


class Deployed(NamedTuple):
    """An anvil with the contracts of a chain, and the data directory of that chain."""

    anvil: Anvil
    directory: str
    contracts: SettlementContracts


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    directory = str(tmp_path_factory.mktemp("deployed") / "chain")
    with running_anvil() as anvil:
        contracts = opened(configured(anvil, directory, deploy_l1=True))
        yield Deployed(anvil, directory, contracts)


def configured(
    anvil: Anvil, data_dir: str | None = None, chain: ChainConfig | None = None, **l1: Any
) -> NodeConfig:
    chain = msgspec.structs.replace(chain or ChainConfig(), data_dir=data_dir)
    l1 = {"l1_url": anvil.url, "operator_key": KEY, **l1}
    return NodeConfig(chain=chain, l1=L1Config(**l1), server=ServerConfig(port=0))


def opened(config: NodeConfig) -> SettlementContracts:
    """Open a node, and return the contracts that it found or deployed."""

    async def whole() -> SettlementContracts:
        node = await open_node(config)
        assert node.rollup is not None
        await node.stop()
        return node.rollup.settlement_layer.contracts

    return asyncio.run(asyncio.wait_for(whole(), PATIENCE_SECONDS))


def nonce(anvil: Anvil) -> int:
    return int(anvil("eth_getTransactionCount", str(OPERATOR.address), "latest"), 16)


def test_a_deployment_is_logged_step_by_step_and_recorded(
    anvil: Anvil, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "entresol.node.settlement.remote_setup")
    contracts = opened(configured(anvil, str(tmp_path / "chain"), deploy_l1=True))
    assert f"bridgehub: {contracts.bridgehub.checksummed()}" in caplog.messages
    logged = [text for text in caplog.messages if text.startswith("contracts on L1")]
    assert logged[0] == f"contracts on L1: 0 of {STEPS}, deploy Bridgehub"
    assert logged[-1] == f"contracts on L1: {STEPS} of {STEPS}, done"
    manifest = json.loads((tmp_path / "chain" / MANIFEST_FILE).read_text())
    assert manifest["l1_chain_id"] == 31337
    assert manifest["contracts"]["bridgehub"] == str(contracts.bridgehub)
    assert nonce(anvil) == STEPS


@pytest.mark.parametrize("chain_id", [1, 11155111])
def test_nothing_is_deployed_on_a_public_network(tmp_path: Path, chain_id: int) -> None:
    directory = tmp_path / "chain"
    problem = f"--deploy-l1: {chain_id} is the chain id of a public network.* prove nothing"
    with inprocess_anvil("anvil", "--chain-id", str(chain_id)) as anvil:
        with pytest.raises(InvalidConfig, match=problem):
            opened(configured(anvil, str(directory), deploy_l1=True))
        assert nonce(anvil) == 0
    assert not (directory / MANIFEST_FILE).exists()


def test_a_temporary_chain_is_deployed_after_whatever_the_operator_did_before(anvil: Anvil) -> None:
    transfer = {"from": str(OPERATOR.address), "to": str(OTHER.address), "value": "0x1"}
    anvil.receipt(anvil("eth_sendTransaction", transfer))
    first = opened(configured(anvil, deploy_l1=True))
    second = opened(configured(anvil, deploy_l1=True))
    assert first != second
    assert nonce(anvil) == 1 + 2 * STEPS


@pytest.mark.parametrize("deploy_l1", [False, True])
def test_what_was_deployed_is_found_again_in_the_data_directory(
    deployed: Deployed, *, deploy_l1: bool
) -> None:
    sent = nonce(deployed.anvil)
    config = configured(deployed.anvil, deployed.directory, deploy_l1=deploy_l1)
    assert opened(config) == deployed.contracts
    assert nonce(deployed.anvil) == sent


def test_the_block_of_the_deployment_is_in_the_manifest(anvil: Anvil, tmp_path: Path) -> None:
    anvil("anvil_mine", "0xc8")
    directory = tmp_path / "chain"
    contracts = opened(configured(anvil, str(directory), deploy_l1=True))
    path = directory / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    assert manifest["deployment_block"] == 200 - MAX_REORG_DEPTH
    # A directory of an earlier version does not have it, and another node has no directory.
    del manifest["deployment_block"]
    path.write_text(json.dumps(manifest))
    other = str(tmp_path / "other")
    opened(configured(anvil, str(directory)))
    opened(configured(anvil, other, bridgehub=str(contracts.bridgehub)))
    for found in (path, Path(other, MANIFEST_FILE)):
        block = json.loads(found.read_text())["deployment_block"]
        assert 200 - MAX_REORG_DEPTH <= block <= 200


def test_everything_is_found_from_the_bridgehub(deployed: Deployed, tmp_path: Path) -> None:
    directory, bridgehub = str(tmp_path / "chain"), str(deployed.contracts.bridgehub)
    found = opened(configured(deployed.anvil, directory, bridgehub=bridgehub))
    assert found == deployed.contracts
    # It is in the manifest, so that it need not be given again.
    assert opened(configured(deployed.anvil, directory)) == deployed.contracts
    assert opened(configured(deployed.anvil, directory, deploy_l1=True)) == deployed.contracts


def test_nothing_is_funded_unlocked_or_served_for_development_without_a_flag(anvil: Anvil) -> None:
    flags = ("--l1-url", anvil.url, "--deploy-l1", "--operator-key", KEY)
    with inprocess_node(*flags) as node:
        assert "Available accounts" not in node.output
        assert "Money        deposits only: the genesis has no ether" in node.output
        assert "Accounts     locked: the chain settles on the L1 of --l1-url" in node.output
        assert "Methods      without evm_, anvil_ and hardhat_: the chain settles" in node.output
        assert "the key of the operator is publicly known" in node.printed()
        l2 = HttpRpcClient(node.url)
        for account in (*development_accounts(ChainConfig()), OTHER):
            assert l2("eth_getBalance", str(account.address), "latest") == "0x0"
        assert l2("eth_accounts") == []
        for method in ("evm_mine", "anvil_impersonateAllAccounts", "hardhat_mine"):
            with pytest.raises(RpcError, match="-32601"):
                l2(method)
        l2.close()


def test_each_development_feature_has_a_flag_on_a_remote_l1(anvil: Anvil) -> None:
    features = ("--accounts", "1", "--dev-methods", "--expose-unlocked-accounts")
    flags = ("--l1-url", anvil.url, "--deploy-l1", "--operator-key", KEY, *features)
    with inprocess_node(*flags) as node:
        assert "Money        UNBACKED: 3 accounts of the genesis have 30,000 ETH" in node.output
        assert "Accounts     3 unlocked" in node.output
        l2 = HttpRpcClient(node.url)
        assert l2("eth_getBalance", str(OPERATOR.address), "latest") == hex(10_000 * ETHER)
        assert len(l2("eth_accounts")) == 3
        assert l2("evm_mine") == "0x0"
        l2.close()


def test_a_node_that_settles_on_request_notices_a_reorg_of_l1(anvil: Anvil) -> None:
    flags = ("--l1-url", anvil.url, "--deploy-l1", "--operator-key", KEY)
    with inprocess_node(*flags, "--no-settle", "--dev-methods") as node:
        l2 = HttpRpcClient(node.url)
        l2("evm_mine")
        before = anvil("evm_snapshot")
        l2("anvil_zks_commitBatch", 1)
        assert settled_in_metrics(node.url) == [1, 1, 0, 0]
        anvil("evm_revert", before)
        eventually(lambda: settled_in_metrics(node.url) == [1, 0, 0, 0])
        l2.close()


def test_a_directory_without_funded_accounts_is_verified_without_flags(
    anvil: Anvil, tmp_path: Path
) -> None:
    directory = str(tmp_path / "chain")
    opened(configured(anvil, directory, deploy_l1=True))
    verified = run_command("verify", "--data-dir", directory)
    assert (verified.returncode, verified.stderr) == (0, "layer 2: verified 1 of 1 blocks\n")


@pytest.mark.parametrize("is_mined", [True, False])
def test_an_interrupted_deployment_is_resumed(
    anvil: Anvil, tmp_path: Path, *, is_mined: bool
) -> None:
    directory = ("--data-dir", str(tmp_path / "chain"))
    flags = (*directory, "--l1-url", anvil.url, "--deploy-l1", "--operator-key", KEY)
    anvil("evm_setAutomine", False)
    with starting_node(*flags) as node:
        eventually(lambda: int(anvil("txpool_status")["pending"], 16) == 1)
        node.process.kill()
    if is_mined:
        anvil("anvil_mine")
    first = f"1 of {STEPS}, deploy L1AssetRouter" if is_mined else f"0 of {STEPS}, deploy Bridgehub"
    with starting_node(*flags) as node:
        eventually(lambda: "contracts on L1" in node.printed())
        anvil("evm_setAutomine", True)
        output = node.ready().output
        assert output.startswith(f"contracts on L1: {first}")
        assert f"contracts on L1: {STEPS} of {STEPS}, done" in output
    assert nonce(anvil) == STEPS


def test_a_deployment_that_ran_out_of_funds_is_resumed(anvil: Anvil, tmp_path: Path) -> None:
    anvil("anvil_setBalance", str(OPERATOR.address), hex(ETHER // 50))
    config = configured(anvil, str(tmp_path / "chain"), deploy_l1=True)
    with pytest.raises(LayerOneMismatch, match="has not enough funds"):
        opened(config)
    assert 0 < nonce(anvil) < STEPS
    anvil("anvil_setBalance", str(OPERATOR.address), hex(ETHER))
    opened(config)
    assert nonce(anvil) == STEPS


def test_a_step_that_failed_unnoticed_is_detected(anvil: Anvil, tmp_path: Path) -> None:
    anvil("anvil_setBalance", str(OPERATOR.address), hex(ETHER // 50))
    config = configured(anvil, str(tmp_path / "chain"), deploy_l1=True)
    with pytest.raises(LayerOneMismatch, match="has not enough funds"):
        opened(config)
    anvil("anvil_setBalance", str(OPERATOR.address), hex(ETHER))
    anvil("anvil_setNonce", str(OPERATOR.address), hex(STEPS))
    with pytest.raises(LayerOneMismatch, match=r"chain 270 is not registered at 0x\w+ on http"):
        opened(config)


def test_an_l1_that_was_reset_to_before_the_deployment_is_rejected(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    with inprocess_anvil("anvil") as anvil:
        anvil("anvil_setNonce", str(OPERATOR.address), "0x5")
        opened(configured(anvil, directory, deploy_l1=True))
    with inprocess_anvil("anvil") as anvil:
        with pytest.raises(LayerOneMismatch, match="nonce was 5 when it began, and is 0 now"):
            opened(configured(anvil, directory, deploy_l1=True))
        with pytest.raises(LayerOneMismatch, match="there is no contract at 0x"):
            opened(configured(anvil, directory))


def test_an_l1_with_another_chain_id_is_rejected(deployed: Deployed) -> None:
    with inprocess_anvil("anvil", "--chain-id", "9") as other:
        problem = r"--l1-url.* its chain id is 9, but the chain in .*chain settles on chain 31337"
        with pytest.raises(InvalidConfig, match=problem):
            opened(configured(other, deployed.directory))
        with pytest.raises(InvalidConfig, match="its chain id is 9, the same as that of the L2"):
            opened(configured(other, chain=ChainConfig(chain_id=9), deploy_l1=True))


def test_a_bridgehub_must_be_one_and_know_the_chain(deployed: Deployed) -> None:
    anvil, contracts = deployed.anvil, deployed.contracts
    cases = [
        (str(OTHER.address), 270, f"no contract at {OTHER.address.checksummed()} on http"),
        (str(contracts.verifier), 270, "is not a bridgehub: execution reverted"),
        (str(contracts.bridgehub), 271, "chain 271 is not registered at 0x"),
    ]
    for bridgehub, chain_id, problem in cases:
        config = configured(anvil, chain=ChainConfig(chain_id=chain_id), bridgehub=bridgehub)
        with pytest.raises(LayerOneMismatch, match=problem):
            opened(config)


def test_l1_accepts_requests_up_to_the_gas_of_a_block(anvil: Anvil, tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    contracts = opened(
        configured(anvil, directory, ChainConfig(gas_limit=40_000_000), deploy_l1=True)
    )
    limit = {"to": str(contracts.chain), "data": "0x0ec6b0b7"}
    assert int(anvil("eth_call", limit, "latest"), 16) == 40_000_000
    problem = r"accepts requests of up to 40000000 gas, but a block has 30000000: start with --gas-limit 40000000"
    with pytest.raises(LayerOneMismatch, match=problem):
        opened(configured(anvil, directory))
    assert opened(configured(anvil, directory, ChainConfig(gas_limit=50_000_000))) == contracts


def test_a_chain_with_another_genesis_is_rejected(deployed: Deployed, tmp_path: Path) -> None:
    directory, bridgehub = str(tmp_path / "chain"), str(deployed.contracts.bridgehub)
    richer = configured(deployed.anvil, directory, ChainConfig(accounts=1), bridgehub=bridgehub)
    with pytest.raises(
        LayerOneMismatch, match="the genesis of chain 270 differs from the one registered"
    ):
        opened(richer)
    assert not Path(directory, MANIFEST_FILE).exists()


def test_an_operator_that_may_not_settle_is_rejected_unless_nothing_is_settled(
    deployed: Deployed,
) -> None:
    bridgehub, key = str(deployed.contracts.bridgehub), str(OTHER.secret)
    config = configured(deployed.anvil, bridgehub=bridgehub, operator_key=key)
    problem = rf"{OTHER.address.checksummed()}, the account of --operator-key, may not commit, prove and execute"
    with pytest.raises(LayerOneMismatch, match=problem):
        opened(config)
    watching = msgspec.structs.replace(config, settlement=SettlementSettings(settle=False))
    assert opened(watching) == deployed.contracts


def test_flags_that_contradict_the_data_directory_are_rejected(
    deployed: Deployed, tmp_path: Path
) -> None:
    anvil, directory = deployed.anvil, deployed.directory
    development = str(tmp_path / "development")
    opened(NodeConfig(chain=ChainConfig(data_dir=development), server=ServerConfig(port=0)))
    other = str(OTHER.address)
    cases = [
        (configured(anvil, development, deploy_l1=True), "settles on its development L1"),
        (configured(anvil, directory, l1_url=None), "settles on chain 31337: give the URL"),
        (configured(anvil, directory, bridgehub=other), r"--bridgehub.* is registered with 0x"),
        (
            configured(anvil, directory, deploy_l1=True, operator_key=str(OTHER.secret)),
            r"--operator-key.* the contracts in .*settlement\.json were deployed by another account",
        ),
    ]
    for config, problem in cases:
        with pytest.raises(InvalidConfig, match=problem):
            opened(config)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            {"l1_url": "localhost:8545"},
            "--l1-url.* 'localhost:8545' is not a URL that begins with http",
        ),
        ({"l1_url": "http://"}, "--l1-url"),
        ({"l1_url": "http://[::1"}, "--l1-url"),
        ({"l1_url": "http://localhost:99999"}, "--l1-url"),
        ({"l1_url": "http://x", "operator_key": "0x12"}, "--operator-key"),
        ({"l1_url": "http://x", "prove_key": "0x12"}, "--prove-key"),
        ({"l1_url": "http://x", "execute_key": "0x12"}, "--execute-key"),
        ({"l1_url": "http://x", "bridgehub": "0x12"}, "--bridgehub"),
        (
            {"l1_url": "http://x", "bridgehub_owner_key": "0x12"},
            "--bridgehub-owner-key: this needs",
        ),
        ({"operator_key": KEY}, "--operator-key.* this needs the L1's --l1-url"),
        ({"prove_key": KEY}, "--prove-key.* this needs the L1's --l1-url"),
        ({"execute_key": KEY}, "--execute-key.* this needs the L1's --l1-url"),
        ({"deploy_l1": True}, "--deploy-l1.* this needs the L1's --l1-url"),
        ({"bridgehub_owner_key": KEY}, "--bridgehub-owner-key.* this needs the L1's --l1-url"),
        ({"bridgehub": "0x" + "12" * 20}, "--bridgehub.* this needs the L1's --l1-url"),
    ],
)
def test_invalid_combinations_of_flags_are_rejected(flags: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        opened(NodeConfig(l1=L1Config(**flags), server=ServerConfig(port=0)))


def test_a_remote_l1_without_contracts_is_rejected(deployed: Deployed) -> None:
    with pytest.raises(InvalidConfig, match="by --bridgehub, or deploy them by --deploy-l1"):
        opened(configured(deployed.anvil))


def test_a_manifest_that_cannot_be_read_is_reported(deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / MANIFEST_FILE).write_text('{"l1_chain_id": 1, "contracts": {"bridgehub": "0x1"}}')
    with pytest.raises(InvalidConfig, match=r"settlement\.json cannot be read"):
        opened(configured(deployed.anvil, str(tmp_path)))


def test_the_node_retries_an_unreachable_l1(tmp_path: Path) -> None:
    with free_port() as port:
        url = f"http://127.0.0.1:{port}"
        info = tmp_path / "info.json"
        flags = ("--l1-url", url, "--deploy-l1", "--operator-key", KEY, "--config-out", str(info))
        with starting_node(*flags) as node:
            eventually(lambda: "cannot be reached" in node.printed())
            assert "; retrying" in node.printed()
            with running_anvil(port=port):
                eventually(info.exists)
                assert f"L1 at {url} is reachable" in node.printed()
                assert node.stop() == 0


def test_a_key_in_the_url_of_an_l1_is_in_no_line_and_on_no_page(tmp_path: Path) -> None:
    with contextlib.ExitStack() as l1:
        host = l1.enter_context(inprocess_anvil("anvil")).url.partition("://")[2]
        url, info = f"http://user:sesame@{host}/?key=sesame", tmp_path / "info.json"
        flags = ("--l1-url", url, "--deploy-l1", "--operator-key", KEY)
        with inprocess_node(*flags, "--config-out", str(info), "--log-level", "debug") as node:
            assert f"HTTP         http://…@{host}/…" in node.output
            assert json.loads(info.read_text(encoding="utf-8"))["l1"]["http_url"] == url
            l1.close()
            eventually(lambda: "cannot be reached" in read(f"{node.url}/health"))
            pages = [read(f"{node.url}/{page}") for page in ("health", "metrics")]
            assert "sesame" not in "".join([*pages, node.printed()])
            assert node.stop() == 0


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        text: str = response.read().decode()
    return text


def test_a_node_that_retries_l1_can_be_stopped() -> None:
    with starting_node("--l1-url", "http://127.0.0.1:1", "--deploy-l1") as node:
        eventually(lambda: "; retrying" in node.printed())
        assert node.stop() == 0


def test_a_clock_an_hour_off_is_in_health_metrics_and_log(anvil: Anvil, tmp_path: Path) -> None:
    clock = SkewedClock(tmp_path / "clock")
    flags = ("--l1-url", anvil.url, "--operator-key", KEY, "--deploy-l1", "--no-settle")
    with running_node(*flags, command=clock.command) as node:
        assert health_of(node.url)[1]["status"] == "ready"
        clock.set(-3_600)
        status, health = eventually(lambda: is_degraded(node.url))
        assert status == 200
        assert "the clock of this node is 3" in health["reason"]
        assert f"s behind {anvil.url}" in health["reason"]
        with urllib.request.urlopen(f"{node.url}/metrics") as page:
            assert b"entresol_l1_clock_skew_seconds -3" in page.read()
        eventually(lambda: "the clock of this node is" in node.printed())
        clock.set(0)
        eventually(lambda: not is_degraded(node.url))


def is_degraded(url: str) -> tuple[int, dict[str, Any]] | None:
    found = health_of(url)
    return found if found[1]["status"] == "degraded" else None


def test_a_chain_that_publishes_needs_a_genesis_that_stays_the_same(
    anvil: Anvil, tmp_path: Path
) -> None:
    publishes = SettlementSettings(data_availability="calldata")

    def published(config: NodeConfig) -> SettlementContracts:
        return opened(msgspec.structs.replace(config, settlement=publishes))

    with pytest.raises(InvalidConfig, match=r"--timestamp: .* registered on L1 with its time"):
        published(configured(anvil, deploy_l1=True))
    assert nonce(anvil) == 0
    published(configured(anvil, chain=ChainConfig(timestamp=1_700_000_000), deploy_l1=True))
    published(configured(anvil, str(tmp_path / "chain"), deploy_l1=True))
    assert nonce(anvil) == 2 * STEPS
