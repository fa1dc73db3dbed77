"""Settings of a whole run of the tests: where its files are, how many examples it tries, what it releases."""

from __future__ import annotations

import os
from pathlib import Path

from entresol import devnet
from entresol.features.fork.cache.cache_files import default_directory
from tests.support.anvil import running_anvil
from tests.support.fork.remote_anvil import ANVIL
from tests.support.run.environment import own_cache


def test_forks_of_tests_are_cached_in_the_folder_of_the_run(tmp_path: Path) -> None:
    """Both in this process and in one that it starts, without a flag."""
    folder = tmp_path / "forks"
    with own_cache(tmp_path), running_anvil("--chain-id", "99") as remote:
        assert default_directory(os.environ) == folder
        with devnet(fork_url=remote.url) as net:
            net.l2.request("eth_getBalance", "0x" + "12" * 20, "latest")
        here = {file.stem for file in folder.glob("*.sqlite")}
        assert here
        remote("anvil_mine", "0x1")
        with running_anvil("--fork-url", remote.url, program=ANVIL):
            pass
        assert here < {file.stem for file in folder.glob("*.sqlite")}
    # The run does the same, for all of its tests.
    assert Path(os.environ["ENTRESOL_CACHE_DIR"]).parts[-1] == "cache"
