"""What the workers of a standalone cluster have done so far, from the web interfaces of its master and its driver."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Worker:
    """A worker with the executor that runs on it."""

    name: str
    executor: str
    running: int
    completed: int
    read_bytes: int


def workers() -> list[Worker]:
    """Return the living workers; each has one executor, because the driver is the cluster's only application."""
    driver = os.environ["FUNCS_CLUSTER_DRIVER"]
    [application] = _json(f"{driver}/api/v1/applications")
    all_executors = _json(
        f"{driver}/api/v1/applications/{application['id']}/allexecutors"
    )
    executors = {executor["id"]: executor for executor in all_executors}
    registered = _json(os.environ["FUNCS_CLUSTER_MASTER"] + "/json/")["workers"]
    living = [worker for worker in registered if worker["state"] == "ALIVE"]
    return [
        _worker(
            worker["id"],
            _json(worker["webuiaddress"] + "/json/")["executors"],
            executors,
        )
        for worker in living
    ]


def _worker(
    name: str, running: list[dict[str, Any]], executors: dict[str, dict[str, Any]]
) -> Worker:
    [number] = [str(executor["id"]) for executor in running]
    did = executors[number]
    return Worker(
        name, number, did["activeTasks"], did["completedTasks"], did["totalInputBytes"]
    )


def _json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as reply:
        return json.load(reply)


if __name__ == "__main__":
    for worker in workers():
        did = f"{worker.completed} tasks, {worker.read_bytes / 2**20:.0f} MiB of card spend read"
        sys.stdout.write(f"{worker.name}, executor {worker.executor}: {did}\n")
