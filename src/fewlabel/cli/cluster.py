"""The Dask cluster of a command."""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import typer


def require_dask() -> None:
    """Wrong use if Dask is not installed; it is not imported, which takes a second or two."""
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise typer.BadParameter("it needs Dask: run `pip install 'fewlabel[dask]'`", param_hint="--engine dask")


@contextlib.contextmanager
def cluster_client(scheduler: str | None, jobs: int = -1) -> Iterator[Any]:
    """A client of the given cluster, or of one on the cores of this machine."""
    from distributed import Client, LocalCluster
    from joblib import effective_n_jobs

    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    cluster = LocalCluster(
        n_workers=effective_n_jobs(jobs),
        threads_per_worker=1,
        # Whoever can reach a scheduler can run code: only this machine can, and there is no dashboard.
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        silence_logs="ERROR",
    )
    with (
        cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


@contextlib.contextmanager
def gathering(scheduler: str | None, jobs: int = -1) -> Iterator[Any]:
    """Where rows are gathered: a client of the given cluster, or None for threads of this process.

    Arrow reads without Python's lock, so processes of their own would only take time to start.
    """
    if scheduler is not None:
        with cluster_client(scheduler) as client:
            yield client
        return
    import dask
    from joblib import effective_n_jobs

    with dask.config.set(scheduler="threads", num_workers=effective_n_jobs(jobs)):
        yield None
