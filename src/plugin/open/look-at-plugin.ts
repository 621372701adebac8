import { realpathSync } from "node:fs";
import { join } from "node:path";

import { usualVariables } from "../../base/process/environment.ts";
import { LastStderrLine } from "../../base/process/stderr-log.ts";
import {
  type DeclaredManifest,
  MALFORMED,
  MANIFEST_FILE,
  MOST_MANIFEST,
  parseManifest,
  readManifestFile,
} from "../declared-manifest.ts";
import { type FoundPlugin, unusable } from "../installed-plugin.ts";
import { codePaths } from "../plugin/permissions.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import { type Outcome, runWrapped } from "../../sandbox/bubblewrap.ts";
import { openPluginSandbox, serviceSockets } from "../../sandbox/plugin-sandbox.ts";
import { sandboxPrograms } from "../../sandbox/open/local-sandbox.ts";
import type { SandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";

/** Milliseconds in which a plugin has to print its manifest, on a busy machine. */
const PATIENCE = 30_000;

/**
 * Reads a plugin's manifest. Nobody has approved the plugin yet, so none of its code runs with the rights of
 * its user: the manifest is read as data or, if there is a sandbox, requested in there.
 */
export async function lookAtPlugin(
  found: FoundPlugin,
  data: string,
  { state, says }: SandboxStatus,
): Promise<DeclaredManifest> {
  const written = readManifestFile(found.folder);
  if (written !== undefined) return written;
  if (state === "ok") return askInSandbox(found, data);
  const why = `it has no ${MANIFEST_FILE}, and it is asked for its manifest only in a sandbox`;
  throw unusable(found.file, `${why}. Sandbox of plugins: ${says}. ${GIVE_ID}`);
}

/** The plugin sees its own code and the system's programs, can write nothing, and reaches nobody. */
async function askInSandbox(found: FoundPlugin, data: string): Promise<DeclaredManifest> {
  const { command, args, file } = found;
  // The links that lead to it are not in the sandbox.
  const real = realpathSync(file);
  const program = args.length === 0 ? { command: real, args } : { command, args: [real] };
  await using opening = new AsyncDisposableStack();
  const egress = opening.use(new EgressProxy({ allowHosts: [], setting: "" }));
  const sandbox = opening.use(
    await openPluginSandbox({
      ...{ ...sandboxPrograms(), data: join(data, "sandbox"), egress, ports: [], seesAll: false },
      ...{ read: codePaths(file, data), write: [] },
      hide: [...serviceSockets(process.env), data],
    }),
  );
  const asked = { command: program.command, args: [...program.args, "--manifest"] };
  const wrapped = sandbox.wrap({ ...asked, env: usualVariables(), cwd: "/" });
  const ended = await runWrapped(wrapped, { milliseconds: PATIENCE, most: MOST_MANIFEST });
  if (ended.code !== 0) throw unusable(file, `it does not print its manifest: ${wordsOf(ended)}`);
  const text = ended.stdout;
  const manifest = parseManifest(text) ?? parseManifest(text.trim().split("\n").at(-1) ?? "");
  if (manifest !== undefined) return manifest;
  throw unusable(file, `what it prints with --manifest cannot be used: ${MALFORMED}. ${GIVE_ID}`);
}

function wordsOf({ stderr, code, isEnded }: Outcome): string {
  if (isEnded) return `it takes too long, or prints too much. ${GIVE_ID}`;
  const words = new LastStderrLine();
  for (const line of stderr.trim().split("\n")) words.add(line);
  const next = stderr.includes("Cannot find package") ? INSTALL : GIVE_ID;
  return `${words.line || `it ended with ${code}`}. ${next}`;
}

const INSTALL = "Run `npm install` in its folder first";
const GIVE_ID = `Give it a ${MANIFEST_FILE}, or its id with --id`;
