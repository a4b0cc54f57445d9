"""Tables as people have them: files, text, dates, categories and gaps in; a model that remembers its columns out."""

from fewlabel.files import read_chunks, read_table
from fewlabel.tables._classifier import TableClassifier, score_table

__all__ = ["TableClassifier", "read_chunks", "read_table", "score_table"]
