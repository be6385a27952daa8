"""ONNX Runtime: a graph, opened."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError

if TYPE_CHECKING:
    import onnxruntime

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Session:
    """An opened graph."""

    session: "onnxruntime.InferenceSession"
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    path: Path

    def __call__(self, arrays: Arrays) -> list[NDArray[Any]]:
        """What the graph gives, in the order of its outputs; arrays that it does not ask for are left out.

        Raises:
            SeesayError: It asks for something that there is not, or cannot be computed.
        """
        if absent := [name for name in self.inputs if name not in arrays]:
            raise SeesayError(f"the graph {self.path} asks for {', '.join(absent)}", allowed=arrays)
        try:
            found: list[NDArray[Any]] = self.session.run(None, {name: arrays[name] for name in self.inputs})
        except Exception as error:  # as where it is opened
            raise SeesayError(f"cannot compute the graph {self.path}: {str(error)[:300]}") from error
        return found


def open_session(
    path: Path,
    threads: int,
    shared: Arrays | None = None,
    *,
    optimise: bool = True,
    rearrange: bool = True,
    keep: tuple[Path, str] | None = None,
) -> Session:
    """Let ONNX Runtime open a graph; what it refuses is an error that names the file.

    Args:
        threads: That it may use; 0 for as many as there are cores.
        shared: Initialisers that the graph's file does not hold.
        optimise: False for a graph that is optimised already.
        rearrange: Whether weights are laid out as products read them, which takes a copy of each.
        keep: Where to write the optimised graph, and the name of the file beside it for its weights.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised, and not also printed
    # A thread that waits in a loop takes a core from everything else that a library does.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not rearrange:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if keep is not None:
        # What is optimised further would be for this processor alone.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(keep[0])
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", keep[1])
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    if shared:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)) for array in shared.values()]
        options.add_external_initializers(list(shared), values)
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has an exception of its own for every status, and none above them
        raise SeesayError(f"cannot open the graph {path}: {str(error)[:300]}", hint="seesay export WEIGHTS") from error
    inputs, outputs = session.get_inputs(), session.get_outputs()
    return Session(session, tuple(each.name for each in inputs), tuple(each.name for each in outputs), path)
