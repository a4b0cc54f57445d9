"""Draw the pictures of the pages on positive-unlabeled learning and on pseudo-label boosting, from runs of our own.

python docs/methods/pu.py
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.exceptions import PriorWarning

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREEN, GRAY = "#2b6cb0", "#dd6b20", "#2f855a", "#718096"
N_DRAWS = 10


def cancer(seed):
    X, y = load_breast_cancer(return_X_y=True)
    y_pu = fewlabel.hide_labels(y, labeled=80, mechanism="positives-only", random_state=np.random.RandomState(seed))
    hidden = y_pu == -1
    return X, y, y_pu, hidden


def finish(figure, name):
    figure.tight_layout()
    figure.savefig(IMAGES / f"{name}.png", dpi=110)
    plt.close(figure)


def draw_ada_pu():
    corrections, rounds = (1.0, 0.7, 0.0), 400
    colors = dict(zip(corrections, (ORANGE, BLUE, GRAY)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    for correction in corrections:
        curves = np.full((N_DRAWS, rounds), np.nan)
        for seed in range(N_DRAWS):
            X, y, true = fewlabel.make_pu(
                4000,
                n_features=20,
                n_informative=8,
                prior=0.4,
                labeled=150,
                return_true=True,
                random_state=np.random.RandomState(seed),
            )
            train = np.arange(4000) < 2000
            model = fewlabel.PUAdaBoostClassifier(
                rounds, prior=true[train & (y == -1)].mean(), correction=correction, stop_risk=0.0, random_state=0
            ).fit(X[train], y[train])
            for t, scores in enumerate(model.staged_decision_function(X[~train])):
                curves[seed, t:] = roc_auc_score(true[~train], scores)
        left.plot(
            1 + np.arange(rounds), curves.mean(axis=0), color=colors[correction], label=f"correction={correction:g}"
        )
    left.set(xlabel="round", ylabel="test AUC", title="The negative weights fit noise", ylim=(0.7, None))
    left.legend()
    wrong = np.linspace(0.1, 0.9, 9)
    for threshold, color in (("prior", BLUE), ("zero", ORANGE)):
        accuracy = []
        for seed in range(N_DRAWS):
            X, y, y_pu, hidden = cancer(seed)
            models = (fewlabel.PUAdaBoostClassifier(prior=p, threshold=threshold, random_state=0) for p in wrong)
            accuracy.append([(m.fit(X, y_pu).predict(X[hidden]) == y[hidden]).mean() for m in models])
        right.plot(wrong, np.mean(accuracy, axis=0), "o-", color=color, label=f'threshold="{threshold}"')
    right.axvline(y[hidden].mean(), color=GRAY, linestyle=":", label="true prior")
    right.set(xlabel="prior given", ylabel="accuracy, unlabeled rows", title="A wrong prior")
    right.legend()
    finish(figure, "pu_ada")


def draw_linear():
    wrong = np.linspace(0.1, 0.9, 9)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    for risk, color in (("upu", ORANGE), ("nnpu", BLUE)):
        auc = []
        for seed in range(N_DRAWS):
            X, y, y_pu, hidden = cancer(seed)
            models = (fewlabel.LinearPUClassifier(risk, prior=p).fit(X, y_pu) for p in wrong)
            auc.append([roc_auc_score(y[hidden], m.decision_function(X[hidden])) for m in models])
        left.plot(wrong, np.mean(auc, axis=0), "o-", color=color, label=risk)
    left.axvline(y[hidden].mean(), color=GRAY, linestyle=":", label="true prior")
    left.set(xlabel="prior given", ylabel="AUC, unlabeled rows", title="AUC by the prior that is passed")
    left.legend()
    biases = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    for name, Model, color in (
        ("nnPU, linear", fewlabel.LinearPUClassifier, BLUE),
        ("Ada-PU", fewlabel.PUAdaBoostClassifier, GREEN),
    ):
        accuracy = np.zeros((N_DRAWS, len(biases)))
        for seed in range(N_DRAWS):
            for k, bias in enumerate(biases):
                X, y, true = fewlabel.make_pu(
                    2000,
                    prior=0.4,
                    labeled=200,
                    separation=2.5,
                    bias=bias,
                    return_true=True,
                    random_state=np.random.RandomState(seed),
                )
                hidden = y == -1
                model = Model(prior=true[hidden].mean(), random_state=0).fit(X, y)
                accuracy[seed, k] = (model.predict(X[hidden]) == true[hidden]).mean()
        right.plot(biases, accuracy.mean(axis=0), "o-", color=color, label=name)
    right.set(
        xlabel="bias of the labels (0: at random)", ylabel="accuracy, unlabeled rows", title="Easy positives labeled"
    )
    right.legend()
    finish(figure, "pu_linear")


def draw_prior():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    separations = (1.0, 1.5, 2.0, 3.0, 4.0)
    errors = {name: [] for name in ("auto", "bbe", "dedpul")}
    for separation in separations:
        found = {name: [] for name in errors}
        for seed in range(4):
            X, y, _true = fewlabel.make_pu(
                1000,
                prior=0.3,
                labeled=200,
                separation=separation,
                setting="case-control",
                return_true=True,
                random_state=np.random.RandomState(seed),
            )
            estimate = fewlabel.estimate_class_prior(X, y, random_state=0)
            for name, value in {"auto": estimate.prior, **estimate.methods}.items():
                found[name].append(value)
        for name, values in found.items():
            errors[name].append(np.mean(values))
    for (name, values), color in zip(errors.items(), (BLUE, ORANGE, GREEN)):
        left.plot(separations, values, "o-", color=color, label=name)
    left.axhline(0.3, color="black", linestyle=":", label="true prior")
    left.set(
        xlabel="distance of the classes, in sd", ylabel="mean estimate", title="Overlap: bbe and dedpul are too large"
    )
    left.legend()
    truths = np.linspace(0.1, 0.8, 8)
    for k, share in enumerate(truths):
        X, y = fewlabel.make_pu(
            1000,
            prior=share,
            labeled=200,
            separation=3.0,
            setting="case-control",
            random_state=np.random.RandomState(k),
        )
        estimate = fewlabel.estimate_class_prior(X, y, random_state=0)
        right.plot([share, share], [estimate.low, estimate.high], color=BLUE)
        right.plot(share, estimate.prior, "o", color=BLUE)
    right.plot([0, 1], [0, 1], color="black", linestyle=":")
    right.set(xlabel="true prior", ylabel="estimate and interval", title='method="auto", classes 3 sd apart')
    finish(figure, "prior")


def draw_ssmab():
    X, y = load_digits(return_X_y=True)
    shares = (0.03, 0.05, 0.1, 0.2, 0.4)
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    methods = {
        "tree": (tree, False, GRAY),
        "SSMAB": (fewlabel.SemiSupervisedAdaBoostClassifier(tree, random_state=0), True, BLUE),
        "ASSEMBLE": (fewlabel.AssembleClassifier(tree, random_state=0), True, GREEN),
        "1-NN": (KNeighborsClassifier(1), False, ORANGE),
        "random forest": (RandomForestClassifier(random_state=0), False, "black"),
    }
    figure, axes = plt.subplots(figsize=(6.5, 4))
    for name, (model, semi, color) in methods.items():
        accuracy = []
        for share in shares:
            of_share = []
            for seed in range(5):
                few = fewlabel.hide_labels(y, labeled=share, random_state=np.random.RandomState(seed))
                known = few != -1
                model.fit(X, few) if semi else model.fit(X[known], few[known])
                of_share.append((model.predict(X[~known]) == y[~known]).mean())
            accuracy.append(np.mean(of_share))
        size = 12 if name == "SSMAB" else 6  # its curve is that of 1-NN
        axes.plot(np.multiply(shares, 100), accuracy, "o-", ms=size, color=color, label=name)
    axes.set(xlabel="labeled rows, %", ylabel="accuracy, unlabeled rows", title="Digits: as good as nearest neighbors")
    axes.legend()
    finish(figure, "ssmab")


def main():
    warnings.simplefilter("ignore", PriorWarning)
    for draw in (draw_ada_pu, draw_linear, draw_prior, draw_ssmab):
        draw()


if __name__ == "__main__":
    main()
