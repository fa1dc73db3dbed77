"""Run a worker: `python -m entresol.features.workers`, with the number of a socket."""

from entresol.node.startup.process_start import collect_rarely

collect_rarely()

from entresol.features.workers.worker import main  # noqa: E402 - what this imports is what is not to be collected

main()
