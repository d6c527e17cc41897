"""Who does the work: this process, others on this machine, or a Ray cluster. All give the same
answers in order.

A crew takes batches and gives their answers in the order of the batches, with so few on the way
that a corpus of any size needs the memory of a few.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any, Literal

from api.rescoring.work import EpisodeOutcome, Material, work

Engine = Literal["processes", "ray"]
Batch = Sequence[Material]
AHEAD = 3
"""Batches that a worker has before it: enough that none waits, however unequal they are."""

ANSWERS_S = 10.0


class NoCrewError(RuntimeError):
    """The wanted workers can't be had; the message says why."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def answers(
    batches: Iterable[Batch], engine: Engine, workers: int | None = None, address: str | None = None
) -> Iterator[list[EpisodeOutcome]]:
    """What `work` gives for each batch, in order, by ``workers`` at a time (default: all cores;
    Ray: all it has).

    ``address`` is a Ray cluster's; None starts one on this machine. Raises `NoCrewError`.
    """
    if engine == "ray":
        return _on_ray(batches, workers, address)
    return _in_processes(batches, workers or cores())


def _in_processes(batches: Iterable[Batch], workers: int) -> Iterator[list[EpisodeOutcome]]:
    if workers == 1:
        yield from map(work, batches)
        return
    with pool(workers) as crew:
        yield from _in_order(
            batches,
            lambda batch: crew.submit(work, batch),
            lambda one: one.result(),
            workers * AHEAD,
        )


def pool(workers: int, nice: int = 0) -> ProcessPoolExecutor:
    """Processes that import nothing but what the work needs, and that end with the one that started
    them."""
    # Not forked: threads and open databases of this process are not to be copied.
    return ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(nice,)
    )


def _begin(nice: int) -> None:
    """Take one's place; a worker of a process that was killed would else wait for work for ever."""
    os.nice(nice)
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end-with-parent").start()


def _on_ray(
    batches: Iterable[Batch], workers: int | None, address: str | None
) -> Iterator[list[EpisodeOutcome]]:
    """Yield outcomes of batches that Ray works on, here or on a cluster. Raises `NoCrewError`."""
    # Ray would tell its makers of each run, and does what this says at its import.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise NoCrewError(
            "--engine ray: Ray is not installed; wanted `pip install 'milestoned[ray]'`"
        ) from None
    quiet: dict[str, object] = {"log_to_driver": False, "logging_level": logging.WARNING}
    if address is None:
        here = {
            "num_cpus": workers or cores(),
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
        ray.init(address="local", **here, **quiet)
    else:
        _must_answer(address)
        ray.init(address=address, **quiet)
    try:
        remote = ray.remote(work)
        slots = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield from _in_order(batches, remote.remote, ray.get, slots * AHEAD)
    finally:
        ray.shutdown()


def _must_answer(address: str) -> None:
    """Ray would try for minutes to reach a cluster that is not there. Raises `NoCrewError`."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWERS_S).close()
    except (OSError, ValueError) as error:
        raise NoCrewError(
            f"--ray {address}: {error}; wanted HOST:PORT of a running cluster"
        ) from None


def _in_order(
    batches: Iterable[Batch],
    begin: Callable[[Batch], Any],
    end: Callable[[Any], list[EpisodeOutcome]],
    ahead: int,
) -> Iterator[list[EpisodeOutcome]]:
    """Begin at most ``ahead`` batches before the first of them has ended; give the answers in their
    order."""
    begun: deque[object] = deque()
    for batch in batches:
        begun.append(begin(batch))
        if len(begun) >= ahead:
            yield end(begun.popleft())
    while begun:
        yield end(begun.popleft())
