"""Which place the settings of a fork ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol.fork.cache.open_cache import CacheSettings, open_cache
from entresol.fork.cache.places import (
    DefaultPlace,
    DirectoryPlace,
    ExportPlace,
    FilePlace,
    NoPlace,
)

HOME = {"XDG_CACHE_HOME": "/caches"}
GIVEN, DATA = Path("given"), Path("data")


@pytest.mark.parametrize(
    ("settings", "kind", "path"),
    [
        (CacheSettings(), DefaultPlace, "/caches/entresol/forks"),
        (CacheSettings(place=GIVEN), DirectoryPlace, "given"),
        (CacheSettings(place=Path("a.sqlite")), FilePlace, "a.sqlite"),
        (CacheSettings(place=Path("a.jsonl")), ExportPlace, "a.jsonl"),
        (CacheSettings(data_dir=DATA), DirectoryPlace, "data/fork"),
        (CacheSettings(data_dir=DATA, place=GIVEN), DirectoryPlace, "given"),
        (CacheSettings(data_dir=DATA, is_stored=False), NoPlace, "memory"),
        (CacheSettings(place=GIVEN, is_stored=False), NoPlace, "memory"),
        (CacheSettings(is_offline=True), DefaultPlace, "/caches/entresol/forks"),
    ],
)
def test_a_cache_is_where_the_settings_say(settings: CacheSettings, kind: type, path: str) -> None:
    place = open_cache(settings, HOME).place
    assert (type(place), str(place)) == (kind, path)


def test_a_file_that_is_there_is_a_file_whatever_its_name_is(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    place = open_cache(CacheSettings(place=tmp_path / "cache"), HOME).place
    assert isinstance(place, FilePlace)
