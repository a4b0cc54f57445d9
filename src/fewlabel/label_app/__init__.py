"""The labeling page: a server on the loopback address, a store that loses nothing, and the loop behind them."""

from fewlabel.label_app.loop import LabelingLoop, Task
from fewlabel.label_app.server import LabelServer
from fewlabel.label_app.store import AnswerStore

__all__ = ["AnswerStore", "LabelServer", "LabelingLoop", "Task"]
