"""``fewlabel.report(model, X, y)``: the report as an object, a file and a view in a notebook; and a model card."""

import html
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.auto import AutoClassifier
from fewlabel.files import write_text
from fewlabel.labels import read_positive
from fewlabel.parts import FittedModel
from fewlabel.reporting.render import render, render_card, write
from fewlabel.reporting.summarize import metrics, summarize
from fewlabel.rows import Rows
from fewlabel.tables import TableClassifier, table_classifier
from fewlabel.types import PlainDict


class Report:
    """A report on a fitted model.

    In a notebook it shows itself.

    Parameters
    ----------
    summary : dict
        What :func:`fewlabel.reporting.summarize` returned.

    Attributes
    ----------
    summary : dict
    metrics : dict
        The numbers, without the data of the figures.
    """

    def __init__(self, summary: PlainDict) -> None:
        self.summary = summary

    @property
    def metrics(self) -> PlainDict:
        return metrics(self.summary)

    def html(self) -> str:
        """The page."""
        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        write(self.summary, path)

    def save_card(self, path: str | os.PathLike[str]) -> None:
        """Write a model card, in Markdown."""
        write_card(self.summary, path)

    def _repr_html_(self) -> str:
        # A frame of its own: the styles of the page and of the notebook do not meet.
        frame = 'style="width:100%;height:48rem;border:1px solid #8888;border-radius:8px"'
        return f'<iframe title="fewlabel report" {frame} srcdoc="{html.escape(self.html())}"></iframe>'


def report(
    model: TableClassifier,
    X: Any,
    y: Any,
    *,
    title: str = "Report",
    test: tuple[pd.DataFrame, pd.Series] | None = None,
    report_by: Sequence[str] = (),
    random_state: int = 0,
) -> Report:
    """Report on a fitted model and the table it was fitted to.

    Called as ``fewlabel.report(model, X, y)``.

    Parameters
    ----------
    model : TableClassifier
        Fitted to `X` and `y`, with an `AutoClassifier` as its estimator.
    X : DataFrame
    y : array-like of shape (n_samples,)
    title : str, default="Report"
        Heading of the page.
    test : (DataFrame, Series), default=None
        Held-out rows and their labels.
    report_by : sequence of str, default=()
        Columns of `X` whose groups have figures of their own, see :func:`fewlabel.metrics.by_group`.
    random_state : int, default=0
        Seed of the confidence bands.

    Returns
    -------
    Report
        Shows itself in a notebook; ``save("report.html")`` writes the page, ``save_card("card.md")`` a model card.

    Examples
    --------
    >>> import fewlabel
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> few = fewlabel.hide_labels(y, labeled=60, random_state=0)
    >>> model = fewlabel.TableClassifier(fewlabel.AutoClassifier(["naive Bayes"], random_state=0)).fit(X, few)
    >>> page = fewlabel.report(model, X, few)
    >>> page.metrics["data"]["labeled"]
    60
    """
    if isinstance(model, FittedModel) and model.encoder is not None:
        model = table_classifier(model)
    if not isinstance(model, TableClassifier) or not isinstance(getattr(model, "estimator_", None), AutoClassifier):
        raise TypeError(
            f"model is a {type(model).__name__}: expected a fitted TableClassifier around an AutoClassifier, as in "
            "TableClassifier().fit(X, y)"
        )
    encoded = Rows.read(model.encoder_.transform(X), read_positive(y, model.positive))
    table = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(table, pd.DataFrame):
        # As the encoder names columns of an array.
        table = pd.DataFrame(np.asarray(X)).rename(columns="x{}".format)
    command = "fewlabel.report(model, X, y)"
    groups = {name: table[name] for name in report_by}
    summary = summarize(
        model, table, encoded, title=title, command=command, seed=random_state, test=test, report_by=groups
    )
    return Report(summary)


def write_card(summary: PlainDict, path: str | os.PathLike[str], manifest: PlainDict | None = None) -> None:
    """Write a model card beside the report.

    Parameters
    ----------
    summary : dict
        What :func:`fewlabel.reporting.summarize` returned.
    path : str or path-like
        A Markdown file.
    manifest : dict, default=None
        What `fewlabel fit` writes to manifest.json: from where and when the rows and labels are.
    """
    write_text(path, render_card(summary, manifest))
