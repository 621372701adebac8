// The compiled code that a package brings along, so that its first start is as fast as later ones.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What other programs send first to the commands that they start. */
const FIRST_MESSAGES: Readonly<Record<string, readonly object[]>> = {
  mcp: [
    {
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "build", version: "1" },
      },
    },
    { id: 1, method: "tools/list" },
  ],
  acp: [{ id: 0, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } }],
};

/** The second start finds what the first one has made, and uses other functions for it. */
const STARTS = 2;
/** Says to the launcher that further starts add nothing. */
const COMPLETE = 255;
/** Milliseconds of one start, which takes less than a second on an idle machine. */
const PATIENCE = 120_000;

/**
 * Starts an installed build as other programs do, and returns the code that V8 compiled meanwhile, by the
 * names under which the launcher looks for it. It is good for this version of Node only.
 */
export async function compiledCode(
  launcher: string,
  patience = PATIENCE,
): Promise<Map<string, Uint8Array>> {
  await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-build-"));
  for (const command of Object.keys(FIRST_MESSAGES)) {
    for (let start = 0; start < STARTS; start++) {
      await run({ launcher, command, home: home.path, patience });
    }
  }
  const folder = join(home.path, "cache/trunkline/code");
  const code = new Map<string, Uint8Array>();
  for (const name of await readdir(folder)) {
    if (!name.startsWith("start-")) continue;
    const bytes = await readFile(join(folder, name));
    bytes[bytes.length - 1] = COMPLETE;
    code.set(name, bytes);
  }
  return code;
}

interface Start {
  readonly launcher: string;
  readonly command: string;
  readonly home: string;
  readonly patience: number;
}

async function run({ launcher, command, home, patience }: Start): Promise<void> {
  const args = [launcher, command, "--data", join(home, "data")];
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_CONFIG_HOME: join(home, "config"),
  };
  const child = spawn(process.execPath, args, {
    cwd: home,
    env,
    timeout: patience,
    killSignal: "SIGKILL",
  });
  const exited = once(child, "exit");
  const closed = once(child, "close");
  // It has ended early; its exit code and its words say why.
  child.stdin.on("error", () => {});
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const messages = FIRST_MESSAGES[command] ?? [];
  let answers = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    answers += text.split("\n").length - 1;
    if (answers >= messages.length) child.stdin.end();
  });
  for (const message of messages) {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
  const [code, signal] = (await exited) as [number | null, string | null];
  if (code === 0) return;
  // Its last words may still be on the way, unless something that it started keeps the pipe open.
  await Promise.race([closed, delay(1_000, undefined, { ref: false })]);
  const end = child.killed ? `did not end within ${patience} ms` : `exited with ${code ?? signal}`;
  throw new Error(`Cannot compile the code of '${command}': it ${end}. It said: ${said.trim()}`);
}
