// What the page has of the readers of tables, as one module: an entry for the bundler. Driven by test_read_tables_equal.py.
import { BEFORE_2020, KINDS, REDOPS, WORD } from "../../helpers/view/shared/read/tables/fits.mjs";
import { dumps, loads } from "../../helpers/view/shared/read/tables/json.mjs";
import { ncclTestsTables, parseNcclTests } from "../../helpers/view/shared/read/tables/nccl_tests.mjs";
import { bestRing } from "../../helpers/view/shared/read/tables/rings.mjs";
import { tableText } from "../../helpers/view/shared/read/tables/tables.mjs";
import { general, repr } from "../../helpers/view/shared/read/tables/text.mjs";
import {
  bestRingOf,
  edgesOf,
  gpusOf,
  linksOf,
  nearestOf,
  parseTopo,
  wayOf,
  WORDS,
  worstHopOf,
} from "../../helpers/view/shared/read/tables/topo.mjs";
import { Refused } from "../../helpers/view/shared/read/refused.mjs";

const constants = { BEFORE_2020, KINDS, REDOPS, WORD, WORDS };
const tables = { ncclTestsTables, parseNcclTests, tableText };
const topologies = { bestRing, bestRingOf, edgesOf, gpusOf, linksOf, nearestOf, parseTopo, wayOf, worstHopOf };

export default { Refused, constants, dumps, general, loads, repr, ...tables, ...topologies };
