"""The five jobs in SmartNoise SQL; its ε is for each column of a query, so that ε is scaled until the query costs 1."""

import pandas as pd
import snsql
from snsql import Privacy
from told import BOUNDS, DELTA, EPSILON, REGIONS, tell

# shown from here on

NUMBERS = {name: {"type": "float", "lower": low, "upper": high} for name, (low, high) in BOUNDS.items()}
TABLE = {"row_privacy": True, "censor_dims": False, "rows": 5_000, "region": {"type": "string"}, **NUMBERS}
METADATA = {"": {"s": {"people": TABLE}}}


def ask(path, query):
    table = pd.read_parquet(path)
    dear = snsql.from_df(table, privacy=Privacy(epsilon=EPSILON, delta=DELTA), metadata=METADATA)
    scale = EPSILON / dear.get_privacy_cost(query)[0]  # ε is for each column: what the whole query costs at ε = 1
    reader = snsql.from_df(table, privacy=Privacy(epsilon=EPSILON * scale, delta=DELTA), metadata=METADATA)
    return reader.execute(query)[1:]


def count_people(path):
    return ask(path, "SELECT COUNT(*) AS n FROM s.people")[0]


def three_sums(path):
    return ask(path, "SELECT SUM(age) AS a, SUM(wage) AS w, SUM(hours) AS h FROM s.people")[0]


def three_means(path):
    return ask(path, "SELECT AVG(age) AS a, AVG(wage) AS w, AVG(hours) AS h FROM s.people")[0]


def mean_by_region(path):
    found = dict(ask(path, "SELECT region, AVG(wage) AS w FROM s.people GROUP BY region"))
    return [found[region] for region in REGIONS]


def count_by_region(path):
    found = dict(ask(path, "SELECT region, COUNT(*) AS n FROM s.people GROUP BY region"))
    return [found[region] for region in REGIONS]


if __name__ == "__main__":
    tell("smartnoise-sql", globals())
