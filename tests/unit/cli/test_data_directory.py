"""Commands on a data directory: what a fork has read belongs to it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from entresol.cli.main import main
from entresol.features.fork.cache.fork_cache import CacheSettings, ForkCache, open_cache
from tests.support.chain.dev_chain import open_chain
from tests.support.fork.cached_forks import FORK, fill


def cache_of(data_dir: Path) -> ForkCache:
    cache = open_cache(CacheSettings(data_dir=data_dir), {})
    cache.bind(FORK)
    return cache


def chain_with_cache(path: Path) -> None:
    """Create a chain of some blocks that is a fork."""
    with closing(cache_of(path)) as cache:
        fill(cache)
    with closing(open_chain(path)) as chain:
        chain.builder.seal()


def test_a_backup_has_what_the_fork_has_read_also_while_it_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, copy = tmp_path / "node", tmp_path / "copy"
    chain_with_cache(source)
    with closing(cache_of(source)):
        assert main(["backup", "--data-dir", str(source), str(copy)]) == 0
    sentence = f"1 chain of {source} copied to {copy}, as of one moment.\n"
    assert capsys.readouterr().out == sentence
    with closing(cache_of(copy)) as cache:
        assert cache.hashes([FORK.number - 1])


def test_a_rebuild_leaves_what_the_fork_has_read(tmp_path: Path) -> None:
    chain_with_cache(tmp_path / "node")
    before = {it: it.read_bytes() for it in (tmp_path / "node" / "fork").iterdir()}
    assert main(["rebuild", "--data-dir", str(tmp_path / "node")]) == 0
    assert {it: it.read_bytes() for it in (tmp_path / "node" / "fork").iterdir()} == before
