// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { BUCKETS, PREFETCH } from "./job.mjs";

export const MODES = ["buckets", "units", "recorded"];
export const TOKENS = Array.from({ length: 8 }, (_, i) => 2 ** (8 + i));
export const SHARES = [20, 30, 40, 50, 60, 80, 100];
const PARTS = ["model", "gpu", "link", "tokens", "share", "mode", "bucket", "prefetch", "way"];
const WORDS = ["model", "gpu", "link", "mode", "way"];

export const encode = (s, index) => `#overlap-${index}${PARTS.map((part) => `--${part}-${s[part]}`).join("")}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const values = PARTS.map((part) => `--${part}-(${WORDS.includes(part) ? "[\\w.-]+?" : "\\d+"})`).join("");
  const found = new RegExp(`^#overlap-${index}${values}$`).exec(hash);
  if (!found) return null;
  return Object.fromEntries(PARTS.map((part, i) => [part, WORDS.includes(part) ? found[i + 1] : Number(found[i + 1])]));
}

export function fits(s, know, links) {
  const offered = {
    model: Object.keys(know.models),
    gpu: Object.keys(know.rates),
    link: links.map(({ slug }) => slug),
    tokens: TOKENS,
    share: SHARES,
    mode: MODES,
    bucket: BUCKETS,
    prefetch: PREFETCH,
    way: Object.keys(know.recorded.ways),
  };
  return PARTS.every((part) => offered[part].includes(s[part]));
}

export function python(s) {
  const { mode, ...told } = { ...s, bucket: s.bucket || "all" };
  return shown("explore_overlap", [mode], told);
}
