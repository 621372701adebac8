// The main module of the standalone executable. Node reads no options of its own in it, so this does what
// the program's own children need of them: `[options] --eval CODE …`, and `[options] SCRIPT …`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { compileFunction } from "node:vm";

const PROGRAM = new URL("./trunkline.js", import.meta.url);
const SCRIPT = "--input-type=commonjs";
const IGNORED = new Set([
  "--experimental-ffi",
  "--expose-gc",
  "--no-warnings",
  "--input-type=module",
  SCRIPT,
]);

const [node, , ...words] = process.argv;
let isScript = false;
while (IGNORED.has(words[0])) isScript = words.shift() === SCRIPT || isScript;
const [first, ...rest] = words;
if (first === "--eval" || first === "-e") {
  const [code, ...args] = rest;
  process.argv = [node, ...args];
  if (isScript) compileFunction(code, ["require"])(createRequire(import.meta.url));
  else await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
} else if (first !== undefined && /^\/.*\.[cm]?[jt]s$/.test(first) && first !== PROGRAM.pathname) {
  process.argv = [node, first, ...rest];
  await import(pathToFileURL(first).href);
} else {
  const isNamed = first === PROGRAM.pathname;
  process.argv = [node, PROGRAM.pathname, ...(isNamed ? rest : words)];
  await import(PROGRAM.href);
}
