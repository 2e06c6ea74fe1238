"""The workbench: a local page where a request is shaped, its errors are seen, and it is released once.

- drafts: what is written in the form, as text
- lists: lists in a field
- reading, lines, entries: a draft as a request, its lines, and one field of it
- filling, filled_lines: a request as a draft, and its lines
- places: beside which field an error stands
- sources: which sources may be opened, and their columns
- figures, pictures, what_ifs: what is shown of a plan
- gate: who may ask the server for anything
- desk: what the server remembers: drafts, confirmations, releases
- spending, downloads: the page of a ledger, the files of a release
- app, server: the addresses of the pages, and the server behind them

Needs the extra `workbench`; nothing outside this package and its command imports it.
"""
