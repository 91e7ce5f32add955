// How many blocks fit on one SM: the same rules as helpers/memory/occupancy.py, tested equal.
import { nbytesText, percentOf } from "../shared/page/numbers.mjs";

export const THREADS = 1024;
export const REGISTERS = 255;
const WARP = 32;
const REGISTER_GRAIN = 256;
const PARTITIONS = 4;

const up = (value, grain) => Math.ceil(value / grain) * grain;

// Blocks that the registers allow: handed to whole warps, a quarter of the file to each partition. Infinity: any number.
function byRegisters(gpu, warps, registers) {
  if (!registers) return Infinity;
  const perWarp = up(registers * WARP, REGISTER_GRAIN);
  if (perWarp * up(warps, PARTITIONS) > gpu.registers) return 0;
  return Math.floor((Math.floor(gpu.registers / PARTITIONS / perWarp) * PARTITIONS) / warps);
}

export function occupied(gpu, { threads, registers, shared }) {
  const perBlock = Math.ceil(threads / WARP);
  const taken = up(shared + gpu.reserved, gpu.grain);
  const limits = {
    "warp slots": Math.floor(gpu.warps / perBlock),
    "block slots": gpu.blocks,
    registers: byRegisters(gpu, perBlock, registers),
    "shared memory": taken ? Math.floor(gpu.shared / taken) : Infinity,
  };
  const blocks = Math.min(...Object.values(limits));
  const limiters = Object.keys(limits).filter((name) => limits[name] === blocks);
  const cost = {
    "warp slots": perBlock,
    "block slots": 1,
    registers: perBlock * up(registers * WARP, REGISTER_GRAIN),
    "shared memory": taken,
  };
  const has = {
    "warp slots": gpu.warps,
    "block slots": gpu.blocks,
    registers: gpu.registers,
    "shared memory": gpu.shared,
  };
  return { blocks, perBlock, warps: blocks * perBlock, limits, limiters, cost, has };
}

// Resident warps for every whole number of warps in a block.
export const occupancyCurve = (gpu, s) =>
  Array.from({ length: THREADS / WARP }, (_, i) => occupied(gpu, { ...s, threads: (i + 1) * WARP }).warps);

export function occupancySentence(gpu, s) {
  const got = occupied(gpu, s);
  const asked = `On ${gpu.name}, ${s.threads} threads a block, ${s.registers} registers each, ${nbytesText(s.shared)} of shared memory`;
  if (!got.blocks) return `${asked}: no block launches, one needs more registers than the SM has`;
  const fits = got.blocks === 1 ? "1 block fits" : `${got.blocks} blocks fit`;
  return (
    `${asked}: ${fits}, ${got.warps} of ${gpu.warps} warps, ${percentOf(got.warps, gpu.warps)}. ` +
    `First to run out: ${got.limiters.join(", ").replace(/, (?=[^,]*$)/, " and ")}`
  );
}
