import { createRequire, flushCompileCache } from "node:module";
import { join } from "node:path";
import { after, beforeEach, describe, mock, type TestContext } from "node:test";

import { endInSpiteOfLeftovers, Leftovers } from "./leftovers.ts";

const ROOT = join(import.meta.dirname, "../..");

const requireModule = createRequire(import.meta.url);

/**
 * Runs the tests of several files in this process, one file after the other (scripts/test-groups.mjs).
 * Each is loaded when the one before it is over, has a temporary folder of its own, and fails by
 * itself if it leaves anything. What it has changed for the process is undone for the next.
 *
 * The runner knows to which suite a test belongs that is declared within the call. Where promises are
 * not followed (untracked-promises.ts), it knows that of no other, so only `awaiting` files may use
 * `await` while they load.
 */
export async function testTogether(
  files: readonly string[],
  { awaiting = false } = {},
): Promise<void> {
  // Some tests wait for what keeps no process alive; where modules are still loaded, that does.
  const alive = setInterval(() => {}, 2 ** 30);
  let current: string | undefined;
  process.on("exit", () => {
    if (current === undefined) return;
    process.stderr.write(`The process ended within ${current}.\n`);
    process.exitCode = 1;
  });
  if (!awaiting) endAtUncaughtErrors();
  let isSomethingLeft = false;
  for (const file of files) {
    current = file;
    const env = { ...process.env };
    const leftovers = new Leftovers(file);
    await describe(file, async () => {
      beforeEach((test) => leftovers.note((test as TestContext).fullName));
      after(async () => {
        mock.reset();
        mock.timers.reset();
        restoreEnvironment(env);
        await leftovers.expectNone().catch((error: unknown) => {
          isSomethingLeft = true;
          throw error;
        });
      });
      if (awaiting) await import(join(ROOT, file));
      else load(file);
    });
    // For the other groups. Node would write it when this process ends.
    flushCompileCache();
  }
  current = undefined;
  clearInterval(alive);
  if (isSomethingLeft) endInSpiteOfLeftovers();
}

/** Loads a test file at once. */
function load(file: string): void {
  try {
    requireModule(join(ROOT, file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_REQUIRE_ASYNC_MODULE") throw error;
    const what = `Cannot load ${file} at once: a module that it imports uses \`await\` outside functions.`;
    const next = "Use `await` there in the test file itself, which then gets another process.";
    throw new Error(`${what} ${next}`, { cause: error });
  }
}

/** The runner cannot tell which test they belong to, so that test might wait until its time is up. */
function endAtUncaughtErrors(): void {
  const end = (error: unknown): void => {
    const text = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`Nobody caught this error: ${text}\n`);
    process.exit(1);
  };
  process.on("uncaughtException", end).on("unhandledRejection", end);
}

function restoreEnvironment(before: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) {
    if (!(name in before)) delete process.env[name];
  }
  Object.assign(process.env, before);
}
