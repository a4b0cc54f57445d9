"""Co-training as published by Blum and Mitchell (1998), with lists: the order in which rows are labeled."""

from collections import Counter

import numpy as np


def label_order(make_model, X, codes, views, queue, k, pool_size, rounds):
    """Rows labeled in each round, as {row: class}, until the pool gives none."""
    known = {i: int(c) for i, c in enumerate(codes) if c >= 0}
    counts = Counter(known.values())
    quota = {c: max(1, round(k * n / len(known))) for c, n in counts.items()}
    queue = list(queue)
    pool, queue = queue[:pool_size], queue[pool_size:]
    history = []
    while len(history) < rounds:
        chosen_by = []
        for view in views:
            rows = sorted(known)
            model = make_model().fit(X[np.ix_(rows, view)], np.array([known[i] for i in rows]))
            ranked = []
            for i in sorted(pool):
                posterior = model.predict_proba(X[np.ix_([i], view)])[0]
                ranked.append((-posterior.max(), i, int(model.classes_[posterior.argmax()])))
            ranked.sort()
            chosen_by.append(
                {i: c for c, most in quota.items() for _, i, _ in [row for row in ranked if row[2] == c][:most]}
            )
        votes = {i: {chosen[i] for chosen in chosen_by if i in chosen} for i in pool}
        new = {i: classes.pop() for i, classes in votes.items() if len(classes) == 1}
        disputed = [i for i, classes in votes.items() if len(classes) > 1]
        if not new and disputed and queue:  # others take the places of the rows that the views dispute
            pool = [i for i in pool if i not in disputed] + queue[: len(disputed)]
            queue = queue[len(disputed) :]
            continue
        if not new:
            break
        history.append(new)
        known.update(new)
        pool = [i for i in pool if i not in new] + queue[: len(new)]
        queue = queue[len(new) :]
    return history
