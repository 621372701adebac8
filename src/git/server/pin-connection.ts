import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { lookupAmong } from "../../base/public-lookup.ts";
import { parseRemoteUrl, USUAL_PORTS } from "../../base/remote-url.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { runProgram } from "../run-program.ts";

/** Credentials for a remote. */
export interface Credentials {
  /** Caches are not shared between scopes, so that nobody sees what only others may. */
  readonly scope: string;
  /** For HTTPS. */
  readonly user?: string | undefined;
  /** For HTTPS. A secret: it is passed on a descriptor and nowhere else. */
  readonly token?: string | undefined;
  /** Why there is no token, and what to do, for a remote that asks for one. */
  readonly noToken?: string | undefined;
  /** For SSH: the command with its options, as `core.sshCommand` has it. */
  readonly sshCommand?: string | undefined;
}

/** How git is started to use credentials. */
interface Login {
  readonly env: NodeJS.ProcessEnv;
  /** Written to descriptor 3 of the program. */
  readonly secret?: string;
}

/**
 * Answers git's two questions (gitcredentials(7)): the user name from the environment, the password
 * from descriptor 3.
 */
const ASKPASS = `#!/bin/sh
case "$1" in
  Username*) printf '%s\\n' "$TRUNKLINE_GIT_USER" ;;
  *) cat <&3 ;;
esac
`;

/** How ssh is started where no identity says otherwise. */
const SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes";

/** `askpass` is where `writeAskpass` has put its program. */
export function loginWith(credentials: Credentials | undefined, askpass: string): Login {
  if (credentials === undefined) return { env: { GIT_SSH_COMMAND: "false" } };
  const { user = "git", token, sshCommand = SSH } = credentials;
  const env = { GIT_SSH_COMMAND: sshCommand, GIT_SSH_VARIANT: "ssh" };
  if (token === undefined) return { env };
  const asking = { GIT_ASKPASS: askpass, TRUNKLINE_GIT_USER: user };
  return { env: { ...env, ...asking }, secret: `${token}\n` };
}

/** Writes the askpass program, which contains no secret. Returns its path. */
export async function writeAskpass(folder: string): Promise<string> {
  return await writeProgram(folder, "askpass", ASKPASS, 0o700);
}

/** Writes a program for git, whole or not at all. Returns its path. */
export async function writeProgram(
  folder: string,
  name: string,
  text: string,
  mode: number,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const path = join(folder, name);
  const unfinished = `${path}-${process.pid}`;
  await writeFile(unfinished, text, { mode });
  await rename(unfinished, path);
  return path;
}

/** The addresses of a host that may be connected to. Throws where there are none. */
export type HostResolver = (host: string) => Promise<readonly string[]>;

interface ConnectionRequest {
  readonly url: string;
  readonly credentials: Credentials;
  readonly resolve: HostResolver | undefined;
  /** The environment that ssh is started in. */
  readonly env: NodeJS.ProcessEnv;
}

/** Settings that make git connect to given addresses, whatever the host name resolves to by then. */
export interface PinnedConnection {
  /** `key=value`, as `git -c` takes them. */
  readonly settings: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

const SSH_TIMEOUT = 10_000;
const PROBE_TIMEOUT = 5_000;

/**
 * Looks a host up once and has git use the answer. If git resolved it again, a hostile DNS
 * server could give us a public address, and git one of our own network.
 */
export async function pinConnection(request: ConnectionRequest): Promise<PinnedConnection> {
  const { transport, host, port, user, normal, problem } = parseRemoteUrl(request.url);
  // Git could read another form differently than the code that checked it.
  if (transport in USUAL_PORTS && normal !== request.url) {
    const why = problem ?? "it is not in its normal form";
    throw new TrunklineError("untrusted", `Cannot connect to a repository: ${why}.`);
  }
  if (host === undefined) return { settings: [], env: {} };
  if (transport === "ssh") return await pinSsh(request, { host, port, user });
  const addresses = await addressesOf(request, host);
  if (isAddress(host)) return { settings: [], env: {} };
  // CURLOPT_RESOLVE(3): addresses of IPv6 are in brackets.
  const listed = addresses.map((each) => (each.includes(":") ? `[${each}]` : each)).join(",");
  const setting = `http.curloptResolve=${host}:${port ?? USUAL_PORTS[transport]}:${listed}`;
  return { settings: [setting], env: {} };
}

interface SshHost {
  readonly host: string;
  readonly port: number | undefined;
  readonly user: string | undefined;
}

/** The configuration of ssh may name another host and port for this one: that is what counts. */
async function pinSsh(request: ConnectionRequest, asked: SshHost): Promise<PinnedConnection> {
  const { sshCommand = SSH } = request.credentials;
  const configured = await sshConfiguration(sshCommand, asked, request.env);
  const host = configured.get("hostname") ?? asked.host;
  const port = Number(configured.get("port") ?? asked.port ?? USUAL_PORTS.ssh);
  const isDirect = !configured.has("proxycommand") && !configured.has("proxyjump");
  const addresses = await addressesOf(request, host);
  const address = isDirect ? await answering(addresses, port) : addresses[0];
  // known_hosts has the name, and the port where it is not the usual one (sshd(8)).
  const known = port === USUAL_PORTS.ssh ? host : `[${host}]:${port}`;
  const alias = configured.get("hostkeyalias") ?? known;
  const pinned = `${sshCommand} -o HostName=${address} -o HostKeyAlias=${shellQuote(alias)}`;
  return { settings: [], env: { GIT_SSH_COMMAND: pinned } };
}

async function addressesOf({ resolve }: ConnectionRequest, host: string): Promise<string[]> {
  const addresses = (await resolve?.(host)) ?? [];
  // They become a part of arguments: nothing that is not an address may.
  const fine = addresses.filter((address) => isAddress(address));
  if (fine.length > 0) return fine;
  throw new TrunklineError("untrusted", `Cannot connect to '${host}': it has no allowed address.`);
}

/** What ssh would use for a host (`ssh -G`), by the names of ssh_config(5) in small letters. */
async function sshConfiguration(
  sshCommand: string,
  { host, port, user }: SshHost,
  env: NodeJS.ProcessEnv,
): Promise<ReadonlyMap<string, string>> {
  const more = [
    "-G",
    ...(port === undefined ? [] : ["-p", String(port)]),
    ...(user === undefined ? [] : ["-l", user]),
    ...["--", host],
  ];
  const { code, stdout, stderr } = await runProgram({
    command: "/bin/sh",
    args: ["-c", `${sshCommand} "$@"`, "sh", ...more],
    env,
    timeout: SSH_TIMEOUT,
    maxOutput: 1 << 20,
  });
  if (code !== 0) {
    const why = stderr.trim() || `it ended with ${code}`;
    throw new TrunklineError("unavailable", `Cannot use ssh for '${host}': ${why}`);
  }
  const lines = stdout.toString("utf8").split("\n");
  return new Map(
    lines.map((line) => {
      const [name = "", ...value] = line.split(" ");
      return [name, value.join(" ")] as const;
    }),
  );
}

/** The first of several addresses that answers, as ssh itself would find it. */
async function answering(addresses: readonly string[], port: number): Promise<string | undefined> {
  const [first] = addresses;
  if (addresses.length < 2) return first;
  const { connect } = process.getBuiltinModule("node:net");
  const socket = connect({
    // Never looked up: `lookup` has the addresses.
    host: "pinned.invalid",
    port,
    autoSelectFamily: true,
    lookup: lookupAmong(addresses),
  });
  return await new Promise((resolve) => {
    const settle = (found: string | undefined): void => {
      socket.destroy();
      resolve(addresses.find((address) => address === found) ?? first);
    };
    socket.setTimeout(PROBE_TIMEOUT, () => settle(undefined));
    socket.on("error", () => settle(undefined));
    socket.on("connect", () => settle(socket.remoteAddress));
  });
}

function isAddress(text: string): boolean {
  return process.getBuiltinModule("node:net").isIP(text) !== 0 && !text.includes("%");
}
