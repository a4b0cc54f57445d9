"""Types that model files may hold, by their exact names."""

# Types outside fewlabel and beyond what skops trusts by itself. Each is plain Python or a NumPy type: no state that a
# file could give it makes it run code or read memory out of bounds. scikit-learn's trees, k-d trees and SciPy's sparse
# matrices are left out on purpose: compiled code follows the indices they hold without checking them.
SCIKIT_LEARN = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._ranking.roc_auc_score",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.StratifiedKFold",
)
OURS = (
    "fewlabel.auto._fitted.FittedMember",
    "fewlabel.auto._fitted.RankReference",
    "fewlabel.auto._features.ComponentsView",
    "fewlabel.auto._features.ScaledView",
    "fewlabel.auto._features.SpectralView",
    "fewlabel.model_selection.LabeledStratifiedKFold",
    "fewlabel.persistence.forests.FrozenTrees",  # checks its indices itself
)
# What skrub's TableVectorizer is made of: settings and plain arrays again. The functions among them only ask for the
# type of a column.
SKRUB = (
    "skrub._apply_to_each_col.ApplyToEachCol",
    "skrub._check_input.CheckInputDataFrame",
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._duration_to_float.DurationToFloat",
    "skrub._string_encoder.StringEncoder",
    "skrub._table_vectorizer.PassThrough",
    "skrub._table_vectorizer.ShortReprDict",
    "skrub._table_vectorizer.TableVectorizer",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
    "skrub.selectors._base.All",
    "skrub.selectors._base.And",
    "skrub.selectors._base.Cols",
    "skrub.selectors._base.Filter",
    "skrub.selectors._base.Sub",
    "skrub.selectors._selectors._cardinality_below",
)


def trusted_types():
    """Names of all types that are accepted beyond those that skops trusts by itself."""
    import fewlabel

    estimators = [f"{cls.__module__}.{cls.__name__}" for _, cls in fewlabel.all_estimators()]
    return [*estimators, *OURS, *SKRUB, *SCIKIT_LEARN]
