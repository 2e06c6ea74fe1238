"""Requests: questions about one table, in Python or TOML, and their translation into draws. Never sees data.

request      the whole request, with its plan
question     one question of a request, with its own rules
toml_text    a request as TOML
translation  from a question to the domain of one person, the answers, and the rule of its rows
"""

from gaussmith.requests.question import Question
from gaussmith.requests.request import Request

__all__ = ["Question", "Request"]
