import { TrunklineError } from "../../../base/errors.ts";
import type { ConfigInput, ConfigSource, LoadedConfig } from "../../../config/config.ts";
import { checkAll } from "../../../config/file/check-file.ts";
import { loadConfig } from "../../../config/load.ts";
import type { Finding } from "../finding.ts";

const what = "Configuration";

/**
 * Whether every file that a server started here would read is valid. If only the project's file cannot
 * be used, the rest is examined without it.
 */
export async function checkConfig(
  input: ConfigInput,
): Promise<{ findings: Finding[]; loaded?: LoadedConfig }> {
  let loaded: LoadedConfig;
  try {
    loaded = await checkAll(input);
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    const next = "Fix it, then run `trunkline config check`.";
    const findings: Finding[] = [{ state: "fail", what, says: error.message, next }];
    const own = await loadConfig({ ...input, ignoreProject: true }).catch(() => undefined);
    return own === undefined ? { findings } : { findings, loaded: own };
  }
  const findings = loaded.files.map(fileFinding);
  const isTold = (warning: string): boolean =>
    loaded.files.some(({ path, isTrusted }) => isTrusted === false && warning.startsWith(path));
  for (const warning of loaded.warnings.filter((each) => !isTold(each))) {
    const next = "Change it, then run `trunkline config check`.";
    findings.push({ state: "warn", what, says: warning, next });
  }
  return { findings, loaded };
}

function fileFinding({ kind, path, isFound, isTrusted }: ConfigSource): Finding {
  if (!isFound) return { state: "ok", what, says: `${path} does not exist; the defaults apply` };
  if (kind === "user") return { state: "ok", what, says: path };
  if (isTrusted) return { state: "ok", what, says: `${path} (trusted project file)` };
  return {
    state: "warn",
    what,
    says: `${path} is not trusted, so most of it is ignored`,
    next: "Read it, then run `trunkline config trust`.",
  };
}
