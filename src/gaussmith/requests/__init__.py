"""Requests: questions about one table, in Python or TOML, and their translation into draws. Never sees data.

request      the whole request, with its plan
question     one question of a request, with its own rules
fields       the table of all fields: Python, TOML, flags, the form and the JSON Schema are made from it
readers      how the fields are read
translation  from a question to the domain of one person, the answers, and the rule of its rows
"""
