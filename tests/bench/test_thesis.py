"""What the pages say about the thesis's own numbers."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import shortest_path
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import get_suite
from benchmarks.papers.cross_training.experiment import one_split
from benchmarks.papers.fscrf import experiment as fscrf
from benchmarks.papers.paths.experiment import LocalAndGlobalConsistency
from benchmarks.papers.ssmab import experiment as ssmab
from fewlabel.datasets import registry

BELOW_800 = ("bupa", "colic", "pima", "ionosphere", "iris", "vote", "wdbc")


def explained(column):
    """How many of a column's accuracies are counts of one test split, and of which size, by set."""
    return {
        name: one_split(column, {"pima": "diabetes"}.get(name, name), registry()[name]["rows"]) for name in BELOW_800
    }


def test_columns_of_one_split():
    text = " ".join(get_suite("cross-training").text.split())
    counts = {c: sum(n for _, n, _ in explained(c).values()) for c in ("NC-T", "ICT", "Co-T", "Se-T")}
    assert f"{counts['NC-T']} of NC-T and {counts['ICT']} of ICT are, after rounding, counts of one test split" in text
    assert f"of Co-T {counts['Co-T']} and of Se-T {counts['Se-T']}," in text
    sizes = [explained(c)[name][0] for name, c in (("bupa", "NC-T"), ("pima", "NC-T"), ("pima", "ICT"))]
    assert "(bupa: {} test rows, pima: {} and {},".format(*sizes) in text
    assert round(100 * np.sqrt(0.2 / sizes[0])) in (4, 5)  # the error of a share of about 70%


def test_selectors_see_test_labels_only_where_the_page_says_so(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = pd.DataFrame(rng.normal(size=(60, 3)) + y[:, None])
    monkeypatch.setattr(fscrf, "multiclass", lambda name, data_home: (table, y))
    experiment = get_suite("fscrf")["Table 3.2"]
    for setting in experiment.settings:
        fold = experiment.problem("pima", setting, 13)
        assert len(np.intersect1d(fold.seen, fold.test)) == (0 if "training" in str(setting) else len(fold.test))
        np.testing.assert_array_equal(fold.seen_classes, y[fold.seen])
        assert fold.draw == 1


def test_relief_takes_as_many_columns_as_fscrf_whose_search_is_not_repeated(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = pd.DataFrame(rng.normal(size=(60, 6)) + y[:, None] * (np.arange(6) < 3))
    monkeypatch.setattr(fscrf, "multiclass", lambda name, data_home: (table, y))
    monkeypatch.setattr(fscrf, "_kept", {})
    experiment = get_suite("fscrf")["Table 3.3"]
    setting = experiment.settings[0]
    fold = experiment.problem("pima", setting, 3)
    alone = fscrf.support(table.iloc[fold.seen], fold.seen_classes, "Relief", 3, max_samples=20, n_neighbors=1)
    selectors = []
    inner = fscrf.support

    def counted(X, y, method, *args, **kwargs):
        selectors.append(method)
        return inner(X, y, method, *args, **kwargs)

    monkeypatch.setattr(fscrf, "support", counted)
    thesis = "FSCRF, as published"
    kept = {m: fscrf._support_of_fold(fold, m, 3, 20, 1) for m in (thesis, "Relief")}
    np.testing.assert_array_equal(kept["Relief"], alone)
    assert kept["Relief"].sum() == kept[thesis].sum() > 0
    assert selectors == [thesis, "Relief"]


def test_as_published_columns_are_kept_where_the_guard_of_our_default_keeps_none():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)))
    y = np.arange(60) % 2
    with pytest.warns(UserWarning, match="no column is selected"):
        ours = fscrf.support(table, y, "FSCRF", 0, max_samples=20, n_neighbors=1)
    assert not ours.any()
    assert fscrf.support(table, y, "FSCRF, as published", 0, max_samples=20, n_neighbors=1).any()


def test_labels_of_ssmab_are_drawn_in_proportion_to_the_classes():
    y = np.repeat([0, 1, 2], [100, 40, 3])
    draws = [ssmab.few_labels(np.random.default_rng(k).permutation(y), 0.1, k) for k in range(5)]
    counts = {tuple(np.unique(few[few >= 0], return_counts=True)[1]) for few in draws}
    assert counts == {(10, 4)}  # of 14 labels; a class of three rows has none


def test_a_fold_that_keeps_no_column_predicts_the_largest_class():
    data, train, test = pd.DataFrame(index=range(10)), np.arange(7), np.arange(7, 10)
    y = np.array([0, 1, 1, 2, 1, 0, 1])
    for table in ("Table 3.3", "Table 3.4"):
        predicted = get_suite("fscrf")[table].classify(data, y, train, test, 0)
        np.testing.assert_array_equal(predicted, [1, 1, 1])


def test_llgc_is_the_limit_of_its_iteration():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 4]) / 8
    y = np.full(40, -1)
    y[[0, 20]] = 0, 1
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    affinity = np.exp(-distances / (2 * 0.15**2)) * (1 - np.eye(40))
    degree = affinity.sum(axis=1)
    spread = affinity / np.sqrt(degree[:, None] * degree)
    known = (y[:, None] == np.arange(2)).astype(float)
    scores = known
    for step in range(5000):
        scores = 0.99 * spread @ scores + 0.01 * known
        if step == 1:
            early = LocalAndGlobalConsistency(n_steps=2).fit(X, y).transduction_
            np.testing.assert_array_equal(early, scores.argmax(axis=1))
    np.testing.assert_array_equal(LocalAndGlobalConsistency().fit(X, y).transduction_, scores.argmax(axis=1))


def test_the_largest_expression_is_the_most_probable_class(monkeypatch):
    """Equations 3.8 and 3.9, from the expressions as they are printed: columns of noise are not in them."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    grades = np.column_stack([2 * (y == 0), 2 * (y == 1), np.zeros(150)]) + rng.integers(0, 2, (150, 3))
    table = pd.DataFrame(grades, columns=["itching", "scaling", "noise"]).astype(str).astype("category")
    monkeypatch.setattr(fscrf, "multiclass", lambda name, data_home: (table, y))
    experiment = get_suite("fscrf")["Equations 3.4 to 3.9"]
    problem = experiment.problem("dermatology", experiment.settings[0], 0)
    record = experiment.measure(problem, None, experiment.outcome(problem, None, "FSCRF, as published", 0))
    found = []
    for k, line in enumerate(record["text"].splitlines()):
        start, expression = line.split(" = ")
        constant, *terms = re.split(r" (?=[+-] )", expression)
        value = np.full(150, float(constant))
        for sign, size, name in (re.fullmatch(r"([+-]) ([\d.]+) \[(\w+)\]", term).groups() for term in terms):
            value += float(sign + size) * grades[:, table.columns.get_loc(name)]
        assert start == f"- F_{k + 1}(x)"
        assert "[noise]" not in line
        found.append(value)
    likely = softmax(np.array(found), axis=0).argmax(axis=0)
    assert 100 * np.mean(likely == y) == record["score"] > 95
    values = table[["itching", "scaling"]].astype(float)
    model = LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=10_000).fit(values, y)
    np.testing.assert_array_equal(likely, model.predict(values))


def test_a_longer_path_may_cost_less_up_to_the_bound_of_corollary_6_1():
    """One edge of length b costs exp(b), k equal edges of total length a cost k exp(a / k): least where they are 1."""
    for short in (1.5, 2.0, 3.0):
        limit = np.exp(short - 1)
        for share, cheaper in ((0.0, True), (0.5, True), (1.0, True), (1.02, False)):
            length = short + share * (limit - short)
            steps = np.linspace(0.2, 3 * length, 4000)  # number of edges, as if it were continuous
            least = (steps * np.exp(length / steps)).min()
            assert (least <= np.exp(short) * (1 + 1e-6)) == cheaper


def test_corollary_6_1_fails_near_its_bound_with_whole_edges():
    """Edges are at least 1: a path of length L has at most floor(L) of them, and costs least if they are equal."""

    def least(length):
        return min(k * np.exp(length / k) for k in range(1, int(length) + 1))

    for short in (1.5, 2.0, 3.0, 4.0):
        limit = np.exp(short - 1)  # no whole number: the corollary names it as the largest length that may cost less
        assert least(limit) > np.exp(short)
        assert least(short) <= np.exp(short)
        assert int(limit) * np.e <= least(limit) <= np.exp(limit)  # equations 6.19 and 6.20


def test_the_cost_of_the_shortest_path_is_no_metric():
    """Rows m, n, k as 0, 1, 2 in a directed graph: the shortest way from m to n is its edge, which costs most."""
    lengths = np.array([[0, 3.0, 1.6], [0, 0, 0], [0, 1.6, 0]])
    shortest, before = shortest_path(lengths, return_predecessors=True)

    def cost(start, end):
        total = 0.0
        while end != start:
            total += np.exp(lengths[before[start, end], end])
            end = before[start, end]
        return total

    assert cost(0, 2) + cost(2, 1) < cost(0, 1)  # no triangle inequality
    assert np.isinf(shortest[1, 0])  # not symmetric
    least = shortest_path(np.where(lengths > 0, np.exp(lengths), 0))
    assert least[0, 1] <= least[0, 2] + least[2, 1]
