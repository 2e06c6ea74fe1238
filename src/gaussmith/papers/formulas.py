"""Formulas that the sources' proofs use: tails of quadratic forms, bounds on them, shares of a clipped sum."""

from __future__ import annotations

from gaussmith.checks import checks_arguments
from gaussmith.numerics import quadratic_forms
from gaussmith.papers import quadratic_tails as tails
from gaussmith.papers import scaling

imhof_tail = checks_arguments(tails.imhof_tail)
quadratic_form_quantile = checks_arguments(quadratic_forms.quantile)
quadratic_form_tail = checks_arguments(quadratic_forms.tail)
chebyshev_shares = checks_arguments(scaling.chebyshev_shares)
improved_shares = checks_arguments(scaling.improved_shares)
report_shares = checks_arguments(scaling.report_shares)
bernstein = checks_arguments(tails.bernstein)
chebyshev = checks_arguments(tails.chebyshev)
hanson_wright = checks_arguments(tails.hanson_wright)
laurent_massart = checks_arguments(tails.laurent_massart)
square_tail = checks_arguments(tails.square_tail)
truncated_bernstein = checks_arguments(tails.truncated_bernstein)
uncentred_bernstein = checks_arguments(tails.uncentred_bernstein)
