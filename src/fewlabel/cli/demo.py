"""``fewlabel demo``: fit, report and test on data that ships with scikit-learn."""

import shlex
from pathlib import Path
from typing import Annotated

from fewlabel.cli.options import AsJson, Quiet, Seed, option, unfold
from fewlabel.cli.paths import writable_file
from fewlabel.cli.terminal import print_json, progress, say
from fewlabel.cli.wrong_use import WrongUse, as_wrong_use


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise WrongUse(f"{value:g} is not a share of the labels: choose a number between 0 and 1, such as 0.1")
    return value


@unfold()
def demo(
    *,
    out: Annotated[
        Path,
        option("FILE", "Where to write the report.", "--out", "-o", callback=writable_file),
    ] = Path("report.html"),
    model_out: Annotated[
        Path | None,
        option("FILE", "Where to save the model, if wanted.", callback=writable_file),
    ] = None,
    labeled: Annotated[
        float,
        option("SHARE", "Share of the training labels to keep, between 0 and 1.", callback=_share),
    ] = 0.1,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a table whose labels are hidden; write a report.

    The data is scikit-learn's breast-cancer table. The model is tested on rows that were held out.
    """
    if model_out is not None and model_out.resolve() == out.resolve():
        raise WrongUse("--out and --model-out name the same file: choose two names")
    # Wrong use is answered before these imports, which take seconds.
    from fewlabel import persistence, reporting
    from fewlabel.auto import AutoClassifier
    from fewlabel.cli.fit_memory import show
    from fewlabel.reporting.demo import breast_cancer
    from fewlabel.tables import TableClassifier

    with as_wrong_use("--labeled", ValueError):
        table = breast_cancer(labeled, seed)
    # Two repeats of the cross-validation, so that the demo takes seconds.
    auto = AutoClassifier(n_repeats=2, n_jobs=-1, random_state=seed)
    model = TableClassifier(auto, random_state=seed)
    with progress(quiet) as tell:
        encoded = model.encode(table.X_train, table.y_train)
        model.fit_encoded(encoded, callback=tell)
    say("writing the report", quiet)
    summary = reporting.summarize(
        model,
        table.X_train,
        encoded,
        title=table.name,
        source=table.source,
        command=_command(out, model_out, labeled, seed),
        seed=seed,
        model_file=None if model_out is None else str(model_out),
        test=(table.X_test, table.y_test),
    )
    if model_out is not None:
        persistence.save(model, model_out)
    reporting.write(summary, out)
    if as_json:
        print_json(summary)
    elif not quiet:
        show(summary)
        test = summary["test"]
        interval = f"{test['low']:.3f} to {test['high']:.3f}"
        print(f"On {test['rows']} held-out test rows: AUC {test['auc']:.3f} (95% interval {interval})")
        print(f"\nReport: {out}")
        if model_out is not None:
            print(f"Model:  {model_out}")


def _command(out: Path, model_out: Path | None, labeled: float, seed: int) -> str:
    words = ["fewlabel", "demo", "--labeled", f"{labeled:g}", "--seed", str(seed), "--out", str(out)]
    if model_out is not None:
        words += ["--model-out", str(model_out)]
    return shlex.join(words)
