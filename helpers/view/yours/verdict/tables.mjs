// The verdict on a table of times. As helpers/yours/tables.py.
import { foretold, modelOf, nearest, plateau } from "./beside.mjs";
import { bends } from "./bends.mjs";
import { bestOf, programmed } from "./curves.mjs";
import { cause, pointText, refusal, verdict } from "./empty.mjs";
import { isAlone, lineRate, portsOf } from "./places.mjs";
import { slowCauses } from "./slow.mjs";
import { bandwidthText, nbytesText, percent } from "./texts.mjs";

// told: the reader's machine, which counts more than what the text tells; null where they name none.
export function ofTable(known, given, told) {
  if (!given.points.length)
    return refusal("the table has no size with bytes and a time: nothing can be held against anything");
  const place = told ?? given.place;
  const curve = onHosts(given, place);
  const wrong = doesNotFit(curve, told);
  if (wrong) return refusal(wrong);
  const model = modelOf(curve, place, known);
  const predicted = foretold(model);
  const found = verdict("nccl-tests", {
    what: curve.what,
    machine: machineText(curve, place),
    points: curve.points,
    ...shares(known, curve, place, model),
    nearest: nearest(curve, place, known),
    predicted,
    unpredicted: model.why,
    bends: bends(curve.points, predicted, known.limits),
  });
  found.causes = causes({ known, curve, place, model, found });
  return { ...found, sentence: sentence(known, curve, found) };
}

// How many hosts a table without a list of devices came from, where its machine leaves only one answer.
function onHosts(curve, place) {
  const { hosts, nranks } = curve;
  if (hosts || place === null || !nranks || isAlone(place, nranks)) return curve;
  return { ...curve, hosts: Math.ceil(nranks / place.gpus) };
}

// Whether a told machine can have made the table at all.
function doesNotFit({ nranks, place, hosts }, told) {
  if (told === null || nranks === null) return "";
  const most = told.gpus * told.nodes;
  if (nranks > most)
    return `the table has ${nranks} ranks, and ${told.title} has ${most} GPUs: name a machine with as many`;
  if (hosts > 1 && isAlone(told, nranks) && told.domain <= told.gpus) {
    const part = `the table's ${nranks} ranks were on ${hosts} hosts, and one node of ${told.title} holds ${told.gpus}`;
    return `${part}: of a part of each node no line rate is known, so leave the machine to the text`;
  }
  if (place && place.accelerator.slice(0, 4) !== told.accelerator.slice(0, 4))
    return `the table was made on ${place.accelerator}, and ${told.title} has ${told.accelerator}`;
  return "";
}

function machineText({ nranks }, place) {
  if (place === null) return "";
  const { title, accelerator, nodes, gpus, domain, told } = place;
  if (told) return title;
  const count = nodes > 1 && domain <= gpus ? `${nodes} nodes of ${gpus}` : `${nranks || gpus}`;
  return `${count} ${accelerator}, by the list of devices; taken to be joined as in ${title}`;
}

function shares(known, curve, place, model) {
  if (place === null || curve.nranks === null) return {};
  const { busbw } = bestOf(curve);
  const rate = lineRate(place, curve.nranks);
  const told = { line_rate: rate, line_rate_share: rate ? busbw / rate : null };
  const top = plateau(curve, place, model, known);
  return top ? { ...told, plateau: top[0], plateau_of: top[1], plateau_share: busbw / top[0] } : told;
}

function causes(seen) {
  const { known, curve, place } = seen;
  const found = [];
  const add = (name, why) => found.push(cause(known, name, why, programmed(curve)));
  if (curve.wrong)
    add("wrong results", "some elements of the results were wrong: until that is found no time of this table counts");
  found.push(...slowCauses(seen));
  const lacks = lacking(curve, place);
  if (lacks) add(place === null ? "no machine" : "no network", lacks);
  if (curve.average && bestOf(curve).busbw && curve.points.length > 1) add("average", ofAverage(curve));
  return found;
}

function ofAverage(curve) {
  const { average, points } = curve;
  const share = percent(average / bestOf(curve).busbw);
  return (
    `the table's average busbw, ${bandwidthText(average)}, is ${share} of its own best: it is that of the` +
    ` sizes that were asked for, from ${nbytesText(points[0].nbytes)} on, and no property of the machine`
  );
}

// What nobody knows of the machine, and what the reader can do about it; "" where all is known.
function lacking({ nranks, gpus }, place) {
  const none = "so there is no line rate to hold it against";
  if (place === null && gpus.length) {
    const names = gpus.slice(0, 2).join(" and ") + (gpus.length > 2 ? " and others" : "");
    return `the GPUs were ${names}, and no machine with such GPUs is known here, ${none}: name one whose GPUs are joined alike`;
  }
  if (place === null) return `the text does not say which GPUs these were, ${none}: name the machine`;
  if (nranks && !isAlone(place, nranks) && !portsOf(place))
    return `the text does not say which network joins its ${place.nodes} nodes, ${none}: name the machine`;
  return "";
}

function sentence({ limits }, curve, found) {
  const parts = [`The best is ${pointText(bestOf(curve))}`];
  if (found.line_rate && found.line_rate_share)
    parts.push(`${percent(found.line_rate_share)} of the one-way line rate of ${bandwidthText(found.line_rate)}`);
  if (found.plateau && found.plateau_share)
    parts.push(`${percent(found.plateau_share)} of ${bandwidthText(found.plateau)} (${found.plateau_of})`);
  const { nbytes } = curve.points.at(-1);
  const early = nbytes < limits.ends_early ? ` The table ends at ${nbytesText(nbytes)}, before a plateau shows.` : "";
  const said = `${parts.join(", ")}.${early}`;
  const accused = found.causes.find(({ accuses }) => accuses);
  if (accused) return `${said} Look first at: ${accused.name}.`;
  return said + (found.plateau || found.line_rate ? " Nothing in it accuses the machine." : "");
}
