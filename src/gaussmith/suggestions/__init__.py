"""What a request needs, learned under a small guarantee and written as a request file that is ready to edit."""

from gaussmith.suggestions.suggestion import Suggestion
from gaussmith.suggestions.learning import suggest

__all__ = ["Suggestion", "suggest"]
