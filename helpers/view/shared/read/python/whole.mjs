// Whole numbers: exact always, a number where JavaScript's numbers are exact and a BigInt beyond.

/** A BigInt, or the digits of a whole number, as handed out: a number up to 2^53, a BigInt above. */
export function whole(digits) {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number + 0 : BigInt(digits);
}

/** The product of two that were handed out. */
export function times(one, other) {
  return whole(BigInt(one) * BigInt(other));
}
