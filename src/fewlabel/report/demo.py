"""The demonstration: a table that ships with scikit-learn, most labels hidden, and the methods to compare."""

from fewlabel.report.summarize import Method, Table

TEST_SHARE = 0.3
PAIR = ("PNU-AUCBoost", "RankBoost")  # the same risk with and without the unlabelled rows


def breast_cancer(labeled: float = 0.1, seed: int = 0) -> Table:
    """Wisconsin breast-cancer data with most training labels hidden.

    Parameters
    ----------
    labeled : float, default=0.1
        Share of the training labels to keep.
    seed : int, default=0
        Seed of the split and of the choice of labels.

    Returns
    -------
    Table
        Training rows, whose hidden labels are nowhere in the table, and test rows.

    Examples
    --------
    >>> from fewlabel.report.demo import breast_cancer
    >>> table = breast_cancer(labeled=0.1, seed=0)
    >>> len(table.X_train), len(table.X_test), int(table.y_train.notna().sum())
    (398, 171, 40)
    """
    import pandas as pd
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from fewlabel.model_selection import hide_labels

    data = load_breast_cancer(as_frame=True)
    # As text the classes are "benign" < "malignant": the tumours to find are the positive class.
    y = pd.Series(data.target_names[data.target], name="diagnosis", dtype=object)
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    y_train = hide_labels(y_train, labeled=labeled, random_state=seed)
    return Table(
        "Breast cancer (Wisconsin, diagnostic)",
        "569 tumours, 30 measurements of cell nuclei each; scikit-learn's load_breast_cancer",
        X_train,
        y_train,
        X_test,
        y_test,
    )


def methods(seed: int = 0) -> list[Method]:
    """The boosters of fewlabel and, on the labelled rows, scikit-learn's methods; all with default settings."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from fewlabel.boosting import PNUAdaBoostClassifier, PNUAUCBoostClassifier, RankBoostClassifier

    logistic = make_pipeline(StandardScaler(), LogisticRegression(random_state=seed))
    return [
        Method("PNU-AUCBoost", PNUAUCBoostClassifier(random_state=seed), uses_unlabelled=True),
        Method("RankBoost", RankBoostClassifier(random_state=seed), uses_unlabelled=False),
        Method("PNU-AdaBoost", PNUAdaBoostClassifier(random_state=seed), uses_unlabelled=True),
        Method("Logistic regression", logistic, uses_unlabelled=False),
        Method("Random forest", RandomForestClassifier(random_state=seed), uses_unlabelled=False),
        Method("Histogram boosting", HistGradientBoostingClassifier(random_state=seed), uses_unlabelled=False),
    ]
