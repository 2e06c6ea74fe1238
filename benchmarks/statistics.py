"""Each statistic beside the same job in other tools: the error of theirs over the error of ours.

The same 2 000 people, the same bounds, (ε = 1, δ = 1e-6); beside pure ε = 1 of a tool, ours at pure ε = 1. Errors are
root mean squares of what was really released, over forty releases or more; those of quantiles are in ranks. A tool
that offers several kinds of noise is asked with each. Ours protects adding or removing a person; beside answers of a
tool that takes the number of people for public, ours are planned for replacing one. The jobs are in peers/asked.py.

Claim: theirs is never better by more than the luck of the draw, but for what EXCEPTIONS in shared/compared.py names,
with the reason. The results say so too.

    ./run python benchmarks/statistics.py --only opendp_statistics --jobs "one median" "nine deciles"
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "statistics":  # Python's own module was looked for, and this folder comes first on the path of a script
    spec = importlib.util.spec_from_file_location("statistics", Path(os.__file__).with_name("statistics.py"))
    assert spec is not None and spec.loader is not None
    sys.modules["statistics"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["statistics"])

if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != HERE]
    sys.path += [str(HERE / "shared"), str(HERE / "peers"), str(HERE)]  # last: Python has a `statistics` too
    from compared import main

    sys.exit(main())
