"""A node or a command that cannot start in a cluster names the flag, and shows no password."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.cli import main
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.inprocess_node import inprocess_anvil, inprocess_node, run_command
from tests.support.polling import eventually

pytestmark = pytest.mark.slow

PASSWORD = "hunter2"  # noqa: S105 - it is wrong


@pytest.fixture(scope="module")
def cluster(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterProcesses]:
    with running_cluster(postgres, tmp_path_factory.mktemp("cluster")) as created:
        yield created


def fails(problem: str, *flags: str, **environment: str) -> None:
    """Start a node, which ends with a problem in one line."""
    done = run_command(*flags, "--port", "0", **environment)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(f"error: {problem}.*\n", done.stderr), done.stderr
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            ("--cluster", "{empty}", "--l1-url", "{l1}", "--chains", "2"),
            "--chains: a cluster has one chain",
        ),
        (("--cluster", "{secret}"), "--l1-url: --cluster needs it"),
        (("--cluster", PASSWORD), "--cluster: this is not a URL of a PostgreSQL database"),
        (("--cluster", "{url}", "--l1-url", "{l1}", "--dev-methods"), "--dev-methods: "),
        (("--cluster", "{url}", "--l1-url", "{l1}", "--relay"), "--relay: this cannot be combined"),
        (
            ("--cluster", "{url}", "--l1-url", "{l1}", "--advertise-url", "node-1:3050"),
            "--advertise-url: 'node-1:3050' is not a URL",
        ),
        (("--cluster", "{empty}", "--l1-url", "{l1}"), "--cluster: the database has no cluster"),
        (("--cluster", "{missing}", "--l1-url", "{l1}"), "--cluster: .* does not exist"),
    ],
)
def test_a_start_that_cannot_succeed_names_the_flag(
    postgres: Postgres, flags: tuple[str, ...], problem: str
) -> None:
    known = {
        "url": postgres.url,
        "secret": f"postgresql://entresol:{PASSWORD}@127.0.0.1:1/x",
        "empty": postgres.new_database(),
        "missing": postgres.url_of("missing"),
        "l1": "http://127.0.0.1:1",
    }
    fails(problem, *(flag.format(**known) for flag in flags))


def test_a_database_that_is_away_is_named_without_the_password() -> None:
    url = f"postgresql://entresol:{PASSWORD}@127.0.0.1:1/x"
    for command in ((), ("cluster", "status")):
        done = run_command(*command, "--cluster", url, "--l1-url", "http://127.0.0.1:1")
        assert done.returncode == 1
        assert (
            "the cluster's database at postgresql://127.0.0.1:1/x cannot be reached" in done.stderr
        )
        assert PASSWORD not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_wrong_password_names_the_flag_wherever_it_comes_from(cluster: ClusterProcesses) -> None:
    if not cluster.postgres.can_restart:
        pytest.skip("the server is not ours")
    cluster.execute("create role guarded login password 'right'")
    with cluster.postgres.rejecting("guarded"):
        cluster.execute("select pg_reload_conf()")
        problem = "--cluster: .*password authentication failed"
        for user, environment in (
            (f"guarded:{PASSWORD}", {}),
            ("guarded", {"PGPASSWORD": PASSWORD}),
        ):
            url = cluster.url.replace("postgres:@", f"{user}@").replace(
                "postgresql:///", f"postgresql://{user}@/"
            )
            assert user in url
            fails(problem, "--cluster", url, "--l1-url", cluster.l1_url, **environment)
    cluster.execute("select pg_reload_conf()")
    cluster.execute("drop role guarded")


def test_tables_of_another_format_are_left_alone(cluster: ClusterProcesses) -> None:
    cluster.execute("update entresol.version set number = number + 1")
    try:
        problem = r"--cluster: the cluster has format \d+, and this version reads format \d+ alone"
        fails(problem, *cluster.flags)
        done = run_command("cluster", "init", *cluster.flags)
        assert done.returncode == 2
        assert "take the version that made it, or another database" in done.stderr
    finally:
        cluster.execute("update entresol.version set number = number - 1")


def test_the_directory_of_another_chain_names_the_flag(
    cluster: ClusterProcesses, tmp_path: Path
) -> None:
    with inprocess_node("--no-l1", "--data-dir", str(tmp_path / "other")):
        pass
    fails(
        "--data-dir: the chain in .* is not of this cluster",
        *cluster.flags,
        "--data-dir",
        str(tmp_path / "other"),
    )


def test_a_node_that_listens_everywhere_warns_that_others_cannot_reach_it(
    cluster: ClusterProcesses,
) -> None:
    node = cluster.add("--host", "0.0.0.0")  # noqa: S104
    eventually(lambda: "name an address by --advertise-url" in node.printed(), node.printed)
    assert node.stop() == 0


def test_another_l1_names_the_flag(cluster: ClusterProcesses) -> None:
    with inprocess_anvil("anvil", "--chain-id", "1") as other:
        problem = "--l1-url: its chain id is 1, but the cluster settles on chain 31337"
        fails(problem, *cluster.flags, "--l1-url", other.url)


@pytest.mark.parametrize("command", [(), ("cluster", "status")])
def test_without_its_driver_a_cluster_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    rooms = (
        "entresol.features.cluster",
        "entresol.features.cluster.member_node",
        "entresol.features.cluster.postgres",
    )
    for name in [module for module in sys.modules if module.startswith(rooms)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    assert main([*command, "--cluster", "postgresql:///x"]) == 2
    assert "pip install 'entresol[cluster]'" in capsys.readouterr().err


def test_without_a_cluster_its_driver_is_not_imported() -> None:
    script = "import sys, entresol.node.node, entresol.cli; print('asyncpg' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
