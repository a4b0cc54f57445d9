"""A small part of every kind, and models made of them."""

import numpy as np

from fewlabel import parts

N_COLUMNS = 3


def table(n_rows=40):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[::7, 1] = np.nan
    return X


def formulas():
    """One formula of every kind over three columns without gaps, by kind."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(20, N_COLUMNS))
    codes = np.arange(20) % 3
    sources = np.arange(0, 20, 4)
    scores = rng.random((20, 3))
    everything = parts.Select(np.arange(N_COLUMNS), N_COLUMNS)
    line = parts.Linear(rng.normal(size=(2, N_COLUMNS)), np.zeros(2))
    graph = dict(rows=rows, sources=sources, source_codes=codes[sources], n_neighbors=4)
    tree = dict(
        feature=np.array([0, 1, 2, -2, -2, -2, -2]),
        threshold=np.zeros(7),
        left=np.array([1, 3, 5, -1, -1, -1, -1]),
        right=np.array([2, 4, 6, -1, -1, -1, -1]),
        missing_left=np.array([True, False, True, False, False, False, False]),
        value=rng.normal(size=(7, 2)),
    )
    pairs = parts.PairsOfClasses(3)
    found = [
        everything,
        line,
        parts.Chain([everything, line]),
        parts.WeightedSum(np.array([0.5, 0.5]), [everything, everything]),
        parts.Beside([everything, line]),
        parts.Ranks.among(rows),
        parts.LogOdds(N_COLUMNS),
        parts.Logits.among(rows),
        parts.Logits(0.02, 1.0, N_COLUMNS),
        parts.FillAndScale(np.zeros(3), np.array([1]), np.zeros(4), np.ones(4)),
        parts.Components(np.zeros(3), rng.normal(size=(3, 2))),
        parts.Smooth(rows, np.ones(20), scores, 5),
        parts.GaussianBayes(rng.normal(size=(3, 3)), np.ones((3, 3)), np.log(np.full(3, 1 / 3))),
        parts.GaussianKernel(rows, 0.5),
        parts.PolynomialKernel(rows, 0.5, 1.0, 2),
        pairs,
        parts.Neighbors(rows, codes, 3, 5),
        parts.Paths(**graph, costs=rng.random((20, 4)), codes=codes, exponential=True, delta=0.3),
        parts.Spreading(**graph, scores=scores, gives=scores, sigma=0.5),
        parts.Trees.join([tree, tree], N_COLUMNS, np.zeros(2), divisor=2),
        parts.SymmetricTrees(
            columns=rng.integers(0, N_COLUMNS, (4, 2)),
            thresholds=rng.normal(size=(4, 2)),
            missing_up=rng.random((4, 2)) < 0.5,
            values=rng.normal(size=(1, 4, 4)),
            start=np.zeros(1),
            n_inputs=N_COLUMNS,
        ),
        parts.Steps(
            columns=np.array([0, 2]),
            starts=np.array([0, 2, 3]),
            edges=np.array([-0.5, 0.5, 0.1]),
            values=np.arange(5.0),
            missing=np.zeros(2),
            n_inputs=N_COLUMNS,
        ),
    ]
    return {formula.kind: formula for formula in found}


def columns():
    """Columns of every kind."""
    grams = ["ate", "lat", "new"]
    found = [
        parts.NumberColumn("amount", "1.234,5"),
        parts.SpecialNumberColumn("income", "", ["-999", "unknown"]),
        parts.BooleanColumn("member"),
        parts.DateColumn("since", hours=True),
        parts.CategoryColumn("city", ["Graz", "Lima", "Oslo"], missing=True, drop_first=False),
        parts.TextColumn("note", grams, np.ones(3), np.eye(3, 2, dtype=np.float32), 2, 1.5),
        parts.DateColumn("day", hours=False, notation="31/12/2024"),
    ]
    names = [column.name for column in found]
    n_outputs = sum(column.n_outputs for column in found)
    features = [f"f{k}" for k in range(n_outputs)]
    dropped = {"row": "looks like an identifier"}
    return parts.Columns(found, features, [*names, "row"], named=True, dropped=dropped, profile={})


def cells(n_rows=5):
    """A table for them."""
    one = {
        "amount": "1.000,5",
        "income": "-999",
        "member": True,
        "since": "2024-02-03 04:05:06",
        "city": "Oslo",
        "note": "late again",
        "day": "31.12.2024",
    }
    return {name: [value] * (n_rows - 1) + [None] for name, value in one.items()}


def model_around(formula):
    """A model whose scores come from a formula over three columns without gaps."""
    fill = parts.FillAndScale(np.zeros(3), np.empty(0, dtype=np.int64), np.zeros(3), np.ones(3))
    n_outputs = formula.n_outputs
    last = parts.Linear(np.ones((1, n_outputs)), np.zeros(1))
    score = parts.Chain([fill, formula, last])
    link = parts.Sigmoids(np.zeros(1), np.ones(1), np.zeros(1))
    baseline = parts.Baseline(
        np.zeros(2), np.array([True, False]), np.zeros((2, 3), np.float32), np.zeros(4), np.ones(2)
    )
    evidence = parts.Evidence(np.zeros((2, 1)), np.arange(2), np.ones(2), table(4), baseline)
    classes = parts.Classes(["no", "yes"], "object")
    about = {"headline": {"score": 0.9}, "leaderboard": {"method": ["a"]}}
    names = ["a", "b", "c"]
    return parts.FittedModel(score, link, classes, 1, names=names, evidence=evidence, about=about)


def models():
    """Models that hold, together, parts of every kind."""
    found = {kind: model_around(formula) for kind, formula in formulas().items()}
    three = parts.Classes([1, 2, 3], "int")
    found["softmax"] = parts.FittedModel(formulas()["select"], parts.Softmax(2.0, 3), three, None)
    found["shares"] = parts.FittedModel(formulas()["gaussian-bayes"], parts.Shares(3), three, None)
    encoder = columns()
    fill = parts.FillAndScale(
        *(np.zeros(encoder.n_outputs), np.empty(0, dtype=np.int64)), *np.ones((2, encoder.n_outputs))
    )
    score = parts.Chain([fill, parts.Linear(np.ones((1, encoder.n_outputs)), np.zeros(1))])
    classes = parts.Classes([False, True], "bool")
    link = parts.Sigmoids(np.zeros(1), np.ones(1), np.zeros(1))
    found["columns"] = parts.FittedModel(score, link, classes, 0, encoder=encoder, threshold=0.5, prior=0.2)
    return found


def rows_of(model):
    """Rows that a model of these can predict."""
    if model.encoder is not None:
        return cells()
    return table() if model.names else np.nan_to_num(table())
