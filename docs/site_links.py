"""Links between pages and the reference: names in a text lead to their entry, an entry to the page that explains it."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

DOCS = Path(__file__).parent
ENTRY = re.compile(r"^   (fewlabel(?:\.\w+)*\.(\w+))$", re.MULTILINE)
CALL = re.compile(r"\(.*\)$", re.DOTALL)


def entries():
    """Full names of what the reference lists, by their last word."""
    return {name: full for full, name in ENTRY.findall((DOCS / "api.md").read_text("utf-8"))}


def guide_of():
    """The page of the guide that names each entry most often: a list of its title and file.

    Returns
    -------
    dict of str to (str, str)
        By full name.
    """
    counts = {}
    for page in [*DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]:
        text = page.read_text("utf-8")
        if page.stem in ("api", "changelog", "contributing", "index"):
            continue
        title = re.search(r"^# (.+)$", text, re.MULTILINE).group(1)
        for name, full in entries().items():
            count = len(re.findall(rf"\b{name}\b", text))
            if count:
                counts.setdefault(full, []).append((count, title, page.relative_to(DOCS).with_suffix("").as_posix()))
    return {full: max(found)[1:] for full, found in counts.items()}


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
