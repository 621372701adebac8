// The main module of the standalone executable. Node reads no options of its own in it, so this does what
// the program's own children need of them: `[options] --eval CODE …`, and `[options] SCRIPT …`.
import { pathToFileURL } from "node:url";

const PROGRAM = new URL("./trunkline.js", import.meta.url);
const IGNORED = new Set(["--experimental-ffi", "--no-warnings", "--input-type=module"]);

const [node, , ...words] = process.argv;
while (IGNORED.has(words[0])) words.shift();
const [first, ...rest] = words;
if (first === "--eval" || first === "-e") {
  const [code, ...args] = rest;
  process.argv = [node, ...args];
  await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
} else if (first !== undefined && /^\/.*\.[cm]?[jt]s$/.test(first) && first !== PROGRAM.pathname) {
  process.argv = [node, first, ...rest];
  await import(pathToFileURL(first).href);
} else {
  const isNamed = first === PROGRAM.pathname;
  process.argv = [node, PROGRAM.pathname, ...(isNamed ? rest : words)];
  await import(PROGRAM.href);
}
