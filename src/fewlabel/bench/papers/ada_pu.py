"""Seed paper of Ada-PU: accuracy from positives and unlabelled rows (Figures 1, 2 and 5, which print no numbers)."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import fewlabel
from fewlabel.bench.suite import Problem, Suite, as_numbers, binary, table

_POSITIVES = {"wdbc": 100}  # labelled; 1,000 elsewhere
_NUMERIC_ONLY = ("unsw-nb15-test",)


class AdaPUSuite(Suite):
    """Ada-PU, uPU, nnPU, and what a supervised booster would reach."""

    name = "ada-pu"
    title = "Ada-PU: positives and unlabelled rows"
    metric = "test accuracy in percent"
    datasets = ("wdbc", "unsw-nb15-test", "nsl-kdd-20pct", "make_pu")
    settings = ("true prior", "estimated prior")
    methods = (
        *("Ada-PU", "Ada-PU, paper's form", "uPU, linear", "nnPU, linear", "uPU, MLP", "nnPU, MLP"),
        *("AdaBoost, P against U", "supervised (ceiling)"),
    )
    needs = {"uPU, MLP": "torch", "nnPU, MLP": "torch"}
    repeats = 5
    protocol = (
        "1,000 positives of the training part labelled (100 of wdbc, which has too few), all training rows "
        "unlabelled, 20% held "
        "out, 5 draws; each method with the true prior of the unlabelled rows, then with the estimated one."
    )
    deviations = (
        "The figures of the paper are curves without numbers. Its text: Ada-PU slightly outperforms nnPU-MLP, "
        "nnPU-linear and "
        "uPU (Figure 1); learning rate 1 is severely worse (Figure 5).",
        "nsl-kdd stands in for the UNSW-NB15 training part, make_pu (48,842 x 14, prior 0.24) for adult-sized "
        "tables; CIFAR-10 and "
        "Epsilon are not to be had. Positives are benign in wdbc, attacks elsewhere.",
        "Networks have one hidden layer of 100 and 100 passes (30 on large tables), fewer than the paper's.",
        "Defaults of Ada-PU were chosen on other draws of these same tables: on other data expect less.",
    )

    def has(self, dataset, setting, method):
        return setting == self.settings[0] or not method.startswith(("AdaBoost", "supervised"))

    def problem(self, dataset, setting, repeat):
        if dataset == "make_pu":
            X, _, y = fewlabel.make_pu(
                48_842, n_features=14, prior=0.24, separation=1.8, return_true=True, random_state=0
            )
        else:
            data, y = binary(dataset, "benign" if dataset == "wdbc" else table(dataset).positive)
            if dataset in _NUMERIC_ONLY:
                data = data.select_dtypes("number")
            X = as_numbers(data, np.arange(len(y)))
        draw = 60 + repeat  # defaults were looked at on draws before
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=draw)
        n_positives = _POSITIVES.get(dataset, 1000)
        positives = np.random.default_rng(draw).choice(train[y[train] == 1], n_positives, replace=False)
        few = np.r_[np.ones(len(positives), dtype=int), np.full(len(train), -1)]
        return Problem(X, y, np.r_[positives, train], few, test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        rows, few = problem.X[problem.train], problem.few
        if method.startswith("supervised"):  # the ceiling: the only one that sees true labels of unlabelled rows
            part = few == -1
            model = _adaboost(seed).fit(rows[part], problem.y[problem.train][part])
        elif method.startswith("AdaBoost"):
            model = _adaboost(seed).fit(rows, np.where(few == 1, 1, 0))
        else:
            model = _positive_unlabelled(method, self._prior(problem, seed), len(rows), seed).fit(rows, few)
        return model.decision_function(problem.X[problem.test])

    def _prior(self, problem, seed):
        if problem.setting == "true prior":
            return float(problem.y[problem.train][problem.few == -1].mean())
        return fewlabel.estimate_class_prior(problem.X[problem.train], problem.few, random_state=seed).prior

    def measure(self, problem, outcome):
        y = problem.y[problem.test]
        return {"score": 100 * float(np.mean((outcome > 0) == y)), "auc": roc_auc_score(y, outcome)}

    def warm_up(self, problem, method):
        """Ada-PU's kernels compile on any rows."""
        if method.startswith("Ada-PU"):
            rows = np.r_[:20, len(problem.train) - 20 : len(problem.train)]
            X = problem.X[problem.train[rows]]
            fewlabel.PUAdaBoostClassifier(2, prior=0.3, max_features=1.0).fit(X, problem.few[rows])


def _adaboost(seed):
    return fewlabel.PNUAdaBoostClassifier(100, learning_rate=1.0, max_features=1.0, gamma=1.0, random_state=seed)


def _positive_unlabelled(method, prior, n_rows, seed):
    if method == "Ada-PU":
        return fewlabel.PUAdaBoostClassifier(prior=prior, random_state=seed)
    if method.startswith("Ada-PU"):
        return fewlabel.PUAdaBoostClassifier.paper(prior=prior, random_state=seed)
    risk = method.split(",")[0].lower()
    if method.endswith("MLP"):
        passes = 100 if n_rows < 5000 else 30
        return fewlabel.NeuralPUClassifier(risk, prior=prior, max_iter=passes, random_state=seed)
    return fewlabel.LinearPUClassifier(risk, prior=prior, random_state=seed)
