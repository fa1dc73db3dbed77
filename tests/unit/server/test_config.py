from __future__ import annotations

import msgspec
import pytest

from entresol.server.config import ServerConfig


def test_every_setting_is_described() -> None:
    for field in msgspec.structs.fields(ServerConfig):
        info = msgspec.inspect.type_info(field.type)
        assert isinstance(info, msgspec.inspect.Metadata) or "description=" in str(field.type)


def test_hosts_are_a_list_in_which_blanks_and_repetitions_count_for_nothing() -> None:
    assert ServerConfig(host="127.0.0.1, ::1 ,127.0.0.1").hosts == ("127.0.0.1", "::1")


def test_settings_are_validated_on_conversion() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$.port"):
        msgspec.convert({"port": 70_000}, ServerConfig)
