"""pynvml's functions, answered for the fake machine. Constants and errors stay its own."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

from . import machine


def install(pynvml: ModuleType) -> None:
    """Put them in place of the real ones."""

    def init() -> None:
        if not machine.count():
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    def handle(index: int) -> int:
        if not 0 <= index < machine.count():
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return index

    def memory(index: int) -> SimpleNamespace:
        return SimpleNamespace(total=machine.FREE + 10**8, free=machine.FREE, used=10**8)

    def processes(index: int) -> list[SimpleNamespace]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=5 * 10**8) for pid in machine.holders(index)]

    answers = {
        "nvmlInit": init,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": machine.count,
        "nvmlDeviceGetHandleByIndex": handle,
        "nvmlDeviceGetName": lambda index: machine.NAME,
        "nvmlDeviceGetUUID": machine.uuid,
        "nvmlDeviceGetComputeMode": lambda index: pynvml.NVML_COMPUTEMODE_DEFAULT,
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetCudaComputeCapability": lambda index: machine.CAPABILITY,
        "nvmlDeviceGetMigMode": lambda index: (0, 0),
        "nvmlSystemGetCudaDriverVersion_v2": lambda: machine.DRIVER,
        "nvmlSystemGetDriverVersion": lambda: "570.00",
        "nvmlDeviceGetComputeRunningProcesses": processes,
    }
    for name, answer in answers.items():
        setattr(pynvml, name, answer)
