"""What is asked of whom: values and protocols. No choice of noise is made here.

Problem   a domain, the answers asked of it, and which datasets are neighbours; all else follows
Domain    what one record can be, and the duties of whoever says so
Law       a law on the differences of neighbours, which bounds every Gaussian noise
"""

from gaussmith.problem.domain import Domain
from gaussmith.problem.law import Law
from gaussmith.problem.problem import Problem

__all__ = ["Domain", "Law", "Problem"]
