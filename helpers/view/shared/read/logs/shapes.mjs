// The shapes of NCCL_DEBUG=INFO's lines, those of helpers/nccl/output/logs/debug_shapes.py, which names the versions that were read.

export const LEVEL = /NCCL (?<level>INFO|WARN) /gu;
export const LONGEST_ORIGIN = 300; // characters before LEVEL that are looked at
// Python's \s of ASCII alone is written out here: JavaScript's knows more spaces.
export const ORIGIN = new RegExp( // "host:pid:thread [device] ", and before WARN the place in NCCL's source
  String.raw`(?<host>[^ \t\n\r\f\v:]{1,120}):(?<pid>\d{1,10}):(?<thread>\d{1,10}) \[(?<device>-?\d{1,4})\] ` +
    String.raw`(?:[^ \t\n\r\f\v:]{1,80}:\d+ (?:\([^()]*\) )?)?$`,
  "u",
);
const VERSION = String.raw`NCCL version (\d+\.\d+\.\d+[\w.\-]*)\+cuda(\d+\.\d+)`;

const N = String.raw`(?:0|[1-9]\d{0,8})`; // C's %d: no leading zero
const BYTES = String.raw`(?:0|[1-9]\d{0,17})`;
const TWO = String.raw`(?:\d\d|[1-9]\d\d)`; // %02d
const SIGNED = `(?:-1|${N})`;
const ANY = String.raw`[^\n]`;
const MARK = String.raw`[^ \t\n\r\f\v]`;
const COMM = `comm (?<comm>0x[0-9a-f]+) rank (?<rank>${N})`;
const ID = `(?: commId (?<id>0x[0-9a-f]+)| parent 0x[0-9a-f]+${ANY}*?)?`;
const ENDS = String.raw`(?<src>${N})\[[0-9a-f]+\] -> (?<dst>${N})\[[0-9a-f]+\]`;
const NET =
  String.raw`\[(?<end>send|receive)\] via NET/(?<network>[^/]+)/(?<nic>${N})(?:\((?<proxy>${N})\))?` +
  String.raw`(?<gdr>/GDRDMA(?:\(PCI\))?)?(?:/Shared)?`;
const LOCAL = String.raw`via (?:(?<kind>P2P|SHM)/(?<how>[\w/ ]+(?:\[[0-9a-f]+\])?(?:/read)?)|(?<old>direct shared memory))`;
const NUMBERED = String.raw`(?<algorithm>\d) proto (?<protocol>\d) time (?<time>(?:0|[1-9]\d{0,17})\.\d{6})`;
const WORDED = String.raw`(?<named>[A-Z_]+) proto (?<proto>[A-Z0-9]+) channel\{Lo\.\.Hi\}=\{(?<low>${N})\.\.(?<high>${N})\}`;
const NAME = "[A-Z][A-Z0-9]*_[A-Z0-9_]+";

/** begins: a line that begins so is of this kind; whole: what it must be from end to end to be believed. */
function shape(kind, begins, ...whole) {
  return { kind, begins: new RegExp(`^(?:${begins})`, "u"), whole: new RegExp(`^(?:${whole.join("")})$`, "u") };
}

export const SHAPES = [
  shape("version", "NCCL version", VERSION),
  shape("network", "Using network", `Using network (?<name>${MARK}${ANY}*?)`),
  shape(
    "member",
    String.raw`(?:\[Rank \d+\] )?(?:ncclComm\w+ )?comm 0x${MARK}* rank \d+ nranks`,
    String.raw`(?:\[Rank \d+\] )?(?:ncclComm\w+ )?${COMM} nranks (?<nranks>${N}) cudaDev \d+(?: nvmlDev \d+)? busId [0-9a-f]+${ID}`,
    " ?- (?<what>Init START|Init COMPLETE|Abort COMPLETE|Destroy COMPLETE)",
  ),
  shape(
    "nodes",
    String.raw`comm 0x${MARK}* rank \d+ nRanks`,
    `${COMM} nRanks (?<nranks>${N}) nNodes (?<nodes>${N}) localRanks (?<locals>${N}) localRank (?<local>${N})`,
    String.raw`(?: MNNVL \d+)?`,
  ),
  shape(
    "ring",
    String.raw`Channel \d+/\d+ :[ \t\n\r\f\v]+\d+(?!\[|\d)`,
    String.raw`Channel (?<channel>${TWO})/(?<channels>${TWO}) :(?<ranks>(?: +${N})+)(?<cut> ?\d*\.\.\.)? *`,
  ),
  shape(
    "trees",
    String.raw`Trees \[`,
    String.raw`Trees(?<trees>(?: \[${N}\] (?:${SIGNED}/){2}${SIGNED}->${N}->${SIGNED})+)(?<rest>${ANY}*)`,
  ),
  shape(
    "connection",
    String.raw`Channel \d+(?:/\d+)? ?: ?\d+\[`,
    String.raw`Channel (?<channel>${TWO})(?:/\d)? : ${ENDS} (?:${NET}|${LOCAL})(?: comm 0x[0-9a-f]+ nRanks \d+)?`,
  ),
  shape(
    "chosen",
    String.raw`(?:\w+: )?-?\d+ Bytes -> Algo`,
    String.raw`(?:(?<collective>\w+): )?(?<nbytes>${BYTES}) Bytes -> Algo (?:${NUMBERED}|${WORDED})`,
  ),
  shape(
    "nvls",
    "NVLS multicast support",
    String.raw`NVLS multicast support is (?<no>not )?available on dev (?<device>${N})(?: \(NVLS_NCHANNELS \d+\))?`,
  ),
  shape(
    "nvls comm",
    "NVLS comm",
    String.raw`NVLS comm (?<comm>0x[0-9a-f]+) headRank -?\d+ nHeads \d+(?: nvlsRanks \d+)? buffSize \d+(?: memSize \d+)?`,
    ` nvlsPerRankSize (?<each>${BYTES}) nvlsTotalSize (?<total>${BYTES})`,
  ),
  shape("chunk", "P2P Chunksize", String.raw`P2P Chunksize set to (?<bytes>${BYTES})\.?`),
  shape(
    "set",
    `${NAME} set (?:by environment )?to`,
    `(?<name>${NAME}) set (?:by environment )?to (?<value>${MARK}${ANY}*?)`,
  ),
  shape(
    "plugin",
    String.raw`\w+/Plugin ?: (?:Loaded|Using) `,
    String.raw`(?<kind>\w+)/Plugin ?: (?:Loaded|Using)\b(?: \w+ plugin)? ?(?<name>${MARK}${ANY}*?)`,
  ),
  shape(
    "invalid",
    "Invalid value ",
    String.raw`Invalid value (?<value>${ANY}+) for (?<name>${NAME}), using default -?\d+\.`,
  ),
  shape("unused", "Warning: ENV ", String.raw`Warning: ENV (?<name>${NAME}) is unused\. Setting it has no effect\.`),
  shape(
    "left",
    String.raw`${NAME}[ =]-?\d+ is (?:not valid|being ignored)`,
    String.raw`(?<name>${NAME})[ =](?<value>-?\d+) is (?:not valid, leaving it set at -?\d+|being ignored because ${ANY}+)`,
  ),
];

/** NCCL's words and the course's; NCCL's numbers, 0 to 6 and 0 to 2, are in this order. */
export const ALGORITHMS = new Map([
  ["TREE", "Tree"],
  ["RING", "Ring"],
  ["COLLNET_DIRECT", "CollNetDirect"],
  ["COLLNET_CHAIN", "CollNetChain"],
  ["NVLS", "NVLS"],
  ["NVLS_TREE", "NVLSTree"],
  ["PAT", "PAT"],
]);
export const PROTOCOLS = new Map([
  ["LL", "LL"],
  ["LL128", "LL128"],
  ["SIMPLE", "Simple"],
]);
