"""Several L2s in one configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.layer_two_configs import layer_two_configs

PORT = 4_000


def configured(file: Path | None = None, **flags: Any) -> NodeConfig:
    return SETTINGS.load(flags, {}, file)


def ids_and_ports(config: NodeConfig) -> list[tuple[int, int]]:
    return [(it.chain.chain_id, it.server.port) for it in layer_two_configs(config)]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_number_of_chains_counts_up_from_the_id_and_the_port_of_the_node() -> None:
    assert ids_and_ports(configured(chains="3", chain_id=300, port=PORT)) == [
        (300, PORT),
        (301, PORT + 1),
        (302, PORT + 2),
    ]


def test_free_ports_do_not_count_up() -> None:
    assert ids_and_ports(configured(chains="2", port=0)) == [(270, 0), (271, 0)]


def test_chains_are_given_by_id_and_port() -> None:
    config = configured(chains="6565:3050,6566:3060,7", port=PORT)
    assert ids_and_ports(config) == [(6565, 3050), (6566, 3060), (7, PORT + 2)]


def test_a_table_of_the_file_has_any_setting_of_a_chain(tmp_path: Path) -> None:
    file = written(
        tmp_path / "node.toml",
        """
        [chain]
        gas_limit = 20_000_000
        [[chains]]
        chain_id = 6565
        port = 3050
        block_time = 1.5
        [[chains]]
        chain_id = 6566
        port = 3051
        gas_limit = 40_000_000
        settle_interval = 2.0
        """,
    )
    first, second = layer_two_configs(configured(file))
    assert (first.chain.block_time, second.chain.block_time) == (1.5, None)
    assert (first.chain.gas_limit, second.chain.gas_limit) == (20_000_000, 40_000_000)
    assert (first.settlement.settle_interval, second.settlement.settle_interval) == (0.25, 2.0)


@pytest.mark.parametrize(
    ("flags", "ports"),
    [({}, [3050, 9, 3052]), ({"port": PORT}, [PORT, 9, PORT + 2]), ({"port": 0}, [0, 9, 0])],
)
def test_the_port_counts_up_in_tables_that_do_not_say_it(
    tmp_path: Path, flags: dict[str, Any], ports: list[int]
) -> None:
    text = (
        "[[chains]]\nchain_id = 5\n[[chains]]\nchain_id = 6\nport = 9\n[[chains]]\nchain_id = 7\n"
    )
    config = configured(written(tmp_path / "node.toml", text), **flags)
    assert [port for _, port in ids_and_ports(config)] == ports


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("l1_port = 5", "it is a setting of the whole node: l1.l1_port"),
        ("gas_limt = 5", "there is no such setting; did you mean gas_limit?"),
        ("gas_limit = 5", "expected a whole number of at least 21000, got 5"),
    ],
)
def test_a_wrong_line_of_a_table_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = written(tmp_path / "node.toml", f"[[chains]]\nchain_id = 5\n{line}\n")
    with pytest.raises(InvalidConfig) as raised:
        configured(file)
    name = line.partition(" ")[0]
    assert str(raised.value) == f"{file}: chains[0].{name}: {problem}"


@pytest.mark.parametrize("text", ["chains = 2", "[chains]\nid = 1", "chains = [1]"])
def test_what_is_no_list_of_tables_is_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"say \[\[chains\]\], a table for each"):
        configured(written(tmp_path / "node.toml", text))


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ({"chains": "5,5"}, "another chain has the chain id 5, too"),
        ({"chains": "5:1,6:1"}, "another chain has the port 1, too"),
        ({"chains": "5:8545,6:1"}, "the L1 has the port 8545, too"),
        ({"chains": "5,31337"}, "the L1 has the chain id 31337, too"),
        ({"chains": "0"}, "chains are numbers from 1 to 16, got '0'"),
        ({"chains": ",".join(f"{it}:{it}" for it in range(1, 18))}, "at most 16 chains, got 17"),
        ({"chains": "x:1"}, "ids are numbers from 1 to 18,446,744,073,709,551,615, got 'x'"),
        ({"chains": "5:"}, "ports are numbers from 0 to 65,535, got ''"),
        ({"chains": "5:1,-6:2"}, "ids are numbers from 1 to 18,446,744,073,709,551,615, got '-6'"),
        ({"chains": "2", "l1": False}, "several chains need an L1; leave out --no-l1"),
        ({"chains": "2", "cluster": "postgresql://x"}, "a cluster has one chain; run a cluster for each"),
    ],
)  # fmt: skip
def test_chains_that_cannot_be_together_are_rejected(flags: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        layer_two_configs(configured(**flags))
    assert str(raised.value) == f"--chains: {problem}"


def test_a_flag_and_tables_exclude_each_other(tmp_path: Path) -> None:
    file = written(tmp_path / "node.toml", "[[chains]]\nchain_id = 5\n")
    with pytest.raises(InvalidConfig, match="give one of the two"):
        layer_two_configs(configured(file, chains="2"))


@pytest.mark.parametrize("count", [1, 2])
def test_a_cluster_takes_no_tables(tmp_path: Path, count: int) -> None:
    tables = "".join(f"[[chains]]\nchain_id = {it}\nport = {it}\n" for it in range(1, count + 1))
    file = written(tmp_path / "node.toml", tables)
    with pytest.raises(InvalidConfig, match="--cluster: a cluster has one chain"):
        layer_two_configs(configured(file, cluster="postgresql://db.example"))


def test_several_chains_need_sockets_of_their_own() -> None:
    with pytest.raises(InvalidConfig, match=r"^--ipc: each chain needs a path of its own"):
        layer_two_configs(configured(chains="2", ipc="/tmp/x.ipc"))  # noqa: S108 - never opened


def test_each_of_several_chains_has_a_folder_by_its_id(tmp_path: Path) -> None:
    configs = layer_two_configs(configured(chains="2", data_dir=str(tmp_path)))
    assert [it.chain.data_dir for it in configs] == [str(tmp_path / "270"), str(tmp_path / "271")]
