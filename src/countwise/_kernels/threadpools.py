"""Registration with threadpoolctl, so that ``threadpool_limits`` applies to the kernels.

threadpoolctl is not imported for this: it takes longer than importing all kernels. It is registered with when another
package imports it.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from countwise._kernels.threads import limit_threads, thread_count

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def heed() -> None:
    """Register with threadpoolctl, now or when it is imported."""
    if "threadpoolctl" in sys.modules:
        _register(sys.modules["threadpoolctl"])
    else:
        sys.meta_path.insert(0, _Importer)


class _Importer:
    """Finds threadpoolctl as usual, and registers after it is loaded."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "threadpoolctl":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                _register(module)

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def _register(threadpoolctl: Any) -> None:
    if not hasattr(threadpoolctl, "register"):  # before version 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        """The number of threads of the kernels."""

        user_api = internal_api = "countwise"
        filename_prefixes = ("_native",)
        check_symbols = ("countwise_kernels",)

        def get_num_threads(self) -> int:
            return thread_count()

        def set_num_threads(self, num_threads: int) -> None:
            limit_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(Controller)
