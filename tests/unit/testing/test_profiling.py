"""Gas reports of test runs: `--entresol-gas` and `--entresol-gas-lines`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.tools import PytestRuns
from tests.support.contracts.shop import OUTPUT

TABLE = """\
Factory (src/Shop.sol)
  deployed {times}: 263,460 gas, 972 bytes
  function                         calls      min      avg   median      max  failed
  build                            {two:>5}  136,268  136,268  136,268  136,268
"""


@pytest.fixture
def runs(tmp_path: Path) -> PytestRuns:
    runs = PytestRuns(tmp_path)
    runs.write(
        conftest=f"""
        import pytest

        @pytest.fixture(scope="session")
        def devnet_settings():
            return {{"sources": [{str(OUTPUT)!r}], "l1": False}}
        """,
        test_one="""
        from tests.support.contracts.shop import ShopRun

        def test_first(isolated_devnet):
            ShopRun(isolated_devnet.l2.request).run()
        """,
        test_two="""
        from tests.support.contracts.shop import ShopRun

        def test_second(isolated_devnet):
            ShopRun(isolated_devnet.l2.request).run()
        """,
    )
    return runs


def test_the_report_of_a_run_has_the_gas_of_functions(runs: PytestRuns) -> None:
    ran = runs.run("-q", "--entresol-gas", "test_one.py")
    assert TABLE.format(times="once", two=2) in ran.stdout, ran.stdout + ran.stderr
    assert "  add(uint256) (by Proxy)              1   44,699" in ran.stdout


def test_workers_of_xdist_are_counted_together(runs: PytestRuns) -> None:
    ran = runs.run("-q", "--entresol-gas", "-n", "2")
    assert TABLE.format(times="2 times", two=4) in ran.stdout, ran.stdout + ran.stderr
    assert ran.stdout.count("gas report of entresol") == 1


def test_a_source_is_shown_with_the_gas_of_its_lines(runs: PytestRuns) -> None:
    ran = runs.run("-q", "--entresol-gas-lines", "Shop.sol", "test_one.py")
    line = "        3       21,270       25,281 │         uint256 price = Prices.withTax(prices[item], tax);"
    assert line in ran.stdout.splitlines(), ran.stdout + ran.stderr
    missing = runs.run("-q", "--entresol-gas-lines", "Else.sol", "test_one.py")
    assert "no contract of a file Else.sol was called" in missing.stdout
