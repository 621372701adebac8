import { basename } from "node:path";
import { background } from "../../base/background.ts";
import { DefinedPlugin } from "./defined-plugin.ts";
import { wantsPlugin } from "./flags.ts";
import { runPlugin } from "./run-plugin.ts";

const defined: DefinedPlugin[] = [];

/**
 * Starts a plugin, if the program was started as one. When several are defined, as where one module
 * imports another, it is the last: that of the module that was started.
 */
export function launch(plugin: DefinedPlugin): void {
  if (defined.push(plugin) > 1) return;
  if (wantsPlugin(process.argv.slice(2)))
    setImmediate(() => background(start(), "Starting the plugin"));
  else process.once("beforeExit", explain);
}

async function start(): Promise<void> {
  const latest = defined.at(-1);
  // Where the program itself runs one, that is the one it is.
  if (latest === undefined || defined.some((one) => DefinedPlugin.isTaken(one))) return;
  await runPlugin(latest);
}

/** Nobody has done anything with it, and the program is at its end: it was started by hand. */
function explain(): void {
  const latest = defined.at(-1);
  if (latest === undefined || defined.some((one) => DefinedPlugin.isUsed(one))) return;
  // The runner of tests starts files that may do no more than import a plugin.
  if (process.env.NODE_TEST_CONTEXT !== undefined) return;
  const { id, version } = latest.manifest;
  const file = basename(process.argv[1] ?? "plugin.ts");
  process.exitCode = 2;
  process.stderr.write(`This is plugin '${id}' ${version}. An orchestrator starts it, or you do:

  node ${file} --manifest                      prints what it offers, as JSON
  node ${file} --orchestrator-addr=HOST:PORT   serves, and registers there
  node ${file} --listen-addr=HOST:PORT         serves there (localhost:0)

  --certs-dir=DIR   the certificates of the bus (~/.orchestra/certs)
`);
}
