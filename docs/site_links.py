"""Links between pages and the reference: names in a text lead to their entry, an entry to the page that explains it."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

DOCS = Path(__file__).parent
ENTRY = re.compile(r"^   (fewlabel(?:\.\w+)*\.(\w+))$", re.MULTILINE)
CALL = re.compile(r"\(.*\)$", re.DOTALL)


# Pages for entries that no page of the guide names, by the start of their full name; the longest start counts.
GUIDE = {
    "fewlabel.active": "label",
    "fewlabel.auto": "methods/auto",
    "fewlabel.boosting": "methods/boosting",
    "fewlabel.dask": "scale",
    "fewlabel.datasets": "results/index",
    "fewlabel.decisions": "decide",
    "fewlabel.exceptions": "reading",
    "fewlabel.exceptions.Dataset": "results/index",
    "fewlabel.exceptions.ExportError": "production",
    "fewlabel.exceptions.UntrustedFileError": "model-file",
    "fewlabel.exporting": "production",
    "fewlabel.inspection": "scorecards",
    "fewlabel.metrics": "intervals",
    "fewlabel.metrics.compare_methods": "results/index",
    "fewlabel.metrics.plot_critical": "results/index",
    "fewlabel.metrics.Comparison": "results/index",
    "fewlabel.monitor": "monitor",
    "fewlabel.population": "chosen",
    "fewlabel.prior": "methods/prior",
    "fewlabel.tables": "reading",
    "fewlabel.tables.points_sql": "scorecards",
    "fewlabel.tables.round": "scorecards",
    "fewlabel.tables.score": "production",
    "fewlabel.tables.evidence_of": "decide",
    "fewlabel.tables.Explanation": "explain",
}


def full_names():
    """Full names of what the reference lists, in its order."""
    return [full for full, _ in ENTRY.findall((DOCS / "api.md").read_text("utf-8"))]


def entries():
    """Full name that a short one stands for; the estimators for Dask share their names with those in memory."""
    in_memory = [full for full in full_names() if not full.startswith("fewlabel.dask.")]
    return {full.rpartition(".")[2]: full for full in in_memory}


def title_of(page):
    """The heading of a page."""
    return re.search(r"^# (.+)$", (DOCS / f"{page}.md").read_text("utf-8"), re.MULTILINE).group(1)


def guide_of():
    """The page of the guide on each entry: the one that names it most often, or else the one of its module.

    Returns
    -------
    dict of str to (str, str)
        Title and page, by full name.
    """
    counts = {}
    for path in [*DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]:
        text = path.read_text("utf-8")
        if path.stem in ("api", "changelog", "contributing", "index"):
            continue
        page = path.relative_to(DOCS).with_suffix("").as_posix()
        for name, full in entries().items():
            count = len(re.findall(rf"\b{name}\b", text))
            if count:
                counts.setdefault(full, []).append((count, page))
    pages = {}
    for full in full_names():
        starts = [start for start in GUIDE if full.startswith(start)]
        if full in counts:
            pages[full] = max(counts[full])[1]
        elif starts:
            pages[full] = GUIDE[max(starts, key=len)]
    return {full: (title_of(page), page) for full, page in pages.items()}


def _stands_in(node, kinds):
    """Whether a node is inside of one of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def link_names(app, doctree):
    """Turn `AutoClassifier` and `AutoClassifier(...)` in a text into links to their entries."""
    full_names = entries()
    for literal in list(doctree.findall(nodes.literal)):
        name = CALL.sub("", literal.astext()).rpartition(".")[2]
        full = full_names.get(name)
        if full is None or _stands_in(literal, nodes.reference | pending_xref | nodes.title):
            continue
        link = pending_xref(
            "", refdomain="py", reftype="obj", reftarget=full, refdoc=app.env.docname, refexplicit=True, refwarn=True
        )
        literal.replace_self(link)
        link += literal
