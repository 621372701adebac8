// Loaded before the program: counts the characters of its modules, and writes the number to a file with
// each text that the program sends. So it does not count what is loaded after an answer, however slow
// the machine is.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";

const { LOADED_CODE: file } = process.env;
let characters = 0;
const session = new Session();
session.connect();
session.on("Debugger.scriptParsed", ({ params: { url, length } }) => {
  if (url.startsWith("file:") && !url.endsWith("loaded-code.mjs")) characters += length;
});
session.post("Debugger.enable");
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (...args) => {
  writeFileSync(file, String(characters));
  return write(...args);
};
