"""Run all benchmarks, or the given cases: python benchmarks/run.py [--write] [glass_box numeric nominal strings mixed kernels text small cuts filters forward pairs distributions discriminants bandwidths line rows trees mixed_trees tree_memory neighbors points edits pebls tables ordering climbing searching marginals classes engine growth cluster curve leave_one_out folds cold]"""

from __future__ import annotations

import platform
import sys

import numpy
import sklearn

import cold_start
from countwise import __version__, _kernels
from densities import CASES as DENSITIES
from engines import CASES as ENGINES
from evaluation import CASES as EVALUATION
from harness import Report, head
from naive_bayes import CASES as NAIVE_BAYES
from neighbors import CASES as NEIGHBORS
from networks import CASES as NETWORKS
from results import section, write
from selection import CASES as SELECTION
from trees import CASES as TREES

CASES = {**NAIVE_BAYES, **SELECTION, **DENSITIES, **TREES, **NEIGHBORS, **NETWORKS, **ENGINES, **EVALUATION}

if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if name != "--write"] or [*CASES, "cold"]
    where = f"countwise {__version__} ({_kernels.LEVEL}, {_kernels.thread_count()} threads), scikit-learn {sklearn.__version__}, NumPy {numpy.__version__}, Python {platform.python_version()}"
    print(where)
    report, pages = Report(), {}
    head()
    for name in wanted:
        if name == "cold":
            cold_start.run()
        else:
            before = len(report.rows), len(report.notes)
            CASES[name](report)
            pages[name] = section(name, where, report.rows[before[0] :], report.notes[before[1] :])
    if "--write" in sys.argv:
        write(pages)
    missed = [row.case for row in report.rows if row.verdict == "MISSED"]
    print(f"{len(report.rows)} comparisons, {len(missed)} below target{': ' + '; '.join(missed) if missed else ''}")
