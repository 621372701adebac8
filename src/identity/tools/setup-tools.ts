import { existsSync, globSync, readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { sshConfigFile, sshOptions, type SshOptions } from "../detect/ssh-options.ts";
import { type Identity, type IdentitySettings, resolveIdentity } from "../identity.ts";
import { parseGpgKeys, quietRunner } from "../signing/signing-readiness.ts";
import { logInBySsh } from "../validate/validate.ts";
import type { JugglerToolName } from "./definitions.ts";
import type { ToolCommands, ToolHandler } from "./switch-tools.ts";

const FORGES: Readonly<Record<string, IdentitySettings["provider"]>> = {
  "github.com": "github",
  "ssh.github.com": "github",
  "gitlab.com": "gitlab",
  "altssh.gitlab.com": "gitlab",
  "bitbucket.org": "bitbucket",
};

/** The tools with which identities are set up. */
export const SETUP_TOOLS = {
  async juggler_debug_ssh(_, commands) {
    const { env } = commands;
    const hosts = sshHosts(env);
    const blocks = await Promise.all(hosts.map((host) => describeHost(host, env)));
    const none = hosts.length === 0 ? ["No hosts in the SSH configuration."] : [];
    return [["SSH Configuration:", ...none, ...blocks].join("\n\n")];
  },

  async juggler_setup(args, commands) {
    const { mode = "auto", force = false } = args;
    if (mode === "status") return setupStatus(commands);
    const lines = [`Setup (${String(mode)})`];
    let now = commands;
    if (mode === "auto") lines.push(...(await importTheirs(now, force === true)));
    now = await now.reload();
    if (mode === "auto" || mode === "import_ssh")
      lines.push(...(await importSsh(now, force === true)));
    now = await now.reload();
    if (mode === "auto" || mode === "import_gpg")
      lines.push(...(await importGpg(now, force === true)));
    if (lines.length === 1) lines.push("[INFO] Nothing new was found.");
    lines.push(`Config: ${commands.identities.file}`);
    return lines;
  },
} satisfies Partial<Record<JugglerToolName, ToolHandler>>;

async function describeHost(host: string, env: NodeJS.ProcessEnv): Promise<string> {
  let options: SshOptions;
  try {
    options = await sshOptions(host, { env });
  } catch (error) {
    return `- ${host}\n  [FAIL] ${(error as Error).message}`;
  }
  const { hostname, user, port, identityFiles, identitiesOnly } = options;
  const keys = await Promise.all(identityFiles.filter((file) => existsSync(file)).map(keyWords));
  const identity = resolveIdentity(host, { provider: "other", sshHost: host } as const, env);
  const { isOk, says } = await logInBySsh(identity, env);
  return [
    `- ${host}`,
    `  HostName: ${hostname}`,
    `  User: ${user ?? "(default)"}`,
    `  Port: ${port}`,
    `  IdentitiesOnly: ${identitiesOnly ? "yes" : "no"}`,
    ...(keys.length === 0 ? ["  Key: no key file exists"] : keys.map((key) => `  Key: ${key}`)),
    `  ${isOk ? "[PASS]" : "[FAIL]"} ${says}`,
  ].join("\n");
}

async function keyWords(file: string): Promise<string> {
  const isOpen = ((await stat(file)).mode & 0o077) !== 0;
  return `${file} ${isOpen ? `[FAIL] other users may read it: chmod 600 '${file}'` : "[OK]"}`;
}

async function setupStatus(commands: ToolCommands): Promise<string[]> {
  const { identities, tokens, env } = commands;
  const keys = await secretKeys(env);
  return [
    "Setup status",
    `Config: ${identities.file}${existsSync(identities.file) ? "" : " (does not exist yet)"}`,
    `Identities: ${identities.list.map(({ name }) => name).join(", ") || "none"}`,
    `SSH hosts: ${sshHosts(env).join(", ") || "none"}`,
    `GPG keys: ${keys.length}`,
    `RemoteJuggler: ${theirFile(env) ?? "not found"}`,
    `Token store: ${await tokens.describeStore()}`,
  ];
}

function theirFile(env: NodeJS.ProcessEnv): string | undefined {
  const file = join(homeOf(env), ".config/remote-juggler/config.json");
  return existsSync(file) ? file : undefined;
}

async function importTheirs(commands: ToolCommands, force: boolean): Promise<string[]> {
  const file = theirFile(commands.env);
  if (file === undefined) return [];
  const { identities } = commands;
  const read = identities.readJuggler(await readFile(file, "utf8"), file);
  const known = new Set(identities.list.map(({ name }) => name));
  const fresh = Object.entries(read.identities).filter(([name]) => force || !known.has(name));
  if (fresh.length === 0) return [];
  await identities.importAll({ ...read, identities: Object.fromEntries(fresh) });
  return [
    ...fresh.map(([name]) => `[OK] Imported '${name}' from ${file}`),
    ...read.secrets.map((field) => `[WARN] '${field}' holds a secret and was not imported`),
  ];
}

/** Makes an identity of each SSH host of a known forge. */
async function importSsh(commands: ToolCommands, force: boolean): Promise<string[]> {
  const { env, identities } = commands;
  const found = await Promise.all(sshHosts(env).map((host) => identityOf(host, env)));
  const lines: string[] = [];
  for (const each of found) {
    if (each === undefined) continue;
    const { name, settings } = each;
    const known = identities.list.find((identity) => {
      return identity.name === name || identity.sshHost === settings.sshHost;
    });
    if (known !== undefined && !force) {
      lines.push(`[SKIP] '${known.name}' is already configured`);
      continue;
    }
    const before: Partial<IdentitySettings> = known?.settings ?? {};
    await identities.save(known?.name ?? name, { ...before, ...settings }, known === undefined);
    lines.push(`[OK] '${known?.name ?? name}' from the SSH host ${name}`);
    if (before.email === undefined) {
      lines.push(
        `[WARN] It has no email address. Set one: trunkline identity edit ${name} --email ADDRESS`,
      );
    }
  }
  return lines;
}

async function identityOf(
  host: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly name: string; readonly settings: IdentitySettings } | undefined> {
  const options = await sshOptions(host, { env }).catch(() => undefined);
  const provider = options && FORGES[options.hostname];
  if (options === undefined || provider === undefined) return undefined;
  const sshKey = options.identityFiles.find((file) => isPrivateKey(file));
  const base: IdentitySettings = {
    provider,
    ...(host === options.hostname ? {} : { sshHost: host }),
    ...(sshKey === undefined ? {} : { sshKey }),
  };
  const identity = resolveIdentity(host, base, env);
  // The forge's greeting names the key's user.
  const { user } = await logInBySsh(identity, env);
  return { name: host, settings: { ...base, ...(user === undefined ? {} : { user }) } };
}

function isPrivateKey(file: string): boolean {
  return attempt(() => readFileSync(file, "latin1").startsWith("-----BEGIN"), false);
}

/** Turns on signing for identities that gpg has a key for. */
async function importGpg(commands: ToolCommands, force: boolean): Promise<string[]> {
  const lines: string[] = [];
  for (const identity of commands.identities.list) {
    const { name, email, signing, settings } = identity;
    if (email === undefined || (signing !== undefined && !force)) continue;
    const key = await keyFor(identity, commands.env);
    if (key === undefined) continue;
    await commands.identities.save(
      name,
      { ...settings, signing: { format: "openpgp", ...key } },
      false,
    );
    lines.push(`[OK] '${name}' signs with ${key.key}${key.hardware ? " [HARDWARE KEY]" : ""}`);
  }
  return lines;
}

async function keyFor(
  { email = "" }: Identity,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly key: string; readonly hardware?: boolean } | undefined> {
  const key = (await secretKeys(env, `<${email}>`)).findLast(
    ({ signs, isValid, secret }) => signs && isValid && secret !== "missing",
  );
  if (key === undefined) return undefined;
  return { key: key.fingerprint, ...(key.secret === "device" ? { hardware: true } : {}) };
}

async function secretKeys(env: NodeJS.ProcessEnv, ...who: string[]) {
  const args = ["--batch", "--no-tty", "--with-colons", "--list-secret-keys", "--", ...who];
  const { isOk, isMissing, out } = await quietRunner({ env })("gpg", args);
  if (isMissing && who.length > 0) throw new TrunklineError("unavailable", "gpg is not installed");
  return isOk ? parseGpgKeys(out) : [];
}

const DEEPEST = 8;
const MOST_HOSTS = 50;

/** The host names in the user's SSH configuration, without patterns, with `Include` followed. */
export function sshHosts(env: NodeJS.ProcessEnv): string[] {
  const file = sshConfigFile(env);
  const hosts = new Set<string>();
  collect(file, dirname(file), dirname(dirname(file)), hosts, 0);
  return [...hosts].slice(0, MOST_HOSTS);
}

function collect(
  file: string,
  folder: string,
  home: string,
  hosts: Set<string>,
  depth: number,
): void {
  const text = attempt(() => readFileSync(file, "utf8"), "");
  for (const line of text.split(/\r?\n/)) {
    const [, keyword = "", rest = ""] = /^\s*(\w+)(?:\s*=\s*|\s+)(.*?)\s*$/.exec(line) ?? [];
    const words = [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? "");
    if (/^host$/i.test(keyword)) {
      for (const word of words) if (/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(word)) hosts.add(word);
    }
    if (!/^include$/i.test(keyword) || depth >= DEEPEST) continue;
    for (const word of words) {
      const path = word.replace(/^~(?=\/)/, home);
      const pattern = isAbsolute(path) ? path : join(folder, path);
      for (const found of globSync(pattern)) collect(found, folder, home, hosts, depth + 1);
    }
  }
}
