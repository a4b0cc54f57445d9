"""The labeling page: a server on the loopback address, a store that loses nothing, and the loop behind them."""

from fewlabel.label_app.loop import LabelingLoop, Task
from fewlabel.label_app.progress import auc_of_table
from fewlabel.label_app.server import LabelServer
from fewlabel.label_app.store import AnswerStore

__all__ = ["AnswerStore", "LabelServer", "LabelingLoop", "Task", "auc_of_table"]
