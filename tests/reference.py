"""The algorithms again: slow, literal, as the pseudo-code has them. The oracle of every test; shares no product code.

Binomial weights and potentials are exact integers until the last division, which Python rounds correctly.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import accumulate, combinations_with_replacement, pairwise
from typing import Any

import numpy as np

SCALE = 1 << 53


def sign(v: float) -> float:
    return 1.0 if v >= 0 else -1.0


def exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


# ---- random numbers (SplitMix64 keyed by seed, example, stream)

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed: int, example: int, stream: int) -> float:
    key = mix((seed + STEP * (example + 1)) & MASK)
    return (mix((key + STEP * (stream + 1)) & MASK) >> 11) / SCALE


def draw(seed: int, example: int, stream: int, mean: float) -> float:
    whole = math.floor(mean)
    return whole + (uniform(seed, example, stream) < mean - whole)


# ---- Online BBM: Algorithm 1


@cache
def coin_weight(m: int, k: int, b: float) -> int:
    """C(m, k) b^k (1-b)^(m-k) times SCALE^m, exactly."""
    if k < 0 or k > m:
        return 0
    heads = int(b * SCALE)
    assert heads / SCALE == b
    return math.comb(m, k) * heads**k * (SCALE - heads) ** (m - k)


@cache
def largest_weight(N: int, i: int, b: float, normalizer: str) -> int:
    """The norm of w^i times SCALE^(N-i): over what can be reached after i - 1 votes, or over everything."""
    if normalizer == "none":
        return SCALE ** (N - i)
    margins = range(-(i - 1), i, 2)
    ks = [math.floor((N - i - s + 1) / 2) for s in margins] if normalizer == "reachable" else range(N - i + 1)
    return max(coin_weight(N - i, k, b) for k in ks)


class OnlineBBM:
    def __init__(self, N: int, b: float, normalizer: str = "reachable") -> None:
        self.N, self.b, self.normalizer = N, b, normalizer

    def score(self, h: list[float]) -> float:
        return sum(h)  # line 3

    def round(self, h: list[float], y: float) -> list[float]:
        N, p = self.N, []
        s = 0.0  # line 4
        for i in range(1, N + 1):  # line 5
            k = math.floor((N - i - s + 1) / 2)  # line 7
            w = coin_weight(N - i, k, self.b)  # line 8
            p.append(w / largest_weight(N, i, self.b, self.normalizer))  # line 9
            s = s + y * h[i - 1]  # line 6
        return p


# ---- the potential family: section 3.1


class PotentialBoost:
    def __init__(self, N: int, b: float, terminal: Callable[[int], float]) -> None:
        self.N = N
        self.weights = potential_weights(N, b, terminal)

    def score(self, h: list[float]) -> float:
        return sum(h)

    def round(self, h: list[float], y: float) -> list[float]:
        s, p = 0, []
        for i in range(1, self.N + 1):
            p.append(self.weights[i, s])
            s += int(y * h[i - 1])
        return p


def scaled(x: float) -> int:
    """x times a power of two that makes every float a whole number."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator << 1100) // denominator


@cache
def potential_weights(N: int, b: float, terminal: Callable[[int], float]) -> dict[tuple[int, int], float]:
    """w^i(s) over its largest reachable value, from the recursion of equation (4)."""
    heads = int(b * SCALE)
    Phi = {s: scaled(terminal(s)) for s in range(-N - 1, N + 2)}
    weights = {}
    for i in range(N, 0, -1):
        w = {s: Phi[s - 1] - Phi[s + 1] for s in range(-(i - 1), i, 2)}
        norm = max(w.values())
        weights |= {(i, s): w[s] / norm for s in w}
        Phi = {s: (SCALE - heads) * Phi[s - 1] + heads * Phi[s + 1] for s in range(-i, i + 1)}
    return weights


# ---- AdaBoost.OL: Algorithm 2


class AdaBoostOL:
    def __init__(self, N: int, expert: str, seed: int = 0) -> None:
        self.N, self.expert, self.seed = N, expert, seed
        self.v = [1.0] * N
        self.alpha = [0.0] * N
        self.t = 0

    def experts(self, h: list[float]) -> list[float]:
        return [sign(s) for s in accumulate(a * x for a, x in zip(self.alpha, h, strict=True))]  # lines 4-6

    def score(self, h: list[float]) -> float:
        if self.expert == "last":
            return sum(a * x for a, x in zip(self.alpha, h, strict=True))
        advice, total = self.experts(h), sum(self.v)
        if self.expert == "vote":
            return sum(v * e for v, e in zip(self.v, advice, strict=True)) / total
        u, passed = uniform(self.seed, self.t, self.N) * total, 0.0
        for v, e in zip(self.v, advice, strict=True):  # line 7
            passed += v
            if passed > u:
                return e
        return advice[-1]

    def round(self, h: list[float], y: float) -> list[float]:
        advice, p = self.experts(h), []
        self.t += 1
        eta = 4 / math.sqrt(self.t)
        s = 0.0  # line 9
        for i in range(self.N):  # line 10
            p.append(1 / (1 + exp(s)))  # line 14
            z = y * h[i]  # line 11
            s = s + self.alpha[i] * z  # line 12
            self.alpha[i] = max(-2, min(2, self.alpha[i] + eta * z / (1 + exp(s))))  # line 13
            self.v[i] *= math.exp(-(y != advice[i]))  # line 15
        return p


# ---- Online MBBM and AdaBoost.OLM: Jung, Goetz and Tewari 2017; votes and labels are places of classes


@cache
def die_potential(n: int, ahead: tuple[int, ...], gamma: float) -> float:
    """phi_n^r(s), by the recursion over the throws of the die; ``ahead`` is s_r - s_l for all other l, sorted."""
    if n == 0:
        return float(min(ahead) <= 0)
    other = (1 - gamma) / (len(ahead) + 1)
    total = (other + gamma) * die_potential(n - 1, tuple(d + 1 for d in ahead), gamma)
    for place in range(len(ahead)):
        fallen = sorted(d - (j == place) for j, d in enumerate(ahead))
        total += other * die_potential(n - 1, tuple(fallen), gamma)
    return total


def class_costs(n: int, s: list[int], y: int, gamma: float) -> list[float]:
    """C[y, l] for all l."""
    costs = []
    for place in range(len(s)):
        after = [x + (k == place) for k, x in enumerate(s)]
        ahead = sorted(after[y] - x for k, x in enumerate(after) if k != y)
        costs.append(die_potential(n, tuple(ahead), gamma))
    return costs


@cache
def largest_class_weight(n: int, k: int, gamma: float) -> float:
    """Over all votes for other classes, relative to those for the first."""
    found = []
    for ahead in combinations_with_replacement(range(-n - 1, n + 2), k - 1):
        costs = class_costs(n, [0, *(-d for d in ahead)], 0, gamma)
        found.append(sum(cost - costs[0] for cost in costs))
    return max(found)


class OnlineMBBM:
    def __init__(self, N: int, k: int, gamma: float) -> None:
        self.N, self.k, self.gamma = N, k, gamma

    def scores(self, h: list[int]) -> list[float]:
        return [float(h.count(place)) for place in range(self.k)]

    def round(self, h: list[int], y: int) -> list[float]:
        s, p = [0] * self.k, []
        for i in range(1, self.N + 1):
            costs = class_costs(self.N - i, s, y, self.gamma)
            w = sum(cost - costs[y] for cost in costs)
            p.append(w / largest_class_weight(self.N - i, self.k, self.gamma))
            s[h[i - 1]] += 1
        return p


class AdaBoostOLM:
    def __init__(self, N: int, k: int, expert: str, seed: int = 0) -> None:
        self.N, self.k, self.expert, self.seed = N, k, expert, seed
        self.v = [1.0] * N
        self.alpha = [0.0] * N
        self.t = 0

    def experts(self, h: list[int]) -> list[int]:
        s, found = [0.0] * self.k, []
        for i in range(self.N):
            s[h[i]] += self.alpha[i]
            found.append(s.index(max(s)) if self.k > 2 else int(s[1] >= s[0]))
        return found

    def scores(self, h: list[int]) -> list[float]:
        advice, total = self.experts(h), sum(self.v)
        if self.expert == "last":
            return [sum(a for a, place in zip(self.alpha, h, strict=True) if place == k) for k in range(self.k)]
        if self.expert == "vote":
            return [sum(v for v, e in zip(self.v, advice, strict=True) if e == k) / total for k in range(self.k)]
        u = uniform(self.seed, self.t, self.N) * total
        picked = next((e for v, e in zip(accumulate(self.v), advice, strict=True) if v > u), advice[-1])
        return [float(k == picked) for k in range(self.k)]

    def round(self, h: list[int], y: int) -> list[float]:
        advice, p = self.experts(h), []
        self.t += 1
        eta = 2 * math.sqrt(2) / ((self.k - 1) * math.sqrt(self.t))
        s, others = [0.0] * self.k, [j for j in range(self.k) if j != y]
        for i in range(self.N):
            costs = [1 / (1 + exp(s[y] - s[j])) for j in others]
            p.append(sum(costs) / (self.k - 1))
            alpha, voted = self.alpha[i], h[i]
            if voted == y:
                slope = -sum(1 / (1 + exp(alpha + s[y] - s[j])) for j in others)
            else:
                slope = 1 / (1 + exp(s[y] - s[voted] - alpha))
            s[voted] += alpha
            self.alpha[i] = max(-2, min(2, alpha - eta * slope))
            self.v[i] *= math.exp(-(y != advice[i]))
        return p


# ---- OSBoost and OSBoost.OCP: Chen, Lin and Lu 2012


class OSBoost:
    def __init__(self, N: int, gamma: float) -> None:
        self.N, self.gamma = N, gamma
        self.theta = gamma / (2 + gamma)

    def score(self, h: list[float]) -> float:
        return sum(h)

    def round(self, h: list[float], y: float) -> list[float]:
        p, z, w = [], 0.0, 1.0
        for i in range(self.N):
            p.append(w)
            z = self.carried(z) + y * h[i] - self.theta
            w = (1 - self.gamma) ** (z / 2) if z > 0 else 1
        return p

    def carried(self, z: float) -> float:
        return z


class OSBoostOCP(OSBoost):
    def __init__(self, N: int, gamma: float, as_authors: bool = False) -> None:
        super().__init__(N, gamma)
        self.alpha = [1 / N] * N
        self.t = 0
        self.as_authors = as_authors

    def carried(self, z: float) -> float:
        return z + z if self.as_authors else z  # their z += z + ...

    def score(self, h: list[float]) -> float:
        return sum(a * x for a, x in zip(self.alpha, h, strict=True))

    def round(self, h: list[float], y: float) -> list[float]:
        p = super().round(h, y)
        self.t += 1
        if y * self.score(h) < self.theta:
            eta = (1 if self.as_authors else math.sqrt(2)) / math.sqrt(self.N * self.t)
            self.alpha = nearest_on_simplex([a + eta * y * x for a, x in zip(self.alpha, h, strict=True)])
        return p


def nearest_on_simplex(a: list[float]) -> list[float]:
    """Take the excess off evenly, drop what falls below zero, repeat (Michelot 1986)."""
    alive = list(range(len(a)))
    while True:
        shift = (sum(a[i] for i in alive) - 1) / len(alive)
        left = [i for i in alive if a[i] > shift]
        if len(left) == len(alive):
            return [max(x - shift, 0.0) for x in a]
        alive = left


# ---- Linear: section 2 of the description of Vowpal Wabbit, for N learners

f32 = np.float32


class Linear:
    def __init__(self, N: int, loss: str = "squared", learning_rate: float = 0.5, power_t: float = 0.5) -> None:
        self.N, self.loss, self.eta, self.P = N, loss, f32(learning_rate), power_t
        self.w: list[dict[int, np.float32]] = [{} for _ in range(N)]
        self.G: list[dict[int, np.float32]] = [{} for _ in range(N)]
        self.n: list[dict[int, np.float32]] = [{} for _ in range(N)]
        self.S, self.T = [0.0] * N, [0.0] * N

    def predict(self, x: dict[int, float]) -> list[float]:
        limit = 1.0 if self.loss == "squared" else 50.0
        scores = []
        for w in self.w:
            p = f32(0)
            for j, value in self.with_constant(x):
                p += w.get(j, f32(0)) * value
            scores.append(float(min(max(p, -limit), limit)))
        return scores

    @staticmethod
    def with_constant(x: dict[int, float]) -> list[tuple[int, np.float32]]:
        return [(j, f32(x[j])) for j in sorted(x)] + [(-1, f32(1))]

    def learn(self, x: dict[int, float], y: float, importance: list[float]) -> None:
        p = [f32(score) for score in self.predict(x)]
        y = f32(y)
        for i in range(self.N):
            if importance[i] > 0 and self.square(p[i], y) > 0:
                self.learn_alone(i, x, y, f32(importance[i]), p[i])

    def square(self, p: np.float32, y: np.float32) -> np.float32:
        if self.loss == "squared":
            return f32(4) * (p - y) * (p - y)
        if f32(1) + f32(math.exp(-y * p)) == 1:
            return f32(0)
        return f32((1 / (1 + math.exp(float(y * p)))) ** 2)

    def learn_alone(self, i: int, x: dict[int, float], y: np.float32, h: np.float32, p: np.float32) -> None:
        w, G, n = self.w[i], self.G[i], self.n[i]
        rates, nx, q = {}, f32(0), f32(0)
        for j, value in self.with_constant(x):
            if abs(value) > n.get(j, f32(0)):
                if j in w:
                    w[j] *= f32((float(abs(value) / n[j]) ** 2) ** (self.P - 1))
                n[j] = abs(value)
            G[j] = G.get(j, f32(0)) + h * self.square(p, y) * value * value
            nx += value * value / (n[j] * n[j])
            rates[j] = f32(float(G[j]) ** -self.P) * f32(float(n[j]) ** (2 * (self.P - 1)))
            q += value * value * rates[j]
        self.S[i] += float(h) * float(nx)
        self.T[i] += float(h)
        M = f32((self.S[i] / self.T[i]) ** (self.P - 1))
        q *= M
        H = self.eta * h
        if self.loss == "squared":
            U = (y - p) * f32(1 - math.exp(-2 * H * q)) / q if H * q >= 1e-6 else 2 * (y - p) * H
        else:
            d = math.exp(float(y * p))
            U = f32(self.implicit(float(H * q), float(y), float(p), d)) / q if H * q >= 1e-6 else y * H / f32(1 + d)
        for j, value in self.with_constant(x):
            w[j] = w.get(j, f32(0)) + U * M * (value * rates[j])

    @staticmethod
    def implicit(hq: float, y: float, p: float, d: float) -> float:
        """By how much the score moves, times q: the margin u = y score grows until u + e^u = (y p) + e^(y p) + H q."""
        goal, low = y * p + d + hq, y * p
        high = min(low + hq, math.log(goal) if goal > 1 else math.inf)
        for _ in range(200):
            u = (low + high) / 2
            low, high = (u, high) if u + math.exp(u) < goal else (low, u)
        return y * (low - y * p)


# ---- the standardizer


class Standardizer:
    """Rows are dicts of non-zero values; what a row becomes depends on the rows before it alone."""

    def __init__(self, centering: bool = True, follows: bool = False) -> None:
        self.centering, self.follows, self.rows = centering, follows, 0
        self.count: dict[int, int] = {}
        self.mean: dict[int, float] = {}
        self.variance: dict[int, float] = {}
        self.values: dict[int, list[float]] = {}
        self.centered: list[int] = []

    def see(self, row: dict[int, float]) -> dict[int, float]:
        if self.rows == 0:
            return {}
        seen = {}
        for f, x in [*row.items(), *((f, 0.0) for f in self.centered if f not in row)]:
            met = self.values.get(f, [])
            if self.follows and x > max(met, default=x) and self.grows(f):
                seen[f] = float(np.float32(min(x, max(met) + 0.5 * (max(met) - min(met)))))
                continue
            if x != 0 and len(met) >= 32:
                x = min(max(x, min(met)), max(met))
            z = self.center(f, x) if f in self.centered else self.bound(f, x)
            if np.float32(z) != 0:
                seen[f] = float(np.float32(z))
        return seen

    def grows(self, f: int) -> bool:
        span, gap = max(self.values[f]) - min(self.values[f]), max(self.values[f]) - self.mean[f]
        return self.count[f] >= 2000 and self.variance[f] < (0.2 * span) ** 2 and gap**2 < 9 * self.variance[f]

    def center(self, f: int, x: float) -> float:
        density = 1.0 if self.count[f] == self.rows else self.count[f] / self.rows
        variance = density * (self.variance[f] + (1 - density) * self.mean[f] * self.mean[f])
        return within(x - density * self.mean[f], 9.0 * variance)

    def bound(self, f: int, x: float) -> float:
        if f not in self.count:
            return x
        if not self.centering:
            return self.mean[f] + within(x - self.mean[f], 9.0 * self.variance[f])
        return within(x, 9.0 * (self.variance[f] + self.mean[f] * self.mean[f]))

    def learn(self, row: dict[int, float]) -> None:
        self.rows += 1
        for f, x in row.items():
            self.values.setdefault(f, []).append(x)
            self.count[f] = self.count.get(f, 0) + 1
            step = 1 / min(self.count[f], 1000)
            d = x - self.mean.get(f, 0.0)
            self.mean[f] = self.mean.get(f, 0.0) + step * d
            variance = self.variance.get(f, 0.0)
            self.variance[f] = variance + step * (d * (x - self.mean[f]) - variance)
        # A centered feature leaves when a row without it comes and it has become rare; others join when they are in
        # a row and frequent enough.
        leaves = any(f not in row and self.count[f] < 0.5 * self.rows for f in self.centered)
        joins = [f for f in row if f not in self.centered and self.count[f] >= 0.75 * self.rows]
        if self.centering and (leaves or joins):
            self.centered = [f for f in self.centered if self.count[f] >= 0.5 * self.rows] + joins


def within(x: float, limit: float) -> float:
    return math.copysign(math.sqrt(limit), x) if x * x > limit else x


# ---- trees


class Feature:
    """The sample of one feature's values, and the edges made from it."""

    def __init__(self, born: int, late: bool) -> None:
        self.born, self.seen, self.sample_at, self.remake_at = born, 0, 1, 32
        self.samples: list[float] = []  # the first ``seen`` of them count
        self.drawn = self.outside = 0
        self.edges = [-1e-45, 0.0] if late else []
        self.low = self.high = 0.0

    def bin(self, x: float) -> int:
        return sum(edge < x for edge in self.edges)

    def weigh(self, x: float) -> float:
        return self.zeros if x == 0 else 1.0

    def unevenness(self, edges: list[float]) -> float:
        weights = [0.0] * (len(edges) + 1)
        for x in self.values:
            weights[sum(edge < x for edge in edges)] += self.weigh(x)
        return sum(weight * weight for weight in weights)


class Bins:
    """Bins that follow the stream; rows are dicts of non-zero values by slot, NaN where a value is missing."""

    def __init__(self, n_bins: int, bound: int = 0) -> None:
        self.wanted, self.n_bins, self.bound = n_bins, 0, bound
        self.features: dict[int, Feature] = {}
        self.rows = 0

    def see(self, row: dict[int, float]) -> dict[int, int | None]:
        """The bins of the values that are not in the bin of zero; None for a missing one."""
        if not self.n_bins:
            return {}
        bins: dict[int, int | None] = {}
        for slot, x in row.items():
            feature = self.features.get(slot)
            if feature is not None and math.isnan(x):
                bins[slot] = None
            elif feature is not None and feature.bin(x) != feature.bin(0.0):
                bins[slot] = feature.bin(x)
        return bins

    def meet(self, slot: int, x: float) -> bool:
        """Take note of a value; whether edges are to be made anew."""
        if slot not in self.features:
            self.features[slot] = Feature(self.rows, late=self.n_bins > 0)
        f = self.features[slot]
        if math.isnan(x):
            f.born += 1  # a row less
            return False
        f.seen += 1
        if f.seen != f.sample_at:
            return False
        if f.seen <= 256:
            f.samples[f.seen - 1 :] = [x, *f.samples[f.seen :]]
            f.sample_at += 1
        else:
            f.samples[int(uniform(1, slot, f.seen) * 256)] = x
            f.sample_at += 1 + int(uniform(2, slot, f.seen) * (2 * min(f.seen, 16384) / 256 - 1))
        if not self.n_bins:
            return False
        if f.seen >= f.remake_at:
            return True
        f.drawn += 1
        f.outside += not f.low <= x <= f.high
        if f.drawn >= 32:
            if f.outside > f.drawn / 2:
                kept = min(f.seen, 128)
                f.samples[:kept] = f.samples[: f.seen][-kept:]
                f.born = self.rows + 1 - (self.rows + 1 - f.born) * kept // f.seen
                f.seen, f.sample_at, f.remake_at = kept, kept + 1, kept + 32
            f.drawn = f.outside = 0
        return False

    def fresh_edges(self, slot: int) -> list[float] | None:
        """New edges of a feature, if they are better than the old ones."""
        f = self.features[slot]
        while f.remake_at <= f.seen:
            f.remake_at += min(f.remake_at, 16384)
        if not f.samples:  # all values so far were missing
            return None
        f.current = f.samples[: f.seen]
        f.zeros = max(self.rows + 1 - f.born - f.seen, 0) * len(f.current) / f.seen
        f.values = sorted(f.current + [0.0] * (f.zeros > 0))
        tail = len(f.values) // 16
        f.low, f.high = f.values[tail], f.values[-1 - tail]
        shared = len(self.features) == self.bound and 8 * f.seen < self.rows + 1 - f.born
        edges = self.spread(f, min(self.n_bins, 4 if shared else max(4, len(f.values) // 4)))
        if len(edges) > len(f.edges) or f.unevenness(f.edges) > 1.2 * f.unevenness(edges):
            return edges
        return None

    def spread(self, f: Feature, n_bins: int) -> list[float]:
        distinct = sorted(set(f.values))
        left = 0.0
        for x in f.values:
            left += f.weigh(x)
        weight = {x: f.zeros if x == 0 else float(f.values.count(x)) for x in distinct}
        edges: list[float] = []
        here = 0.0
        for x, after in pairwise(distinct):
            here += weight[x]
            if len(edges) == n_bins - 1:
                break
            if len(distinct) <= n_bins or here + weight[after] / 2 >= left / (n_bins - len(edges)):
                edge = (np.float32(x) + np.float32(after)) / np.float32(2)
                edges.append(float(edge) if edge < after else x)
                left, here = left - here, 0.0
        return edges

    def shares(self, slot: int, edges: list[float]) -> dict[int, dict[int, float]]:
        """Which share of each old bin belongs to which new one; the feature takes the new edges."""
        f = self.features[slot]
        old, f.edges = f.edges, edges
        counts: dict[int, dict[int, float]] = {b: {} for b in range(len(old) + 1)}
        pairs = [(x, 1.0) for x in f.current] + [(0.0, f.zeros)] * (f.zeros > 0)
        for x, weight in pairs:
            found = counts[sum(edge < x for edge in old)]
            found[f.bin(x)] = found.get(f.bin(x), 0.0) + weight
        for b, found in counts.items():
            if not found:  # no value tells: where its edge belongs, and zero to zero
                at_zero = b == sum(edge < 0 for edge in old)
                found[f.bin(0.0 if at_zero else old[min(b, len(old) - 1)])] = 1.0
            total = 0.0
            for k in sorted(found):
                total += found[k]
            counts[b] = {k: found[k] / total for k in sorted(found)}
        return counts

    def begin(self) -> None:
        """The first edges, after 64 rows."""
        self.n_bins = self.wanted or (32 if len(self.features) <= 8 else 16)
        for slot, feature in self.features.items():
            feature.edges = (self.fresh_edges(slot) or []) if feature.samples else [-1e-45, 0.0]


class Histogram:
    """Weights of all labels by bin, without the bin of zero, and of missing values (None)."""

    def __init__(self, number: Callable[[float], Any], classes: int = 2) -> None:
        self.cells: dict[int | None, list[Any]] = {}
        self.number, self.classes = number, classes

    def add(self, b: int | None, c: int, w: float) -> None:
        cell = [*self.get(b)]
        cell[c] = self.number(cell[c] + self.number(w))
        self.cells[b] = cell

    def get(self, b: int | None) -> list[Any]:
        return self.cells.get(b, [self.number(0)] * self.classes)

    def rest(self, c: int, total: float, n_bins: int, zero: int) -> float:
        """What is in no cell."""
        for b in range(n_bins):
            total -= float(self.get(b if b != zero else None)[c])
        return total

    def carry(self, totals: list[float], shares: dict, n_bins: int, old_zero: int, zero: int) -> None:
        cells: dict[int | None, list[Any]] = {b: [0.0] * self.classes for b in range(n_bins)}
        for c in range(self.classes):
            for b in range(n_bins):
                mass = float(self.get(b)[c])
                if b == old_zero:
                    mass = max(self.rest(c, totals[c], n_bins, old_zero), 0.0)
                for to, share in shares.get(b, {}).items() if mass else ():
                    cells[to][c] += mass * share
        missing = self.get(None)
        self.cells = {b: [self.number(x) for x in cell] for b, cell in cells.items() if b != zero}
        self.cells[None] = missing


class Node:
    def __init__(self, depth: int, weight: list[float], classes: int = 2) -> None:
        self.depth, self.weight = depth, weight
        self.since, self.squares, self.waits, self.wrong = [0.0] * classes, 0.0, 0, [0.0, 0.0]
        self.histograms: dict[int, Histogram] = {}  # by slot
        self.split: tuple[int, float, int] | None = None  # slot, largest value that goes left, side of missing values
        self.children: list[Node] = []

    def leaves(self) -> list[Node]:
        return [leaf for child in self.children for leaf in child.leaves()] or [self]


class Tree:
    number: Callable[[float], Any] = np.float32  # of histograms

    def __init__(
        self,
        max_depth: int,
        n_bins: int,
        grace: int,
        delta: float,
        tie: float,
        max_nodes: int,
        evidence: float = 0,
        adaptive: bool = False,
    ) -> None:
        self.bins = Bins(n_bins)
        self.evidence, self.adaptive = evidence, adaptive
        self.max_depth, self.grace, self.delta, self.tie, self.max_nodes = max_depth, grace, delta, tie, max_nodes
        self.root = Node(0, [0.0, 0.0])
        self.nodes = 1

    def leaf(self, row: dict[int, float]) -> Node:
        node = self.root
        while node.split is not None:
            slot, threshold, missing = node.split
            x = row.get(slot, 0.0)
            node = node.children[missing if math.isnan(x) else x > threshold]
        return node

    def score(self, row: dict[int, float]) -> float:
        leaf = self.leaf(row)
        if leaf.wrong[1] < leaf.wrong[0]:
            return float(np.float32(self.bayes(leaf, row)))
        a, b = leaf.weight
        return float(np.float32((b - a) / (a + b))) if a + b > 0 else 0.0

    def bayes(self, leaf: Node, row: dict[int, float]) -> float:
        p = [leaf.since[0] + 1, leaf.since[1] + 1]
        for slot, b in self.bins.see(row).items():
            counts = leaf.histograms[slot].get(b) if slot in leaf.histograms else [0.0, 0.0]
            p = [p[c] * ((float(counts[c]) + 0.1) * (1 / (leaf.since[c] + 0.2))) for c in (0, 1)]
            if sum(p) < 1e-100:
                p = [p[0] / 1e-100, p[1] / 1e-100]
        return (p[1] - p[0]) / (p[1] + p[0])

    def learn(self, row: dict[int, float], y: float, w: float, fresh: bool = True) -> None:
        node, c = self.leaf(row), int(y > 0)
        said = self.bayes(node, row) if node.wrong[1] < node.wrong[0] else None  # as it voted, by the bins then
        if fresh:
            self.meet(row)
        if self.adaptive and min(node.since) > 0:
            said = self.bayes(node, row) if said is None else said
            answers = node.weight[1] >= node.weight[0], said >= 0
            node.wrong = [wrong + w * (answer != c) for wrong, answer in zip(node.wrong, answers, strict=True)]
        self.learn_leaf(node, row, c, w)
        if fresh and self.bins.rows == 64:
            self.bins.begin()

    def meet(self, row: dict[int, float]) -> None:
        self.bins.rows += 1
        for slot, x in row.items():
            edges = self.bins.fresh_edges(slot) if self.bins.meet(slot, x) else None
            if edges is not None:
                old_zero = self.bins.features[slot].bin(0.0)
                shares = self.bins.shares(slot, edges)
                for node, histograms in self.all_histograms():
                    zero = self.bins.features[slot].bin(0.0)
                    histogram = histograms.setdefault(slot, self.new_histogram())
                    histogram.carry(node.since, shares, self.bins.n_bins, old_zero, zero)

    def new_histogram(self) -> Histogram:
        return Histogram(self.number)

    def all_histograms(self) -> list[tuple[Node, dict[int, Histogram]]]:
        return [(leaf, leaf.histograms) for leaf in self.root.leaves()]

    def learn_leaf(self, node: Node, row: dict[int, float], c: int, w: float) -> None:
        node.weight[c] += w
        splits = node.depth < self.max_depth and self.nodes + 2 <= self.max_nodes
        if not self.bins.n_bins or not (splits or self.adaptive):
            return
        node.since[c] += w
        node.squares += w * w
        node.waits += 1
        for slot, b in self.bins.see(row).items():
            node.histograms.setdefault(slot, self.new_histogram()).add(b, c, w)
        n = added(node.since)
        if node.waits >= self.grace and 8.0 * node.waits * node.squares >= n * n:
            node.waits = 0
            if splits:
                self.look(node)

    def look(self, node: Node) -> None:
        a, b = node.since
        if a <= 0 or b <= 0:
            return
        n = a + b
        second, (gain, split, left) = self.best_two(node.histograms, a, b)
        bound = math.sqrt(math.log(1 / self.delta) * node.squares / (2 * n * n))
        justified = gain - second > bound or bound < self.tie
        if self.evidence:
            justified = gain * n * n > self.evidence * node.squares
        if split is None or not justified:
            return
        self.nodes += 2
        node.split = split
        right = [max(a - left[0], 0.0), max(b - left[1], 0.0)]
        node.children = [Node(node.depth + 1, list(left)), Node(node.depth + 1, right)]

    def best_two(self, histograms: dict[int, Histogram], a: float, b: float) -> tuple:
        """The gain of the second best slot; gain, split and left weights of the best."""
        n = a + b
        best: tuple = (0.0, None, None)
        second = 0.0
        for slot in sorted(histograms):
            histogram = histograms[slot]
            feature = self.bins.features.get(slot) or Feature(0, late=False)
            zero = feature.bin(0.0)
            missing = [float(x) for x in histogram.get(None)]
            found: tuple = (0.0, None, None)
            left = [0.0, 0.0]
            for k, edge in enumerate([*feature.edges, math.inf] if sum(missing) > 0 else feature.edges):
                mass = [float(x) for x in histogram.get(k)]
                if k == zero:
                    mass = [histogram.rest(c, (a, b)[c], self.bins.n_bins, zero) for c in (0, 1)]
                if mass == [0.0, 0.0]:
                    continue
                left = [left[0] + mass[0], left[1] + mass[1]]
                for side in (0, 1) if sum(missing) > 0 else (None,):
                    here = [left[0] + missing[0], left[1] + missing[1]] if side == 0 else left
                    if 0 < here[0] + here[1] < n:
                        gain = (bits(a, b) - bits(*here) - bits(a - here[0], b - here[1])) / n
                        if gain > found[0]:
                            smaller = 1 if 2 * (here[0] + here[1]) < n else 0
                            found = (gain, (slot, edge, smaller if side is None else side), here)
            if found[0] > best[0]:
                best, second = found, best[0]
            else:
                second = max(second, found[0])
        return second, best


class ClassTree(Tree):
    """A tree whose leaves count K classes; the vote is the place of one. A class may be new."""

    def __init__(
        self, max_depth: int, n_bins: int, grace: int, max_nodes: int, evidence: float, adaptive: bool
    ) -> None:
        super().__init__(max_depth, n_bins, grace, 0.05, 0.0, max_nodes, evidence, adaptive)
        self.classes = 2

    def take(self, classes: int) -> None:
        """Go on with more classes."""
        nodes, more = [self.root], classes - self.classes
        while nodes:
            node = nodes.pop()
            nodes += node.children
            node.weight, node.since = [*node.weight, *[0.0] * more], [*node.since, *[0.0] * more]
            for histogram in node.histograms.values():
                histogram.classes = classes
                zeros = [histogram.number(0)] * more
                histogram.cells = {b: [*cell, *zeros] for b, cell in histogram.cells.items()}
        self.classes = classes

    def score(self, row: dict[int, float]) -> int:
        leaf = self.leaf(row)
        return self.likeliest(leaf, row) if leaf.wrong[1] < leaf.wrong[0] else leaf.weight.index(max(leaf.weight))

    def likeliest(self, leaf: Node, row: dict[int, float]) -> int:
        p = [n + 1 if n > 0 else 0.0 for n in leaf.since]
        for slot, b in self.bins.see(row).items():
            counts = leaf.histograms[slot].get(b) if slot in leaf.histograms else [0.0] * self.classes
            p = [x * ((float(n) + 0.1) / (total + 0.2)) for x, n, total in zip(p, counts, leaf.since, strict=True)]
            if added(p) < 1e-100:
                p = [x / 1e-100 for x in p]
        return p.index(max(p))

    def learn(self, row: dict[int, float], y: float, w: float, fresh: bool = True) -> None:
        node, c = self.leaf(row), int(y)
        said = self.likeliest(node, row) if node.wrong[1] < node.wrong[0] else None
        if fresh:
            self.meet(row)
        if self.adaptive and sum(n > 0 for n in node.since) > 1:
            said = self.likeliest(node, row) if said is None else said
            answers = node.weight.index(max(node.weight)), said
            node.wrong = [wrong + w * (answer != c) for wrong, answer in zip(node.wrong, answers, strict=True)]
        self.learn_leaf(node, row, c, w)
        if fresh and self.bins.rows == 64:
            self.bins.begin()

    def new_histogram(self) -> Histogram:
        return Histogram(self.number, self.classes)

    def look(self, node: Node) -> None:
        n, present = added(node.since), sum(x > 0 for x in node.since)
        if present < 2:
            return
        gain, split, left = self.best(node, n)
        if split is None or not gain * n * n > self.evidence * (present - 1) * node.squares:
            return
        self.nodes += 2
        node.split = split
        right = [max(a - b, 0.0) for a, b in zip(node.since, left, strict=True)]
        node.children = [Node(node.depth + 1, list(left), self.classes), Node(node.depth + 1, right, self.classes)]

    def best(self, node: Node, n: float) -> tuple:
        """Gain, split and left weights of the best split."""
        best: tuple = (0.0, None, None)
        whole = information(n) - added(information(x) for x in node.since)
        for slot in sorted(node.histograms):
            histogram = node.histograms[slot]
            feature = self.bins.features.get(slot) or Feature(0, late=False)
            zero = feature.bin(0.0)
            missing = [float(x) for x in histogram.get(None)]
            left = [0.0] * self.classes
            for k, edge in enumerate([*feature.edges, math.inf] if sum(missing) > 0 else feature.edges):
                mass = [float(x) for x in histogram.get(k)]
                if k == zero:
                    rests = (histogram.rest(c, x, self.bins.n_bins, zero) for c, x in enumerate(node.since))
                    mass = [max(rest, 0.0) for rest in rests]
                if sum(mass) == 0:
                    continue
                left = [a + b for a, b in zip(left, mass, strict=True)]
                for side in (0, 1) if sum(missing) > 0 else (None,):
                    here = [a + b for a, b in zip(left, missing, strict=True)] if side == 0 else left
                    inside, parts = added(here), 0.0
                    for a, b in zip(node.since, here, strict=True):
                        parts += information(b) + information(a - b)
                    if 0 < inside < n:
                        gain = (whole - information(inside) - information(n - inside) + parts) / n
                        if gain > best[0]:
                            smaller = 1 if 2 * inside < n else 0
                            best = (gain, (slot, edge, smaller if side is None else side), here)
        return best


def added(numbers: Iterable[float]) -> float:
    """Their sum in this order, rounded after each: ``sum`` does better since Python 3.12."""
    total = 0.0
    for x in numbers:
        total += x
    return total


def information(x: float) -> float:
    return x * math.log(x) / math.log(2) if x > 0 else 0.0


class Stump(Tree):
    number = float

    def __init__(self, n_bins: int, grace: int) -> None:
        super().__init__(1, n_bins, grace, 0.05, 0.1, 3)

    def all_histograms(self) -> list[tuple[Node, dict[int, Histogram]]]:
        return [(self.root, self.root.histograms)]

    def learn_leaf(self, node: Node, row: dict[int, float], c: int, w: float) -> None:
        """The best split of all that was seen, again and again: the root keeps its histograms."""
        root = self.root
        node.weight[c] += w
        if not self.bins.n_bins:
            return
        root.since[c] += w
        root.waits += 1
        for slot, b in self.bins.see(row).items():
            root.histograms.setdefault(slot, Histogram(self.number)).add(b, c, w)
        if root.waits >= self.grace:
            root.waits = 0
            a, b = root.since
            _, (_, split, left) = self.best_two(root.histograms, a, b)
            if split is not None:
                root.split = split
                root.children = [Node(1, list(left)), Node(1, [max(a - left[0], 0.0), max(b - left[1], 0.0)])]


def bits(a: float, b: float) -> float:
    """The entropy of two weights, times their sum."""
    return -(a * math.log(a / (a + b)) + b * math.log(b / (a + b))) / math.log(2) if a > 0 and b > 0 else 0.0


class NaiveBayes(Stump):
    """Of one learner: how often each label came with each bin, over all examples since there are bins."""

    def __init__(self, n_bins: int, smoothing: float) -> None:
        super().__init__(n_bins, 1)
        self.smoothing = smoothing

    def score(self, row: dict[int, float]) -> float:
        total, s = self.root.since, self.smoothing
        log_odds = math.log((total[1] + s) / (total[0] + s))
        found = self.bins.see(row)
        for slot, histogram in self.root.histograms.items():
            feature = self.bins.features.get(slot) or Feature(0, late=False)
            chance = [0.0, 0.0]
            counted = False
            for c in (0, 1):
                rest = histogram.rest(c, total[c], self.bins.n_bins, feature.bin(0.0))
                counted = counted or total[c] - rest > 0
                same = float(histogram.get(found[slot])[c]) if slot in found else max(rest, 0.0)
                chance[c] = (same + s) / (total[c] + s * self.bins.n_bins)
            log_odds += math.log(chance[1] / chance[0]) if counted else 0.0
        return math.tanh(log_odds / 2)

    def learn_leaf(self, node: Node, row: dict[int, float], c: int, w: float) -> None:
        if self.bins.n_bins:
            self.root.since[c] += w
            for slot, b in self.bins.see(row).items():
                self.root.histograms.setdefault(slot, Histogram(self.number)).add(b, c, w)


class Replay:
    """A learner that learns all rows so far again, after 64, 128, ... rows."""

    def __init__(self, learner: Any, most: int) -> None:
        self.learner, self.most = learner, most
        self.kept: list[tuple[Any, float, float]] = []
        self.seen = 0

    def learn(self, row: Any, y: float, w: float) -> None:
        self.learner.learn(row, y, w)
        self.seen += 1
        if self.seen <= self.most:
            self.kept.append((row, y, w))
            if self.seen in [64 << k for k in range(20)]:
                order = sorted(range(self.seen), key=lambda k: uniform(self.seen, k, 0))
                for k in order:
                    self.learner.learn(*self.kept[k], fresh=False)


class Newton:
    """Logistic regression by Newton steps, with the inverse of the information so far."""

    def __init__(self, n: int, steady: bool = False) -> None:
        self.steady, self.start = steady, 4 if steady else 100
        self.w, self.P, self.scale = np.zeros(n + 1), self.start * np.eye(n + 1), np.zeros(n)
        self.recent = [[] for _ in range(n)]  # values since the last look

    def row(self, values: np.ndarray) -> np.ndarray:
        return np.array([1.0, *(v / s if s else 0.0 for v, s in zip(values, self.scale, strict=True))])

    def predict(self, values: np.ndarray) -> float:
        return float(self.w @ self.row(values))

    def learn(self, values: np.ndarray, y: float, p: float) -> None:
        q = logistic(self.predict(values))
        for j in np.flatnonzero(values):
            self.recent[j].append(abs(values[j]))
            largest, looks = max(self.recent[j]), len(self.recent[j]) == 32
            if abs(values[j]) > 16 * self.scale[j] or (looks and 16 * largest < self.scale[j]):
                scale = 2.0 ** math.ceil(math.log2(largest))
                self.w[j + 1] *= scale / self.scale[j] if self.scale[j] else 0.0
                self.P[j + 1, :] = self.P[:, j + 1] = 0
                self.P[j + 1, j + 1], self.scale[j], self.recent[j] = self.start, scale, []
            elif looks:
                self.recent[j] = []
        x = self.row(values)
        F = 1 - 0.0005 * min(p, 1) * 4 * q * (1 - q) if self.steady else 0.9995
        F = F if np.diagonal(self.P).max() <= 1e6 else 1.0
        c, u = p * max(q * (1 - q), 0.02), self.P @ x
        self.P = (self.P - c / (F + c * (u @ x)) * np.outer(u, u)) / F
        self.w = self.w + p * (float(y > 0) - q) / (F + c * (u @ x)) * u


class Perceptron:
    def __init__(self) -> None:
        self.weights: dict[int, np.float32] = {}

    def score(self, row: dict[int, float]) -> float:
        total = float(self.weights.get(-1, 0.0))
        for f, x in row.items():
            total += float(self.weights.get(f, 0.0)) * float(np.float32(x))
        return float(np.float32(total))

    def learn(self, row: dict[int, float], y: float, w: float) -> None:
        if self.score(row) * y <= 0:
            for f, x in {-1: 1.0, **row}.items():
                moved = float(self.weights.get(f, 0.0)) + w * y * float(np.float32(x))
                self.weights[f] = np.float32(moved)


class Features(Bins):
    """What ``Linear(bins=..., crosses=...)`` shows of a row: numbers and values, in order."""

    def __init__(self, n_bins: int, column: dict[int, int], pairs: set[frozenset[int]] | None, bits: int) -> None:
        super().__init__(n_bins, bound=4096)
        self.column, self.pairs, self.n_products = column, pairs, 1 << bits if pairs is None or pairs else 0
        self.binned: set[int] = set()

    def number(self, f: int) -> int:
        each = self.wanted + 1
        return f * each if f < 4096 else 4096 * each + f - 4096

    def show(self, row: dict[int, float]) -> list[tuple[int, float]]:
        shown: list[tuple[int, int, float]] = []
        for f, x in row.items():
            if f in self.binned:
                b = self.features[f].bin(x)
                if b != self.features[f].bin(0.0):
                    shown.append((f, self.number(f) + 1 + b, 1.0))
            elif self.n_bins or not self.wanted or f >= 4096:
                shown.append((f, self.number(f), x))
        out = [(self.n_products + number, x) for _, number, x in shown]
        for i, (f, a, x) in enumerate(shown):
            for g, b, z in shown[i + 1 :]:
                if self.pairs is None or frozenset((self.column.get(f, 0), self.column.get(g, 0))) in self.pairs:
                    product = float(np.float32(x) * np.float32(z))
                    if product and self.n_products:
                        out.append((self.pair(a, b), max(min(product, 1e18), -1e18)))
        return out

    def pair(self, a: int, b: int) -> int:
        key = (min(a, b) * 0x9E3779B97F4A7C15 + max(a, b)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        return (key >> 33) % self.n_products

    def learn(self, row: dict[int, float], linear: Linear | None = None) -> None:
        """Meet the values of a row; a linear learner's weights follow new edges."""
        if not self.wanted:
            return
        self.rows += 1
        met = [self.meet(f, x) for f, x in row.items() if f < 4096]
        first = self.rows == 64
        self.n_bins = self.wanted if self.rows >= 64 else 0
        for f in sorted(self.features) if first or any(met) else ():
            feature = self.features[f]
            if not first and feature.seen < feature.remake_at:
                continue
            had = f in self.binned
            if 8 * feature.seen >= self.rows + 1 - feature.born:
                self.binned.add(f)
            edges = self.fresh_edges(f)
            if edges is not None:
                old, old_zero = feature.edges, feature.bin(0.0)
                shares = self.shares(f, edges)
                if had and linear is not None:
                    self.carry(linear, f, old, old_zero, shares)
            if self.n_products and feature.seen >= 256:
                feature.remake_at = 1 << 62

    def carry(self, linear: Linear, f: int, old: list[float], old_zero: int, shares: dict) -> None:
        """Each new bin gets the mean of the weights of its values; that of zero has none, the others move by it."""
        feature, first = self.features[f], self.n_products + self.number(f) + 1
        masses = dict.fromkeys(range(len(old) + 1), 0.0)
        for x in feature.values:
            masses[sum(edge < x for edge in old)] += feature.weigh(x)
        zero = feature.bin(0.0)
        bins = range(len(feature.edges) + 1)
        for table in (*linear.n, *linear.G, *linear.w):
            had = {k: float(table.pop(first + k, 0.0)) for k in range(self.n_bins)} | {old_zero: 0.0}
            new = {}
            for b in bins:
                mass = {k: masses[k] * shares[k].get(b, 0.0) for k in masses}
                if not sum(mass.values()):  # no value tells
                    mass = {sum(edge < [*feature.edges, math.inf][b] for edge in old): 1.0}
                parts = [(had[k], m) for k, m in mass.items() if m]
                if any(table is n for n in linear.n):
                    new[b] = max(x for x, _ in parts)
                else:
                    new[b] = sum(x * m for x, m in parts) / sum(m for _, m in parts)
            if any(table is w for w in linear.w):
                table[-1] = f32(table.get(-1, f32(0)) + new[zero])
                new = {b: x - new[zero] for b, x in new.items()}
            for b in bins:
                if b != zero and new[b]:
                    table[first + b] = f32(new[b])
        for n, w in zip(linear.n, linear.w, strict=True):
            n.update({first + b: f32(1) for b in bins if first + b in w})


def logistic(s: float) -> float:
    return 1 / (1 + exp(-s)) if s > -700 else 0.0


class AdaNormalHedge:
    def __init__(self, n: int) -> None:
        self.regret, self.size = [0.0] * n, [0.0] * n

    def raw_weights(self) -> list[float]:
        def phi(R: float, C: float) -> float:
            return math.exp(max(R, 0) ** 2 / (3 * C))

        return [(phi(R + 1, C + 1) - phi(R - 1, C + 1)) / 2 for R, C in zip(self.regret, self.size, strict=True)]

    def weights(self) -> list[float]:
        w = self.raw_weights()
        return [x / sum(w) for x in w] if sum(w) else [1 / len(w)] * len(w)

    def learn(self, losses: list[float], expected: float | None = None) -> None:
        if expected is None:
            expected = sum(w * loss for w, loss in zip(self.weights(), losses, strict=True))
        self.regret = [R + expected - loss for R, loss in zip(self.regret, losses, strict=True)]
        self.size = [C + abs(expected - loss) for C, loss in zip(self.size, losses, strict=True)]


class AdaBoostOLPlus:
    def __init__(self, N: int) -> None:
        self.alpha, self.squares, self.hedge = [0.0] * N, [0.0] * N, AdaNormalHedge(N)

    def experts(self, h: list[float]) -> list[float]:
        return [sign(s) for s in accumulate(a * v for a, v in zip(self.alpha, h, strict=True))]

    def score(self, h: list[float]) -> float:
        return sum(w * e for w, e in zip(self.hedge.weights(), self.experts(h), strict=True))

    def round(self, h: list[float], y: float) -> list[float]:
        self.hedge.learn([float(e != y) for e in self.experts(h)])
        s, p = 0.0, []
        for i, vote in enumerate(h):
            p.append(logistic(-s))
            s += self.alpha[i] * y * vote
            g = y * vote * logistic(-s)
            self.squares[i] += g * g
            self.alpha[i] = max(-2, min(2, self.alpha[i] + g / (2 * math.sqrt(1 + self.squares[i]))))
        return p


class DefensiveBoost:
    def __init__(self) -> None:
        self.theta, self.trust, self.v_theta, self.v_trust = 0.0, 0.0, 4.0, 4.0

    def score(self, h: list[float]) -> float:
        oracle = sum(h) / len(h)
        a, b = (1 + self.trust) / 2 * oracle, (1 - self.trust) / 2 * self.theta
        if b != 0 and -1 <= -a / b <= 1:
            return -a / b
        return 1.0 if a >= 0 else -1.0

    def round(self, h: list[float], y: float) -> list[float]:
        mu, oracle = self.score(h), sum(h) / len(h)
        r = y - mu
        for_trust, for_theta = (oracle * r - self.theta * mu * r) / 2, mu * r
        self.trust = max(-1, min(1, self.trust + for_trust / math.sqrt(self.v_trust)))
        self.theta = max(-1, min(1, self.theta + for_theta / math.sqrt(self.v_theta)))
        self.v_trust += for_trust**2
        self.v_theta += for_theta**2
        return [abs(r) / 2] * len(h)


class Stacked:
    """A booster whose answer is a logistic regression on the votes, by AdaGrad, calibrated by bins."""

    def __init__(self, booster: object, N: int) -> None:
        self.booster = booster
        self.weights, self.squares = [1 / math.sqrt(N)] * N + [0.0], [0.0] * (N + 1)
        self.bins: dict[int, list[float]] = {}  # weight, and that of probabilities given, and of what came true

    def log_odds(self, h: list[float]) -> float:
        return sum(w * x for w, x in zip(self.weights, [*(max(-8.0, min(8.0, x)) for x in h), 1.0], strict=True))

    def chance(self, h: list[float]) -> float:
        return min(max(logistic(self.log_odds(h)), 1e-9), 1 - 1e-9)

    def score(self, h: list[float]) -> float:
        p = self.chance(h)
        points = []
        for _, (weight, given, true) in sorted(self.bins.items()):
            mean = given / weight
            odds = (true + 20 * mean) / (weight - true + 20 * (1 - mean))
            points.append((mean, math.log(odds) - math.log(mean / (1 - mean))))
        shift = np.interp(p, [x for x, _ in points], [d for _, d in points]) if points else 0.0
        return self.log_odds(h) + float(shift)

    def learn(self, h: list[float], y: float, weight: float = 1.0) -> None:
        p, true = self.chance(h), float(y > 0)
        k = min(int(p * 16), 15)
        seen = self.bins.get(k, [0.0, 0.0, 0.0])
        if seen[0] > 1e5:
            seen = [x / 2 for x in seen]
        self.bins[k] = [a + weight * b for a, b in zip(seen, (1, p, true), strict=True)]
        for i, x in enumerate([*(max(-8.0, min(8.0, x)) for x in h), 1.0]):
            g = weight * (true - p) * x
            self.squares[i] += g * g
            self.weights[i] += 0.05 * g / math.sqrt(self.squares[i]) if self.squares[i] > 0 else 0.0

    def round(self, h: list[float], y: float) -> list[float]:
        self.learn(h, y)
        return self.booster.round(h, y)


class SafeBoost:
    def __init__(self, N: int, coins: list[float]) -> None:
        ends = [round(N * k / len(coins)) for k in range(len(coins) + 1)]
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.groups = [OnlineBBM(part.stop - part.start, b) for part, b in zip(self.parts, coins, strict=True)]
        self.stack, self.adaboost = Stacked(None, N), AdaBoostOLPlus(1 + len(coins))
        self.hedge = AdaNormalHedge(len(coins) + 5)

    def boosted(self, h: list[float]) -> list[float]:
        """The votes that AdaBoost.OL weighs: the base learner's and the groups'."""
        return [sign(h[0]), *(sign(sum(h[part])) for part in self.parts)]

    def experts(self, h: list[float]) -> list[float]:
        votes = self.boosted(h)
        alphas = sum(a * v for a, v in zip(self.adaboost.alpha, votes, strict=True))
        return [*votes, *map(sign, (sum(h), sum(votes[1:]), self.stack.score(h), alphas))]

    def score(self, h: list[float]) -> float:
        said = sum(w * e for w, e in zip(self.hedge.weights(), self.experts(h), strict=True))
        log_odds = self.stack.score(h)
        return log_odds if said * log_odds > 0 else 1e-6 * sign(said)

    def round(self, h: list[float], y: float) -> list[float]:
        self.hedge.learn([float(e != y) for e in self.experts(h)])
        self.stack.learn(h, y)
        self.adaboost.round(self.boosted(h), y)
        return [p for part, group in zip(self.parts, self.groups, strict=True) for p in group.round(h[part], y)]


# ---- streams that change


class Adwin:
    """Bifet and Gavaldà (2007), figure 1, over blocks of 32 examples; buckets: (examples, mistakes), oldest first."""

    def __init__(self, delta: float) -> None:
        self.delta, self.block, self.buckets = delta, [], []

    def rose(self, mistake: bool) -> bool:
        self.block.append(mistake)
        if len(self.block) < 32:
            return False
        self.buckets.append((32, sum(self.block)))
        self.block = []
        for size in (32 << k for k in range(40)):
            same = [b for b in self.buckets if b[0] == size]
            if len(same) > 5:
                at = self.buckets.index(same[0])
                self.buckets[at : at + 2] = [(2 * size, same[0][1] + same[1][1])]
        rose = False
        while (change := self.change()) != 0:
            rose |= change > 0
            del self.buckets[0]
        return rose

    def change(self) -> float:
        n, mistakes = (sum(column) for column in zip(*self.buckets, strict=True))
        v = mistakes / n * (1 - mistakes / n)
        d = math.log(2 * math.log(n) / self.delta)
        for cut in range(1, len(self.buckets)):
            n0, e0 = (sum(column) for column in zip(*self.buckets[:cut], strict=True))
            n1, e1 = n - n0, mistakes - e0
            m = 1 / (1 / n0 + 1 / n1)
            if abs(e1 / n1 - e0 / n0) > math.sqrt(2 * v * d / m) + 2 * d / (3 * m):
                return e1 / n1 - e0 / n0
        return 0.0


class Platt:
    """Newton's steps on the logistic loss of one example after the other, with the whole curvature so far."""

    def __init__(self) -> None:
        self.w, self.curvature = np.zeros(2), np.eye(2)

    def chance(self, score: float) -> float:
        return logistic(float(self.w @ [score, 1.0]))

    def learn(self, score: float, y: float, weight: float = 1.0) -> None:
        x, p = np.array([score, 1.0]), self.chance(score)
        self.curvature += weight * p * (1 - p) * np.outer(x, x)
        self.w += np.linalg.solve(self.curvature, weight * (float(y > 0) - p) * x)


class Restarting:
    """A model that is made anew at an alarm; rows one at a time."""

    def __init__(self, new_model: Callable[[], Any], delta: float) -> None:
        self.new_model, self.delta = new_model, delta
        self.model, self.adwin, self.t, self.alarms = new_model(), Adwin(delta), 0, []

    def progressive_fit(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, classes: list[int]) -> np.ndarray:
        scores = self.model.progressive_fit(X, y, weight, classes=classes)
        self.t += 1
        if self.adwin.rose(sign(float(scores[0])) != y[0]):
            self.alarms.append(self.t)
            self.model, self.adwin = self.new_model(), Adwin(self.delta)
        return scores


class NewtonStack:
    """A logistic regression by Newton steps; the past is forgotten, and a prior draws towards equal weights."""

    def __init__(self, n: int, steady: bool = False) -> None:
        self.start, self.steady = np.array([1 / n] * n + [0.0]), steady
        self.w, self.H, self.loss = self.start.copy(), 5 * np.eye(n + 1), 0.0
        self.positive, self.rows = 1.0, 2.0

    def odds(self, x: np.ndarray) -> float:
        return float(self.w @ [*x, 1])

    def learn(self, x: np.ndarray, y: float, weight: float) -> None:
        F, S, z, x = 0.9995, 5, self.odds(x), np.array([*x, 1])
        if self.steady:
            share = self.positive / self.rows
            F = 1 - 0.0005 * min(weight, 1) * 4 * share * (1 - share)
            self.positive = 0.9999 * self.positive + weight * (y > 0)
            self.rows = 0.9999 * self.rows + weight
        p = 1 / (1 + math.exp(-z))
        self.loss = 0.9999 * self.loss - weight * math.log(p if y > 0 else 1 - p)
        self.H = F * self.H + weight * max(p * (1 - p), 0.02) * np.outer(x, x) + (1 - F) * S * np.eye(len(x))
        gradient = weight * (float(y > 0) - p) * x + (1 - F) * S * (self.start - self.w)
        self.w = self.w + np.linalg.solve(self.H, gradient)


class ClassesStack:
    """``NewtonStack`` for several classes: one weight for the log odds by each model, and one for its chances."""

    def __init__(self, n: int, chances: bool) -> None:
        self.chances, self.start = chances, np.array([1 / n] * n + [0.0] * (n if chances else 0))
        self.w, self.H, self.loss = self.start.copy(), 5 * np.eye(len(self.start)), 0.0

    def features(self, x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        return np.concatenate([x, e / e.sum(axis=1, keepdims=True)]) if self.chances else x

    def odds(self, x: np.ndarray) -> np.ndarray:
        return self.w @ self.features(x)

    def learn(self, x: np.ndarray, place: int) -> None:
        F, S, e, x = 0.9995, 5, np.exp(self.odds(x)), self.features(x)
        p = e / e.sum()
        self.loss = 0.9999 * self.loss - math.log(p[place])
        d = x - (x @ p)[:, None]
        self.H = F * self.H + (p * d) @ d.T + (1 - F) * S * np.eye(len(x))
        self.w = self.w + np.linalg.solve(self.H, d[:, place] + (1 - F) * S * (self.start - self.w))


class Ensemble:
    """Models under two stacks, one on all and one on the light ones; rows one at a time."""

    def __init__(self, models: list[Any], odds: list[bool], n_light: int, steady: bool = False) -> None:
        self.models, self.odds, self.n_light, self.resting = models, odds, n_light, False
        self.platts = [Platt() for _ in models]
        self.all, self.light = NewtonStack(len(models), steady), NewtonStack(n_light, steady)
        self.t = self.since = self.end = 0

    def look(self, full: bool, every: int = 4096, length: int = 1 << 18) -> None:
        """After each row, whose 64 features or more are more than there are slots for (full), or not."""
        if self.end and self.t == self.end:
            self.resting, self.since = not self.resting, self.t
            self.end = self.t + length if self.resting else 0
            self.all.loss, self.light.loss = (self.all.loss, self.light.loss) if self.resting else (0.0, 0.0)
            return
        first = full and self.t == self.since + 96
        useless = self.all.loss >= (0.97 if full else 1) * self.light.loss
        if not self.end and useless and (first or self.t % every == 0):
            self.end = self.t + (96 if first else every)

    def progressive(self, x: np.ndarray, y: float, weight: float = 1.0) -> float:
        n = self.n_light if self.resting else len(self.models)
        row = x[None, :], np.array([y]), np.array([weight])
        scores = [float(model.progressive_fit(*row, classes=[-1, 1])[0]) for model in self.models[:n]]
        log_odds = []
        for k, score in enumerate(scores):
            log_odds.append(score if self.odds[k] else float(self.platts[k].w @ [score, 1.0]))
            self.platts[k].learn(score, y, weight)
        x = np.clip(log_odds, -6, 6)
        lightly = self.resting or 0 < self.light.loss <= self.all.loss
        answer = self.light.odds(x[: self.n_light]) if lightly else self.all.odds(x)
        if not self.resting:
            self.all.learn(x, y, weight)
        if self.n_light < len(self.models):
            self.light.learn(x[: self.n_light], y, weight)
        self.t += 1
        return answer


class Slots:
    """Numbers of features in the order in which they are learned; beyond the bound, features share them by a hash."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.slots: dict[int, int] = {}

    def row(self, entries: list[tuple[int, float]], learns: bool, missing: bool) -> list[tuple[int, float]]:
        found = []
        full = len(self.slots) == self.bound  # before this row
        for id, x in sorted(entries, key=lambda entry: entry[0]):
            if x == 0 or (math.isnan(x) and not missing):
                continue
            if learns and id not in self.slots and len(self.slots) < self.bound:
                self.slots[id] = len(self.slots)
            if id in self.slots:
                found.append((self.slots[id], x))
            elif full:
                found.append(((id * 0x9E3779B97F4A7C15 % 2**64 >> 33) % self.bound, x))
        return found


# ---- numbers


class NumberStack:
    """Least squares that forget, on bounded scores of parts and a constant; no part counts less than 0."""

    def __init__(self, n: int) -> None:
        self.n, self.w = n, np.zeros(n + 1)
        self.A, self.b = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        self.low = self.high = 0.0
        self.square, self.rows = 1.0, 0

    def bound(self, z: Any) -> Any:
        more = (self.high - self.low) / 10
        return np.clip(z, self.low - more, self.high + more)

    def answer(self, scores: Any) -> float:
        x = np.append(self.bound(scores), 1.0)
        return float(self.bound(x[:-1].mean() + self.w @ x))

    def learn(self, scores: Any, t: float, weight: float) -> None:
        x = np.append(self.bound(scores), 1.0)
        self.A = 0.998 * self.A + weight * np.outer(x, x)
        self.b = 0.998 * self.b + weight * (t - x[:-1].mean()) * x
        self.square += max(1 / (self.rows + 2), 1e-3) * (t * t - self.square)
        M = self.A + np.diag([max(self.square, 1e-24)] * self.n + [1.0])
        for _ in range(2):
            for i in range(self.n + 1):
                rest = self.b[i] - M[i] @ self.w + M[i, i] * self.w[i]
                self.w[i] = rest / M[i, i] if i == self.n else max(rest / M[i, i], -1 / self.n)
        self.low, self.high, self.rows = min(self.low, t), max(self.high, t), self.rows + 1


class TargetScaling:
    """A learner of numbers and what is around it: 16 rows held back, targets centered, scaled and limited."""

    def __init__(self, learner: Any) -> None:
        self.learner, self.held, self.units = learner, [], None
        self.m, self.v, self.rows = 0.0, 1.6, 0
        self.turns, self.same = 0, []  # rows in turn beyond a limit; those beyond the same one

    def score(self, row: Any) -> float:
        if self.units is None:
            known = sorted(y for _, y, _ in self.held)
            return known[len(known) // 2] if known else 0.0
        c, s = self.units
        return c + s * self.learner.score(row)

    def learn(self, row: Any, y: float, w: float) -> None:
        if self.units is not None:
            self.learner.learn(row, self.scale_target(y), w)
            return
        self.held.append((row, y, w))
        if len(self.held) == 16:
            first = sorted(y for _, y, _ in self.held)
            c = first[8]
            far = sorted(abs(y - c) for y in first)
            s = float(np.mean(far[:-1])) or far[-1]
            self.units = c, s if s > 1e-12 * abs(c) else abs(c) or 1.0
            for row, y, w in self.held:
                self.learner.learn(row, self.scale_target(y), w)

    def scale_target(self, y: float) -> float:
        c, s = self.units
        z, m, d = (y - c) / s, self.m, math.sqrt(self.v)
        side = 1 if z > m + 10 * d else -1 if z < m - 10 * d else 0
        self.turns = self.turns + 1 if side else 0
        self.same = [*(self.same if self.same and self.same[-1][0] == side else []), (side, z)] if side else []
        d *= 2.0 ** (self.turns - len(self.same))
        share = max(1 / (self.rows + 17), 1e-4)
        e = min(max(z - m, -4 * d), 4 * d)
        self.m, self.v = m + share * e, (1 - share) * (self.v + share * e * e)
        self.rows += 1
        if len(self.same) == 16:
            middle = sorted(z for _, z in self.same)[8]
            self.units, self.turns, self.same = (c + s * (middle - self.m), s), 0, []
        return min(max(z, m - 10 * d), m + 10 * d)


class Line:
    """A line on one feature of the examples of a leaf, and how much less than the mean it has erred."""

    def __init__(self, slot: int, memory: float, smoothing: float) -> None:
        self.slot, self.memory, self.smoothing = slot, memory, smoothing
        self.m = self.x0 = self.t0 = self.v = self.c = self.D = 0.0

    def score(self, x: float, mean: float) -> float:
        if self.v <= 0 or math.isnan(x):
            return mean
        slope, most = self.c / self.v * self.m / (self.m + self.smoothing), 3 * math.sqrt(self.v)
        return self.t0 + slope * min(max(x - self.x0, -most), most)

    def learn(self, x: float, mean: float, t: float, w: float) -> None:
        if math.isnan(x):
            return
        self.D = (1 - 1 / 64) * self.D + w * ((t - mean) ** 2 - (t - self.score(x, mean)) ** 2)
        self.m = min(self.m + w, self.memory)
        a, dx, dt = min(w / self.m, 1.0), x - self.x0, t - self.t0
        self.x0, self.t0 = self.x0 + a * dx, self.t0 + a * dt
        self.v, self.c = (1 - a) * (self.v + a * dx * dx), (1 - a) * (self.c + a * dx * dt)


class NumberNode:
    def __init__(self, depth: int, count: float, mean: float, line: Line | None = None) -> None:
        self.depth, self.count, self.mean, self.start, self.line = depth, count, mean, mean, line
        self.since, self.squares, self.Q, self.waits = [0.0, 0.0], 0.0, 0.0, 0  # n and S
        self.histograms: dict[int, Histogram] = {}
        self.split: tuple[int, float, int] | None = None
        self.children: list[NumberNode] = []

    def leaves(self) -> list[NumberNode]:
        return [leaf for child in self.children for leaf in child.leaves()] or [self]


class SignedHistogram(Histogram):
    """n and S by bin; S may be negative."""

    def carry(self, totals: list[float], shares: dict, n_bins: int, old_zero: int, zero: int) -> None:
        cells: dict[int | None, list[Any]] = {b: [0.0] * self.classes for b in range(n_bins)}
        for c in range(self.classes):
            for b in range(n_bins):
                mass = float(self.get(b)[c]) if b != old_zero else self.rest(c, totals[c], n_bins, old_zero)
                for to, share in shares.get(b, {}).items() if mass else ():
                    cells[to][c] += mass * share
        missing = self.get(None)
        self.cells = {b: [self.number(x) for x in cell] for b, cell in cells.items() if b != zero}
        self.cells[None] = missing


class RegressionTree:
    def __init__(
        self, max_depth: int, n_bins: int, grace: int, evidence: float, memory: float, smoothing: float, leaves: str
    ) -> None:
        self.bins, self.grace, self.evidence, self.leaves = Bins(n_bins), grace, evidence, leaves
        self.max_depth, self.memory, self.smoothing = max_depth, memory or math.inf, smoothing
        self.root = NumberNode(0, 0.0, 0.0)

    leaf = Tree.leaf

    def score(self, row: dict[int, float]) -> float:
        node = self.leaf(row)
        if node.line is not None and (self.leaves == "linear" or node.line.D > 0):
            return float(np.float32(node.line.score(row.get(node.line.slot, 0.0), node.mean)))
        return float(np.float32(node.mean))

    def learn(self, row: dict[int, float], t: float, w: float, fresh: bool = True) -> None:
        node, t = self.leaf(row), float(np.float32(t))
        if node.line is not None:
            node.line.learn(row.get(node.line.slot, 0.0), node.mean, t, w)
        if fresh:
            self.meet(row)
        node.count = min(node.count + w, self.memory)
        count = min(node.count + self.smoothing, self.memory) if node is self.root else node.count
        node.mean += min(w / count, 1.0) * (t - node.mean)
        if self.bins.n_bins and node.depth < self.max_depth:
            self.count(node, row, t - node.start, w)
        if fresh and self.bins.rows == 64:
            self.bins.begin()

    def meet(self, row: dict[int, float]) -> None:
        self.bins.rows += 1
        for slot, x in row.items():
            edges = self.bins.fresh_edges(slot) if self.bins.meet(slot, x) else None
            if edges is not None:
                old_zero = self.bins.features[slot].bin(0.0)
                shares = self.bins.shares(slot, edges)
                for leaf in self.root.leaves():
                    zero = self.bins.features[slot].bin(0.0)
                    histogram = leaf.histograms.setdefault(slot, SignedHistogram(np.float32))
                    histogram.carry(leaf.since, shares, self.bins.n_bins, old_zero, zero)

    def count(self, node: NumberNode, row: dict[int, float], t: float, w: float) -> None:
        node.since = [node.since[0] + w, node.since[1] + w * t]
        node.squares, node.Q, node.waits = node.squares + w * w, node.Q + w * t * t, node.waits + 1
        for slot, b in self.bins.see(row).items():
            histogram = node.histograms.setdefault(slot, SignedHistogram(np.float32))
            histogram.add(b, 0, w)
            histogram.add(b, 1, w * t)
        n = node.since[0]
        if node.waits >= self.grace and 8 * node.waits * node.squares >= n * n:
            node.waits = 0
            self.look(node)

    def look(self, node: NumberNode) -> None:
        (n, S), squares = node.since, node.squares
        gain, split, left = self.best(node, 4 * squares / n)
        whole = node.Q - S * S / n
        if split is None or gain * n * n < self.evidence * squares * max(whole - gain, 1e-9 * whole):
            return
        node.split = split
        for m, s in (left, [n - left[0], S - left[1]]):
            mean = node.mean + (node.start + s / m - node.mean) * m / (m + self.smoothing)
            line = None if self.leaves == "mean" else Line(split[0], self.memory, self.smoothing)
            node.children.append(NumberNode(node.depth + 1, min(m, self.memory), mean, line))

    def best(self, node: NumberNode, least: float) -> tuple:
        n, S = node.since
        best: tuple = (0.0, None, None)
        for slot in sorted(self.bins.features):
            histogram = node.histograms.get(slot) or SignedHistogram(np.float32)
            feature = self.bins.features[slot]
            zero = feature.bin(0.0)
            missing = [float(x) for x in histogram.get(None)]
            left = [0.0, 0.0]
            for k, edge in enumerate([*feature.edges, math.inf] if missing[0] > 0 else feature.edges):
                mass = [float(x) for x in histogram.get(k)]
                if k == zero:
                    mass = [histogram.rest(c, (n, S)[c], self.bins.n_bins, zero) for c in (0, 1)]
                if mass[0] <= 0:
                    continue
                left = [left[0] + mass[0], left[1] + mass[1]]
                for side in (0, 1) if missing[0] > 0 else (None,):
                    m, s = [left[0] + missing[0], left[1] + missing[1]] if side == 0 else left
                    if m >= least and n - m >= least:
                        apart, size = s * n - S * m, n * m * (n - m)
                        gain = apart * apart / size  # = s^2 / m + (S - s)^2 / (n - m) - S^2 / n
                        if apart * apart > best[0] * size:
                            smaller = 1 if 2 * m < n else 0
                            best = (gain, (slot, edge, smaller if side is None else side), [m, s])
        return best


class GradientBoost:
    """Algorithms 1 (span) and 2 (hull) of Beygelzimer, Hazan, Kale and Luo (2015), one chain."""

    def __init__(self, N: int, version: str, loss: str, eta: float, B: float = math.inf, quantile: float = 0.5) -> None:
        self.N, self.version, self.loss, self.eta, self.B, self.q = N, version, loss, eta, B, quantile
        self.L = {"squared": 2 * B, "logistic": 4.0}.get(loss, 1.0)
        self.sigma, self.t = [0.0] * N, 0

    def predictions(self, h: list[float]) -> list[float]:
        """y^0, y^1, ..., y^N."""
        y = [0.0]
        for i in range(1, self.N + 1):
            if self.version == "hull":
                eta = 2 / (i + 1)
                y.append((1 - eta) * y[-1] + eta * h[i - 1])
            else:
                after = (1 - self.sigma[i - 1] * self.eta) * y[-1] + self.eta * h[i - 1]
                y.append(min(max(after, -self.B), self.B))
        return y

    def score(self, h: list[float]) -> float:
        return self.predictions(h)[-1]

    def slope(self, f: float, z: float) -> float:
        target, weight = self.target(f, z)
        return -target * weight

    def round(self, h: list[float], z: float) -> tuple[list[float], list[float]]:
        """The target of each learner, the negative slope of the loss before it; and its weight."""
        self.t += 1
        before = self.predictions(h)[:-1]
        pairs = [self.target(f, z) for f in before]
        if self.version == "span" and math.isfinite(self.B):
            for i, (f, (target, _)) in enumerate(zip(before, pairs, strict=True)):
                step = 1 / (self.L * self.B * math.sqrt(self.t))
                self.sigma[i] = min(max(self.sigma[i] - target * f * step, 0.0), 1.0)
        return [target for target, _ in pairs], [weight for _, weight in pairs]

    def target(self, f: float, z: float) -> tuple[float, float]:
        if self.loss == "squared":
            return z - f, 1.0
        if self.loss == "absolute":
            return float(np.sign(z - f)), 1.0
        if self.loss == "huber":
            return min(max(z - f, -1.0), 1.0), 1.0
        if self.loss == "quantile":
            return (self.q if z > f else self.q - 1), 1.0
        if self.loss == "logistic":
            return 4 * (z - logistic(f)), 1.0
        rate = exp(min(max(f, -30.0), 30.0))
        return min((z - rate) / rate, 4.0), min(max(rate, 1e-3), 1e3)


class WeighedChains:
    """Chains side by side, each with its own rate; weighed by AdaNormalHedge on the slope of the loss."""

    def __init__(self, N: int, rates: list[float], loss: str, quantile: float) -> None:
        n = N // len(rates)
        self.chains = [GradientBoost(n, "span", loss, rate, math.inf, quantile) for rate in rates]
        self.hedge, self.most = AdaNormalHedge(len(rates)), 0.0

    def scores(self, h: list[float]) -> list[float]:
        n = self.chains[0].N
        return [chain.score(h[k * n : (k + 1) * n]) for k, chain in enumerate(self.chains)]

    def score(self, h: list[float]) -> float:
        return sum(w * f for w, f in zip(self.hedge.weights(), self.scores(h), strict=True))

    def settle(self, h: list[float], z: float) -> None:
        f = self.score(h)
        gains = [self.chains[0].slope(f, z) * (f - one) for one in self.scores(h)]
        self.most = max([self.most, *map(abs, gains)])
        for k, gain in enumerate(gains if self.most else []):
            self.hedge.regret[k] += gain / self.most
            self.hedge.size[k] += abs(gain) / self.most


class Tokens(Bins):
    """What ``FTRLProximal`` shows of a row: places of tokens and of pairs of them, each with its order."""

    def __init__(self, max_row: int, most_places: int, places: int = 1024) -> None:
        super().__init__(16, bound=4096)
        self.max_row, self.most_places, self.places = max_row, most_places, places
        self.number: dict[int, int] = {}
        self.binned: set[int] = set()
        self.dense: list[int] = []
        self.table: dict[int, int] = {}
        self.filter: set[int] = set()

    def show(self, row: dict[int, float], learns: bool = True) -> list[tuple[int, int]]:
        keys = [self.key(f, x) for f, x in row.items()]
        zeros = [f for f in self.dense if f not in row]
        if len(keys) + len(zeros) <= self.max_row:
            keys += [self.key(f, 0.0) for f in zeros]
        tokens = [(key, 1) for key in keys]
        if len(keys) <= self.max_row:
            for a, first in enumerate(keys):
                tokens += [(self.mixed(min(first, key) * STEP + max(first, key)), 2) for key in keys[a + 1 :]]
        found = [(self.place(key, learns), order) for key, order in tokens]
        return [(place, order) for place, order in found if place is not None]

    def key(self, f: int, x: float) -> int:
        if f not in self.number:
            x = 1.0 if x > 0 else -1.0
        elif f in self.binned:
            x = float(self.features[self.number[f]].bin(x))
        return self.mixed((f + 1) * STEP + int(np.float32(x).view(np.uint32)))

    def mixed(self, key: int) -> int:
        key &= MASK
        key = ((key ^ key >> 30) * 0xBF58476D1CE4E5B9) & MASK
        key = ((key ^ key >> 27) * STEP) & MASK
        return key ^ key >> 31

    def place(self, key: int, learns: bool) -> int | None:
        hashed, bits = key >> 33, 32 * self.places
        if hashed in self.table:
            return self.table[hashed]
        if not learns or len(self.table) == self.places:
            return None
        if key % bits in self.filter:
            self.table[hashed] = len(self.table)
            return self.table[hashed]
        if 4 * (len(self.filter) + 1) > bits:
            self.filter.clear()
        self.filter.add(key % bits)
        return None

    def learn(self, row: dict[int, float]) -> None:
        """Meet the values of a row; after it, the table may become larger."""
        self.rows += 1
        self.n_bins = self.wanted if self.rows > 64 else 0
        for f, x in row.items():
            if x != 1 and len(self.number) < 4096:
                self.number.setdefault(f, len(self.number))
            if f in self.number and self.meet(self.number[f], x):
                self.settle(f)
        if self.rows == 64:
            self.n_bins = self.wanted
            for f in sorted(self.number):
                self.settle(f)
        if 2 * len(self.table) >= self.places and 2 * self.places <= self.most_places:
            self.places *= 2
            self.filter.clear()

    def settle(self, f: int) -> None:
        number = self.number[f]
        feature = self.features[number]
        often = 2 * feature.seen >= self.rows + 1 - feature.born
        if len(set(feature.samples[: feature.seen])) > 1 and often and f not in self.dense:
            self.dense = [*self.dense, f][: self.max_row]
        edges = self.fresh_edges(number)
        if len(set(feature.values[: len(feature.current)])) > 16:
            self.binned.add(f)
        if edges is not None:
            self.shares(number, edges)
        if f in self.binned and feature.seen >= 256:
            feature.remake_at = 1 << 62


class FTRL:
    """Algorithm 1 of McMahan and others (2013), with a threshold of ``noise`` sqrt(n) for pairs; features settle."""

    def __init__(self, tokens: Tokens, rate: float = 0.4, noise: float = 2.0, settling: float = 0.0) -> None:
        self.tokens, self.rate, self.noise, self.settling = tokens, rate, noise, settling
        self.w: dict[int, float] = {}
        self.z: dict[int, float] = {}
        self.root: dict[int, float] = {}

    def progressive(self, row: dict[int, float], y: float, weight: float = 1.0) -> float:
        """The score of a row, which is learned then; rows of weight 0 are not."""
        shown = [(-1, 1), *self.tokens.show(row, weight > 0)]
        score = f32(min(max(sum(self.w.get(place, 0.0) for place, _ in shown), -50.0), 50.0))
        if weight > 0:
            self.tokens.learn(row)
        e = math.exp(-abs(float(score)))
        g = weight * ((1.0 if score >= 0 else e) / (1 + e) - (y > 0))
        for place, order in shown if g else ():
            root, w = self.root.get(place, 0.0), self.w.get(place, 0.0)
            wider = math.sqrt(root * root + g * g)
            settling = self.settling if order == 1 else 0.0
            z = self.z.get(place, 0.0) + g - ((wider - root) / self.rate + settling * g * g) * w
            beyond = max(abs(z) - (self.noise * wider if order == 2 else 0.0), 0.0)
            size = min(beyond / ((1 + wider) / self.rate + settling * wider * wider), 1e3)
            self.w[place] = float(f32(-size if z > 0 else size))
            self.z[place], self.root[place] = float(f32(z)), float(f32(wider))
        return float(score)


class BatchTrees:
    """Gradient boosted trees over rows that are all there, best leaf first; sums are whole numbers of units.

    ``edges`` are those of each feature. ``loss`` is "classes", "squared", or the level of a quantile.
    """

    def __init__(self, edges: list[list[float]], loss: Any, rounds: int, rate: float, leaves: int, l2: float) -> None:
        self.edges, self.loss, self.rounds, self.rate = edges, loss, rounds, rate
        self.leaves, self.l2, self.gentle = leaves, l2, False
        self.base: list[float] = []
        self.trees: list[tuple[int, Any]] = []  # the score that a tree adds to, and its root

    def fit(self, X: list[list[float]], y: list[float], w: list[float], classes: int, least: int) -> None:
        self.X, self.y, self.w, self.least, self.known = X, y, w, least, classes if classes > 2 else 1
        self.base, self.trees = self.start(), []
        if self.gentle:
            share = 1 / (1 + math.exp(-self.base[0]))
            even = min(5 * share * (1 - share), 1)
            plan = self.leaves, self.rate, self.l2
            self.leaves = max(int(even * even * self.leaves), min(self.leaves, 15))
            self.rate, self.l2 = self.rate * max(even, 0.4), self.l2 + 10 * (1 - even)
        self.F = [list(self.base) for _ in X]
        for _ in range(self.rounds):
            before = [self.chances(f) for f in self.F]
            for k in range(self.known):
                slopes = self.slopes(k, before)
                unit_g, unit_h = sum(abs(g) for g, _ in slopes) / 2**30, sum(h for _, h in slopes) / 2**31
                self.g = [math.floor(float(np.float32(g)) * (1 / unit_g) + 0.5) for g, _ in slopes]
                self.h = [math.floor(float(np.float32(h)) * (1 / unit_h) + 0.5) for _, h in slopes]
                self.trees.append((k, self.tree(unit_g, unit_h, k)))
        if self.gentle:
            self.leaves, self.rate, self.l2 = plan

    def start(self) -> list[float]:
        total, n = sum(self.w), len(self.w)
        if self.loss == "classes" and self.known > 1:
            weights = [sum(w for y, w in zip(self.y, self.w, strict=True) if y == k) for k in range(self.known)]
            return [math.log((weight + total / n / self.known) / (total + total / n)) for weight in weights]
        mean = sum(y * w for y, w in zip(self.y, self.w, strict=True))
        if self.loss == "classes":
            return [math.log((mean + total / n / 2) / (total - mean + total / n / 2))]
        return [mean / total if self.loss == "squared" else self.quantile(range(n), [0.0] * n)]

    def quantile(self, rows: Iterable[int], F: list[float]) -> float:
        """The smallest of what F leaves of the targets, below or at which is such a share of the weight."""
        left = sorted((self.y[i] - F[i], self.w[i]) for i in rows)
        for k in range(1, len(left) + 1):
            if sum(w for _, w in left[:k]) >= self.loss * sum(w for _, w in left):
                break
        return left[k - 1][0]

    def chances(self, F: list[float]) -> list[np.float32]:
        if self.known == 1:
            return [np.float32(0)]
        e = [np.float32(math.exp(f - max(F))) for f in F]
        return [np.float32(float(one) / float(sum(map(float, e)))) for one in e]

    def slopes(self, k: int, chances: list[list[np.float32]]) -> list[tuple[float, float]]:
        found = []
        for F, p, y, w in zip(self.F, chances, self.y, self.w, strict=True):
            if self.loss == "classes" and self.known == 1:
                p = 1 / (1 + math.exp(-F[0]))
                g, h = p - y, max(p * (1 - p), 1e-6)
            elif self.loss == "classes":
                p = float(p[k])
                g, h = p - (y == k), max(p * (1 - p) * self.known / (self.known - 1), 1e-6)
            elif self.loss == "squared":
                g, h = F[0] - y, 1.0
            else:
                g, h = (1 - self.loss if F[0] > y else -self.loss), 1.0
            found.append((w * g, w * h))
        return found

    def bin(self, slot: int, x: float) -> int:
        return sum(edge < x for edge in self.edges[slot])

    def tree(self, unit_g: float, unit_h: float, k: int) -> Any:
        root: dict[str, Any] = {"rows": list(range(len(self.X)))}
        leaves = [root]
        splits = [self.best(root["rows"], unit_h)]
        while len(leaves) < self.leaves and max(split[0] for split in splits) > 0:
            n = max(range(len(leaves)), key=lambda n: (splits[n][0], -n))
            leaf, (_, slot, b, right) = leaves[n], splits[n]
            edge = self.edges[slot][b] if b < len(self.edges[slot]) else math.inf
            leaf |= {"slot": slot, "edge": edge, "missing": right}
            sides = [[i for i in leaf["rows"] if self.goes(leaf, self.X[i]) == side] for side in (0, 1)]
            leaf["children"] = [{"rows": rows} for rows in sides]
            leaves[n], splits[n] = leaf["children"][0], self.best(sides[0], unit_h)
            leaves.append(leaf["children"][1])
            splits.append(self.best(sides[1], unit_h))
        for leaf in leaves:
            rows = leaf["rows"]
            if self.loss in ("classes", "squared"):
                g, h = sum(self.g[i] for i in rows) * unit_g, sum(self.h[i] for i in rows) * unit_h
                value = -g / (h + self.l2)
            else:
                value = self.quantile(rows, [F[0] for F in self.F])
            leaf["value"] = float(np.float32(self.rate * value))
            for i in rows:
                self.F[i][k] += leaf["value"]
        return root

    def goes(self, node: Any, x: list[float]) -> int:
        """The side of a row: 1 is the right one."""
        value = x[node["slot"]]
        return node["missing"] if math.isnan(value) else int(value > node["edge"])

    def best(self, rows: list[int], unit_h: float) -> tuple[float, int, int, int]:
        """The gain of the best split in units, its feature, its last bin on the left, the side of missing values."""
        if len(rows) < 2 * self.least:
            return 0.0, 0, 0, 0
        G, H = sum(self.g[i] for i in rows), sum(self.h[i] for i in rows)
        l2 = self.l2 / unit_h
        own = G * G / (H + l2)
        best, found = own + 1e-10 * own, (0.0, 0, 0, 0)
        for slot, edges in enumerate(self.edges):
            zero = self.bin(slot, 0.0)
            if sum(math.isnan(x[slot]) or self.bin(slot, x[slot]) != zero for x in self.X) < self.least:
                continue
            missing = [i for i in rows if math.isnan(self.X[i][slot])]
            for b in range(len(edges) + bool(missing)):
                left = [i for i in rows if self.bin(slot, self.X[i][slot]) <= b and i not in missing]
                if not any(self.bin(slot, self.X[i][slot]) == b for i in left):
                    continue
                for side in (0, 1) if missing else (None,):
                    mine = left + missing if side == 0 else left
                    g, h = sum(self.g[i] for i in mine), sum(self.h[i] for i in mine)
                    if min(h, H - h) < self.least * H / len(rows):
                        continue
                    gain = g * g / (h + l2) + (G - g) * (G - g) / (H - h + l2)
                    if gain > best:
                        best = gain
                        found = gain - own, slot, b, int(2 * h < H) if side is None else side
        return found

    def score(self, x: list[float]) -> list[float]:
        F = list(self.base)
        for k, node in self.trees:
            while "children" in node:
                node = node["children"][self.goes(node, x)]
            F[k] += node["value"]
        return F


class BatchBoost:
    """Trees trained anew after 64, 90, 127, ... rows on all rows so far, which answer some rows later."""

    def __init__(self, trees: BatchTrees, classes: int, least: int, growth: float = 1.41) -> None:
        self.trees, self.classes, self.least, self.growth = trees, classes, least, growth
        self.rows: list[tuple[list[float], float, float]] = []
        self.next, self.speaks, self.answering = 64, None, None

    def scores(self, x: list[float]) -> list[float]:
        return self.answering.score(x) if self.answering else [0.0] * self.classes

    def learn(self, x: list[float], y: float, w: float) -> None:
        self.rows.append((x, float(np.float32(y)), float(np.float32(w))))
        n = len(self.rows)
        if n == self.speaks:
            X, y, w = map(list, zip(*self.rows[: self.began], strict=True))
            self.answering, self.speaks = copy.copy(self.trees), None
            self.answering.fit(X, y, w, self.classes, self.least if self.began >= 500 else max(self.least // 4, 1))
        if self.speaks is None and n >= self.next:
            self.began, self.speaks, self.next = n, n + max(n // 32, 1), math.floor(n * self.growth + 0.5)
