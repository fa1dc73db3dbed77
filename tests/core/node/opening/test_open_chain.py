from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from entresol.errors import InvalidConfig
from entresol.node.chain_plan import ChainPlan
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.opening import open_chain
from entresol.storage.store import Store


def test_a_chain_whose_accounts_cannot_be_unlocked_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InvalidConfig("--mnemonic", "no words")

    monkeypatch.setattr(open_chain, "open_keyring", fail)
    config = NodeConfig(chain=ChainConfig(data_dir=str(tmp_path)), l1=L1Config(l1=False))
    with pytest.raises(InvalidConfig, match="no words"):
        open_chain.open_chain(ChainPlan(config=config))
    # Its lock is free.
    with closing(Store.open(tmp_path)) as store:
        assert store.head_number == 0
