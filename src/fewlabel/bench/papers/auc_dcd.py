"""Seed paper of AUC dual coordinate descent: Table 2, and Figures 1 (penalties) and 2 (convergence)."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from fewlabel import LinearAUCClassifier, LinearAUCClassifierCV
from fewlabel.bench.suite import Curve, Problem, Suite, as_numbers, binary
from fewlabel.kernels.linear_auc import coordinate_steps, stochastic_steps

_ALPHAS = np.logspace(-9, 1, 11)
_ROWS = {"letter": 15_000, "pendigits": 7_494}  # the training parts, as in the paper
_FOLDS = 5
_PAPERS = ("oam-inf", "sdcd", "sdcd-perm", "msgd")
_STEPS = "Figure 2, steps"
_STEPS_SETS = ("sonar", "svmguide4", "vowel")
_RECORD_EVERY, _N_RECORDS = 100, 50
_STEPS_ALPHA = 1e-2


class AUCDCDSuite(Suite):
    """The paper's solvers, ours, and an honest choice of the penalty."""

    name = "auc-dcd"
    title = "AUC by dual coordinate descent: Table 2, Figures 1 and 2, rerun"
    datasets = ("sonar", "fourclass", "german.numer", "dna", "svmguide4", "vowel", "pendigits", "letter")
    methods = (*_PAPERS, "exact, scaled", "cross-validated, scaled")
    curves = (
        Curve(
            "Figure 1",
            "Test AUC by penalty, the mean and range over the folds; the paper prints no sentence about it.",
            "penalty",
            {"": 0},
            _PAPERS,
            log=True,
        ),
        Curve(
            "Figure 2",
            "1 - AUC of the test rows, and how far the objective is above its minimum, by the number of steps. The "
            "paper: oam-inf is clearly the slowest, msgd the fastest on sonar, and sdcd slightly faster than sdcd-perm "
            "in the objective. Ours: oam-inf is the slowest as well, but msgd is the fastest on svmguide4 instead, and "
            "sdcd-perm is ahead of sdcd on svmguide4 and vowel.",
            "steps",
            {_STEPS: 0},
        ),
    )
    repeats = 20
    published_repeats = 20
    protocol = (
        "5 folds x 4, stratified: a repeat is a fold. One pass (as many steps as pairs) of each of the paper's "
        "solvers on raw "
        "columns, and the penalty of 1e-9, ..., 1e1 with the best mean *test* AUC, as in the paper."
    )
    deviations = (
        "svmguide3 and sector are not to be had. sonar and letter are brought to [-1, 1], as the LIBSVM files are.",
        "The paper names no positive class: taken is the one with its imbalance.",
        'The penalty is chosen on test rows, as the paper does, in all columns but the last: "cross-validated" '
        "chooses it "
        "inside the training rows, and is the number to believe.",
        'Columns of the last two are scaled. The four of the paper make one pass; "exact" is the optimum.',
        "Figure 2: the paper does not say at which penalty; ours is 0.01 for all. The minimum is that of our exact "
        "solver, not the smallest value met, and the difference is drawn as its logarithm.",
    )

    def has(self, dataset, setting, method):
        return setting == "" or (dataset in _STEPS_SETS and method in _PAPERS)

    def problem(self, dataset, setting, repeat):
        data, y = binary(dataset)
        n = _ROWS.get(dataset, len(y))
        y = y[:n]
        X = as_numbers(data.iloc[:n], np.arange(n))
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=repeat // _FOLDS).split(X, y)
        train, test = list(folds)[repeat % _FOLDS]
        return Problem(X, y, train, y[train], test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        rows, tests = problem.X[problem.train], problem.X[problem.test]
        scaler = None
        if method.endswith("scaled"):
            scaler = StandardScaler()
        elif problem.name in ("sonar", "letter"):
            scaler = MinMaxScaler((-1, 1))
        if scaler is not None:
            rows, tests = scaler.fit(rows).transform(rows), scaler.transform(tests)
        if problem.setting == _STEPS:
            path = _by_step(method, rows, problem.few == 1, _STEPS_ALPHA, np.random.default_rng(seed))
            exact = LinearAUCClassifier(_STEPS_ALPHA, tol=1e-6, max_iter=2000).fit(rows, problem.few)
            excess = [_objective(rows, problem.few == 1, w) / exact.objective_ - 1 for w in path]
            return {"scores": [tests @ w for w in path], "excess": excess}
        if method.startswith("cross"):
            model = LinearAUCClassifierCV(random_state=seed).fit(rows, problem.few)
            return {"chosen inside": model.decision_function(tests)}
        solver = method.split(",")[0]
        passes = None if solver == "exact" else 1
        models = {a: LinearAUCClassifier(a, solver=solver, max_iter=passes, random_state=seed) for a in _ALPHAS}
        return {f"alpha {a:.0e}": m.fit(rows, problem.few).decision_function(tests) for a, m in models.items()}

    def measure(self, problem, outcome):
        if problem.setting == _STEPS:
            steps = list(range(_RECORD_EVERY, _RECORD_EVERY * _N_RECORDS + 1, _RECORD_EVERY))
            by_step = [roc_auc_score(problem.y[problem.test], scores) for scores in outcome["scores"]]
            excess = np.log10(np.maximum(outcome["excess"], 1e-6)).tolist()
            return {
                "score": by_step[-1],
                "curves": {
                    "1 - AUC of test rows": [steps, [1 - auc for auc in by_step]],
                    "objective, log10 of excess": [steps, excess],
                },
            }
        aucs = {key: roc_auc_score(problem.y[problem.test], scores) for key, scores in outcome.items()}
        # Validation and test are the same number here: the paper's choice looks at the test rows.
        return {"grid": {k: [v, v] for k, v in aucs.items()}} if len(aucs) > 1 else {"score": next(iter(aucs.values()))}

    def settle(self, frame):
        """Besides the usual, the curves of Figure 1: they are what the choice of the penalty looks at."""
        if "grid" in frame:
            frame = frame.copy()
            by_penalty = frame["grid"].map(_curve_of_grid)
            frame["curves"] = frame["curves"].combine_first(by_penalty) if "curves" in frame else by_penalty
        return super().settle(frame)

    def paper(self, dataset, setting, method):
        columns, rows = self.numbers["table2"]["columns"], self.numbers["table2"]
        return tuple(rows[dataset][columns.index(method)]) if method in columns and dataset in rows else None


def _curve_of_grid(grid):
    if not isinstance(grid, dict):
        return None
    return {"test AUC": [[float(key.split()[1]) for key in grid], [auc for _, auc in grid.values()]]}


def _by_step(method, rows, positive, alpha, rng):
    """Coefficients after every 100 steps; the steps are those of the solvers, whose own unit is a pass."""
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    n_pairs, n_steps = len(positives) * len(negatives), _RECORD_EVERY * _N_RECORDS
    if method == "oam-inf":
        pairs = _as_they_come(positive, rng)[:n_steps]
    elif method == "sdcd-perm":
        pairs = rng.permutation(n_pairs)[:n_steps]
    else:
        pairs = rng.integers(n_pairs, size=n_steps)
    w, duals, path = np.zeros(rows.shape[1]), np.zeros(n_pairs), []
    for done in range(0, n_steps, _RECORD_EVERY):
        part = pairs[done : done + _RECORD_EVERY]
        if method == "msgd":
            stochastic_steps(rows, positives, negatives, part, w, done, alpha, False)
            path.append(w / (done + _RECORD_EVERY))
        else:
            coordinate_steps(rows, positives, negatives, part, duals, w, 1 / (alpha * n_pairs), False)
            path.append(w.copy())
    return path


def _as_they_come(positive, rng):
    """Pairs of online AUC maximization: the rows come in random order, and each meets all earlier ones of the other
    class."""
    place = np.cumsum(positive) - 1, np.cumsum(~positive) - 1  # among the rows of the class
    n_negatives = np.count_nonzero(~positive)
    seen: tuple[list[int], list[int]] = [], []
    pairs = []
    for row in rng.permutation(len(positive)):
        if positive[row]:
            pairs += [place[0][row] * n_negatives + j for j in seen[1]]
            seen[0].append(place[0][row])
        else:
            pairs += [i * n_negatives + place[1][row] for i in seen[0]]
            seen[1].append(place[1][row])
    return np.array(pairs)


def _objective(rows, positive, w):
    """The penalized mean hinge loss over all pairs; the sets of Figure 2 are small."""
    scores = rows @ w
    margins = scores[positive][:, None] - scores[~positive]
    return 0.5 * _STEPS_ALPHA * (w @ w) + np.maximum(1 - margins, 0).mean()
