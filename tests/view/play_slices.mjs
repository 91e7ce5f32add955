// Slices as the page chooses them: [entry, asked, links] a case, from a file.
import { readFileSync } from "node:fs";
import { cheapest } from "../../helpers/view/shared/schedules/choices.mjs";

const { entries, cases, links } = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(cases.map(([i, asked]) => cheapest(entries[i], asked, links))));
