/* What NVIDIA's own header says: reads "major minor shared_max shared_block max_threads threads registers shared" a line,
 * prints the resident blocks and the limiting factors (1 warps, 2 registers, 4 shared memory, 8 blocks; 0 with 0 blocks).
 * gcc -I $CUDA_HOME/include occupancy_reference.c -o reference; tests/memory/test_occupancy.py asks for it where there is one. */
#include <stdio.h>
#include <string.h>
#include "cuda_occupancy.h"

int main(void) {
    int major, minor, shared_max, shared_block, max_threads, threads, registers, shared;
    while (scanf("%d %d %d %d %d %d %d %d", &major, &minor, &shared_max, &shared_block, &max_threads, &threads, &registers,
                 &shared) == 8) {
        cudaOccDeviceProp device;
        cudaOccFuncAttributes kernel;
        cudaOccDeviceState state;
        cudaOccResult result;
        memset(&device, 0, sizeof device);
        memset(&kernel, 0, sizeof kernel);
        memset(&state, 0, sizeof state);
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = max_threads;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerMultiprocessor = shared_max;
        device.sharedMemPerBlockOptin = shared_block;
        device.reservedSharedMemPerBlock = shared_max - shared_block;
        device.numSms = 1;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = shared_block;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared)) return 1;
        printf("%d %u\n", result.activeBlocksPerMultiprocessor, result.limitingFactors);
    }
    return 0;
}
