"""Models in files: written completely or not at all, and read without running code from the file."""

from fewlabel.persistence._save import load, save

__all__ = ["load", "save"]
