"""What happens to a ranking before it is shown: the re-rankers, slate by slate."""

from __future__ import annotations

import math

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.draws import absorb, gumbel
from faircascade.engine.cpu.kernels.ranking import rounded
from faircascade.engine.cpu.kernels.scoring import gather, score
from faircascade.ranking import RESOLUTION
from faircascade.rerankers.ledger import UNIT as EXPOSURE_UNIT

LOG_2 = math.log(2.0)
MOST_ZEROS = 53.0
"""A uniform draw has 53 bits."""


@part
def adjust(env, draws, rules, account, user, word, scores, best):
    """Change the scores of all items: `MeritDraws.adjust` and `ExposureCharge.adjust`."""
    if rules.drawn_by_merit:
        draw_by_merit(env.keys, rules, absorb(draws.fair[user], word), scores, best)
    if rules.eta > 0.0:
        rate = rules.eta * (account.items / max(account.total[user], 1))
        worth = account.worth[user]
        for i in range(len(env.keys)):
            scores[i] -= rate * worth[i]


@part
def draw_by_merit(keys, rules, luck, scores, best):
    """Add luck to the scores; one that cannot come into the slate with its luck becomes -inf.

    Most are ruled out by the first bits of their draw, without a logarithm: with -ln(1 - u) >= u,
    Gumbel noise of g takes u <= exp(-g), which begins with about g / ln 2 zeros.
    """
    floor = -np.inf  # a score below it cannot come in
    for i in range(rules.k):
        best[i] = -np.inf
    for i in range(len(keys)):
        draw = absorb(luck, keys[i])
        base = rules.sharpness * scores[i]
        needed = floor - base
        if needed > 2.0 * LOG_2:
            zeros = np.int64(min(needed / LOG_2, MOST_ZEROS)) - 1
            if draw >> np.uint64(64 - zeros) != np.uint64(0):
                scores[i] = -np.inf
                continue
        value = base + gumbel(draw)
        scores[i] = value
        place = rules.k
        while place > 0 and value > best[place - 1]:
            if place < rules.k:
                best[place] = best[place - 1]
            place -= 1
        if place < rules.k:
            best[place] = value
            floor = best[rules.k - 1] - 2.0 * RESOLUTION


@part
def take_discount(rules, account, user, word, scores, widths):
    """Take from every score what exposure has used up of its bonus: `Discount.adjust`."""
    units, rounds = account.units[user], np.float64(word) + 1.0
    for i in range(len(units)):
        taken = rules.discount * (units[i] * EXPOSURE_UNIT) / rounds
        scores[i] -= taken * widths[i]


@part
def shift(account, scores):
    """Move the scores of all items alike for all users: `ShiftingReranker.adjust`."""
    kept, added = account.kept, account.added
    for i in range(len(added)):
        scores[i] = scores[i] * kept[i] + added[i]


@part
def sort_by_score(account, scores, items, keys):
    """Order a slate by its scores before they were moved: `PMMF.arrange`."""
    for position in range(len(items)):
        item = items[position]
        key = account.added[item] - rounded(scores[item]) * RESOLUTION
        place = position
        while place > 0 and key < keys[place - 1]:
            items[place] = items[place - 1]
            keys[place] = keys[place - 1]
            place -= 1
        items[place] = item
        keys[place] = key


@inlined
def arrange(env, draws, rules, account, scratch, user, word, theta, lane, at, step, M_inv):
    """Put the slate into the order in which it is shown: `EARS.arrange` and `Reorder.arrange`.

    Component a of the theta that the items were scored with is theta[at + a * step].
    """
    items, lots = scratch.slate, scratch.lots
    length = np.int64(rules.k)
    if rules.tolerance > 0.0:
        if rules.tolerance < 1.0:
            length = shuffled_length(
                env, rules, scratch, theta, lane, at, step, M_inv, env.features.shape[1]
            )
        luck = absorb(draws.shuffle[user], word)
        for position in range(length):
            lots[position] = absorb(luck, env.keys[items[position]])
    else:
        for position in range(length):
            lots[position] = np.uint64(account.worth[user, items[position]])
    for position in range(1, length):
        item, lot = items[position], lots[position]
        place = position
        while place > 0 and lot < lots[place - 1]:
            items[place] = items[place - 1]
            lots[place] = lots[place - 1]
            place -= 1
        items[place] = item
        lots[place] = lot


@inlined
def shuffled_length(env, rules, scratch, theta, lane, at, step, M_inv, d):
    """Return how many items at the top to shuffle: `ears.shuffled_length`."""
    k = rules.k
    x, widths, misses = scratch.slate_x, scratch.slate_widths, scratch.misses
    gather(env.features, scratch.slate, k, len(widths), x)
    score(x, k, len(widths), theta, at, step, M_inv, lane, d, rules.alpha, misses, widths)
    hopeless = True
    for r in range(k):
        misses[r] = 1.0 - min(max(rounded(misses[r]) * RESOLUTION, 0.0), 1.0)
        hopeless = hopeless and misses[r] == 1.0
    if hopeless:
        return np.int64(1)
    stop, share = rules.stops, rules.shares
    polynomials, tails = scratch.missed[: k + 1], scratch.missed[k + 1 :]
    tails[0] = 1.0  # for a moment: what the slate up to each length misses
    for r in range(1, k + 1):
        tails[r] = tails[r - 1] * misses[r - 1]
    rest = 0.0
    for r in range(k, -1, -1):
        missed = tails[r]
        tails[r] = rest
        rest = rest + missed * stop[r]
    longest = np.int64(1)
    enough = 0.0
    polynomials[0] = 1.0
    for r in range(1, k + 1):
        polynomials[r] = 0.0
    for length in range(1, k + 1):
        inside = polynomials[0] * stop[0]
        if len(share) > 0:
            for r in range(length, 0, -1):
                polynomials[r] += misses[length - 1] * polynomials[r - 1]
            for r in range(1, length + 1):
                inside = inside + polynomials[r] * (share[length, r] * stop[r])
        else:  # the slate is too long for sums over sets: their means
            for r in range(length, 0, -1):
                more = misses[length - 1] * polynomials[r - 1]
                polynomials[r] = ((length - r) / length) * polynomials[r] + (r / length) * more
            for r in range(1, length + 1):
                inside = inside + polynomials[r] * stop[r]
        clicks = 1.0 - inside - tails[length]
        if length == 1:
            enough = (1.0 - rules.tolerance) * clicks
        elif clicks > enough:
            longest = np.int64(length)
    return longest


@inlined
def enter(rules, account, user, items):
    """Take a slate into the user's account of exposure: `Ledger.enter`."""
    units, worth = account.units[user], account.worth[user]
    for position in range(rules.k):
        item = items[position]
        units[item] += rules.gained[position]
        now = np.int64(np.rint(units[item] * account.prices[item]))
        account.total[user] += now - worth[item]
        worth[item] = now
