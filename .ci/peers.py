"""Learners of other makers on the rows that sunloop backtest scores, and the time they take.

usage: peers.py score FILE...   quantile learners of scikit-learn, refitted as the site file says
       peers.py time FILE       the fit of three quantiles on the rows before the test, one thread
Files are what sunloop backtest --export writes.
"""
import sys
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

DECILES = np.arange(1, 10) / 10


def load(name):
    with open(name) as f:
        names = f.readline().strip().split(",")
    table = np.genfromtxt(name, delimiter=",", skip_header=1, usecols=range(1, len(names)))
    refit, scored, power = table[:, 0].astype(int), table[:, 1] > 0, table[:, 2]
    return names[4:], refit, scored, power, table[:, 3:]


def boosted(x, y, q, leaves=31, rounds=200, leaf=20):
    return HistGradientBoostingRegressor(loss="quantile", quantile=q, learning_rate=0.06, max_iter=rounds, max_leaf_nodes=leaves,
                                         min_samples_leaf=leaf, max_bins=255, early_stopping=False, random_state=1).fit(x, y)


def hgb(x, y, t, clear, clear_t):
    return np.stack([boosted(x, y, q).predict(t) for q in DECILES], 1)


def hgb_index(x, y, t, clear, clear_t):
    keep = clear > 0.02
    return np.stack([boosted(x[keep], y[keep] / clear[keep], q).predict(t) for q in DECILES], 1) * clear_t[:, None]


def forest(x, y, t, clear, clear_t):
    """Meinshausen's quantile forest: the rows that share a leaf, weighted by how few share it."""
    keep = clear > 0.02
    x, y = np.nan_to_num(x[keep], nan=-1), y[keep] / clear[keep]
    f = RandomForestRegressor(200, min_samples_leaf=10, max_features=0.4, random_state=1, n_jobs=1).fit(x, y)
    own, other = f.apply(x), f.apply(np.nan_to_num(t, nan=-1))
    order = np.argsort(y)
    out = np.empty((len(t), len(DECILES)))
    sizes = [np.bincount(own[:, k]) for k in range(own.shape[1])]
    for i in range(0, len(t), 256):
        w = np.zeros((min(256, len(t) - i), len(y)), np.float32)
        for k, size in enumerate(sizes):
            leaf = other[i:i + 256, k]
            w += (leaf[:, None] == own[None, :, k]) / size[leaf][:, None]
        c = np.cumsum(w[:, order], 1)
        c /= c[:, -1:]
        for j, q in enumerate(DECILES):
            out[i:i + 256, j] = y[order][np.argmax(c >= q, 1)]
    return out * clear_t[:, None]


def scores(y, p):
    p = np.clip(np.sort(p, 1), 0, 1)
    e = y[:, None] - p
    pinball = np.maximum(DECILES * e, (DECILES - 1) * e).mean()
    cover = ((y >= p[:, 0]) & (y <= p[:, -1])).mean()
    rmse = np.sqrt(((p.mean(1) - y) ** 2).mean())
    return f"n {len(y)}  deciles {100 * pinball:.3f}  nMAE {100 * np.abs(e[:, 4]).mean():.3f}  nRMSE {100 * rmse:.2f}  coverage 80 {100 * cover:.1f} %"


def score(name):
    names, refit, scored, power, x = load(name)
    clear = x[:, names.index("clear_power")]
    for learner in (hgb, hgb_index, forest):
        actual, said = [], []
        for k in range(1, refit.max() + 1):
            train, test = refit < k, (refit == k) & scored
            if not test.any():
                continue
            said.append(learner(x[train], power[train], x[test], clear[train], clear[test]))
            actual.append(power[test])
        print(f"{name}: {learner.__name__:<10} {scores(np.concatenate(actual), np.concatenate(said))}", flush=True)


def fit_time(name):
    _, refit, _, power, x = load(name)
    x, y = x[refit == 0], power[refit == 0]
    best = min(one(x, y) for _ in range(3))
    print(f"{best:.3f}")


def one(x, y):
    begin = time.process_time()
    for q in (0.1, 0.5, 0.9):
        boosted(x, y, q)
    return time.process_time() - begin


if __name__ == "__main__":
    if sys.argv[1] == "score":
        for name in sys.argv[2:]:
            score(name)
    else:
        fit_time(sys.argv[2])
