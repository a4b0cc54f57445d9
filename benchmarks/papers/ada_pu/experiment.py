"""Ada-PU (Zhao et al., 2022): accuracy from positives and unlabeled rows; Figures 1 to 5; and our defaults."""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from benchmarks.harness.data import as_numbers, binary, table
from benchmarks.harness.experiment import Experiment, Figure, Problem, Setting, Suite

_DATASETS = ("wdbc", "unsw-nb15-test", "nsl-kdd-20pct", "make_pu")
_METRIC = "test accuracy in percent"
_POSITIVES = {"wdbc": 100}  # labeled; 1,000 elsewhere
_NUMERIC_ONLY = ("unsw-nb15-test",)
_FIRST_DRAW = 60  # the defaults of Ada-PU were chosen on earlier draws
_ROUNDS = 100  # of the paper's boosters
_LATE_ROUNDS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80, 100, 140, 200, 280, 400, 600)  # of our default
_PASSES, _PASSES_SMALL, _LARGE = (1, 3, 10, 30), (1, 3, 10, 30, 100), 5000
_AS_PUBLISHED, _SEPARATE = "Ada-PU, as published", "Ada-PU, normalized separately"
_ON_UNLABELED, _CEILING = "AdaBoost, P against U", "supervised (ceiling)"
_DEEP = "nnPU, six layers"
_RISKS = {"uPU, linear": "upu", "nnPU, linear": "nnpu", "uPU, MLP": "upu", "nnPU, MLP": "nnpu", _DEEP: "nnpu"}
_NETWORKS = ("uPU, MLP", "nnPU, MLP")
_SIX_LAYERS = {"hidden_layer_sizes": [300] * 4, "batch_norm": True, "max_iter": 100}  # input and output are layers too
_FEW_OF_BOTH = ("AdaBoost, few of both", "GBDT, few of both", "XGBoost, few of both")
_SEPARATELY: dict[str, dict] = {_SEPARATE: {"normalization": "separate"}}
_CUTS: dict[str, dict] = {"Ada-PU, one random cut": {"n_thresholds": 1}, "Ada-PU, all cuts": {"splitter": "best"}}
_OLD = "Ada-PU, defaults of version 0.1.0"
_FORMS: dict[str, dict] = {
    "Ada-PU": {},
    _OLD: {"init": "zero", "correction": 0.7},
    "Ada-PU, no stop": {"stop_risk": 0.0},
    "Ada-PU, no correction": {"correction": 0.0},
}
_RATES: dict[str, dict] = {
    f"Ada-PU, learning rate {r:g}": {"learning_rate": r} for r in (0.001, 0.01, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0)
}
_SEPARATE_RATES: dict[str, dict] = {
    f"{method}, normalized separately": {**_SEPARATELY[_SEPARATE], **form} for method, form in _RATES.items()
}
_TABLES_OF_CHOICE = (  # on one draw of which our defaults were chosen
    *("wdbc", "pima", "credit-g", "ringnorm", "sick", "kr-vs-kp", "waveform", "surgical-deepnet", "sonar"),
    *("creditcard-fraud", "default-credit-card", "unsw-nb15-test", "nsl-kdd-20pct", "hypothyroid", "ionosphere"),
    *("vote", "twonorm"),
)
_OTHER_TABLES = (
    *("breast-cancer", "bupa", "colic", "fourclass", "heart-statlog", "mushroom", "tic-tac-toe", "cod-rna-59k"),
    *("give-me-some-credit", "insurance-30pct", "ssl-BCI", "ssl-Digit1", "ssl-USPS", "ssl-g241c", "ssl-g241d"),
)
_OF_OURS = {"Ada-PU": {"init": "prior", "correction": 0.3}}


def _draw(dataset, repeat, data_home, with_negatives=False):
    """Some labeled positives, all training rows as unlabeled ones, and (for Figure 2) some labeled negatives."""
    if dataset == "make_pu":
        X, _, y = fewlabel.make_pu(
            48_842, n_features=14, prior=0.24, separation=1.8, return_true=True, random_state=np.random.RandomState(0)
        )
    else:
        data, y = binary(dataset, data_home, "benign" if dataset == "wdbc" else table(dataset, data_home).positive)
        if dataset in _NUMERIC_ONLY:
            data = data.select_dtypes("number")
        X = as_numbers(data, np.arange(len(y)))
    draw = _FIRST_DRAW + repeat
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=draw)
    n_positives = _POSITIVES.get(dataset, 1000)
    positives = np.random.default_rng(draw).choice(train[y[train] == 1], n_positives, replace=False)
    negatives = train[:0]
    if with_negatives:
        prior = y[train].mean()
        n_negatives = max(2, round(((1 - prior) / (2 * prior)) ** 2 * n_positives))
        negatives = np.random.default_rng([draw, 1]).choice(train[y[train] == 0], n_negatives, replace=False)
    few = np.r_[np.ones(len(positives), dtype=int), np.zeros(len(negatives), dtype=int), np.full(len(train), -1)]
    return Problem(X, y, np.r_[positives, negatives, train], few, test, name=dataset)


def _true_prior(problem):
    return float(problem.y[problem.train][problem.few == -1].mean())


def _warm_up(problem):
    """Ada-PU's kernels compile on any rows."""
    rows = np.r_[:20, len(problem.train) - 20 : len(problem.train)]
    rows = rows[problem.few[rows] != 0]
    X = problem.X[problem.train[rows]]
    fewlabel.PUAdaBoostClassifier(2, prior=0.3, max_features=1.0).fit(X, problem.few[rows])


@dataclass(frozen=True)
class Prior(Setting):
    """Whether the methods get the true class prior of the unlabeled rows."""

    known: bool

    def __str__(self):
        return "true prior" if self.known else "estimated prior"


class Accuracy(Experiment):
    """Ada-PU, uPU, nnPU, and what a supervised booster would reach."""

    name = "Accuracy"
    covers = ("Table 2",)
    metric = _METRIC
    digits = ".1f"
    datasets = _DATASETS
    settings = (Prior(True), Prior(False))
    methods = ("Ada-PU", _OLD, _AS_PUBLISHED, _SEPARATE, *_RISKS, _ON_UNLABELED, _CEILING)
    compared = tuple(("Ada-PU", m) for m in (_OLD, _AS_PUBLISHED, "nnPU, MLP", "nnPU, linear", "uPU, linear"))
    needs = dict.fromkeys((*_NETWORKS, _DEEP), "torch")
    repeats = published_repeats = 5
    constants = {"first_draw": _FIRST_DRAW, "n_positives": {"default": 1000, **_POSITIVES}, "rounds": _ROUNDS}
    own_constants = {**_OF_OURS, _DEEP: _SIX_LAYERS}

    def has(self, dataset, setting, method):
        return setting.known or method not in (_SEPARATE, _DEEP, _ON_UNLABELED, _CEILING)

    def problem(self, dataset, setting, repeat, data_home=None):
        return _draw(dataset, repeat, data_home)

    def outcome(self, problem, setting, method, seed):
        rows, few = problem.X[problem.train], problem.few
        if method == _CEILING:  # the only one that reads true labels of unlabeled rows
            part = few == -1
            model = _adaboost(seed).fit(rows[part], problem.y[problem.train][part])
        elif method == _ON_UNLABELED:
            model = _adaboost(seed).fit(rows, np.where(few == 1, 1, 0))
        else:
            if setting.known:
                prior = _true_prior(problem)
            else:
                prior = fewlabel.estimate_class_prior(rows, few, random_state=seed).prior
            model = _positive_unlabeled(method, prior, len(rows), seed).fit(rows, few)
        return model.decision_function(problem.X[problem.test])

    def measure(self, problem, setting, outcome):
        y = problem.y[problem.test]
        return {"score": 100 * float(np.mean((outcome > 0) == y)), "auc": roc_auc_score(y, outcome)}

    def warm_up(self, problem, setting, method):
        if method.startswith("Ada-PU"):
            _warm_up(problem)


class ByRound(Experiment):
    """Test accuracy after each round (of a network: after some passes), with the true prior."""

    metric = _METRIC
    digits = ".1f"
    datasets = _DATASETS
    tables = False
    needs = {**dict.fromkeys(_NETWORKS, "torch"), "XGBoost, few of both": "xgboost"}
    repeats = published_repeats = 5

    def __init__(self, name, methods, *, covers="", x="rounds", log=False, with_negatives=False):
        self.name, self.methods, self.covers = name, methods, (covers or name,)
        self.figures = (Figure(name, x, log=log),)
        self.with_negatives = with_negatives
        own = {"with_negatives": with_negatives, "late_rounds": _LATE_ROUNDS, "passes": _PASSES_SMALL}
        self.constants, self.own_constants = {**Accuracy.constants, **own}, _OF_OURS

    def problem(self, dataset, setting, repeat, data_home=None):
        return _draw(dataset, repeat, data_home, self.with_negatives)

    def outcome(self, problem, setting, method, seed):
        """Rounds, and which test rows are classified as positive after each."""
        rows, few, tests = problem.X[problem.train], problem.few, problem.X[problem.test]
        if method in _FEW_OF_BOTH:
            return _few_of_both(method, rows[problem.known], few[problem.known], tests, seed)
        pu, prior = few != 0, _true_prior(problem)  # without the labeled negatives of Figure 2
        rows, few = rows[pu], few[pu]
        if method in _NETWORKS:
            passes = _PASSES_SMALL if len(rows) < _LARGE else _PASSES  # as in the table
            options = {"prior": prior, "random_state": seed}
            models = (fewlabel.NeuralPUClassifier(_RISKS[method], max_iter=n, **options) for n in passes)
            return passes, [model.fit(rows, few).predict(tests) == 1 for model in models]
        if method in _FORMS:  # the threshold depends on the round, so the fit stops at each and continues
            model = fewlabel.PUAdaBoostClassifier(prior=prior, warm_start=True, random_state=seed, **_FORMS[method])
            stops = (model.set_params(n_estimators=n).fit(rows, few) for n in _LATE_ROUNDS)
            return _LATE_ROUNDS, [model.predict(tests) == 1 for model in stops]
        model = _paper(method, prior, seed).fit(rows, few)
        stages = [scores > 0 for scores in model.staged_decision_function(tests)]
        return _every_round(stages or [np.ones(len(tests), dtype=bool)])

    def measure(self, problem, setting, outcome):
        rounds, stages = outcome
        scores = [100 * float(np.mean(stage == problem.y[problem.test])) for stage in stages]
        return {"score": scores[-1], "curves": {self.metric: [list(rounds), scores]}}

    def warm_up(self, problem, setting, method):
        if method.startswith("Ada-PU"):
            _warm_up(problem)


class ChosenColumns(Experiment):
    """Which columns the rounds choose: how many different ones, and how often the one chosen most."""

    name = "Figure 4"
    covers = ("Figure 4",)
    metric = "different columns among those of the rounds so far"
    digits = ".1f"
    datasets = ("unsw-nb15-test", "wdbc")
    methods = (_AS_PUBLISHED, *_CUTS)
    comparable = False
    repeats = 5
    published_repeats = 1
    figures = (Figure("Figure 4", "rounds"),)
    constants = Accuracy.constants

    def problem(self, dataset, setting, repeat, data_home=None):
        return _draw(dataset, repeat, data_home)

    def outcome(self, problem, setting, method, seed):
        model = _paper(method, _true_prior(problem), seed).fit(problem.X[problem.train], problem.few)
        return model.splits_["column"].ravel()

    def measure(self, problem, setting, outcome):
        so_far = [len(np.unique(outcome[: t + 1])) for t in range(len(outcome))]
        most = 100 * float(np.bincount(outcome).max() / len(outcome))
        rounds = list(range(1, len(outcome) + 1))
        return {"score": so_far[-1], "most_chosen": most, "curves": {self.metric: [rounds, so_far]}}

    def warm_up(self, problem, setting, method):
        _warm_up(problem)


class Ranking(Experiment):
    """Our own experiment: how the start value, the correction and the stop rule change the ranking."""

    compared = (("Ada-PU", _OLD), ("Ada-PU", _ON_UNLABELED), ("Ada-PU", "Ada-PU, no correction"))
    repeats = 5
    constants = {"first_draw": 1, "most_positives": 100, "most_rows": 4000, "n_frauds": 300, "n_others": 6000}
    own_constants = _OF_OURS

    def __init__(self, name, datasets, methods):
        self.name, self.datasets, self.methods = name, datasets, methods

    def problem(self, dataset, setting, repeat, data_home=None):
        """100 labeled positives, or half of them; up to 4,000 training rows, all of them unlabeled; test rows alike."""
        data, y = binary(dataset, data_home)
        repeat += self.constants["first_draw"]  # the defaults were chosen on draw 0
        rng = np.random.default_rng(repeat)
        rows = rng.permutation(len(y))
        if dataset == "creditcard-fraud":  # 492 frauds among 284,807 rows
            frauds, others = rows[y[rows] == 1], rows[y[rows] == 0]
            n, m = self.constants["n_frauds"], self.constants["n_others"]
            train, test = np.r_[frauds[:n], others[:m]], np.r_[frauds[n:], others[m : 2 * m]]
        else:
            parts = train_test_split(rows, test_size=0.3, stratify=y[rows], random_state=repeat)
            train, test = (part[: self.constants["most_rows"]] for part in parts)
        positives = train[y[train] == 1]
        n_labeled = min(self.constants["most_positives"], len(positives) // 2)
        labeled = rng.choice(positives, n_labeled, replace=False)
        few = np.r_[np.ones(n_labeled, dtype=int), np.full(len(train), -1)]
        return Problem(as_numbers(data, train), y, np.r_[labeled, train], few, test, name=dataset)

    def outcome(self, problem, setting, method, seed):
        rows, few = problem.X[problem.train], problem.few
        if method == _ON_UNLABELED:
            model, few = _adaboost(seed), np.where(few == 1, 1, 0)
        else:
            model = _positive_unlabeled(method, _true_prior(problem), len(rows), seed)
        return model.fit_ranking(rows, few).decision_function(problem.X[problem.test])

    def measure(self, problem, setting, outcome):
        y = problem.y[problem.test]
        return {"score": roc_auc_score(y, outcome), "accuracy": 100 * float(np.mean((outcome > 0) == y))}

    def warm_up(self, problem, setting, method):
        _warm_up(problem)


SUITE = Suite(
    "ada-pu",
    "Ada-PU: learning from positives and unlabeled rows",
    (
        Accuracy(),
        ByRound("Figure 1", ("Ada-PU", _OLD, _AS_PUBLISHED, _SEPARATE, *_NETWORKS), x="rounds or passes", log=True),
        ByRound("Figure 2", ("Ada-PU", _OLD, _AS_PUBLISHED, *_FEW_OF_BOTH), log=True, with_negatives=True),
        ByRound("Figure 3", (_AS_PUBLISHED, *_CUTS)),
        ChosenColumns(),
        ByRound("Figure 5", tuple(_RATES)),
        ByRound("Figure 5, normalized separately", tuple(_SEPARATE_RATES), covers="Figure 5"),
        Ranking("Ranking", _TABLES_OF_CHOICE, (*_FORMS, _AS_PUBLISHED, _SEPARATE, _ON_UNLABELED)),
        Ranking("Ranking, other tables", _OTHER_TABLES, (*_FORMS, _ON_UNLABELED)),
    ),
    __file__,
)


def _paper(method, prior, seed):
    """Ada-PU as published, with the cuts, the rate or the normalization that a method names."""
    form = {**_SEPARATELY, **_CUTS, **_RATES, **_SEPARATE_RATES}.get(method, {})
    return fewlabel.PUAdaBoostClassifier.paper(n_estimators=_ROUNDS, prior=prior, random_state=seed, **form)


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
    if method in _FORMS:
        return fewlabel.PUAdaBoostClassifier(prior=prior, random_state=seed, **_FORMS[method])
    if method in (_AS_PUBLISHED, _SEPARATE):
        return fewlabel.PUAdaBoostClassifier.paper(prior=prior, random_state=seed, **_SEPARATELY.get(method, {}))
    if method in (*_NETWORKS, _DEEP):
        passes = _PASSES_SMALL[-1] if n_rows < _LARGE else _PASSES[-1]
        form = _SIX_LAYERS if method == _DEEP else {"max_iter": passes}
        return fewlabel.NeuralPUClassifier(_RISKS[method], prior=prior, random_state=seed, **form)
    return fewlabel.LinearPUClassifier(_RISKS[method], prior=prior, random_state=seed)
