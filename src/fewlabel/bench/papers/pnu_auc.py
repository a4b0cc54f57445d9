"""Seed paper of PNU-AUCBoost: Table 2 (six methods), Table 3 (speed), and Figures 1 (their ranks) and 2 (rounds)."""

import time
from itertools import product

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel.bench.suite import Curve, Problem, Suite, as_numbers, binary

_ROUNDS = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500)
_GAMMAS = (0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0)
_SPEED = "Table 3, run time"
_SIZES = (100, 150, 200, 250, 300, 350, 400, 1000, 2000, 4000)  # the paper ends at 400
_BY_ROUND = "Figure 2, rounds"
_BY_ROUND_SETS = ("vehicle0", "insurance-30pct", "cod-rna-59k")
_MOST_ROUNDS = 200  # of Figure 2
_PAPERS_FORM, _EXPLICIT = "PNU-AUCBoost, paper's form", "PNU-AUCBoost, explicit pairs"
_RISKS = {"PNUAUC": "pnu", "Samult": "samult", "LSAUC": "pn"}


class PNUAUCSuite(Suite):
    """PNU-AUCBoost and its rivals with 15% of the labels."""

    name = "pnu-auc"
    title = "PNU-AUCBoost: Tables 2 and 3, Figures 1 and 2, rerun"
    datasets = (
        *("pima", "ring", "vehicle0", "credit-g", "glass1", "wisconsin", "wdbc", "shuttle-c0-vs-c4", "monk-2", "sonar"),
        *("surgical-deepnet", "insurance-30pct", "cod-rna-59k"),
        *(f"simulated-{n}" for n in _SIZES),
    )
    settings = ("", _SPEED)
    metrics = {_SPEED: "seconds of a fit of 100 rounds"}
    methods = (
        *("PNU-AUCBoost", "RBAUC", "PNUAUC", "Samult", "PNUAB", "LSAUC", "PNU-AUCBoost, defaults"),
        *(_EXPLICIT, _PAPERS_FORM),
    )
    curves = (
        Curve(
            "Figure 2",
            "AUC of the labeled training rows and of the test rows by the number of weak learners; the band is the "
            "range over the draws, as in the paper. The paper: both rise fast and level off, and the test AUC does not "
            "fall afterwards.",
            "weak learners",
            {_BY_ROUND: 0},
        ),
    )
    repeats = 15
    published_repeats = 15
    protocol = (
        "Stratified 70/15/15 split into training, validation and test rows, 85% of the training labels hidden, 15 "
        "draws. "
        "Parameters are those with the best mean validation AUC over the draws (gamma, rho and rounds of the boosters; "
        "gamma and penalty of the least-squares methods); the score is the mean test AUC."
    )
    deviations = (
        "phoneme, vehicle2 and numerai are not to be had; insurance is a stratified 30%, cod-rna the file of "
        "59,535 rows.",
        "ring is damaged at its source (decimal points lost), as it was for the paper.",
        "Boosters take the exact step and 30% of the columns a round (our defaults), not the paper's bound.",
        "Least squares on 200 Gaussian bumps, columns scaled; the paper's prior is the labeled share, as here.",
        "The paper does not print its grids; ours are in the source of the suite.",
        "The last column of the first table is PNU-AUCBoost without any tuning.",
        "Table 3: 85% of the labels hidden and 100 rounds (the paper says neither), one thread. Before: weights of all "
        "pairs, in NumPy. After: the paper's form of our booster, which is compiled; it bins columns of more than 255 "
        "values. The least of three fits counts. Sizes beyond 400 are ours.",
        "wdbc is 2.7 standard errors below the paper. It is not the tuning: with the parameters that are best on the "
        "test rows themselves it would be .978 here, .973 in the paper's form, so no stumps reach .987 on these 15 "
        "draws.",
        "insurance is .03 below the paper, and cannot be otherwise: histogram boosting that sees all labels reaches "
        ".858 on these rows. The paper's rows must be others.",
        "Unlabeled rows do not help here: PNU-AUCBoost is .0003 above RBAUC, which sees labeled rows alone. The "
        "least-squares methods, with scaled columns and 200 bumps, are far better than in the paper.",
        "Figure 2: vehicle0 and cod-rna stand in for vehicle2 and phoneme. Nothing is tuned: our defaults, and the "
        "paper's form (bound step, all columns) with our gamma.",
    )

    def has(self, dataset, setting, method):
        if setting == _SPEED:
            return dataset.startswith("simulated") and method in (_EXPLICIT, _PAPERS_FORM)
        if setting == _BY_ROUND:
            return dataset in _BY_ROUND_SETS and method in ("PNU-AUCBoost, defaults", _PAPERS_FORM)
        return not dataset.startswith("simulated") and method not in (_EXPLICIT, _PAPERS_FORM)

    def problem(self, dataset, setting, repeat):
        if setting == _SPEED:
            X, y = _simulate(int(dataset.split("-")[1]), repeat)
            few, rows = fewlabel.hide_labels(y, labeled=0.15, random_state=repeat), np.arange(len(y))
            return Problem(X, y, rows, few, rows, name=dataset, setting=setting)
        data, y = binary(dataset)
        train, rest = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=repeat)
        validation, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=repeat)
        few = fewlabel.hide_labels(y[train], labeled=0.15, random_state=repeat)
        return Problem(as_numbers(data, train), y, train, few, test, validation, dataset, setting)

    def outcome(self, problem, method, seed):
        """Scores of validation and test rows for each setting of the parameters."""
        rows = problem.X[problem.train]
        if problem.setting == _SPEED:
            return _least_time(_FORMS[method], rows, problem.few)
        if problem.setting == _BY_ROUND:
            return _by_round(rows, problem, method, seed)
        both = problem.X[np.concatenate([problem.validation, problem.test])]
        if method in _RISKS:
            scaler = StandardScaler().fit(rows)
            return dict(_least_squares(scaler.transform(rows), problem.few, scaler.transform(both), method, seed))
        return dict(_boosters(rows, problem.few, both, method, seed))

    def measure(self, problem, outcome):
        if problem.setting == _SPEED:
            scores, seconds = outcome
            return {"score": seconds, "auc": roc_auc_score(problem.y[problem.test], scores)}
        if problem.setting == _BY_ROUND:
            truth = {"labeled training rows": problem.few[problem.known], "test rows": problem.y[problem.test]}
            rounds = list(range(1, _MOST_ROUNDS + 1))
            aucs = {of: [roc_auc_score(truth[of], scores) for scores in outcome[of]] for of in truth}
            return {
                "score": aucs["test rows"][-1],
                "curves": {f"AUC, {of}": [rounds, values] for of, values in aucs.items()},
            }
        n = len(problem.validation)
        y_validation, y_test = problem.y[problem.validation], problem.y[problem.test]
        grid = {k: [roc_auc_score(y_validation, s[:n]), roc_auc_score(y_test, s[n:])] for k, s in outcome.items()}
        return {"grid": grid} if len(grid) > 1 else {"score": next(iter(grid.values()))[1]}

    def paper(self, dataset, setting, method):
        if setting == _SPEED:
            table, n = self.numbers["table3"], int(dataset.split("-")[1])
            seconds = table["explicit_pairs" if method == _EXPLICIT else "accelerated"]
            return (seconds[table["rows"].index(n)], np.nan) if n in table["rows"] else None
        row = self.numbers["table2"].get(dataset)
        columns = self.numbers["columns"]
        return tuple(row[columns.index(method)]) if row and method in columns else None


def _accelerated(X, few):
    model = fewlabel.PNUAUCBoostClassifier.paper(n_estimators=100, gamma=0.9, rho=0.0)
    return model.fit(X, few).decision_function(X)


def _least_time(fit, *data, times=3):
    """What a fit gives, and the least time of some: the others had company on the machine."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        scores = fit(*data)
        found.append(time.perf_counter() - start)
    return scores, min(found)


def _boosters(rows, few, both, method, seed):
    if method.endswith("defaults"):
        model = fewlabel.PNUAUCBoostClassifier(random_state=seed).fit(rows, few)
        yield "defaults", model.decision_function(both)
        return
    models = {
        "PNU-AUCBoost": ((g, r) for g, r in product(_GAMMAS, (0.0, 0.02, 0.05))),
        "RBAUC": ((1.0, r) for r in (0.0, 0.02, 0.05)),
        "PNUAB": ((g, None) for g in (0.1, 0.3, 0.5, 0.7, 0.9)),
    }[method]
    for gamma, rho in models:
        if rho is None:
            model = fewlabel.PNUAdaBoostClassifier(max(_ROUNDS), gamma=gamma, random_state=seed)
        else:
            model = fewlabel.PNUAUCBoostClassifier(max(_ROUNDS), gamma=gamma, rho=rho, random_state=seed)
        stages = list(model.fit(rows, few).staged_decision_function(both))
        for rounds in _ROUNDS:  # a run that ended early stays where it ended
            scores = stages[min(rounds, len(stages)) - 1] if stages else np.zeros(len(both))
            yield f"gamma {gamma:g}, rho {rho or 0:g}, {rounds} rounds", scores


def _least_squares(rows, few, both, method, seed):
    gammas = (1.0,) if method == "LSAUC" else _GAMMAS
    for gamma, alpha in product(gammas, _ALPHAS):
        model = fewlabel.LeastSquaresAUCClassifier(
            _RISKS[method],
            basis="nystroem",
            n_components=min(200, len(rows)),
            gamma=gamma,
            alpha=alpha,
            random_state=seed,
        )
        yield f"gamma {gamma:g}, alpha {alpha:g}", model.fit(rows, few).decision_function(both)


def _by_round(rows, problem, method, seed):
    """Scores of the labeled training rows and of the test rows after each round."""
    form = {"n_estimators": _MOST_ROUNDS, "random_state": seed}
    papers = method == _PAPERS_FORM
    model = fewlabel.PNUAUCBoostClassifier.paper(**form) if papers else fewlabel.PNUAUCBoostClassifier(**form)
    model.fit(rows, problem.few)
    parts = {"labeled training rows": rows[problem.known], "test rows": problem.X[problem.test]}
    stages = {of: list(model.staged_decision_function(part)) for of, part in parts.items()}
    # A run that ended early stays where it ended.
    return {of: (found + found[-1:] * _MOST_ROUNDS)[:_MOST_ROUNDS] for of, found in stages.items()}


def _simulate(n, seed):
    """The rows of Table 3; its N(0, 0.01) are read as variances, else hardly any row would be positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=0.1, size=(n, 10))
    score = X @ rng.normal(size=10) + rng.normal(scale=0.01, size=n)
    y = (score > 0.1).astype(int)
    return X, y


def explicit_pairs(X, few, rounds=100, gamma=0.9):
    """PNU-AUCBoost with a weight for every pair, as before the paper's acceleration; the search itself is presorted.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    few : ndarray of shape (n,)
        1, 0, or -1 for unlabeled.
    rounds : int, default=100
    gamma : float, default=0.9

    Returns
    -------
    ndarray of shape (n,)
        Scores of the rows.
    """
    rows = {group: np.flatnonzero(few == group) for group in (1, -1, 0)}
    share = {(1, 0): gamma, (1, -1): (1 - gamma) / 2, (-1, 0): (1 - gamma) / 2}
    sizes = {(a, b): (len(rows[a]), len(rows[b])) for a, b in share}
    weights = {pair: np.full(sizes[pair], share[pair] / np.prod(sizes[pair])) for pair in share}
    order = np.argsort(X, axis=0)
    ordered = np.take_along_axis(X, order, axis=0)
    scores = np.zeros(len(X))
    for _ in range(rounds):
        pull = np.zeros(len(X))
        for (a, b), D in weights.items():
            pull[rows[a]] += D.sum(axis=1)
            pull[rows[b]] -= D.sum(axis=0)
        edges = np.where(ordered[1:] > ordered[:-1], -np.cumsum(pull[order], axis=0)[:-1], 0.0)
        k, column = np.unravel_index(np.abs(edges).argmax(), edges.shape)
        fires = (X[:, column] > ordered[k, column]) == (edges[k, column] > 0)
        step = np.arctanh(abs(edges[k, column]))
        scores += step * fires
        for (a, b), D in weights.items():
            D *= np.exp(-step * (fires[rows[a]][:, None].astype(float) - fires[rows[b]]))
        total = sum(D.sum() for D in weights.values())
        for D in weights.values():
            D /= total
    return scores


_FORMS = {_EXPLICIT: explicit_pairs, _PAPERS_FORM: _accelerated}
