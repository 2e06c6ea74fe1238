"""Engines hold the rows: one `Engine` each for numpy, Polars, DuckDB and Spark, and the files and addresses they read.

    data ──registry.open_source──▶ Source: an engine, names and types of columns, no value ──▶ `gaussmith.totals`

To add an engine, write one file with a class that follows `engine.Engine`, and add one line to `registry.ENGINES`.
pandas and PyArrow become Polars frames when they are opened; DuckDB and Spark keep their rows.
"""
