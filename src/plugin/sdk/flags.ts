import { homedir } from "node:os";
import { join } from "node:path";
import { TrunklineError } from "../../base/errors.ts";

/** How an orchestrator starts a plugin. */
export type PluginFlags = ReturnType<typeof readFlags>;

/** The variable in which an orchestrator says how it will dial; another one may dial over QUIC only. */
export const PREFERRED_TRANSPORT = "TRUNKLINE_BUS_TRANSPORT";

const FLAG = /^--?(orchestrator-addr|listen-addr|certs-dir|manifest)(?:=(.*))?$/s;

/** Whether the program was started as a plugin. */
export function wantsPlugin(args: readonly string[]): boolean {
  return args.some((arg) => {
    const name = FLAG.exec(arg)?.[1];
    return name !== undefined && name !== "certs-dir";
  });
}

/** An orchestrator's flags at the end of a command line, and what comes before them. */
export function splitFlags(args: readonly string[]): {
  readonly own: readonly string[];
  readonly flags: readonly string[];
} {
  const before = args.findLastIndex((arg) => !FLAG.test(arg));
  return { own: args.slice(0, before + 1), flags: args.slice(before + 1) };
}

/** Reads `--name=value` and `--name value`. All other arguments are the plugin's own. */
export function readFlags(args: readonly string[], env = process.env) {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [, name, value] = FLAG.exec(args[at] ?? "") ?? [];
    if (name === undefined) continue;
    if (name === "manifest") given.set(name, value ?? "true");
    else given.set(name, value ?? valueAfter(name, args[++at]));
  }
  return {
    /** Empty if the plugin has no orchestrator to dial. */
    orchestrator: given.get("orchestrator-addr") ?? "",
    listen: withTransport(given.get("listen-addr") ?? "localhost:0", env[PREFERRED_TRANSPORT]),
    certsDir: atHome(given.get("certs-dir") ?? "~/.orchestra/certs"),
    isManifest: (given.get("manifest") ?? "false") !== "false",
  };
}

/** Over TLS alone if nobody will dial over QUIC, for which an engine of its own would run. */
function withTransport(address: string, preferred: string | undefined): string {
  return preferred === "tls" && !address.includes("://") ? `tls://${address}` : address;
}

function valueAfter(name: string, next: string | undefined): string {
  if (next !== undefined && !next.startsWith("--")) return next;
  throw new TrunklineError("usage", `--${name} needs a value: --${name}=…`);
}

function atHome(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}
