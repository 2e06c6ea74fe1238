"""Requests: what is asked of one table, in Python or TOML, and its translation into draws. Never sees data.

request      the whole of what is asked, with its plan
question     one part of it, with rules of its own
translation  from a question to the domain of one person, the answers, and the rule of its rows
"""

from gaussmith.requests.question import Question
from gaussmith.requests.request import Request

__all__ = ["Question", "Request"]
