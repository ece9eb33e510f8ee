"""A cluster of simulated machines on this one: a worker is killed, and a machine is lost.

``python -m tests.collect.job.simulated_cluster OUT PROMPTS MODEL ...`` measures models by the
engine ray. It prints a line of JSON: ``killed`` workers, ``machines`` before and after, and of the
largest machine the ``memory`` and the ``most_memory`` that tasks had at once [bytes].
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil
import ray
from ray.cluster_utils import Cluster

from collect.job import fleet

GIB = 2**30
#: Memory of the machines that join the first [bytes]; each has two processors.
MEMORY = (2 * GIB, 2 * GIB)
#: What a worker is called while it measures.
AT_WORK = "ray::_measure"


def main() -> int:
    """Measure, kill a worker at work, then lose a machine; return the exit code."""
    out, prompts, *models = sys.argv[1:]
    how = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**how, "memory": GIB})
    lost = [cluster.add_node(**how, memory=memory) for memory in MEMORY][-1]
    ray.init(address=cluster.address, log_to_driver=False)
    n_before = n_alive()
    told = {"killed": 0, "memory": sum(MEMORY) + GIB, "most_memory": 0}

    def disturb() -> None:
        """Take the largest machine away while it measures, then kill another worker at work."""
        raylet = lost.all_processes["raylet"][0].process.pid
        while not at_work(psutil.Process(raylet).children(recursive=True)):
            time.sleep(0.02)
        cluster.remove_node(lost, allow_graceful=False)
        while not (others := at_work(psutil.process_iter())):
            time.sleep(0.02)
        os.kill(others[0].pid, signal.SIGKILL)
        told["killed"] += 1

    def watch() -> None:
        """Note the most memory that tasks were given at once."""
        while ray.is_initialized():
            given, free = ray.cluster_resources(), ray.available_resources()
            used = int(given.get("memory", 0) - free.get("memory", 0))
            told["most_memory"] = max(told["most_memory"], used)
            time.sleep(0.1)

    for function in (disturb, watch):
        threading.Thread(target=function, daemon=True).start()
    fleet.run(models, [prompts], Path(out), quiet=True)
    while n_alive() == n_before:  # a machine is missed by its heartbeat
        time.sleep(0.2)
    print(json.dumps({**told, "machines": [n_before, n_alive()]}))
    ray.shutdown()
    cluster.shutdown()
    return 0


def at_work(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that measure."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if AT_WORK in " ".join(process.cmdline()):
                found.append(process)
    return found


def n_alive() -> int:
    """Return how many machines the cluster has."""
    return sum(node["Alive"] for node in ray.nodes())


if __name__ == "__main__":
    raise SystemExit(main())
