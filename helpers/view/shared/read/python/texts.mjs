// Texts as Python sees them: by code points, its spaces, its order.

/** Python's str.isspace() of one UTF-16 unit; no space lies beyond them. */
export const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPACE = new RegExp(`[${SPACES}]`, "u");

/** len(text): code points, of which two halves of a pair are one. */
export function length(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** text[:count]. */
export function head(text, count) {
  if (text.length <= count) return text;
  return Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join("");
}

/** text[-count:]. */
export function tail(text, count) {
  if (text.length <= count) return text;
  return Array.from(text.slice(-2 * count))
    .slice(-count)
    .join("");
}

/** text.rstrip(), or of one letter alone. */
export function rstrip(text, letter = null) {
  let end = text.length;
  while (end > 0 && (letter === null ? SPACE.test(text[end - 1]) : text[end - 1] === letter)) end -= 1;
  return text.slice(0, end);
}

/** Python's order of two texts, by code points: below 0, 0 or above. A half of a pair stands above all that is no pair. */
export function compareTexts(one, other) {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  if (at === one.length || at === other.length) return one.length - other.length;
  const inPair = at > 0 && /[\ud800-\udbff]/.test(one[at - 1]) ? 1 : 0;
  return one.codePointAt(at - inPair) - other.codePointAt(at - inPair);
}
