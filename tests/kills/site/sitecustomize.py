"""Found by the interpreter of a digest worker at its start: arms the worker, see `launch`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if os.environ.get("KILL_AT", "").startswith("worker ") and "gossamer.adapters.digest.worker" in sys.orig_argv:
    sys.path.append(str(Path(__file__).parents[1]))
    from launch import SPEC, Bomb, arm_system

    arm_system(Bomb(os.environ[SPEC]))
