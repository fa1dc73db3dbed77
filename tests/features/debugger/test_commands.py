"""`entresol gas-report`, on a node that runs and on a data directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import entresol
from entresol import Devnet
from entresol.cli.main import main
from entresol.features.debugger import gas_reports
from tests.support.contracts.shop import OUTPUT, ShopRun

BUILD = "  build                                2  136,268  136,268  136,268  136,268"


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    with entresol.devnet(l1=False, sources=[str(OUTPUT)]) as running:
        ShopRun(running.l2.request).run()
        yield running


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code = main(["gas-report", *words])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def rejected(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["gas-report", *words]) == 2
    return capsys.readouterr().err


def test_the_table_of_a_node_has_all_blocks(
    net: Devnet, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, "--l2-url", net.l2.url).splitlines()
    assert lines[0] == "Factory (src/Shop.sol)"
    assert BUILD in lines


def test_pages_are_put_together(
    net: Devnet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = printed(capsys, "--l2-url", net.l2.url)
    monkeypatch.setattr(gas_reports, "MAX_BLOCKS", 3)
    assert printed(capsys, "--l2-url", net.l2.url) == whole


def test_a_source_is_shown_with_its_gas(net: Devnet, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--l2-url", net.l2.url, "--lines", "Shop.sol")
    line = "        2          710       45,694 │         made.set(1);"
    assert line in text.splitlines()
    assert "nothing ran of" in printed(capsys, "--l2-url", net.l2.url, "--lines", "Else.sol")


def test_a_data_directory_is_read_with_sources_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with entresol.devnet(data_dir=tmp_path, settle=False) as running:
        ShopRun(running.l2.request).run()
        number = running.l2.request("eth_blockNumber")
    text = printed(capsys, "--data-dir", str(tmp_path), "--sources", str(OUTPUT))
    assert BUILD in text.splitlines()
    with entresol.devnet(data_dir=tmp_path, settle=False) as running:
        assert running.l2.request("eth_blockNumber") == number


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--l2-url", "ftp://x"], "http:// or https://"),
        (["--l2-url", "http://127.0.0.1:1"], "no node responds at http://127.0.0.1:1"),
        (["--l2-url", "http://127.0.0.1:1", "--sources", "out"], "start it with --sources"),
        (["--l2-url", "http://127.0.0.1:1", "--data-dir", "."], "not both"),
        (["--data-dir", "/nonexistent"], "there is no chain in /nonexistent"),
        (["--blocks", "one..two"], "FROM..TO"),
        (["--blocks", "-1"], "FROM..TO"),
        (["--sort", "size"], "--sort"),
        (["--host", "::"], "--host"),
    ],
)
def test_flags_that_make_no_sense_are_rejected(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problem in rejected(capsys, *words)
