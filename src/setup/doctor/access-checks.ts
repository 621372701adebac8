import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { isIP } from "node:net";

import { TrunklineError } from "../../base/errors.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { counted } from "../../base/text/counted.ts";
import { clearTextWarning, resolveServing, type ServePlan } from "../../server/access/serving.ts";
import type { Config } from "../../config/config.ts";
import { readTls } from "../../server/http/tls-files.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { byCommand, fail, type CheckResult, ok, warn } from "./check.ts";

/** Who can use `trunkline serve`, and whether their connections are encrypted. */
export async function checkAccess(config: Config): Promise<CheckResult[]> {
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
    return [fail(error.message, next)];
  }
}

function entryFinding(serving: ServePlan, data: string): CheckResult {
  const ways = ["the owner's token", counted(new AccessTokens(data).list().length, "other token")];
  if (serving.oauth !== undefined) ways.push("OAuth");
  const who = serving.isOpen ? "other machines" : "programs on this machine";
  return ok(`${who} can log in with ${ways.join(", ")}`);
}

/** An owner's token that is not accepted. `trunkline serve` replaces it when it starts. */
function ownerFindings(data: string): CheckResult[] {
  const owner = new OwnerToken(data);
  if (!existsSync(owner.path) || owner.read() !== undefined) return [];
  const says = `the owner's token in ${owner.path} is not accepted: the file is damaged, or others could have read it`;
  return [warn(says, byCommand("trunkline token rotate"))];
}

function tlsFindings(serving: ServePlan): CheckResult[] {
  const warning = clearTextWarning(serving);
  const setting = "Set `serve.tls.certFile` and `serve.tls.keyFile`, or `serve.publicUrl`.";
  const findings: CheckResult[] = warning === undefined ? [] : [warn(warning, setting)];
  if (serving.publicUrl?.startsWith("http:") === true && serving.isOpen) {
    const says = `\`serve.publicUrl\` is ${serving.publicUrl}, which is not encrypted`;
    findings.push(warn(says, "Use an https address."));
  }
  return findings;
}

/** Whether the keys that verify OAuth tokens can be fetched (RFC 8414, OpenID Connect Discovery). */
async function issuerFindings({ oauth }: ServePlan): Promise<CheckResult[]> {
  if (oauth === undefined) return [];
  const { findKeysUrl } = await import("../../server/access/issuer-keys.ts");
  return Promise.all(
    oauth.authorizationServers.map(async (issuer): Promise<CheckResult> => {
      try {
        return ok(`${issuer} publishes its keys at ${await findKeysUrl(issuer)}`);
      } catch (error) {
        const says = `cannot find the keys of ${issuer}: ${(error as Error).message}`;
        const next = "Check the URL in `serve.oauth.authorizationServers`, or try again later.";
        return fail(says, next);
      }
    }),
  );
}

/** Milliseconds before a certificate expires when it should have been renewed. */
const SOON = 14 * 24 * 60 * 60_000;

type TlsFiles = NonNullable<Config["serve"]["tls"]>;

/** Whether `trunkline serve` can use the certificate and the key of `serve.tls`, and for how long. */
export function checkTls({ serve }: Pick<Config, "serve">): readonly CheckResult[] {
  const { tls, publicUrl } = serve;
  if (tls === undefined) return [];
  let pem: Buffer;
  try {
    pem = readTls(tls).cert;
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return [fail(error.message, remedyFor(tls, error))];
  }
  const certificate = new X509Certificate(pem);
  const findings = [
    ...dateFindings(tls, certificate),
    ...nameFindings(tls, certificate, publicUrl),
  ];
  if (findings.length > 0) return findings;
  return [ok(`${tls.certFile} is valid until ${dayOf(certificate.validToDate)}`)];
}

function remedyFor(
  { certFile, keyFile }: TlsFiles,
  error: TrunklineError,
): Parameters<typeof fail>[1] {
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    return "Put the file there, or change `serve.tls.certFile` and `serve.tls.keyFile`.";
  }
  if (code === "EACCES") {
    const own = process.getuid?.() ?? 0;
    return byCommand(`sudo setfacl -m u:${own}:r ${shellQuote(certFile)} ${shellQuote(keyFile)}`);
  }
  return code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH"
    ? "The key belongs to another certificate. Set `serve.tls.keyFile` to the key of this one."
    : "Set `serve.tls.certFile` and `serve.tls.keyFile` to PEM files without a passphrase.";
}

function dateFindings(
  { certFile }: TlsFiles,
  { validFromDate: from, validToDate: to }: X509Certificate,
): CheckResult[] {
  const now = Date.now();
  const renew = "Renew it, for example with: certbot renew. `trunkline serve` loads it by itself.";
  if (to.getTime() <= now) {
    return [fail(`${certFile} expired on ${dayOf(to)}, so clients refuse it`, renew)];
  }
  if (from.getTime() > now) {
    const says = `${certFile} is not valid before ${dayOf(from)}, so clients refuse it`;
    return [fail(says, "Check the clock of this machine, or wait.")];
  }
  return to.getTime() > now + SOON ? [] : [warn(`${certFile} expires on ${dayOf(to)}`, renew)];
}

/** A certificate that is not for the address by which others reach the gateway. */
function nameFindings(
  { certFile }: TlsFiles,
  certificate: X509Certificate,
  publicUrl: string | undefined,
): CheckResult[] {
  const url = publicUrl === undefined ? null : URL.parse(publicUrl);
  if (url?.protocol !== "https:") return [];
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  const isFor = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  if (isFor !== undefined) return [];
  const names = certificate.subjectAltName ?? certificate.subject;
  const says = `${certFile} is not for ${host}, the host of \`serve.publicUrl\`, but for ${names}`;
  // A proxy in front may have a certificate of its own.
  return [warn(says, `Get one for ${host}, or set \`serve.publicUrl\` to a name that it is for.`)];
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
