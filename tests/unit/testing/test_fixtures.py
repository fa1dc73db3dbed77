"""The fixtures: isolated tests, settings, reports."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from web3 import Web3

from entresol.inprocess.layer import DevnetAccount
from tests.support.clients.tools import PytestRuns
from tests.support.evm.console import console_call, logging_code

ETHER = 10**18


@pytest.fixture
def runs(tmp_path: Path) -> PytestRuns:
    return PytestRuns(tmp_path)


@pytest.mark.parametrize("time", [1, 2])
def test_every_test_starts_with_the_same_chains(
    l1: Web3, l2: Web3, accounts: tuple[DevnetAccount, ...], time: int
) -> None:
    bob = accounts[1].address
    for layer in (l1, l2):
        assert layer.eth.block_number == 0, time
        assert layer.eth.get_balance(bob) == 10_000 * ETHER
        sent = layer.eth.send_transaction({"to": bob, "value": Web3.to_wei(1, "ether")})
        assert layer.eth.get_transaction_receipt(sent)["status"] == 1
        assert layer.eth.get_balance(bob) == 10_001 * ETHER


def test_a_chain_that_was_reset_is_reported(runs: PytestRuns) -> None:
    runs.write(
        test_own="""
        def test_reset(l2):
            l2.manager.request_blocking("anvil_reset", [])
        """
    )
    ran = runs.run("-q", "-W", "default")
    assert "the chains cannot be reverted" in ran.stdout
    assert "1 passed, 1 error" in ran.stdout


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run tests of two kinds at once, and return what was printed."""
    runs = PytestRuns(tmp_path_factory.mktemp("runs"))
    runs.write(
        test_loops="""
        import asyncio, pytest

        @pytest.mark.parametrize("loop", [1, 2])
        def test_a_loop(async_l1, async_l2, l2, loop):
            async def use():
                assert await async_l1.eth.block_number == 0
                assert await async_l2.eth.block_number == l2.eth.block_number == 0
                await async_l2.manager.coro_request("evm_mine", [])

            asyncio.run(use())
        """
    )
    code = Web3.to_hex(logging_code(console_call("log(string)", "hello from a contract")))
    runs.write(
        test_printed=f"""
        def test_fails(l2):
            l2.eth.send_transaction({{"data": "{code}"}})
            assert False

        def test_passes(l2):
            l2.eth.send_transaction({{"data": "{code}"}})
        """
    )
    return runs.run("-v").stdout


def test_each_of_several_chains_has_a_client_and_a_bridge_that_are_isolated(
    runs: PytestRuns,
) -> None:
    runs.write(
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def devnet_settings():
            return {"chains": [{"chain_id": 6565}, {"chain_id": 6566}]}
        """,
        test_own="""
        import asyncio, pytest

        SOMEBODY = "0x" + "77" * 20

        @pytest.mark.parametrize("time", [1, 2])
        def test_both_chains(l1, l2, l2s, bridge, bridges, chain_time, time):
            assert [it.eth.chain_id for it in l2s] == [6565, 6566]
            assert l2 is l2s[0] and bridge is bridges[0]
            assert [it.eth.block_number for it in (l1, *l2s)] == [0, 0, 0]
            for value, each in enumerate(bridges, start=1):
                assert each.deposit(value, to=SOMEBODY).l2["status"] == 1
            each.finalize(each.withdraw(7, to=SOMEBODY))
            assert l1.eth.get_balance(SOMEBODY) == 7
            assert [it.eth.get_balance(SOMEBODY) for it in l2s] == [1, 2]
            before = [it.eth.get_block("latest")["timestamp"] for it in l2s]
            chain_time.increase(86_400)
            after = [it.eth.get_block("latest")["timestamp"] for it in l2s]
            assert all(b >= a + 86_400 for a, b in zip(before, after))

        def test_asynchronous_clients(async_l2, async_l2s):
            async def ids():
                return [await it.eth.chain_id for it in async_l2s]

            assert async_l2s[0] is async_l2
            assert asyncio.run(ids()) == [6565, 6566]
        """,
    )
    ran = runs.run("-q")
    assert "3 passed" in ran.stdout, ran.stdout


def test_the_nearest_settings_count(runs: PytestRuns) -> None:
    settings = """
        @pytest.fixture(scope="session")
        def devnet_settings():
            return {{"chain_id": {}, "l1": False}}
        """
    deployed = """
        @pytest.fixture(scope="session")
        def deployed(devnet):
            return devnet.l2.w3.eth.chain_id
        """
    tests = """
        def test_the_chain(l2, devnet, deployed):
            assert l2.eth.chain_id == devnet.l2.chain_id == deployed == {}

        @pytest.mark.entresol(gas_price=7)
        def test_the_marker(l2):
            assert l2.eth.chain_id == {}

        def test_dynamically(request):
            assert request.getfixturevalue("devnet").l2.chain_id == {}
        """
    for folder in ("a", "a/b", "c"):
        (runs.folder / folder).mkdir()
    for number, name in enumerate(("a/conftest", "a/b/conftest", "c/test_own"), 1001):
        runs.write(**{name: f"import pytest\n{dedent(settings.format(number))}"})
    for number, name in enumerate(("a/test_a", "a/b/test_b", "c/test_own"), 1001):
        with (runs.folder / f"{name}.py").open("a") as file:
            file.write(f"import pytest\n{dedent(tests.format(number, number, number))}")
    runs.write(
        conftest=f"import pytest\n{dedent(deployed)}",
        test_last="def test_none(l2, deployed): assert l2.eth.chain_id == deployed == 270",
    )
    ran = runs.run("-q", "a/test_a.py::test_the_chain", "test_last.py", "a", "c")
    assert "10 passed" in ran.stdout, ran.stdout


def test_asynchronous_clients_work_on_any_event_loop(ran: str) -> None:
    assert "test_a_loop[1] PASSED" in ran, ran
    assert "test_a_loop[2] PASSED" in ran, ran


def test_each_worker_of_xdist_has_a_devnet(runs: PytestRuns) -> None:
    runs.write(
        test_own="""
        import os, pathlib, pytest

        @pytest.mark.parametrize("number", range(4))
        def test_the_url(devnet, l2, number):
            worker = os.environ["PYTEST_XDIST_WORKER"]
            pathlib.Path(f"{worker}-{devnet.l2.url.rpartition(':')[2]}.url").touch()
        """
    )
    ran = runs.run("-q", "-n", "2")
    assert ran.returncode == 0, ran.stdout
    found = [it.stem.split("-") for it in runs.folder.glob("*.url")]
    assert len({worker for worker, _ in found}) == len({port for _, port in found}) == len(found)


def test_a_failed_test_shows_what_contracts_printed(ran: str, l2: Web3) -> None:
    assert "test_fails FAILED" in ran, ran
    assert "test_passes PASSED" in ran, ran
    assert "Captured console.log call" in ran
    assert ran.count("[L2 transaction] hello from a contract") == 1
    assert l2.eth.block_number == 0


def test_the_nearest_settings_count_for_doctests(runs: PytestRuns) -> None:
    for chain_id, folder in ((1001, "a"), (1002, "b")):
        (runs.folder / folder).mkdir()
        runs.write(
            **{
                f"{folder}/conftest": f"""
                import pytest

                @pytest.fixture(scope="session")
                def devnet_settings():
                    return {{"chain_id": {chain_id}, "l1": False}}
                """
            }
        )
        page = f">>> getfixture('devnet').l2.chain_id\n{chain_id}\n"
        (runs.folder / folder / "page.txt").write_text(page)
    ran = runs.run("-q", "--doctest-glob=*.txt", "a", "b")
    assert "2 passed" in ran.stdout, ran.stdout
