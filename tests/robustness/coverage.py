"""How often intervals contain the truth, and how often a test rejects a true hypothesis, over a grid of simulations.

    python tests/robustness coverage [--parts auc paired prior] [--draws 2000]

Each setting has its own seed. Results go to docs/intervals.csv as they come, settings that are there are not run again,
and the tables in docs/intervals.md are written from it. A share that is near its bar is simulated with `MORE` times as
many draws, because the worst of hundreds of settings is also the one with the worst luck.
"""

import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from fewlabel import estimate_class_prior, make_pu
from fewlabel.exceptions import PriorWarning
from fewlabel.metrics._estimates import estimate
from fewlabel.metrics._paired import compare_aucs
from fewlabel.metrics._score import score_interval
from reference.scores import KINDS, draw, draw_pair

DOCS = Path(__file__).parents[2] / "docs"
RESULTS, PAGE = DOCS / "intervals.csv", DOCS / "intervals.md"
COLUMNS = ["part", "kind", "level", "first", "second", "extra", "share", "draws"]
MORE = 5
SIZES = tuple((n, ratio * n) for n in (5, 10, 20, 50) for ratio in (1, 10, 100))
AUCS = (0.6, 0.8, 0.9, 0.95, 0.99)
# Two scores of one kind, and two kinds of one AUC.
PAIRS = (
    *(f"{kind} and {kind}" for kind in KINDS if "negatives" not in kind),
    "normal and exponential",
    "normal and contaminated",
)


def auc_hit(rng, kind, auc, n_p, n_n, _):
    """Whether the 95% interval of `auc_confidence_interval` contains the AUC."""
    p, n, true = draw(rng, kind, auc, n_p, n_n)
    low, high = score_interval(estimate("pn", p, n), 0.95)
    return low <= true <= high


def paired_rejection(rng, kinds, auc, n_p, n_n, correlation):
    """Whether `paired_auc_test` rejects at 5% that two equal AUCs are equal."""
    a, b = draw_pair(rng, kinds.split(" and "), auc, (n_p, n_n), correlation)
    return compare_aucs(a, b, 0.95).pvalue < 0.05


def prior_hit(rng, method, separation, n_p, n_u, share):
    """Whether the 90% interval of `estimate_class_prior` contains the share of positives among the unlabeled rows."""
    seed = int(rng.integers(2**31))
    made = {"setting": "case-control", "return_true": True, "random_state": seed}
    X, y, true = make_pu(n_u, prior=share, labeled=n_p, separation=separation, **made)
    if method == "energy":  # a tenth of the unlabeled rows gets a label
        y = np.where((y == -1) & (rng.random(len(y)) < 0.1), true, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorWarning)
        found = estimate_class_prior(X, y, method, setting="case-control", random_state=seed)
    return found.low <= true[y == -1].mean() <= found.high


def _settings():
    """Parts, and the settings of each: kind, level, the two sizes, and one more."""
    paired_sizes = [sizes for sizes in SIZES if sizes not in ((20, 20), (20, 200), (50, 50), (50, 5000))]
    few, many = (20, 150), (100, 600)
    return {
        "auc": [(kind, auc, *sizes, 0.0) for kind, auc, sizes in product(KINDS, AUCS, SIZES)],
        "paired": [
            (kinds, auc, *sizes, correlation)
            for kinds, auc, sizes, correlation in product(PAIRS, (0.6, 0.95), paired_sizes, (0.5, 0.9))
        ],
        "prior": [
            *(
                ("auto", separation, *sizes, share)
                for separation, sizes, share in product((1.0, 2.0, 3.0, 4.5), (few, many), (0.1, 0.3, 0.6))
            ),
            *(("energy", separation, 100, 400, share) for separation, share in product((1.5, 3.0), (0.1, 0.5))),
        ],
    }


SETTINGS = _settings()
DRAWS = {"auc": auc_hit, "paired": paired_rejection, "prior": prior_hit}
NEAR = {"auc": lambda share: not 0.928 <= share <= 0.974, "paired": lambda share: share > 0.056}


def simulate(part, setting, n_draws):
    """Share of the draws of a setting for which the function of the part is true, and the number of draws."""
    rng = np.random.default_rng(zlib.crc32(f"{part} {setting}".encode()))
    found = [DRAWS[part](rng, *setting) for _ in range(n_draws)]
    if part in NEAR and NEAR[part](np.mean(found)):
        found += [DRAWS[part](rng, *setting) for _ in range((MORE - 1) * n_draws)]
    return float(np.mean(found)), len(found)


def run(parts, n_draws, path=RESULTS):
    """Simulate the settings that the file of results lacks."""
    done = set(pd.read_csv(path)[COLUMNS[:6]].itertuples(index=False, name=None)) if path.exists() else set()
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", "utf-8")
    for part in parts:
        for setting in SETTINGS[part]:
            if (part, *setting) not in done:
                share, n = simulate(part, setting, n_draws)
                with path.open("a", encoding="utf-8") as file:
                    file.write(",".join(map(str, (part, *setting, round(share, 4), n))) + "\n")


# The page ----------------------------------------------------------------------------------------------------


def tables():
    """The tables of the page by name, with a sentence above each, from the file of results."""
    found = pd.read_csv(RESULTS)
    auc, paired = (found[found.part == part] for part in ("auc", "paired"))
    many, few = auc[auc["first"] >= 10].share, auc[auc["first"] < 10].share
    of_auc = [
        f"{_extent(auc)}. With ten rows of each class or more, {_percent(many.min())} to {_percent(many.max())} of",
        f"the intervals contain the AUC. With five, at least {_percent(few.min())} do. Lowest and highest share over",
        f"{auc.kind.nunique()} distributions:",
        *_grid(auc, lambda shares: f"{_percent(shares.min())} to {_percent(shares.max())}"),
    ]
    of_paired = [
        f"{_extent(paired)}. The test finds a difference between two",
        f"equal AUCs, at 5%, in at most {_percent(paired.share.max())} of the draws.",
        f"Highest share over {paired.kind.nunique()} pairs of distributions and two correlations:",
        *_grid(paired, lambda shares: _percent(shares.max())),
    ]
    return {"auc": "\n".join(of_auc), "paired": "\n".join(of_paired)}


def _extent(found):
    draws = f"{found.draws.min():,} to {found.draws.max():,} draws of each setting"
    return f"{draws}, with extra ones where coverage was close"


def _percent(share):
    return f"{100 * share:.1f}%"


def _grid(found, cell):
    """A table of sizes by AUC."""
    levels = sorted(found.level.unique())
    yield ""
    yield "| positives, negatives | " + " | ".join(f"AUC {level:g}" for level in levels) + " |"
    yield "| --- |" + " --- |" * len(levels)
    for (n_p, n_n), rows in found.groupby(["first", "second"]):
        yield f"| {n_p}, {n_n:,} | " + " | ".join(cell(rows[rows.level == level].share) for level in levels) + " |"


def with_tables(text):
    """The page with its tables written again."""
    for name, table in tables().items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{table}\n{end}{rest.partition(end)[2]}"
    return text


def write_page():
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
