"""What is asked about whom: values and protocols. No noise is chosen here.

Problem   a domain, the answers asked of it, and which datasets are neighbours; all else follows
Domain    what one record can be, and what a domain must provide
Law       a law on the differences of neighbours, which bounds every Gaussian noise
"""

from gaussmith.problem.domain import Domain
from gaussmith.problem.law import Law
from gaussmith.problem.problem import Problem

__all__ = ["Domain", "Law", "Problem"]
