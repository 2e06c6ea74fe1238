"""Planted bugs: for each the function it is planted in, the text that is replaced, and the request that is audited.

`wrong` stands for `right` in the source of the function while `gaussmith audit` runs on the request. The text must
occur exactly once, so that a list of faults cannot go stale unnoticed. Faults with several places have several lines.
"""

from __future__ import annotations

from dataclasses import dataclass

SUMS = """
source = "people.csv"
sums = { spent = [0, 500], age = [20, 100] }
count = true
complete = ["spent", "age"]
guarantee = { epsilon = 1, delta = 1e-5 }
"""

MEANS = """
source = "people.csv"
means = { age = [20, 100] }
complete = ["age"]
guarantee = { epsilon = 1, delta = 1e-5 }
"""

REPLACED = """
source = "people.csv"
sums = { spent = [0, 500], age = [20, 100] }
complete = ["spent", "age"]
neighbours = "replace-one"
guarantee = { epsilon = 1, delta = 1e-5 }
"""

GROUPS = (
    """
source = "people.csv"
count = true
by = { region = ["""
    + ", ".join(f'"r{i}"' for i in range(30))
    + """] }
guarantee = { epsilon = 1, delta = 1e-5 }
"""
)

FOUND = """
source = "people.csv"
unit = "person"
groups_per_unit = 1
count = true
by = { region = "found" }
guarantee = { epsilon = 1, delta = 1e-5 }
"""

STAGES = """
source = "people.csv"
means = { age = "private" }
guarantee = { epsilon = 1, delta = 1e-5 }
"""


@dataclass(frozen=True)
class Fault:
    """A bug: what it is, the request that is audited, and its places: (function, right, wrong)."""

    what: str
    request: str
    places: tuple[tuple[str, str, str], ...]


DRAW = "gaussmith.mechanism:_release_draw"
PIECE = "gaussmith.totals.kernels:BoxKernel._add_piece"
NOISE = "gaussmith.noise.normal:_draw"
UNCLIPPED = (
    (PIECE, "            np.clip(x, low, top, out=x)\n", "            pass\n"),
    (PIECE, "np.clip(column[start:stop], bottom, ceiling, out=row)", "row[:] = column[start:stop]"),
)

FAULTS: dict[str, Fault] = {
    "σ × 0.98": Fault(
        "all noise 2 % too small", SUMS, ((NOISE, "    return noise", "    return (noise * 0.98).astype(np.int64)"),)
    ),
    "σ × 0.9": Fault(
        "all noise 10 % too small", SUMS, ((NOISE, "    return noise", "    return (noise * 0.9).astype(np.int64)"),)
    ),
    "one direction": Fault(
        "the noise of one coordinate 10 % too small",
        SUMS,
        (
            (
                DRAW,
                ".reshape(len(totals), m)",
                ".reshape(len(totals), m) * np.array([9, *[10] * (m - 1)]) // 10",
            ),
        ),
    ),
    "transposed factor": Fault(
        "features read with the transposed matrix",
        SUMS,
        ((DRAW, "block.shape.features.times(y)", "block.shape.features.dense().T @ y"),),
    ),
    "reused noise": Fault(
        "the same noise in every release",
        SUMS,
        (
            (
                "gaussmith.noise.normal:normal_integers",
                "return _draw(size, bits, Keystream().words)",
                "return globals().setdefault('kept', {}).setdefault(size, _draw(size, bits, Keystream().words)).copy()",
            ),
        ),
    ),
    "unclipped data": Fault("values are not clipped to their bounds", SUMS, UNCLIPPED),
    "clip after noise": Fault(
        "the noisy answer is clipped, not the data",
        SUMS,
        (
            *UNCLIPPED,
            (DRAW, "    public = totals[0]", "    features = np.clip(features, -1e6, 1e6)\n    public = totals[0]"),
        ),
    ),
    "mean over the true n": Fault(
        "means are divided by the exact number of people",
        MEANS,
        (
            (
                DRAW,
                "    public = totals[0]",
                "    features[:, -1] = [each.records for each in totals]\n    public = totals[0]",
            ),
        ),
    ),
    "bounds from data": Fault(
        "columns are scaled by the largest value in the data",
        SUMS,
        (
            (
                PIECE,
                "x *= scale",
                "x *= scale * (top - low) / np.maximum(np.nanmax(x, axis=1, keepdims=True), 1e-9)",
            ),
        ),
    ),
    "float noise": Fault(
        "noise is a float of numpy",
        SUMS,
        (
            (
                DRAW,
                "normal_integers(len(totals) * m, NOISE_BITS)",
                "(np.random.default_rng().standard_normal(len(totals) * m) * 2.0**NOISE_BITS)",
            ),
        ),
    ),
    "shared noise on empty groups": Fault(
        "all empty groups get the same noise",
        GROUPS,
        (
            (
                DRAW,
                "    if isinstance(lifted, np.ndarray):",
                "    noise = np.array([z if t.records else noise[0] for t, z in zip(totals, noise)])\n"
                "    if isinstance(lifted, np.ndarray):",
            ),
        ),
    ),
    "sensitivity C for replace-one": Fault(
        "a replaced person is charged like an added one",
        REPLACED,
        (("gaussmith.domains.box:Box.largest", "bounds = 2.0 * extent", "bounds = 1.0 * extent"),),
    ),
    "n in the record": Fault(
        "the exact number of people is written into the record",
        SUMS,
        ((DRAW, "if block.public_count and not draw.hides_membership else None", ""),),
    ),
    "threshold without the person": Fault(
        "the threshold of found keys is not raised by what one person adds",
        FOUND,
        (
            (
                "gaussmith.plans.threshold:Threshold.bar",
                "integer_threshold(self.kappa, self.at_most, hidden, NOISE_BITS)",
                "integer_threshold(self.kappa, self.at_most, 0, NOISE_BITS)",
            ),
        ),
    ),
    "stage budget twice": Fault(
        "what a stage spent is not taken off what is left",
        STAGES,
        (("gaussmith.staged_release:release_stages", "left -= own.spent", "left -= 0"),),
    ),
    "rank-one noise": Fault(
        "R1SMG: a random length in one random direction, with its claimed variance",
        SUMS,
        (
            (
                DRAW,
                "    if isinstance(lifted, np.ndarray):",
                "    u = noise / np.linalg.norm(noise.astype(float), axis=1, keepdims=True)\n"
                "    length = normal_integers(len(totals), NOISE_BITS)[:, None] * block.guarantee.mu * 20.0\n"
                "    noise = (u * length).astype(np.int64)\n"
                "    if isinstance(lifted, np.ndarray):",
            ),
        ),
    ),
}
