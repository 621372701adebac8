import assert from "node:assert/strict";

import { run } from "../../src/cli/program.ts";
import type { Output } from "../../src/cli/shell/host.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs `trunkline` in this process, with all commands that it has. Neither of its outputs is a
 * terminal. A process of its own would take ten times the processor time, so tests use this for
 * commands that only prepare what they test.
 */
export async function runInProcess(
  args: readonly string[],
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): Promise<Ran> {
  const ran = { out: "", err: "" };
  const code = await run([...args], {
    env,
    cwd: () => cwd,
    exit: (status) => assert.fail(`It exited with ${status}`),
    stdout: outputTo((text) => (ran.out += text)),
    stderr: outputTo((text) => (ran.err += text)),
  });
  return { code, ...ran };
}

export function outputTo(write: (text: string) => void): Output {
  return { write: (text) => write(String(text)), on: () => undefined };
}
