import { isObject, parsedJson } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import { runHook } from "../../hooks/run-hook.ts";
import { isAddress, type UpstreamSettings } from "../settings.ts";

/** Milliseconds, as in Claude Code, which has such commands. */
const PATIENCE = 10_000;

/**
 * Settings with the headers that the command in `headersHelper` prints, which count before those of the
 * configuration. As in Claude Code, variables tell the command which server they are for.
 */
export async function withHelpedHeaders(
  settings: UpstreamSettings,
  name: string,
): Promise<UpstreamSettings> {
  if (!isAddress(settings) || settings.headersHelper === undefined) return settings;
  const { headersHelper: command, url, folder = process.cwd() } = settings;
  const { exit, stdout, cut } = await runHook({
    command,
    cwd: folder,
    env: {
      ...usualVariables(),
      CLAUDE_CODE_MCP_SERVER_NAME: name,
      CLAUDE_CODE_MCP_SERVER_URL: url,
    },
    input: {},
    timeout: PATIENCE,
    signal: new AbortController().signal,
  });
  if (cut === "late") throw failed(`had not ended after ${PATIENCE / 1_000} s`);
  if (cut !== undefined) throw failed("printed too much");
  if (exit !== 0) throw failed(`ended with ${exit}`);
  const printed = parsedJson(stdout);
  // The output is not in the message, because it may be a secret.
  if (!isTexts(printed)) throw failed("printed something else than a JSON object of texts");
  holdSecrets({ headers: printed }, true);
  const names = new Set(Object.keys(printed).map((header) => header.toLowerCase()));
  const others = Object.entries(settings.headers ?? {}).filter(
    ([header]) => !names.has(header.toLowerCase()),
  );
  return { ...settings, headers: { ...Object.fromEntries(others), ...printed } };
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((each) => typeof each === "string");
}

function failed(why: string): TrunklineError {
  return new TrunklineError("unavailable", `The command in its 'headersHelper' ${why}`);
}
