// Whether bytes hold a word of ASCII.
export function holds(bytes, word) {
  const codes = [...word].map((letter) => letter.codePointAt(0));
  for (let at = bytes.indexOf(codes[0]); at >= 0; at = bytes.indexOf(codes[0], at + 1)) {
    if (codes.every((code, k) => bytes[at + k] === code)) return true;
  }
  return false;
}
