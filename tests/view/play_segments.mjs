// Applies a spec's actions as the widget does: for every view and step, each segment's cells as [offset, size, block], and the curves.
import { readFileSync } from "node:fs";
import { cells, opened, stateAt } from "../../helpers/view/segments/replay.mjs";
import { telling } from "../../helpers/view/segments/telling.mjs";

const specs = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(
  JSON.stringify(
    specs.map((given) => {
      const spec = opened(given);
      return spec.views.map((view) => {
        const last = view.ended ?? spec.events.length;
        return Array.from({ length: last + 1 }, (_, step) => ({
          curve: view.curve[step],
          cells: stateAt(view, step).flatMap((own, number) =>
            cells(own).map(({ offset, size, block }) => [number, offset, size, block]),
          ),
          words: telling(spec, [view], step),
        }));
      });
    }),
  ),
);
