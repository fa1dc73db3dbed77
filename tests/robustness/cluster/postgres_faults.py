"""Faults of PostgreSQL and of the connections to it, and of the log that it has."""

from __future__ import annotations

import time

from tests.robustness.cluster.targets import Fault, Targets
from tests.support.cluster.nodes import ClusterNodeProcess
from tests.support.polling import eventually
from tests.support.rpc_client import health_of

MOST_LOST = 5

_LOSE = """
update entresol.lease set valid_until = '-infinity';
create table lost_log as select * from entresol.log where seq > {kept};
create table lost_lease as select seq, digest, head from entresol.lease;
delete from entresol.log where seq > {kept};
update entresol.lease set seq = {kept}, (digest, head) = (select digest, head from entresol.log where seq = {kept});
"""
_RESTORE = """
update entresol.lease set epoch = epoch + 1, valid_until = '-infinity',
    (seq, digest, head) = (select seq, digest, head from lost_lease);
insert into entresol.log select * from lost_log;
drop table lost_log, lost_lease;
"""


def restart(targets: Targets) -> None:
    """Stop PostgreSQL under load, and start it again."""
    targets.cluster.postgres.stop()
    time.sleep(targets.randomness.uniform(0, 1))
    targets.cluster.postgres.start()


def cut(targets: Targets) -> None:
    """Cut the connections of the producer, wherever they are."""
    targets.producer().postgres.cut()


def hang(targets: Targets) -> None:
    """Hold what the producer sends and receives; it arrives later, perhaps after the producer has reconnected."""
    proxy = targets.producer().postgres
    proxy.set_mode("hang")
    time.sleep(targets.seconds(0.5, 2.5))
    proxy.set_mode("pass")


def delay(targets: Targets) -> None:
    """Delay what the producer sends and receives, and perhaps cut it then."""
    proxy = targets.producer().postgres
    proxy.set_mode("delay")
    time.sleep(targets.cluster.lease_seconds)
    if targets.randomness.random() < 0.5:
        proxy.cut()
    proxy.set_mode("pass")


def lose_tail(targets: Targets) -> None:
    """Promote a server that lost the end of the log, which all nodes have applied, and restore it from the old one."""
    cluster = targets.cluster
    targets.producer()
    applied = min(node.health()["seq"] for node in cluster.nodes)
    kept = max(1, applied - targets.randomness.randint(1, MOST_LOST))
    cluster.execute(_LOSE.format(kept=kept))
    for node in targets.nodes:
        node.postgres.cut()
    eventually(lambda: all(map(_has_stopped, cluster.nodes)), cluster.nodes[0].printed)
    if cluster.fetch_value("select max(seq) from entresol.log") > kept:
        targets.history.violations.append("a node extended a log that had lost its end")
    cluster.execute(_RESTORE)


def _has_stopped(node: ClusterNodeProcess) -> bool:
    status, page = health_of(node.url)
    return status == 503 and "had lost the end of the log" in page["reason"]


CONNECTION_FAULTS: dict[str, Fault] = {
    "cut the producer's connections": cut,
    "hang the producer's connections": hang,
    "delay the producer's connections": delay,
    "lose the end of the log": lose_tail,
}
SERVER_FAULTS: dict[str, Fault] = {"restart PostgreSQL": restart}
