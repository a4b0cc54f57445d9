"""The Dask cluster of a command."""

import contextlib
from collections.abc import Iterator
from typing import Any

import typer


def require_dask() -> None:
    """Wrong use if Dask is not installed."""
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise typer.BadParameter(
            "it needs Dask: run `pip install 'fewlabel[dask]'`", param_hint="--engine dask"
        ) from error


@contextlib.contextmanager
def cluster_client(scheduler: str | None, jobs: int = -1) -> Iterator[Any]:
    """A client of the given cluster, or of one on the cores of this machine."""
    from distributed import Client, LocalCluster
    from joblib import effective_n_jobs

    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    cores = effective_n_jobs(jobs)
    with (
        LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR") as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client
