import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** How to start the fixture's server on standard streams. */
export const STDIO_SERVER = {
  command: process.execPath,
  args: [join(import.meta.dirname, "server.ts"), "stdio"],
} as const;

/** How to start the program as users do, with that server behind it and nothing else to offer. */
export function programBeforeFixture(folder: string): { command: string; args: string[] } {
  const config = join(folder, "config.json");
  const profiles = { fixture: { servers: { allow: ["fixture"] } } };
  writeFileSync(config, JSON.stringify({ mcpServers: { fixture: STDIO_SERVER }, profiles }));
  const where = ["--config", config, "--data", join(folder, "data"), "--profile", "fixture"];
  return { command: process.execPath, args: [BUILT, "mcp", ...where] };
}

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");

/** The gateway with the fixture in its toolbox, in a process of its own. */
export class FixtureServer implements AsyncDisposable {
  /** Without a path. */
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<FixtureServer> {
    const args = [join(import.meta.dirname, "server.ts"), "http"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const [line] = (await Promise.race([once(lines, "line"), died(child)])) as [string];
    return new FixtureServer(child, (JSON.parse(line) as { url: string }).url);
  }

  get mcp(): string {
    return `${this.url}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`The fixture's server ended with ${code}`);
  }
}

async function died(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, "exit")) as [number | null];
  throw new Error(`The fixture's server did not start: exit ${code}`);
}
