"""The plugin in runs of other people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.tools import PytestRuns

WITHOUT_WEB3 = "import sys; sys.modules['web3'] = None"


@pytest.fixture
def runs(tmp_path: Path) -> PytestRuns:
    return PytestRuns(tmp_path)


def test_it_is_silent_without_web3(runs: PytestRuns) -> None:
    runs.write(
        test_own="""
        import sys

        def test_something():
            loaded = {name for name in sys.modules if name.startswith("entresol.")}
            assert loaded == {"entresol.testing", "entresol.testing.plugin"}
        """
    )
    ran = runs.run("-q", before=WITHOUT_WEB3)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "1 passed" in ran.stdout
    assert "entresol" not in ran.stdout
    fixtures = runs.run("--fixtures", before=WITHOUT_WEB3)
    assert "isolated_devnet" not in fixtures.stdout


def test_fixtures_of_the_same_names_stay_those_of_the_tests(runs: PytestRuns) -> None:
    runs.write(
        conftest="""
        import pytest

        @pytest.fixture
        def accounts():
            return "mine"
        """,
        test_own="""
        import pytest

        @pytest.fixture
        def l1():
            return "mine, too"

        def test_something(accounts, l1):
            assert (accounts, l1) == ("mine", "mine, too")
        """,
    )
    ran = runs.run("-q")
    assert ran.returncode == 0, ran.stdout
