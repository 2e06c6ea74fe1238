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

TIED = """
source = "people.csv"
unit = "person"
rows_per_unit = 3
groups_per_unit = 1
sums = { spent = [0, 500] }
means = { age = [20, 100] }
count = true
by = { region = ["n", "s"] }
guarantee = { epsilon = 1, delta = 1e-5 }
"""

STAGES = """
source = "people.csv"
means = { age = "private" }
guarantee = { epsilon = 1, delta = 1e-5 }
"""

PURE = """
source = "people.csv"
sums = { spent = [0, 500], age = [20, 100] }
count = true
complete = ["spent", "age"]
guarantee = { epsilon = 1 }
"""

PURE_GROUPS = """
source = "people.csv"
unit = "person"
groups_per_unit = 2
sums = { spent = [0, 500] }
by = { region = ["a", "b", "c", "d", "e", "f", "g", "h"] }
guarantee = { epsilon = 1 }
"""

PURE_COUNT = """
source = "people.csv"
count = true
guarantee = { epsilon = 3 }
"""

PURE_VALUES = """
source = "people.csv"
unit = "person"
histograms = { area = ["n", "s", "e", "w"] }
values_per_unit = 3
guarantee = { epsilon = 1 }
"""

PURE_APART = """
source = "people.csv"
guarantee = { epsilon = 1 }

[[question]]
name = "areas"
histograms = { area = ["n", "s", "e", "w"] }

[[question]]
name = "older"
sums = { spent = [0, 500] }
where = "age > 60"
count = true
"""


@dataclass(frozen=True)
class Fault:
    """A bug: what it is, the request that is audited, and its places: (function, right, wrong)."""

    what: str
    request: str
    places: tuple[tuple[str, str, str], ...]


DRAW = "gaussmith.mechanism:_release_noise"
TIE = "gaussmith.mechanism:_release_tie"
PIECE = "gaussmith.totals.records:BoxKernel._add_piece"
NOISE = "gaussmith.noise.gaussian:_draw"
PURE_DRAW, PURE_ADD = "gaussmith.mechanism:_release_pure", "gaussmith.mechanism:add_pure"
RADIUS, WHOLE = "gaussmith.noise.cube:draw_radii", "gaussmith.noise.geometric:_draw"
CERTIFIED = "gaussmith.planning.pure_lattice:certify_block"
SMALLER = 'raise damaged_plan("pure noise for a smaller change of one person")'
NO_MU = (
    "gaussmith.privacy.guarantee:Guarantee.mu",
    "    if self.is_pure:\n        raise GuaranteeError(",
    "    if self.is_pure:\n        return 1.2320353853449\n    if False:\n        raise GuaranteeError(",
)
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
                "gaussmith.noise.gaussian:normal_integers",
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
        (("gaussmith.domains.extremes:Signs.sensitivity", "else 2.0 * extent", "else 1.0 * extent"),),
    ),
    "n in the record": Fault(
        "the exact number of people is written into the record",
        SUMS,
        ((DRAW, "if block.public_count and not query.hides_membership else None", ""),),
    ),
    "threshold without the person": Fault(
        "the threshold of found keys is not raised by what one person adds",
        FOUND,
        (
            (
                "gaussmith.planning.discovered_groups:Threshold.bar",
                "integer_threshold(self.kappa, self.at_most, hidden, NOISE_BITS)",
                "integer_threshold(self.kappa, self.at_most, 0, NOISE_BITS)",
            ),
        ),
    ),
    "stage budget twice": Fault(
        "what a stage spent is not taken off what is left",
        STAGES,
        (("gaussmith.pipeline.staged_release:release_stages", "left -= own.spent", "left -= 0"),),
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
    # Between the sampler and its use: variances, correlations and form of these are right, or nearly.
    "clipped at 4 σ": Fault(
        "noise is clipped at 4 σ before it is added",
        SUMS,
        ((DRAW, ".reshape(len(totals), m)", ".clip(-(4 << NOISE_BITS), 4 << NOISE_BITS).reshape(len(totals), m)"),),
    ),
    "clipped at 4 σ in the sampler": Fault(
        "the sampler never goes beyond 4 σ",
        TIED,
        ((NOISE, "    return noise[:size]", "    return noise[:size].clip(-(4 << bits), 4 << bits)"),),
    ),
    "low bits 0": Fault(
        "the low 30 bits of noise are 0 when it is added",
        SUMS,
        ((DRAW, ".reshape(len(totals), m)", ".reshape(len(totals), m) & -(1 << 30)"),),
    ),
    "low bits 0 in the sampler": Fault(
        "the low 30 bits of all noise are 0",
        TIED,
        ((NOISE, "    return noise[:size]", "    return noise[:size] & -(1 << 30)"),),
    ),
    "low bits 0 after adding": Fault(
        "the low 30 bits of what is decoded are 0",
        SUMS,
        (("gaussmith.mechanism:add", "dtype=object)", "dtype=object) & -(1 << 30)"),),
    ),
    "even noise": Fault(
        "all noise is even", GROUPS, ((NOISE, "    return noise[:size]", "    return noise[:size] & -2"),)
    ),
    "no noise on 0": Fault(
        "a sum that is 0 gets no noise",
        SUMS,
        (
            (
                DRAW,
                "strict=True))\n        features",
                "strict=True) for z in [z * (np.array(y) != 0)])\n        features",
            ),
        ),
    ),
    "rounded after noise": Fault(
        "noisy numbers are rounded to 3 digits before they are released",
        SUMS,
        ((DRAW, "    public = totals[0]", "    features = np.round(features, 3)\n    public = totals[0]"),),
    ),
    "one noise twice": Fault(
        "the first coordinate gets the noise of the last one, and none of its own",
        SUMS,
        (
            (
                DRAW,
                "    if isinstance(lifted, np.ndarray):",
                "    noise[:, 0] = noise[:, -1]\n    if isinstance(lifted, np.ndarray):",
            ),
        ),
    ),
    "opposite noise in groups": Fault(
        "every second group gets the opposite of the noise of the one before",
        GROUPS,
        (
            (
                DRAW,
                "    if isinstance(lifted, np.ndarray):",
                "    noise[1::2] = -noise[: len(noise) - 1 : 2]\n    if isinstance(lifted, np.ndarray):",
            ),
        ),
    ),
    "opposite answers in groups": Fault(
        "every second group gets the opposite of the noisy answers of the one before",
        GROUPS,
        (
            (
                DRAW,
                "    public = totals[0]",
                "    features[1::2] = -features[: len(features) - 1 : 2]\n    public = totals[0]",
            ),
        ),
    ),
    "keystream block again": Fault(
        "long draws use every block of random words twice",
        SUMS,
        (
            (
                "gaussmith.noise.gaussian:normal_integers",
                "Keystream().words",
                "lambda n, s=Keystream().words, kept={}: s(n) if n < 9000 else kept.setdefault(n, s(n)).copy()",
            ),
        ),
    ),
    "positive beyond 3 σ": Fault(
        "noise beyond 3 σ is always positive",
        SUMS,
        ((NOISE, "    return noise[:size]", "    return np.where(noise < -(3 << bits), -noise, noise)[:size]"),),
    ),
    "shared noise winsorised": Fault(
        "noisy integers of shared noise never go beyond 5 σ from their sums",
        TIED,
        (
            (
                TIE,
                "noisy = add(lifted.ravel(), noise)",
                "noisy = add(lifted.ravel(), noise.clip(-(5 << NOISE_BITS), 5 << NOISE_BITS))",
            ),
        ),
    ),
    "one noise for all groups": Fault(
        "noise that is planned for one group is drawn once and used in every group",
        TIED,
        (
            (
                TIE,
                "normal_integers(lifted.size, NOISE_BITS)",
                "np.tile(normal_integers(lifted.shape[1], NOISE_BITS), len(lifted))",
            ),
        ),
    ),
    "found counts clipped": Fault(
        "the noise of counts of found keys is clipped at 4 σ",
        FOUND,
        (
            (
                "gaussmith.mechanism:_pass",
                "noise, spare_noise = drawn[0],",
                "noise, spare_noise = drawn[0].clip(-(4 << 52), 4 << 52),",
            ),
        ),
    ),
    "found counts without low bits": Fault(
        "the low 30 bits of the noise of counts of found keys are 0",
        FOUND,
        (
            (
                "gaussmith.mechanism:_pass",
                "noise, spare_noise = drawn[0],",
                "noise, spare_noise = drawn[0] & -(1 << 30),",
            ),
        ),
    ),
    # Pure ε: noise of other laws, on lattices of integers.
    "pure: radius of D numbers": Fault(
        "the radius of cube noise is a sum of D geometric numbers, not of D + 1",
        PURE,
        (
            (
                RADIUS,
                "(numbers + 1) * blocks, words).reshape(blocks, numbers + 1)",
                "numbers * blocks, words).reshape(blocks, numbers)",
            ),
        ),
    ),
    "pure: radius without its offset": Fault(
        "the radius of cube noise on whole numbers is a sum of geometric numbers alone",
        PURE_COUNT,
        ((RADIUS, "_offsets(rate, numbers, words(blocks), words)", "0"),),
    ),
    "pure: acceptance left out": Fault(
        "the low part of geometric numbers is uniform: none is drawn again",
        PURE,
        ((WHOLE, "kept = _accepted(drawn, rests, split, words)", "pass"),),
    ),
    "pure: rate 2 % too large": Fault(
        "all pure noise is 2 % too small",
        PURE,
        (
            (
                "gaussmith.noise.geometric:geometric_integers",
                "Split(rate)",
                "Split(rate * 51 / 50)",
            ),
        ),
    ),
    "pure: one radius for all": Fault(
        "numbers of a cube are drawn alone, each with a radius of its own for one number",
        PURE,
        (
            (
                "gaussmith.noise.cube:cube_integers",
                "radii = draw_radii(rate, numbers, min(step, blocks - start), words)",
                "radii = np.full(min(step, blocks - start), int((numbers + 1) / rate))",
            ),
        ),
    ),
    "pure: two zeros": Fault(
        "0 comes with either sign, twice as often as it should",
        PURE_VALUES,
        ((WHOLE, "kept &= ~(minus & (found == 0))", "pass"),),
    ),
    "pure: sensitivity in the wrong norm": Fault(
        "numbers that move together get independent noise for the largest one",
        PURE,
        (("gaussmith.planning.pure_lattice:Drawn.law", "LAWS[self.norm]", 'LAWS["1"]'),),
    ),
    "pure: sensitivity of one value": Fault(
        "people with three values are charged like people with one",
        PURE_VALUES,
        (("gaussmith.domains.pure_strategies:_largest_marks", "[n - k :]", "[n - 1 :]"),),
    ),
    "pure: sensitivity 1": Fault(
        "numbers on the fine lattice get the noise of whole numbers",
        PURE,
        (
            ("gaussmith.planning.pure_noise:_drawn_together", "round(largest * scale)", "1"),
            (CERTIFIED, SMALLER, "pass"),
        ),
    ),
    "pure: ε split twice": Fault(
        "every noise gets all of ε, as if it had not been split",
        PURE_APART,
        (
            (
                "gaussmith.planning.pure_noise:shares_of",
                "fraction_down(epsilon * size / total)",
                "fraction_down(epsilon)",
            ),
            (
                "gaussmith.planning.pure_noise:certify_pure",
                'raise damaged_plan("queries that spend too much")',
                "pass",
            ),
        ),
    ),
    "pure: ε of one group": Fault(
        "people in two groups have all of ε in each",
        PURE_GROUPS,
        (
            (
                "gaussmith.planning.pure_noise:_drawn_together",
                "fraction_down(of_noise / held)",
                "fraction_down(of_noise)",
            ),
            (
                "gaussmith.planning.pure_noise:certify_query",
                'raise damaged_plan("a group\'s share is too large")',
                "pass",
            ),
        ),
    ),
    "pure: δ = 0 of Gaussian noise": Fault(
        "a plan with Gaussian noise states δ = 0",
        PURE,
        (
            NO_MU,
            ("gaussmith.requests.request:Request._tied", "if guarantee.is_pure:", "if False:"),
            (
                "gaussmith.planning.pure_noise:certify_query",
                "    query.block.certify()",
                "    return\n    query.block.certify()",
            ),
            (
                "gaussmith.planning.pure_noise:certify_pure",
                "    if any(query.noise is None for query in queries):",
                "    return\n    if any(query.noise is None for query in queries):",
            ),
        ),
    ),
    "pure: a forgotten reader of μ": Fault(
        "a release reads μ of a pure ε, and adds Gaussian noise",
        PURE,
        (
            NO_MU,
            ("gaussmith.mechanism:release_totals", "if plan.guarantee.is_pure:", "if False:"),
        ),
    ),
    "pure: the same noise in groups": Fault(
        "one noise is used in all groups",
        PURE_GROUPS,
        (
            (
                PURE_DRAW,
                "drawn = pure_integers(noise.law, noise.copies)",
                "drawn = np.repeat(pure_integers(noise.law, 1), noise.copies, axis=0)",
            ),
        ),
    ),
    "pure: noise of another query": Fault(
        "every query of a noise takes its first numbers",
        PURE_APART.replace('histograms = { area = ["n", "s", "e", "w"] }', "sums = { age = [0, 100] }"),
        ((PURE_DRAW, "start : start + query", "0 : query"),),
    ),
    "pure: clipped": Fault(
        "noise is clipped at 8 times the largest change before it is added",
        PURE,
        ((PURE_ADD, "lifted + noise", "lifted + noise.clip(-(8 << 40), 8 << 40)"),),
    ),
    "pure: low bits 0": Fault(
        "the low 20 bits of noise are 0 when it is added",
        PURE,
        ((PURE_ADD, "lifted + noise", "lifted + (noise & -(1 << 20))"),),
    ),
    "pure: even noise": Fault(
        "all noise on whole numbers is even, so that odd results tell",
        PURE_VALUES,
        ((PURE_DRAW, "noise.copies)", "noise.copies) & -2"),),
    ),
    "pure: no noise on 0": Fault(
        "a count of 0 gets no noise",
        PURE_VALUES,
        ((PURE_ADD, "lifted + noise", "lifted + noise * (lifted != 0)"),),
    ),
    "pure: counts below 0 cut": Fault(
        "noisy integers below 0 become 0 only where nobody is counted",
        PURE_VALUES,
        ((PURE_ADD, "lifted + noise", "np.where(np.asarray(lifted) == 0, abs(noise), lifted + noise)"),),
    ),
}
