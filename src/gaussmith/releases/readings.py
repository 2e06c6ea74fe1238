"""What is read from a release: tables, contrasts, shares and views. It spends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from gaussmith.releases.table import answer_columns, marginal
from gaussmith.releases.tabled import Tabled

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.numerics.linear import Array
    from gaussmith.releases.contrasts import Contrasts
    from gaussmith.releases.presentation import Presentation
    from gaussmith.releases.release import Release


class Readings(Tabled):
    """The doors of a release to what can be read from it."""

    def __sub__(self, other: object) -> Contrasts:
        """`release["north"] - release["south"]`: the same as `difference` of two parts of one release."""
        from gaussmith.releases.contrasts import differences

        if not isinstance(other, Readings):
            return NotImplemented
        return differences(cast("Release", self).whole, self, other, None)

    def __truediv__(self, other: object) -> Contrasts:
        """`release["a_sum"] / release["b_sum"]`: the same as `ratio` of two parts of one release."""
        from gaussmith.releases.contrasts import ratios

        if not isinstance(other, Readings):
            return NotImplemented
        return ratios(cast("Release", self).whole, self, other, None)

    def difference(self, first: Any, second: Any, answer: str | None = None) -> Contrasts:
        """first − second, with intervals by the known covariance of the noise: groups, answers or questions.

        Of groups and questions: for each answer that both have, or for `answer`. Of answers: in each group. A part can
        also be given as a narrowed release, `release["north"]["age_mean"]`.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.Box({"a": (0, 1), "b": (0, 1)}), gm.Guarantee(mu=1))
        >>> round(plan.release([[1.0, 0.0]] * 50).difference("a", "b").standard_error, 2)
        1.15
        """
        from gaussmith.releases.contrasts import differences

        return differences(cast("Release", self), first, second, answer)

    def contrast(self, weights: Mapping[Any, float], answer: str | None = None) -> Contrasts:
        """Σ weight · part: `release.contrast({"north": 1, "south": -0.5, "east": -0.5})`; parts as in `difference`."""
        from gaussmith.releases.contrasts import weighted_contrast

        return weighted_contrast(cast("Release", self), weights, answer)

    def diagnosis(self) -> list[str]:
        """What the diagnosis tells about the answers, in sentences; empty without `diagnose`."""
        from gaussmith.releases.diagnosis import diagnosis_sentences

        return diagnosis_sentences(cast("Release", self))

    def ratio(self, first: Any, second: Any, answer: str | None = None) -> Contrasts:
        """first / second, parts as in `difference`. Unknown where the noise does not tell the second from 0."""
        from gaussmith.releases.contrasts import ratios

        return ratios(cast("Release", self), first, second, answer)

    def shares(self, answer: str | None = None) -> Contrasts:
        """Each group's share of a count or a sum, or each value's share of a histogram; Fieller's intervals."""
        from gaussmith.releases.contrasts import shares

        return shares(cast("Release", self), answer)

    def share(self, key: Any, answer: str | None = None) -> Contrasts:
        """One of `shares`."""
        return self.shares(answer)[key]

    def contrasts(self, against: Any = None, answer: str | None = None) -> Contrasts:
        """Every group less one of them, or less the mean of all groups; the intervals hold for all at once."""
        from gaussmith.releases.contrasts import against as compared

        return compared(cast("Release", self), against, answer)

    def sampling(self) -> dict[str, str]:
        """What `population=True` rests on, by answer in view; why it cannot be had, where it cannot."""
        from gaussmith.releases.sampling import describe_sampling

        return describe_sampling(cast("Release", self))

    def columns(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """The one table of a release by columns: question · keys · answer · value · standard_error · lower · upper.

        Then `status` ("noisy", "exact" if the number is public, "unknown" if the noise is too large to tell) and
        `note`. There is a question column where there are several, key columns where there are groups; as text, None
        for a question without such keys, where there are several questions.
        """
        return answer_columns(cast("Release", self), confidence)

    def table_metadata(self) -> dict[str, str]:
        """What the Parquet file and the Arrow table say about the release, by name: `gaussmith.guarantee` and others.

        >>> import gaussmith as gm
        >>> release = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1)).release([[30.0], [50.0]])
        >>> release.table_metadata()["gaussmith.guarantee"], release.table_metadata()["gaussmith.neighbours"]
        ('{"mu": 1.0}', 'add-remove')
        """
        from gaussmith.releases.tables import metadata_of

        return metadata_of(cast("Release", self))

    def marginal(self, *attributes: str | int) -> Array:
        """The table of one released marginal, an axis per attribute (by name or number), in the order given.

        >>> import gaussmith as gm
        >>> cells = gm.Cells({"age": 3, "sex": ["f", "m"]})
        >>> plan = gm.plan(cells, gm.Guarantee(mu=1), answers=gm.workloads.marginals([3, 2], 2))
        >>> release = plan.release([[0, "f"], [2, "m"]])
        >>> release.marginal("sex", "age").shape, release.marginal(1, 0).shape
        ((2, 3), (2, 3))
        """
        release = cast("Release", self)
        return marginal(release.block, release.values, attributes)

    def wide(self, errors: bool = False) -> pl.DataFrame:
        """One row per group, one column per answer; with `errors` a column of standard errors beside each.

        Several questions side by side must have the same groups. `.to_pandas()` makes it a pandas frame.
        """
        from gaussmith.releases.wide_tables import wide_frame

        return wide_frame(cast("Release", self), errors)

    def presented(self, suppress_above: float | None = 0.3) -> Presentation:
        """A view for publication: inside what is public, rounded to what the noise supports, unreliable cells left out.

        It is a view and says so: `value` stays the unbiased released number. `suppress_above` is the largest standard
        error that is shown, relative to the value (of a mean: to half the width of its bounds); None shows all.
        """
        from gaussmith.releases.presentation import present

        return present(cast("Release", self), suppress_above)
