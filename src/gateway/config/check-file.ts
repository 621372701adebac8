import { TrunklineError } from "../../base/errors.ts";
import { checkedValues } from "./check-layers.ts";
import { userLayer } from "./files.ts";
import { parseFile } from "./parse-file.ts";
import { readText } from "./read-text.ts";

/** Looks at one file by itself. Throws when it is wrong. */
export async function checkFile(path: string, env: NodeJS.ProcessEnv): Promise<void> {
  const text = readText(path);
  if (text === undefined) {
    throw new TrunklineError("config", `Cannot read configuration file '${path}': no such file`);
  }
  await checkedValues([userLayer(path, parseFile(path, text), env)]);
}
