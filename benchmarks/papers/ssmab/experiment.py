"""SSMAB (Huang, 2011, chapter 5): boosting a weak tree and naive Bayes (Tables 5.2 and 5.3, Figures 5.3 and 5.4)."""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from benchmarks.harness.data import as_numbers, multiclass
from benchmarks.harness.experiment import Experiment, Figure, Problem, Setting, Suite, published
from benchmarks.papers.weka import NaiveBayes, kinds_of_columns

_PUBLISHED = published(__file__)
_LARGE = ("optdigits", "pendigits", "letter", "anneal", "car")
_BOOSTERS = ("SAMME", "ASSEMBLE", "SSMAB")


@dataclass(frozen=True)
class Base(Setting):
    """Percentage of labels, and the weak learner: a tree with some samples per leaf, or naive Bayes (None)."""

    percent: int = 10
    leaf: int | None = 20

    def __str__(self):
        return f"{self.percent}% labeled, {f'{self.leaf} samples per leaf' if self.leaf else 'naive Bayes'}"


@dataclass(frozen=True)
class Rows(Problem):
    """A problem whose one-hot columns are known: see `weka.kinds_of_columns`."""

    kinds: np.ndarray | None = None


class Boosting(Experiment):
    """Boosting with pseudo-labels beside its base classifier and supervised peers."""

    metric = "test accuracy in percent"
    digits = ".1f"

    def __init__(self, name, datasets, settings, methods, *, published=None, figures=(), compared=()):
        self.name, self.covers, self.datasets, self.methods = name, (name,), datasets, methods
        self.settings, self.published, self.compared = settings, published, compared
        self.figures, self.tables = figures, not figures
        self.constants = {"test_share": 0.25, "n_estimators": 30, "draw": "proportional"}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        strata = y if np.bincount(y).min() > 1 else None
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=repeat, stratify=strata)
        few = few_labels(y[train], setting.percent / 100, repeat)
        return Rows(as_numbers(data, train), y, train, few, test, name=dataset, kinds=kinds_of_columns(data))

    def outcome(self, problem, setting, method, seed):
        base = NaiveBayes(problem.kinds)
        if setting.leaf:
            base = DecisionTreeClassifier(min_samples_leaf=setting.leaf, random_state=seed)
        model, uses_all = {
            "tree": (base, False),
            "naive Bayes": (base, False),
            "SAMME": (AdaBoostClassifier(base, n_estimators=30, random_state=seed), False),
            "ASSEMBLE": (fewlabel.AssembleClassifier(base, random_state=seed), True),
            "ASSEMBLE, resampled": (fewlabel.AssembleClassifier(base, resample=True, random_state=seed), True),
            "SSMAB": (fewlabel.SemiSupervisedAdaBoostClassifier(base, random_state=seed), True),
            "SSMAB, damped": (
                fewlabel.SemiSupervisedAdaBoostClassifier(base, update="damped", random_state=seed),
                True,
            ),
            "1-NN": (make_pipeline(MinMaxScaler(), KNeighborsClassifier(1)), False),
            "random forest": (RandomForestClassifier(random_state=seed), False),
        }[method]
        part = slice(None) if uses_all else problem.known
        rows, few = problem.X[problem.train][part], problem.few[part]
        try:
            model.fit(rows, few)
        except ValueError:
            if method != "SAMME":
                raise
            model = base.fit(rows, few)
        return model.predict(problem.X[problem.test])

    def measure(self, problem, setting, outcome):
        return {"score": 100 * float(np.mean(outcome == problem.y[problem.test]))}

    def paper(self, dataset, setting, method):
        name = "tree" if method == "naive Bayes" else method
        if self.published is None or name not in _PUBLISHED["columns"] or dataset not in _PUBLISHED[self.published]:
            return None
        return tuple(_PUBLISHED[self.published][dataset][_PUBLISHED["columns"].index(name)])


def few_labels(y, share, seed):
    """Labels of a share of the rows, as many of each class as its share of the rows says; -1 elsewhere.

    Rows in random order are sorted by class and taken at equal distances, as Weka stratifies: a class with fewer rows
    than that distance may have no label.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    n_kept = round(share * len(y))
    kept = order[((np.arange(n_kept) + 0.5) * len(y) / n_kept).astype(int)]
    few = np.full_like(y, -1)
    few[kept] = y[kept]
    return few


_SETS = (
    *("wine", "iris", "optdigits", "pendigits", "vote", "ionosphere", "sonar", "dermatology", "soybean", "letter"),
    *("anneal", "audiology", "autos", "car", "colic", "glass", "pima", "sick", "wisconsin"),
)
_AGAINST = ("tree", "SAMME", "ASSEMBLE", "1-NN", "random forest")
SUITE = Suite(
    "ssmab",
    "SSMAB and ASSEMBLE: boosting with pseudo-labels",
    (
        Boosting(
            "Table 5.2",
            _SETS,
            (Base(),),
            ("tree", *_BOOSTERS, "SSMAB, damped", "ASSEMBLE, resampled", "1-NN", "random forest"),
            published="tree",
            compared=tuple(("SSMAB", other) for other in _AGAINST),
        ),
        Boosting(
            "Table 5.3",
            _SETS,
            (Base(leaf=None),),
            ("naive Bayes", *_BOOSTERS),
            published="bayes",
            compared=tuple(("SSMAB", other) for other in ("naive Bayes", "SAMME", "ASSEMBLE")),
        ),
        Boosting(
            "Figure 5.3",
            _LARGE,
            tuple(Base(percent=percent) for percent in (3, 5, 9, 15, 21, 29)),
            ("tree", *_BOOSTERS),
            figures=(Figure("Figure 5.3", "labels, percent", "percent"),),
        ),
        Boosting(
            "Figure 5.4",
            _LARGE,
            tuple(Base(leaf=leaf) for leaf in (4, 10, 16, 22, 28, 34)),
            ("tree", *_BOOSTERS),
            figures=(Figure("Figure 5.4", "samples per leaf", "leaf"),),
        ),
    ),
    __file__,
)
