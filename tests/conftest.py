"""Hypothesis draws the same examples in every run, so that a change is what breaks a test.

``pytest --hypothesis-profile=explore`` draws new ones, and more of them where a test sets no number of its own.
"""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=500, deadline=None)
settings.load_profile("steady")
