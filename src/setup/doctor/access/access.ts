import { existsSync } from "node:fs";

import { TrunklineError } from "../../../base/errors.ts";
import { AccessTokens } from "../../../store/access/access-tokens.ts";
import { clearTextWarning, resolveServing, type Serving } from "../../../server/access/serving.ts";
import type { Config } from "../../../config/config.ts";
import { OwnerToken } from "../../../store/access/access-token.ts";
import { byCommand, type Finding } from "../finding.ts";
import { counted } from "../../../cli/shell/layout.ts";

const what = "Access";

/** Who can use `trunkline serve`, and whether their connections are encrypted. */
export async function checkAccess(config: Config): Promise<Finding[]> {
  try {
    const serving = resolveServing(config);
    const findings = [
      entryFinding(serving, config.data),
      ...ownerFindings(config.data),
      ...tlsFindings(serving),
    ];
    return [...findings, ...(await issuerFindings(serving))];
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    const next = "Change what the message names, then check with `trunkline doctor`.";
    return [{ state: "fail", what, says: error.message, next }];
  }
}

function entryFinding(serving: Serving, data: string): Finding {
  const count = new AccessTokens(data).list().length;
  const ways = ["the owner's token", counted(count, "other token")];
  if (serving.oauth !== undefined) ways.push("OAuth");
  const who = serving.isOpen ? "other machines" : "programs on this machine";
  return { state: "ok", what, says: `${who} can log in with ${ways.join(", ")}` };
}

/** An owner's token that is not accepted. `trunkline serve` replaces it when it starts. */
function ownerFindings(data: string): Finding[] {
  const owner = new OwnerToken(data);
  if (!existsSync(owner.path) || owner.read() !== undefined) return [];
  const says = `the owner's token in ${owner.path} is not accepted: the file is damaged, or others could have read it`;
  return [{ state: "warn", what, says, ...byCommand("trunkline token rotate") }];
}

function tlsFindings(serving: Serving): Finding[] {
  const warning = clearTextWarning(serving);
  const setting = "Set `serve.tls.certFile` and `serve.tls.keyFile`, or `serve.publicUrl`.";
  const findings: Finding[] =
    warning === undefined ? [] : [{ state: "warn", what, says: warning, next: setting }];
  if (serving.publicUrl?.startsWith("http:") === true && serving.isOpen) {
    const says = `\`serve.publicUrl\` is ${serving.publicUrl}, which is not encrypted`;
    findings.push({ state: "warn", what, says, next: "Use an https address." });
  }
  return findings;
}

/** Whether the keys that verify OAuth tokens can be fetched (RFC 8414, OpenID Connect Discovery). */
async function issuerFindings({ oauth }: Serving): Promise<Finding[]> {
  if (oauth === undefined) return [];
  const { findKeysUrl } = await import("../../../server/access/issuer-keys.ts");
  return Promise.all(
    oauth.authorizationServers.map(async (issuer): Promise<Finding> => {
      try {
        return {
          state: "ok",
          what,
          says: `${issuer} publishes its keys at ${await findKeysUrl(issuer)}`,
        };
      } catch (error) {
        const says = `cannot find the keys of ${issuer}: ${(error as Error).message}`;
        const next = "Check the URL in `serve.oauth.authorizationServers`, or try again later.";
        return { state: "fail", what, says, next };
      }
    }),
  );
}
