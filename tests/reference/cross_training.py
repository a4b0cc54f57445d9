"""NC-T as published in figure 4.3 of Huang (2011), with lists: the order in which rows are labeled."""

import numpy as np


def label_order(make_model, X, codes, parts, k):
    """Rows in the order of their labeling, each with its round, part and label, and the number of fits."""
    n_parts = max(parts) + 1
    labeled = [[(i, int(codes[i])) for i in range(len(X)) if parts[i] == p and codes[i] >= 0] for p in range(n_parts)]
    unlabeled = [[i for i in range(len(X)) if parts[i] == p and codes[i] < 0] for p in range(n_parts)]
    order, n_fits, iteration = [], 0, 0
    while any(unlabeled):
        iteration += 1
        for p in range(n_parts):
            if not unlabeled[p]:
                continue
            rows = sorted(pair for q in range(n_parts) if q != p for pair in labeled[q])
            model = make_model().fit(X[[i for i, _ in rows]], np.array([c for _, c in rows]))
            n_fits += 1
            ranked = []
            for i in unlabeled[p]:
                posterior = model.predict_proba(X[[i]])[0]
                ranked.append((-posterior.max(), i, int(model.classes_[posterior.argmax()])))
            for _, i, c in sorted(ranked)[:k]:
                labeled[p].append((i, c))
                unlabeled[p].remove(i)
                order.append((i, iteration, p, c))
    return order, n_fits
