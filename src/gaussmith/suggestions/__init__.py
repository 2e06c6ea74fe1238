"""What a request needs, learned under a small guarantee and written as a request file that is ready to edit."""

from gaussmith.suggestions.learning import suggest
from gaussmith.suggestions.suggestion import Suggestion

__all__ = ["Suggestion", "suggest"]
