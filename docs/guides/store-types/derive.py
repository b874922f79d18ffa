"""Derive store-types.csv, six types of users of an online store, from the raw purchases.

Run as ``python derive.py PATH_TO_STORE_PURCHASES``; the table is written beside this script. Each number
is the share of the type's training users who bought the item. Careful: 0 means "not bought in seven
months", not "rejected". Nobody is known to have been offered an item and to have turned it down.

The purchases were made from November 2014 to June 2015. They are in ms_usage.csv.gz and ms_catalog.csv
of the R package SAR, copyright 2018 Microsoft, MIT licence (LICENSE). The raw data are not kept here,
and the table holds no user ids.

1. The 20 items with the most different buyers, names shortened; users who bought at least two of them.
2. A training user has a CRC-32 of the id modulo 100 below 70; the others are held out.
3. The training users' lists of zeros and ones are grouped into six types by k-means, started with the
   seeds 0 to 99; the least inertia is kept.
4. Shares are rounded to three decimals.

Then the table is checked: of each held-out user only the items of odd rank are looked at, the likeliest
type is taken, and its best item of even rank is recommended; a hit if the user bought it. With NumPy
2.4.6, SciPy 1.17.1 and pandas 3.1.1 this script prints:

    users: 1379, training 979, held out 400
    type 1: 236 users, best item HEX 13 inch Laptop Sleeve Black (1.000)
    type 2: 219 users, best item Warranty Surface Pro2/Pro3 (0.936)
    type 3: 203 users, best item HP Stream 7 Tablet Screen Protector (0.783)
    type 4: 124 users, best item BRENTHAVEN Collins Sleeve Plus (1.000)
    type 5: 101 users, best item INCIPIO Roosevelt Folio Black (1.000)
    type 6: 96 users, best item ZAGG Screen Protector for Microsoft Band (1.000)
    distinct best items: 6
    held-out users, type from the items of odd rank, recommended an item of even rank:
      best item of the type: 124 hits, rate 0.310
      HEX 13 inch Laptop Sleeve Black to all: 92 hits, rate 0.230
      bought any item of even rank: 302 users, rate 0.755

The rates of 1.000, and many of 0.000, come from the clustering itself. The types are not sharply
separated: with 1,000 starts a slightly lower inertia is found (970.8 instead of 972.4).
"""

import re
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2

ITEMS = 20
TYPES = 6
RESTARTS = 100
TRAINING_PERCENT = 70
CLIP = 0.01  # rates are kept this far from 0 and 1 in the likelihood
SHORTER = [
    (r" #.*", ""),  # the maker's part number
    (r'"', " inch"),
    (r"Cmplt Warranty USD", "Warranty"),
    (r" (Designed )?for Surface( Pro 3)?", ""),
    (r" (w|w/|with) Pocket", ""),
    (r",| - ", " "),
]


def read_purchases(source):
    """Read which users bought which of the most bought items.

    The most bought items are those with the most different buyers, over all users.

    Args:
        source: The folder with ms_usage.csv.gz and ms_catalog.csv.

    Returns:
        A 0/1 table of users × items, items by falling number of buyers, of the users with at
        least two of the items; and the short names of the items.
    """
    usage = pd.read_csv(source / "ms_usage.csv.gz", dtype=str)
    catalog = pd.read_csv(source / "ms_catalog.csv", dtype=str).set_index("item")["name"]
    bought = usage[["user", "item"]].drop_duplicates()
    buyers = bought.groupby("item").size()  # sorted by item, so that ties go by item
    top = buyers.sort_values(ascending=False, kind="stable").index[:ITEMS]
    bought = bought[bought["item"].isin(top)]
    table = pd.crosstab(bought["user"], bought["item"])[top]
    return table[table.sum(axis=1) >= 2], short_names(catalog[top])


def short_names(names):
    """Shorten the names of the items; names that become equal get the item's number."""
    short = {}
    for item, name in names.items():
        for pattern, replacement in SHORTER:
            name = re.sub(pattern, replacement, name)
        name = " ".join(name.split())
        short[item] = f"{name} {item}" if name in short.values() else name
    return list(short.values())


def cluster(vectors):
    """Cluster vectors by k-means, the best of several restarts; 0 is the largest cluster."""
    best, least = None, np.inf
    for seed in range(RESTARTS):
        centres, labels = kmeans2(vectors, TYPES, iter=100, minit="++", rng=seed)
        inertia = ((vectors - centres[labels]) ** 2).sum()
        if inertia < least:
            best, least = labels, inertia
    order = np.argsort(-np.bincount(best, minlength=TYPES), kind="stable")
    return np.argsort(order)[best]


def likeliest_types(vectors, rates):
    """Assign each 0/1 vector to the type with the highest Bernoulli likelihood."""
    p = np.clip(rates, CLIP, 1 - CLIP)
    return np.argmax(vectors @ np.log(p).T + (1 - vectors) @ np.log(1 - p).T, axis=1)


def main(source):
    """Write the table and print what it is worth on held-out users."""
    table, names = read_purchases(source)
    hashes = np.array([zlib.crc32(user.encode()) % 100 for user in table.index])
    bought = table.to_numpy(dtype=float)
    training, held_out = bought[hashes < TRAINING_PERCENT], bought[hashes >= TRAINING_PERCENT]

    labels = cluster(training)
    rates = np.array([training[labels == k].mean(axis=0) for k in range(TYPES)]).round(3)
    index = pd.Index([f"type {k + 1}" for k in range(TYPES)], name="model")
    pd.DataFrame(rates, index, names).to_csv(
        Path(__file__).with_name("store-types.csv"), float_format="%.3f", lineterminator="\n"
    )

    print(f"users: {len(bought)}, training {len(training)}, held out {len(held_out)}")
    best = rates.argmax(axis=1)
    for k in range(TYPES):
        users = np.count_nonzero(labels == k)
        print(f"type {k + 1}: {users} users, best item {names[best[k]]} ({rates[k, best[k]]:.3f})")
    print(f"distinct best items: {len(set(best))}")

    # Items of odd rank in popularity (1, 3, …, 19) are shown, those of even rank are recommended.
    shown, others = np.arange(0, ITEMS, 2), np.arange(1, ITEMS, 2)
    rows = np.arange(len(held_out))
    types = likeliest_types(held_out[:, shown], rates[:, shown])
    by_type = held_out[rows, others[rates[:, others].argmax(axis=1)][types]]
    single = others[training[:, others].mean(axis=0).argmax()]
    print("held-out users, type from the items of odd rank, recommended an item of even rank:")
    print(f"  best item of the type: {by_type.sum():.0f} hits, rate {by_type.mean():.3f}")
    overall = held_out[:, single]
    print(f"  {names[single]} to all: {overall.sum():.0f} hits, rate {overall.mean():.3f}")
    any_other = held_out[:, others].any(axis=1)
    print(f"  bought any item of even rank: {any_other.sum()} users, rate {any_other.mean():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
