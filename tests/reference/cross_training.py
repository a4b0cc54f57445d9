"""NC-T as figure 4.3 prints it, with lists: the order in which rows are labelled."""

import numpy as np


def label_order(make_model, X, codes, parts, k):
    """Rows in the order of their labelling, each with its round, part and label, and the number of fits."""
    n_parts = max(parts) + 1
    labelled = [[(i, int(codes[i])) for i in range(len(X)) if parts[i] == p and codes[i] >= 0] for p in range(n_parts)]
    unlabelled = [[i for i in range(len(X)) if parts[i] == p and codes[i] < 0] for p in range(n_parts)]
    order, n_fits, iteration = [], 0, 0
    while any(unlabelled):
        iteration += 1
        for p in range(n_parts):
            if not unlabelled[p]:
                continue
            rows = sorted(pair for q in range(n_parts) if q != p for pair in labelled[q])
            model = make_model().fit(X[[i for i, _ in rows]], np.array([c for _, c in rows]))
            n_fits += 1
            ranked = []
            for i in unlabelled[p]:
                posterior = model.predict_proba(X[[i]])[0]
                ranked.append((-posterior.max(), i, int(model.classes_[posterior.argmax()])))
            for _, i, c in sorted(ranked)[:k]:
                labelled[p].append((i, c))
                unlabelled[p].remove(i)
                order.append((i, iteration, p, c))
    return order, n_fits
