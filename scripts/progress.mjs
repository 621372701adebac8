import { existsSync } from "node:fs";
import { join } from "node:path";

/** Milliseconds between two lines in a log. */
const EVERY_MS = 5_000;
/** The same in a terminal, where each line replaces the one before. */
const EVERY_MS_IN_TERMINAL = 250;

/** Runs some work, and prints its progress every few seconds, in the words of `describe`. */
export async function withProgress(describe, work, { out = process.stderr, everyMs } = {}) {
  const begun = Date.now();
  let last = "";
  const show = () => {
    const line = describe(Math.round((Date.now() - begun) / 1000));
    if (line === last) return;
    last = line;
    out.write(out.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  };
  const timer = setInterval(show, everyMs ?? (out.isTTY ? EVERY_MS_IN_TERMINAL : EVERY_MS));
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (out.isTTY && last !== "") out.write("\r\u001b[K");
  }
}

/** How many of the packages of a lock file are in their folders, and how many there will be. */
export function countPackages(root, packages) {
  const expected = Object.entries(packages)
    .filter(([path, entry]) => path !== "" && isForThisMachine(entry))
    .map(([path]) => path);
  const present = expected.filter((path) => existsSync(join(root, path, "package.json")));
  return { present: present.length, expected: expected.length };
}

/** npm skips optional packages for other systems, processors or C libraries. */
function isForThisMachine({ os, cpu, libc }) {
  const fits = (all, own) => all === undefined || all.includes(own);
  return fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, "glibc");
}
