// What a reader gives: a text, or files with their names; as an example, and from the disk. Python reads them.
import { nbytesText } from "../shared/page/numbers.mjs";

// "gAWV..." -> bytes
const unpacked = (base64) => Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0));

// An example's text, or its files: a pickle, dumps or packed traces by rank. -> { text } or { names, contents }
export function given({ text, pickle, dumps, packed }) {
  if (text) return { text };
  const letters = new TextEncoder();
  const contents = dumps?.map((one) => letters.encode(one)) ?? (packed ?? [pickle]).map(unpacked);
  return { names: contents.map((_, rank) => `${rank}`), contents };
}

// Why so much is not read, "" where it is.
export const tooMuch = ({ most, too_much: words }, nbytes) =>
  nbytes > most ? words.replace("{}", nbytesText(nbytes)) : "";

// The reader's files; an Error says why there is nothing to read.
export async function opened(known, files) {
  const why = tooMuch(
    known,
    files.reduce((sum, { size }) => sum + size, 0),
  );
  if (why) throw new Error(why);
  const contents = await Promise.all(
    files.map(async (file) => {
      try {
        return new Uint8Array(await file.arrayBuffer());
      } catch {
        throw new Error(`${file.name} cannot be read: is it a folder, or was it changed since it was chosen?`);
      }
    }),
  );
  return { names: files.map(({ name }) => name), contents };
}
