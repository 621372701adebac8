import { TrunklineError } from "../../base/errors.ts";
import type { ConfigInput, ConfigSource, LoadedConfig } from "../../gateway/config/config.ts";
import { checkAll } from "../../gateway/config/file/check-file.ts";
import type { Finding } from "./doctor.ts";

const what = "Configuration";

/** Whether all that a server started here would read is right. */
export async function checkConfig(
  input: ConfigInput,
): Promise<{ findings: Finding[]; loaded?: LoadedConfig }> {
  let loaded: LoadedConfig;
  try {
    loaded = await checkAll(input);
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    const next = "Mend it; `trunkline config check` says whether it is right then.";
    return { findings: [{ state: "fail", what, says: error.message, next }] };
  }
  const findings = loaded.files.map(fileFinding);
  const isTold = (warning: string): boolean =>
    loaded.files.some(({ path, isTrusted }) => isTrusted === false && warning.startsWith(path));
  for (const warning of loaded.warnings.filter((each) => !isTold(each))) {
    findings.push({ state: "warn", what, says: warning });
  }
  return { findings, loaded };
}

function fileFinding({ kind, path, isFound, isTrusted }: ConfigSource): Finding {
  if (!isFound) return { state: "ok", what, says: `${path} is not there; the defaults hold` };
  if (kind === "user") return { state: "ok", what, says: path };
  if (isTrusted) return { state: "ok", what, says: `${path}, a trusted project file` };
  return {
    state: "warn",
    what,
    says: `${path} is not trusted, so most of it is ignored`,
    next: "Read it, then run `trunkline config trust`.",
  };
}
