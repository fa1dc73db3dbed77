"""The commands: `entresol run`, `anvil`, `rebuild`, `verify`, `backup`, `cluster`, `cache`, `replay`, `derive`, `settle`, `gas-report`, `shell` and `completion`.

Modules that only one command needs are imported there, so that an error in a flag is reported at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from entresol.cli.parsers import PARSERS, node_parser
from entresol.cli.run_node import run_node
from entresol.errors import EntresolError, InvalidConfig
from entresol.features.cluster.settings import ClusterConfig
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.config.secrets import read_secret_files
from entresol.node.config.setting import PREFIX
from entresol.node.config.suggestions import none_of, unknown_variables
from entresol.terminal.exit_codes import (
    FAILED,
    INTERRUPTED,
    OUTPUT_CLOSED,
    SUCCEEDED,
    USAGE_ERROR,
    print_error,
)

_WORD: Final = re.compile(r"[a-z][a-z-]*")


def command() -> NoReturn:
    """Run the command line, and exit the process."""
    try:
        code = main()
    except BrokenPipeError:
        # Whoever reads the output has seen enough, as `head`.
        code = OUTPUT_CLOSED
    if sys.argv[1:2] == ["shell"]:
        # The interpreter writes the history of what was typed when it ends.
        sys.exit(code)
    # A call may still run on a thread, whose client is disconnected; and what a node made takes long to take apart.
    for output in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            output.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words and words[0] in _WITH_OWN_FLAGS.keys() & PARSERS.keys():
            return _WITH_OWN_FLAGS[words[0]](words[1:])
        _check_command(words)
        flags = node_parser(words[0] if words and words[0] in PARSERS else "").parse(words)
        config = read_secret_files(_settings(flags))
        return _WITH_FLAGS_OF_A_NODE[flags["command"]](config)
    except KeyboardInterrupt:
        return INTERRUPTED
    except InvalidConfig as error:
        return print_error(error, USAGE_ERROR)
    except EntresolError as error:
        return print_error(error, FAILED)


def _check_command(words: Sequence[str]) -> None:
    if words and _WORD.fullmatch(words[0]) and words[0] not in PARSERS:
        raise InvalidConfig("command", none_of(words[0], PARSERS))


def _run(config: NodeConfig) -> int:
    if config.of(ClusterConfig).cluster is not None:
        return run_node(config, _cluster_module("member_node").open_member)
    from entresol.node.open_node import open_node  # noqa: PLC0415

    return run_node(config, open_node)


def _rebuild(config: NodeConfig) -> int:
    from entresol.cli.data_directory import rebuild_chains  # noqa: PLC0415

    return rebuild_chains(config)


def _verify(config: NodeConfig) -> int:
    from entresol.cli.data_directory import verify_chains  # noqa: PLC0415

    return verify_chains(config)


def _anvil(words: Sequence[str]) -> int:
    from entresol.node.config.anvil import (  # noqa: PLC0415
        ANVIL_SETTINGS,
        anvil_environment,
        node_config,
    )

    environment = anvil_environment(os.environ)
    for name in _unread_variables(environment):
        print(f"warning: {name}: entresol anvil does not read it; give a flag", file=sys.stderr)
    config = node_config(ANVIL_SETTINGS.load(PARSERS["anvil"]().parse(words), environment))

    from entresol.node.open_node import open_layer_one_node  # noqa: PLC0415

    return run_node(config, open_layer_one_node)


def _unread_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables of the process that set something of a node, and are not in `environment`."""
    others = {name for name in os.environ if name.startswith(PREFIX) and name not in environment}
    return sorted(others & {setting.variable for setting in SETTINGS.all}) if others else []


def _backup(words: Sequence[str]) -> int:
    flags = PARSERS["backup"]().parse(words)
    config = _settings({"data_dir": flags["data_dir"]})
    from entresol.cli.data_directory import back_up  # noqa: PLC0415

    return back_up(config, flags["dest"])


def _cluster(words: Sequence[str]) -> int:
    flags, config = _parsed("cluster", words)
    commands, block = _cluster_module("commands"), flags["to"]
    if flags["command"] == "unwind":
        if block is None:
            raise InvalidConfig("--to", "this command needs the block to unwind to")
        print(asyncio.run(commands.unwind(config, block)))
    elif flags["command"] == "status":
        print(asyncio.run(commands.status(config)).table())
    else:
        print(asyncio.run(commands.init(config)))
    return SUCCEEDED


def _cache(words: Sequence[str]) -> int:
    from entresol.features.fork.commands.cache import run_cache  # noqa: PLC0415

    return run_cache(PARSERS["cache"]().parse(words), os.environ)


def _replay(words: Sequence[str]) -> int:
    flags, config = _parsed("replay", words)
    from entresol.features.fork.commands.replay import run_replay  # noqa: PLC0415

    return run_replay(flags, config)


def _derive(words: Sequence[str]) -> int:
    flags, config = _parsed("derive", words)
    from entresol.features.derive.commands import run_derive  # noqa: PLC0415

    return run_derive(flags, config)


def _settle(words: Sequence[str]) -> int:
    flags, config = _parsed("settle", words)
    from entresol.cli.settle import run_settle  # noqa: PLC0415

    return run_settle(config, flags["to"])


def _gas_report(words: Sequence[str]) -> int:
    flags = PARSERS["gas-report"]().parse(words)
    from entresol.features.debugger.commands import run_gas_report  # noqa: PLC0415

    return run_gas_report(flags)


def _shell(words: Sequence[str]) -> int:
    flags = PARSERS["shell"]().parse(words)
    from entresol.cli.shell import open_shell  # noqa: PLC0415
    from entresol.inprocess.devnet import Devnet, devnet_config  # noqa: PLC0415

    file = flags.pop("config")
    given = {name: value for name, value in flags.items() if value is not None}
    _warn_of_variables()
    with Devnet(devnet_config(given, os.environ, file)) as net:
        open_shell(net)
    return SUCCEEDED


def _completion(words: Sequence[str]) -> int:
    from entresol.cli.completion import script  # noqa: PLC0415

    print(script(PARSERS["completion"]().parse(words)["shell"]), end="")
    return SUCCEEDED


def _parsed(command: str, words: Sequence[str]) -> tuple[dict[str, Any], NodeConfig]:
    flags = PARSERS[command]().parse(words)
    return flags, read_secret_files(_settings(flags))


def _settings(flags: Mapping[str, Any]) -> NodeConfig:
    """Load the settings of a node from its flags, from variables and from the file of `--config`."""
    _warn_of_variables()
    return SETTINGS.load(flags, os.environ, flags.get("config"))


def _warn_of_variables() -> None:
    """Name the variables that would set something if they were spelled otherwise."""
    others = {name: text for name, text in os.environ.items() if not SETTINGS.reads(name, text)}
    for name, problem in unknown_variables(SETTINGS.all, others):
        print(f"warning: {name}: {problem}", file=sys.stderr)


def _cluster_module(name: str) -> Any:
    """Import a module of clusters, which need a package that is not installed otherwise."""
    try:
        return importlib.import_module(f"entresol.features.cluster.{name}")
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        problem = "this needs a package that is missing: pip install 'entresol[cluster]'"
        raise InvalidConfig("--cluster", problem) from None


_WITH_FLAGS_OF_A_NODE: Final[dict[str, Callable[[NodeConfig], int]]] = {
    "run": _run,
    "rebuild": _rebuild,
    "verify": _verify,
}
_WITH_OWN_FLAGS: Final[dict[str, Callable[[Sequence[str]], int]]] = {
    "anvil": _anvil,
    "backup": _backup,
    "cluster": _cluster,
    "cache": _cache,
    "replay": _replay,
    "derive": _derive,
    "settle": _settle,
    "gas-report": _gas_report,
    "shell": _shell,
    "completion": _completion,
}
