"""Linear AUC with explicit pairs (equations 2 to 8, algorithms 1 to 3 of Jiang et al. 2014); pairwise least squares."""

import numpy as np


def pairs_of(X, positive):
    """z = x_i - x_j of all pairs, positive by positive, shape (n_pos, n_neg, d)."""
    return X[positive][:, None, :] - X[~positive][None, :, :]


def objective(w, X, positive, alpha, squared, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    share = np.outer(weight[positive] / weight[positive].sum(), weight[~positive] / weight[~positive].sum())
    loss = np.maximum(0, 1 - pairs_of(X, positive) @ w)
    return alpha / 2 * w @ w + np.sum(share * (loss**2 if squared else loss))


def dual(a, X, positive, alpha, squared):
    """Equation 4; for the squared hinge the conjugate is a - a^2 / 4."""
    w = coefficients(a, X, positive, alpha)
    gain = a - a**2 / 4 if squared else a
    return gain.mean() - alpha / 2 * w @ w


def coefficients(a, X, positive, alpha):
    return np.einsum("ij,ijc->c", a, pairs_of(X, positive)) / (alpha * a.size)


def best_dual(old, margin, curvature, squared):
    """The maximizer in one variable, by trying the stationary point and the ends of the interval."""
    if squared:
        return max(0.0, old + (1 - margin - old / 2) / (curvature + 1 / 2))
    if curvature == 0:
        return 1.0
    return min(max(old + (1 - margin) / curvature, 0.0), 1.0)


def sdcd(X, positive, alpha, order, squared=False):
    """Algorithms 1 and 2 over the pairs in the given order; yields w and the dual variables after each step."""
    Z = pairs_of(X, positive)
    n_neg, k = Z.shape[1], Z.shape[0] * Z.shape[1]
    w, a = np.zeros(X.shape[1]), np.zeros(Z.shape[:2])
    for p in order:
        i, j = p // n_neg, p % n_neg
        z = Z[i, j]
        new = best_dual(a[i, j], z @ w, z @ z / (alpha * k), squared)
        w = w + (new - a[i, j]) * z / (alpha * k)
        a[i, j] = new
        yield w.copy(), a.copy()


def averages(X, positive, alpha, order, first, squared=False):
    """Lemma 1: the means of w and of the dual variables over the steps from `first` on."""
    iterates = list(sdcd(X, positive, alpha, order, squared))[first:]
    return np.mean([w for w, _ in iterates], axis=0), np.mean([a for _, a in iterates], axis=0)


def msgd(X, positive, alpha, order, squared=False):
    """Algorithm 3."""
    Z = pairs_of(X, positive)
    w = np.zeros(X.shape[1])
    for t, p in enumerate(order, start=1):
        z = Z[p // Z.shape[1], p % Z.shape[1]]
        a = best_dual(0.0, z @ w, z @ z / (alpha * t), squared)
        w = (1 - 1 / t) * w + a * z / (alpha * t)
    return w


def msgd_stream(X, positive, alpha, capacity, generators):
    """Algorithm 3 on rows that arrive one by one: as many steps as the row has pairs, over random pairs of the rows at
    hand, which are the row and reservoirs of earlier ones.
    """
    w, t = np.zeros(X.shape[1]), 0
    buffer, seen = ([], []), [0, 0]
    for x, own, rng in zip(X, positive.astype(int), generators):
        at_hand = ([*buffer[0]], [*buffer[1]])
        at_hand[own].append(x)
        negatives, positives = at_hand
        for p in rng.integers(len(positives) * len(negatives), size=len(buffer[1 - own])) if buffer[1 - own] else ():
            t += 1
            z = positives[p // len(negatives)] - negatives[p % len(negatives)]
            a = best_dual(0.0, z @ w, z @ z / (alpha * t), False)
            w = (1 - 1 / t) * w + a * z / (alpha * t)
        seen[own] += 1
        draw = rng.random()
        if len(buffer[own]) < capacity:
            buffer[own].append(x)
        elif int(draw * seen[own]) < capacity:
            buffer[own][int(draw * seen[own])] = x
    return w


def oam(X, signs, C, capacity, gradual, draws, squared=False):
    """Online AUC maximization with reservoirs of `capacity` rows."""
    w = np.zeros(X.shape[1])
    buffer, seen = {1: [], -1: []}, {1: 0, -1: 0}
    for x, y, u in zip(X, signs, draws):
        seen[y] += 1
        others = buffer[-y]
        Ct = C * max(1.0, seen[-y] / capacity)
        frozen, step = w.copy(), np.zeros_like(w)
        for b in others:
            z = y * (x - b)
            if gradual:
                if z @ frozen < 1:
                    step += Ct * z
            elif z @ z > 0:
                w = w + Ct * best_dual(0.0, z @ w, Ct * (z @ z), squared) * z
        w = w + step
        if len(buffer[y]) < capacity:
            buffer[y].append(x)
        else:
            slot = int(u * seen[y])
            if slot < capacity:
                buffer[y][slot] = x
    return w, buffer


def pair_risk(w, F, A, B, wa=None, wb=None):
    """Mean of (1 - w.(a - b))^2 over the rows of two groups."""
    wa = np.ones(len(A)) if wa is None else wa
    wb = np.ones(len(B)) if wb is None else wb
    loss = (1 - (F[A] @ w)[:, None] + (F[B] @ w)[None, :]) ** 2
    return (wa[:, None] * wb[None, :] * loss).sum() / wa.sum() / wb.sum()


def same_risk(w, F, A):
    """The same over the pairs of different rows of one group."""
    s = F[A] @ w
    loss = (1 - s[:, None] + s[None, :]) ** 2
    return (loss.sum() - np.trace(loss)) / (len(A) * (len(A) - 1))


def least_squares_risk(w, F, signs, risk, gamma, prior):
    P, N, U = (np.flatnonzero(signs == s) for s in (1, -1, 0))
    pn = pair_risk(w, F, P, N)
    if risk == "pn" or len(U) == 0:
        return pn
    if risk == "samult":
        return gamma * pn + (1 - gamma) * (pair_risk(w, F, P, U) + pair_risk(w, F, U, N))
    if gamma >= 0:
        other = (pair_risk(w, F, P, U) - prior * same_risk(w, F, P)) / (1 - prior)
    else:
        other = (pair_risk(w, F, U, N) - (1 - prior) * same_risk(w, F, N)) / prior
    return (1 - abs(gamma)) * pn + abs(gamma) * other
