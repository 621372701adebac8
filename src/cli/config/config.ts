import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { mask } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { ConfigInput, LoadedConfig } from "../../config/config.ts";
import { checkAll, checkFile } from "../../config/file/check-file.ts";
import { furtherMistakes } from "../../setup/doctor/config-mistakes.ts";
import { keyText, leaves } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import { expandPath } from "../../config/locations.ts";
import { trustProject, untrustProject } from "../../config/trust/project-trust.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { print, printJson } from "../shell/layout.ts";

type GlobalValues = OptionValues<"config" | "data", never, "set">;

/** `trunkline config show` */
export async function show(
  invocation: Invocation<GlobalValues & OptionValues<never, "origin">>,
): Promise<number> {
  const { values, out } = invocation;
  const loaded = await loadConfig(inputOf(invocation));
  const config = mask(loaded.config) as object;
  if (values.json) {
    const origins = Object.fromEntries(loaded.origins);
    printJson(invocation, values.origin ? { config, origins, warnings: loaded.warnings } : config);
    return 0;
  }
  const rows = [...leaves(config)].map(([path, value]) => {
    const key = keyText(path);
    return { line: `${key} = ${JSON.stringify(value)}`, origin: originOf(loaded, key) };
  });
  const width = Math.min(48, Math.max(...rows.map(({ line }) => line.length)));
  for (const { line, origin } of rows) {
    out(values.origin ? `${line.padEnd(width)}  # ${origin}\n` : `${line}\n`);
  }
  warn(invocation, loaded);
  return 0;
}

/** `trunkline config check [FILE]` */
export async function check(invocation: Invocation<GlobalValues>): Promise<number> {
  const { values, positionals, cwd, env, out } = invocation;
  const [file] = positionals;
  try {
    if (file === undefined) {
      const loaded = await checkAll(inputOf(invocation), furtherMistakes);
      const { files, warnings } = loaded;
      if (values.json) printJson(invocation, { ok: true, files, warnings });
      else warn(invocation, loaded);
    } else {
      const checked = resolve(cwd, file);
      await checkFile(checked, env, furtherMistakes);
      if (values.json)
        printJson(invocation, { ok: true, files: [{ path: checked }], warnings: [] });
    }
  } catch (error) {
    if (!values.json || !(error instanceof TrunklineError) || error.code !== "config") throw error;
    printJson(invocation, { ok: false, problems: error.message.split("\n") });
    return 1;
  }
  if (!values.json) out("The configuration is valid.\n");
  return 0;
}

/** `trunkline config schema` */
export async function schema(invocation: Invocation<GlobalValues>): Promise<number> {
  const published = await import("../../config/schema/config.schema.json", {
    with: { type: "json" },
  });
  return printJson(invocation, published.default);
}

/** `trunkline config trust [DIR]` */
export async function trust(invocation: Invocation<GlobalValues>): Promise<number> {
  const { file, keys } = await trustProject(inputOf(invocation, invocation.positionals[0]));
  const set = keys.map(visibleLine).join(", ") || "nothing";
  const says = `Trusted ${visibleLine(file)} with its current content. It sets: ${set}.\n`;
  return print(invocation, { file, keys }, says);
}

/** `trunkline config untrust [DIR]` */
export async function untrust(invocation: Invocation<GlobalValues>): Promise<number> {
  const { file, wasTrusted } = await untrustProject(inputOf(invocation, invocation.positionals[0]));
  const is = wasTrusted ? "is no longer trusted" : "was not trusted";
  const says = `${visibleLine(file)} ${is}.\n`;
  return print(invocation, { file, wasTrusted }, says);
}

function inputOf(invocation: Invocation<GlobalValues>, folder = "."): ConfigInput {
  const { cwd, env, values } = invocation;
  const { config, data, set } = values;
  return {
    cwd: resolve(cwd, folder),
    env,
    // Paths in options are relative to where the command was called, not to the folder it is about.
    flags: {
      config: config && expandPath(config, cwd, env),
      data: data && expandPath(data, cwd, env),
      set,
    },
  };
}

/** For an object that is masked as a whole, only the origins of its parts are known. */
function originOf({ origins }: LoadedConfig, key: string): string {
  const name = origins.has(key) ? key : origins.keys().find((other) => other.startsWith(key));
  const origin = origins.get(name ?? key);
  return origin === undefined ? "" : `${origin.kind}: ${origin.where}`;
}

function warn(invocation: Invocation<GlobalValues>, { warnings }: LoadedConfig): void {
  for (const warning of warnings) invocation.err(`warning: ${warning}\n`);
}
