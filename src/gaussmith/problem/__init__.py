"""What is asked about whom: values and protocols. No noise is chosen here.

Problem   a domain, the features of a record that receive noise, and which datasets are neighbours; all else follows
Features  sums of coordinates, linear features and the number of records, and what the error of each is worth
Domain    what one record can be, and the duties of whoever says so
Law       a law on the differences of neighbours, which bounds every Gaussian noise
"""

from gaussmith.problem.domain import Domain
from gaussmith.problem.features import Features
from gaussmith.problem.law import Law
from gaussmith.problem.problem import Problem

__all__ = ["Domain", "Features", "Law", "Problem"]
