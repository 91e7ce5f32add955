"""Kernels that talk without NCCL count as communication, and kernels of computation with words of it in their names do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.nccl import parse_kineto
from helpers.yours import is_my_number_good

sys.path.append(str(Path(__file__).parents[2] / "nccl" / "output"))

from made_traces import event, text

FAULT = Path(__file__).parents[1] / "faults" / "10-symmetric-memory-trace.txt"
TALK = {  # by what a trace calls them, and the collective where the name tells one
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, int)": "all_reduce",
    "void (anonymous namespace)::multimem_one_shot_all_reduce_kernel<float, 16>(float*, float*)": "all_reduce",
    "void c10d::symmetric_memory::two_shot_all_reduce_kernel_inplace<float, 8>(float**)": "all_reduce",
    "(anonymous namespace)::multimem_all_gather_kernel(char*, char*, unsigned long)": "all_gather",
    "void vllm::cross_device_reduce_2stage<__half, 4>(vllm::RankData*)": "all_reduce",
    "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(sglang::RankData*)": "all_reduce",
    "void aiter::cross_device_reduce_2stage_naive<opus::bf16, 8>(aiter::RankData*)": "all_reduce",
    "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<int>>(int)": "all_reduce",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 8>(AllReduceParams)": "all_reduce",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)": "all_reduce",
    "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>(int)": "all_reduce",
    "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)": "all_reduce",
    "ncclSymDevKernel_AllGather_LL(ncclSymDevArgs)": "all_gather",
    "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "reduce_scatter",
    "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)": "Generic",
    "mscclKernel_Sum_float_LL(ncclDevComm*, mscclAlgo*, mscclWork)": "mscclkernel_sum_float_ll",
    "void nvshmemi_transfer_kernel<1>(void*)": "nvshmemi_transfer_kernel",
    "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*)": "dispatch",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(__nv_bfloat16*)": "combine",
    "void moe_comm::moeA2ADispatchKernel<8>(int)": "moea2adispatchkernel",
    "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)": "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
}
COMPUTE = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float>>>(R)",
    "void at_cuda_detail::cub::DeviceReduceSingleTileKernel<at_cuda_detail::cub::Policy600, int*>(int*)",
    "void cub::CUB_200700_900_NS::DeviceScanKernel<AllReduceTag>(int)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16, float>(cublasSplitKParams<float>)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::ReduceAdd>(int)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)",
    "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>>(flash::Flash_fwd_params)",
    "triton_per_fused__to_copy_all_reduce_mean_mul_0",
    "nvjet_tst_128x64_64x9_2x1_2cta_v_bz_TNT",
    "void cutlass::device_kernel<GemmAllReduceUniversal>(int)",
    "void cutlass::gemm_reduce_scatter_kernel<float>(int)",
    "void oneflow::BlockAllReduceKernel<float>(float*)",
    "void segment::SmallReduceKernel<float>(float*)",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 256, 8>(long const*)",
    "void moe::finalizeMoeRoutingKernel<float>(float*)",
)


def parts(*events):
    b = parse_kineto(text(event("nvjet_tst_128x64", 0, 600), *events)).breakdown()
    return b.compute / 1e3, b.exposed / 1e3


def test_the_fault():
    found = is_my_number_good(FAULT.read_text())
    assert "computed 60%, talked 40% beside no computation" in found.sentence and not found.refused
    b = parse_kineto(FAULT.read_text()).breakdown()
    assert (b.compute, b.exposed, b.idle) == (600_000, 400_000, 0)


@pytest.mark.parametrize("name", TALK)
def test_what_talks(name):
    assert parts(event(name, 600, 400)) == (600, 400)
    assert parts(event(name, 300, 200)) == (600, 0)  # hidden
    (call,) = parse_kineto(text(event(name, 0, 5))).collectives
    assert call.op == TALK[name]


@pytest.mark.parametrize("name", COMPUTE)
def test_what_computes(name):
    assert parts(event(name, 600, 400)) == (1000, 0)


def launched(op, kernel, said=None, number=77):
    """An operator of torch, and the kernel that it started."""
    ran = event(op, 0, 10, "cpu_op", 11, 1, **{"External id": number, **(said or {})})
    return ran, event(kernel, 600, 400, **{"External id": number})


SAID = {"Collective name": "symm_mem::one_shot_all_reduce", "Group size": 8, "dtype": "BFloat16"}
SAID |= {"In msg nelems": 1024, "Out msg nelems": 1024, "Process Group Name": "2"}


@pytest.mark.parametrize(
    ("events", "exposed"),
    [
        (launched("symm_mem::two_shot_all_reduce_", "void (anonymous namespace)::kernel<8>(int)"), 400),
        (launched("record_param_comms", "a_kernel_of_its_own", SAID), 400),
        (launched("_C_custom_ar::all_reduce", "graph_kernel"), 400),
        (launched("symm_mem::fused_all_gather_matmul", "nvjet_tst_128x64"), 0),
        (launched("symm_mem::fused_matmul_reduce_scatter", "void cutlass::Kernel<int>(int)"), 0),
        (launched("record_param_comms", "void at::native::copy<int>(int)", SAID | {"Collective name": "allreduce"}), 0),
        (launched("aten::sum", "void at::native::reduce_kernel<512>(int)"), 0),
    ],
)
def test_an_operator_says_what_its_kernel_is(events, exposed):
    assert parts(*events) == (1000 - exposed, exposed)


def test_what_the_operator_knows_of_its_call():
    (call,) = parse_kineto(text(*launched("record_param_comms", "a_kernel_of_its_own", SAID))).collectives
    assert (call.op, call.nbytes, call.nranks, call.group) == ("all_reduce", 2048, 8, "2")
    assert call.busbw == pytest.approx(2048 / 400e-6 * 2 * 7 / 8)


def test_a_step_of_a_gpu_that_lags_is_what_the_step_launched():
    """Steps of 100 µs on the processor, kernels of 150 and 90 µs that come 200 µs later, and one that nobody launched in a step."""

    def kernel(name, at, start, dur, number):
        return (
            event("cudaLaunchKernel", at, 1, "cuda_runtime", 11, 1, correlation=number),
            event(name, start, dur, correlation=number),
        )

    steps = [event(f"ProfilerStep#{k}", 100 * k, 100, "user_annotation", 11, 1) for k in range(3)]
    ran = (
        *(*kernel("gemm", 10, 200, 150, 1), *kernel("ncclDevKernel_AllReduce_Sum(int)", 20, 350, 50, 2)),
        *(*kernel("gemm", 110, 420, 90, 3), *kernel("gemm", 350, 600, 10, 4)),
    )
    read = parse_kineto(text(*steps, *ran))
    first, second, third = (read.breakdown(step=step) for step in range(3))
    assert [part / 1e3 for part in (first.compute, first.exposed, first.idle)] == [150, 50, 200]
    assert [part / 1e3 for part in (second.compute, second.exposed, second.idle)] == [90, 0, 20]
    assert third.wall == 0  # it launched nothing


def test_categories_of_torch_1_and_traces_of_other_programs():
    old = (
        event("nvjet", 0, 600, "Kernel"),
        event("Memcpy DtoH", 600, 50, "Memcpy"),
        event("aten::mm", 0, 5, "Operator", 11, 1),
    )
    b = parse_kineto(text(*old)).breakdown()
    assert (b.compute, b.copies, b.idle) == (600_000, 50_000, 0)
    found = is_my_number_good(text(event("XlaModule:jit_f", 0, 600, "")))
    assert found.refused.startswith("no trace of torch's profiler: no kernel, no copy and no operator of torch")
