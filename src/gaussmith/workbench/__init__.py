"""The workbench: a local page where a request is shaped, its errors are seen, and it is released once.

- drafts, reading, filling: what is written in the form, as a request, and back
- places: beside which field an error stands
- bench, pictures: what is shown of a plan
- desk, tokens: what the server remembers, and the words that nobody can guess
- app, server: the addresses of the pages, and the server behind them
- command: `gaussmith workbench`

Needs the extra `workbench`; nothing outside this package imports it.
"""
