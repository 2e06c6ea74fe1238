"""The notebooks of docs/notebooks run from top to bottom, and are stored without what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gaussmith as gm

nbclient = pytest.importorskip("nbclient", reason="notebooks are run where the tools of development are installed")
nbformat = pytest.importorskip("nbformat", reason="it comes with nbclient")

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=[file.stem for file in NOTEBOOKS])
def test_a_notebook_is_stored_without_output(file: Path) -> None:
    cells = [cell for cell in json.loads(file.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    for cell in cells:
        assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.filterwarnings("default")  # those of the kernel and of its loop
@pytest.mark.parametrize("file", NOTEBOOKS, ids=[file.stem for file in NOTEBOOKS])
def test_a_notebook_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(gm.__file__).parents[1]))
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert len(shown) >= 5 and not [output for output in shown if output.output_type == "error"]


def test_there_are_two() -> None:
    assert len(NOTEBOOKS) == 2
