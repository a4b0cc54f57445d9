"""Seed paper of Ada-PU: accuracy from positives and unlabeled rows (Figures 1, 2, 3 and 5, which print no numbers)."""

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.bench.suite import Curve, Problem, Suite, as_numbers, binary, table

_POSITIVES = {"wdbc": 100}  # labeled; 1,000 elsewhere
_NUMERIC_ONLY = ("unsw-nb15-test",)
_ROUNDS = 100  # of the paper's boosters
_LATE_ROUNDS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80, 100, 140, 200, 280, 400, 600)  # of our default
_PASSES = (1, 3, 10, 30)
_TABLES = (
    *("Ada-PU", "Ada-PU, paper's form", "uPU, linear", "nnPU, linear", "uPU, MLP", "nnPU, MLP"),
    *("AdaBoost, P against U", "supervised (ceiling)"),
)
_FEW_OF_BOTH = ("AdaBoost, few of both", "GBDT, few of both", "XGBoost, few of both")
_CUTS: dict[str, dict] = {"Ada-PU, one random cut": {"n_thresholds": 1}, "Ada-PU, all cuts": {"splitter": "best"}}
_RATES: dict[str, dict] = {
    f"Ada-PU, learning rate {r:g}": {"learning_rate": r} for r in (0.001, 0.01, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0)
}
_FIGURES = {  # settings of their own, and their methods
    "Figure 1, rounds": ("Ada-PU", "Ada-PU, paper's form", "uPU, MLP", "nnPU, MLP"),
    "Figure 2, rounds": ("Ada-PU", "Ada-PU, paper's form", *_FEW_OF_BOTH),
    "Figure 3, cuts": ("Ada-PU, paper's form", *_CUTS),
    "Figure 5, learning rates": tuple(_RATES),
}


class AdaPUSuite(Suite):
    """Ada-PU, uPU, nnPU, and what a supervised booster would reach."""

    name = "ada-pu"
    title = "Ada-PU: positives and unlabeled rows; Figures 1, 2, 3 and 5"
    metric = "test accuracy in percent"
    datasets = ("wdbc", "unsw-nb15-test", "nsl-kdd-20pct", "make_pu")
    settings = ("true prior", "estimated prior")
    methods = (*_TABLES, *_FEW_OF_BOTH, *_CUTS, *_RATES)
    curves = (
        Curve(
            "Figure 1",
            "Test accuracy by rounds of the boosters, or by passes of the networks. The paper: Ada-PU slightly "
            "outperforms nnPU and uPU.",
            "rounds or passes",
            {"Figure 1, rounds": 0},
            log=True,
        ),
        Curve(
            "Figure 2",
            "Ada-PU, and boosters of stumps that learn from few labeled rows of both classes. The paper: Ada-PU "
            "outperforms them but for UNSW-NB15, where it is 1% behind. Ours (5 draws): at 600 rounds it is ahead on "
            "breast cancer and UNSW-NB15, and behind on the two others; the paper's form is behind on all but make_pu.",
            "rounds",
            {"Figure 2, rounds": 0},
            log=True,
        ),
        Curve(
            "Figure 3",
            "Ada-PU in the paper's form with 10 random cuts a column and round, with one, and with all. The paper: "
            "random cuts improve it to a certain extent.",
            "rounds",
            {"Figure 3, cuts": 0},
        ),
        Curve(
            "Figure 5",
            "Ada-PU in the paper's form with eight learning rates. The paper: 1 is severely worse on UNSW-NB15 and "
            "breast cancer, the others are alike. Ours (5 draws): rates of 0.2 and more end near one class on "
            "three of the four tables, the larger the sooner, and 0.1 on two. Our defaults stop before, and set the "
            "threshold by the prior.",
            "rounds",
            {"Figure 5, learning rates": 0},
        ),
    )
    needs = {"uPU, MLP": "torch", "nnPU, MLP": "torch", "XGBoost, few of both": "xgboost"}
    repeats = 5
    protocol = (
        "1,000 positives of the training part labeled (100 of wdbc, which has too few), all training rows "
        "unlabeled, 20% held "
        "out, 5 draws; each method with the true prior of the unlabeled rows, then with the estimated one. "
        "The figures are with the true prior, over 100 rounds (our defaults: 600). Boosters of both classes see those "
        "positives and (pi_n / 2 pi_p)^2 times as many negatives, with stumps and learning rate 1, as in the paper."
    )
    deviations = (
        "The figures of the paper are curves without numbers. Its text: Ada-PU slightly outperforms nnPU-MLP, "
        "nnPU-linear and "
        "uPU (Figure 1); learning rate 1 is severely worse (Figure 5).",
        "nsl-kdd stands in for the UNSW-NB15 training part, make_pu (48,842 x 14, prior 0.24) for adult-sized "
        "tables; CIFAR-10 and "
        "Epsilon are not to be had. Positives are benign in wdbc, attacks elsewhere.",
        "Networks are drawn at 1, 3, 10 and 30 passes (100 on wdbc); the linear models go to the optimum, and have no "
        "passes. Figure 4 (which columns are chosen) is left out.",
        "Networks have one hidden layer of 100 and 100 passes (30 on large tables), fewer than the paper's.",
        "Defaults of Ada-PU were chosen on other draws of these same tables: on other data expect less.",
    )

    def has(self, dataset, setting, method):
        if setting in _FIGURES or method not in _TABLES:
            return method in _FIGURES.get(setting, ())
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
        negatives = train[:0]
        if setting == "Figure 2, rounds":
            prior = y[train].mean()
            n_negatives = max(2, round(((1 - prior) / (2 * prior)) ** 2 * n_positives))
            negatives = np.random.default_rng([draw, 1]).choice(train[y[train] == 0], n_negatives, replace=False)
        few = np.r_[np.ones(len(positives), dtype=int), np.zeros(len(negatives), dtype=int), np.full(len(train), -1)]
        return Problem(X, y, np.r_[positives, negatives, train], few, test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        rows, few = problem.X[problem.train], problem.few
        if problem.setting in _FIGURES:
            return self._by_round(problem, method, seed)
        if method.startswith("supervised"):  # the ceiling: the only one that sees true labels of unlabeled rows
            part = few == -1
            model = _adaboost(seed).fit(rows[part], problem.y[problem.train][part])
        elif method.startswith("AdaBoost"):
            model = _adaboost(seed).fit(rows, np.where(few == 1, 1, 0))
        else:
            model = _positive_unlabeled(method, self._prior(problem, seed), len(rows), seed).fit(rows, few)
        return model.decision_function(problem.X[problem.test])

    def _by_round(self, problem, method, seed):
        """Rounds, and which test rows are called positive after each."""
        rows, few, tests = problem.X[problem.train], problem.few, problem.X[problem.test]
        if method in _FEW_OF_BOTH:
            return _few_of_both(method, rows[problem.known], few[problem.known], tests, seed)
        pu, prior = few != 0, self._prior(problem, seed)  # without the labeled negatives of Figure 2
        rows, few = rows[pu], few[pu]
        if method.endswith("MLP"):
            risk = method.split(",")[0].lower()
            passes = (*_PASSES, 100) if len(rows) < 5000 else _PASSES  # as in the tables
            models = (fewlabel.NeuralPUClassifier(risk, prior=prior, max_iter=n, random_state=seed) for n in passes)
            return passes, [model.fit(rows, few).predict(tests) == 1 for model in models]
        if method == "Ada-PU":  # its threshold depends on the round, so it stops at each and goes on
            model = fewlabel.PUAdaBoostClassifier(prior=prior, warm_start=True, random_state=seed)
            stops = (model.set_params(n_estimators=n).fit(rows, few) for n in _LATE_ROUNDS)
            return _LATE_ROUNDS, [model.predict(tests) == 1 for model in stops]
        form = {**_CUTS, **_RATES}.get(method, {})
        model = fewlabel.PUAdaBoostClassifier.paper(n_estimators=_ROUNDS, prior=prior, random_state=seed, **form)
        stages = [scores > 0 for scores in model.fit(rows, few).staged_decision_function(tests)]
        return _every_round(stages or [np.ones(len(tests), dtype=bool)])

    def _prior(self, problem, seed):
        if problem.setting != "estimated prior":
            return float(problem.y[problem.train][problem.few == -1].mean())
        return fewlabel.estimate_class_prior(problem.X[problem.train], problem.few, random_state=seed).prior

    def measure(self, problem, outcome):
        y = problem.y[problem.test]
        if problem.setting in _FIGURES:
            rounds, stages = outcome
            scores = [100 * float(np.mean(stage == y)) for stage in stages]
            return {"score": scores[-1], "curves": {self.metric: [list(rounds), scores]}}
        return {"score": 100 * float(np.mean((outcome > 0) == y)), "auc": roc_auc_score(y, outcome)}

    def warm_up(self, problem, method):
        """Ada-PU's kernels compile on any rows."""
        if method.startswith("Ada-PU"):
            rows = np.r_[:20, len(problem.train) - 20 : len(problem.train)]
            rows = rows[problem.few[rows] != 0]
            X = problem.X[problem.train[rows]]
            fewlabel.PUAdaBoostClassifier(2, prior=0.3, max_features=1.0).fit(X, problem.few[rows])


def _adaboost(seed):
    return fewlabel.PNUAdaBoostClassifier(100, learning_rate=1.0, max_features=1.0, gamma=1.0, random_state=seed)


def _few_of_both(method, rows, labels, tests, seed):
    """The paper's boosters of stumps, after each round."""
    if method.startswith("XGBoost"):
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=_ROUNDS, max_depth=1, learning_rate=1.0, n_jobs=1, random_state=seed)
        model.fit(rows, labels)
        return _every_round([model.predict(tests, iteration_range=(0, t + 1)) == 1 for t in range(_ROUNDS)])
    if method.startswith("GBDT"):
        model = GradientBoostingClassifier(n_estimators=_ROUNDS, max_depth=1, learning_rate=1.0, random_state=seed)
    else:
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=_ROUNDS, random_state=seed)
    return _every_round([stage == 1 for stage in model.fit(rows, labels).staged_predict(tests)])


def _every_round(stages):
    """A run that ended early stays where it ended."""
    return range(1, _ROUNDS + 1), (stages + stages[-1:] * _ROUNDS)[:_ROUNDS]


def _positive_unlabeled(method, prior, n_rows, seed):
    if method == "Ada-PU":
        return fewlabel.PUAdaBoostClassifier(prior=prior, random_state=seed)
    if method.startswith("Ada-PU"):
        return fewlabel.PUAdaBoostClassifier.paper(prior=prior, random_state=seed)
    risk = method.split(",")[0].lower()
    if method.endswith("MLP"):
        passes = 100 if n_rows < 5000 else 30
        return fewlabel.NeuralPUClassifier(risk, prior=prior, max_iter=passes, random_state=seed)
    return fewlabel.LinearPUClassifier(risk, prior=prior, random_state=seed)
