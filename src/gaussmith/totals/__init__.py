"""Exact sums of encoded records; every engine gives the same integers.

    data, query ──open_data──▶ Opened: names and types, no value ──total──▶ Totals: Python integers, secret

`records` adds up rows that are records, `people` and `groups` what people with many rows add, `categories` the other
forms of plain data. These totals are not private yet: only `gaussmith.mechanism` receives them.
"""
