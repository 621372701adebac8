import { execFileSync, spawnSync } from "node:child_process";

import { systemProgram } from "../../src/sandbox/remedy.ts";
import type { NatsPlace } from "./nats-server.ts";

const PROGRAMS = ["ip", "nft", "unshare"];
const missing = PROGRAMS.filter((name) => systemProgram(name) === undefined);

/** Why there can be no networks of our own; false where there can. */
export const noNetworks: string | false =
  (process.getuid?.() !== 0 && "needs root, to make networks") ||
  (missing.length > 0 && `Install: sudo apt-get install iproute2 nftables (${missing.join(", ")})`);

const WITHIN = "TRUNKLINE_TEST_WITHIN_NETWORK";

/** Whether this process is in a network of its own, where it may do what it likes. */
export const isWithin = process.env[WITHIN] !== undefined;

/**
 * Runs a test file again in a network of its own, which nothing else can reach or see, and which is gone
 * with the last process in it. Returns what it printed, and how it ended.
 */
export function runWithin(file: string): { readonly status: number | null; readonly said: string } {
  const script = 'mount -t tmpfs none /run && ip link set lo up && exec "$@"';
  const own = ["--net", "--mount", "sh", "-c", script, "sh", process.execPath, ...process.execArgv];
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { env: { ...env, [WITHIN]: "1" }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync("unshare", [...own, file], options);
  return { status, said: stdout + stderr };
}

/** Machines on one switch, each a network namespace. This process is on the switch as well. */
export class SplitNetwork {
  readonly places: readonly NatsPlace[];
  readonly #names: readonly string[];

  constructor(count: number) {
    ip("link add switch type bridge");
    ip("address add 10.77.0.254/24 dev switch");
    ip("link set switch up");
    this.#names = Array.from({ length: count }, (_, at) => `machine${at}`);
    this.places = this.#names.map((name, at) => {
      const host = `10.77.0.${at + 1}`;
      ip(`netns add ${name}`);
      ip(`link add port${at} type veth peer name eth0 netns ${name}`);
      ip(`link set port${at} master switch up`);
      ip(`-n ${name} address add ${host}/24 dev eth0`);
      for (const each of ["eth0", "lo"]) ip(`-n ${name} link set ${each} up`);
      return { host, within: ["ip", "netns", "exec", name] };
    });
  }

  /** Nothing passes any more between a machine and the others, in either direction. */
  cut(at: number): void {
    const others = this.places.filter((_, other) => other !== at).map(({ host }) => host);
    const rule = (chain: string, end: string): string =>
      `add chain inet cut ${chain} { type filter hook ${chain} priority 0; }\n` +
      `add rule inet cut ${chain} ip ${end} { ${others.join(", ")} } drop\n`;
    this.#nft(at, `add table inet cut\n${rule("input", "saddr")}${rule("output", "daddr")}`);
  }

  mend(at: number): void {
    this.#nft(at, "delete table inet cut\n");
  }

  #nft(at: number, input: string): void {
    const [command, ...args] = [...(this.places[at]?.within ?? []), "nft", "-f", "-"];
    execFileSync(command ?? "nft", args, { input });
  }
}

function ip(words: string): void {
  execFileSync("ip", words.split(" "));
}
