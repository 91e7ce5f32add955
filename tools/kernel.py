"""The course's Python as a kernel of the Jupyter or VS Code that is here already: python -m tools.kernel [--remove].

Beside the kernel, what a JupyterLab needs to draw widgets and charts: links into .venv, from where every Jupyter of this user looks.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tools import needs

with needs.told():
    from ipykernel.kernelspec import install
    from jupyter_core.paths import jupyter_data_dir

NAME, TITLE = "bytes-in-motion", "Bytes in Motion"
DRAWN_BY = ("anywidget", "@jupyter-widgets/jupyterlab-manager", "jupyterlab-plotly")  # widgets and charts


def links() -> dict[Path, Path]:
    """From the place in the user's folder to what stands in ours."""
    theirs, ours = Path(jupyter_data_dir(), "labextensions"), Path(sys.prefix, "share/jupyter/labextensions")
    return {theirs / name: ours / name for name in DRAWN_BY}


def add() -> str:
    """Registers the kernel; an older one of that name is replaced, another's widgets are left. Returns what to do now."""
    folder = install(user=True, kernel_name=NAME, display_name=TITLE)
    for place, target in links().items():
        if place.is_symlink():
            place.unlink()
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
    return (
        f'The kernel "{TITLE}" is in {folder}\n'
        f"In JupyterLab: reload the page, open a lab from {needs.ROOT / 'notebooks'}, then Kernel > Change Kernel > {TITLE}\n"
        f"In VS Code: open {needs.ROOT} and a lab, then Select Kernel > Jupyter Kernel > {TITLE}\n"
        "`make kernel REMOVE=1` takes it away again"
    )


def remove() -> str:
    """Takes away what `add` has made, and nothing else."""
    folder = Path(jupyter_data_dir(), "kernels", NAME)
    here = folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
    for place, target in links().items():
        if place.is_symlink() and place.readlink() == target:
            place.unlink()
    return f'The kernel "{TITLE}" is {"removed from" if here else "not in"} {folder.parent}'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remove", action="store_true", help="take it away again")
    print(remove() if parser.parse_args().remove else add())
    return 0


if __name__ == "__main__":
    sys.exit(main())
