"""Exact sums of coded records, the same integers whatever engine holds the rows.

    data, draw ──open_data──▶ Opened: names and types, no value ──total──▶ Totals: Python integers, secret

`records` adds up rows that are records, `people` and `groups` what people with many rows add, `categories` the other
forms of plain data. Nothing here is private yet: totals go to `gaussmith.mechanism`, nowhere else.
"""
