// Tells schedules of a JSON file step by step in the player's own words; prints [[lead's end, text] per step] as JSON.
import { parse, replay } from "../../helpers/view/shared/schedules/schedule.mjs";
import { deeds, phases } from "../../helpers/view/shared/schedules/sentence.mjs";
import { readFileSync } from "node:fs";

const told = JSON.parse(readFileSync(process.argv[2], "utf8")).map(({ text, before }) => {
  const s = parse(text);
  const names = phases(s, replay(s, before));
  return s.steps.map((step, i) => [names[i], deeds(s, step)]);
});
console.log(JSON.stringify(told));
