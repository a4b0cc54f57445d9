"""Seed paper of AUC dual coordinate descent: its Table 2, and the penalties behind its Figure 1."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from fewlabel import LinearAUCClassifier, LinearAUCClassifierCV
from fewlabel.bench.suite import Problem, Suite, as_numbers, binary

_ALPHAS = np.logspace(-9, 1, 11)
_ROWS = {"letter": 15_000, "pendigits": 7_494}  # the training parts, as in the paper
_FOLDS = 5


class AUCDCDSuite(Suite):
    """The paper's solvers, ours, and an honest choice of the penalty."""

    name = "auc-dcd"
    title = "AUC by dual coordinate descent: Table 2, rerun"
    datasets = ("sonar", "fourclass", "german.numer", "dna", "svmguide4", "vowel", "pendigits", "letter")
    methods = ("oam-inf", "sdcd", "sdcd-perm", "msgd", "exact, scaled", "cross-validated, scaled")
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
        'Columns of the last two are scaled; the last four of the paper\'s are one pass, "exact" is the optimum.',
    )

    def problem(self, dataset, setting, repeat):
        data, y = binary(dataset)
        n = _ROWS.get(dataset, len(y))
        y = y[:n]
        X = as_numbers(data.iloc[:n], np.arange(n))
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=repeat // _FOLDS).split(X, y)
        train, test = list(folds)[repeat % _FOLDS]
        return Problem(X, y, train, y[train], test, name=dataset)

    def outcome(self, problem, method, seed):
        rows, tests = problem.X[problem.train], problem.X[problem.test]
        scaler = None
        if method.endswith("scaled"):
            scaler = StandardScaler()
        elif problem.name in ("sonar", "letter"):
            scaler = MinMaxScaler((-1, 1))
        if scaler is not None:
            rows, tests = scaler.fit(rows).transform(rows), scaler.transform(tests)
        if method.startswith("cross"):
            model = LinearAUCClassifierCV(random_state=seed).fit(rows, problem.few)
            return {"chosen inside": model.decision_function(tests)}
        solver = method.split(",")[0]
        passes = None if solver == "exact" else 1
        models = {a: LinearAUCClassifier(a, solver=solver, max_iter=passes, random_state=seed) for a in _ALPHAS}
        return {f"alpha {a:.0e}": m.fit(rows, problem.few).decision_function(tests) for a, m in models.items()}

    def measure(self, problem, outcome):
        aucs = {key: roc_auc_score(problem.y[problem.test], scores) for key, scores in outcome.items()}
        # Validation and test are the same number here: the paper's choice looks at the test rows.
        return {"grid": {k: [v, v] for k, v in aucs.items()}} if len(aucs) > 1 else {"score": next(iter(aucs.values()))}

    def paper(self, dataset, setting, method):
        columns, rows = self.numbers["table2"]["columns"], self.numbers["table2"]
        return tuple(rows[dataset][columns.index(method)]) if method in columns and dataset in rows else None
