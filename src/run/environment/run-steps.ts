import type { OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import type { FileOwner } from "../workspace/driver.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Recipe } from "./recipe.ts";
import type { SetupOutput } from "./setup-output.ts";
import type { SetupStep } from "./setup-step.ts";

/** What a place for set-up is made of. */
export interface SetupPlaceOptions {
  /** Tells it apart from others; letters and digits. */
  readonly name: string;
  readonly workspace: Workspace;
  /** Where the files are seen, whatever the workspace is. */
  readonly folder: string;
  readonly owner: FileOwner | undefined;
  /** A folder that becomes the home of its programs. */
  readonly home: string;
  /** Variables that may be anybody's: programs outside of a sandbox must not have them. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that are in no command line. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Where the objects are that the repository borrows. */
  readonly objects: string;
  /** Hosts that may be reached besides those of agents. */
  readonly allowHosts: readonly string[];
  /** Hears of a host that was refused. */
  readonly refused: (why: string) => void;
}

/** Where commands of set-up run; they end with it. */
export interface SetupPlace extends AsyncDisposable {
  /** Starts a command whose errors come with its output. */
  start(command: readonly string[]): Promise<OwnedChild>;
}

export type OpenSetupPlace = (options: SetupPlaceOptions) => Promise<SetupPlace>;

/** Runs the steps of a recipe. Throws "unavailable" where one fails, and the reason of `stop`. */
export async function runSteps(
  place: SetupPlace,
  { steps, timeout }: Pick<Recipe, "steps" | "timeout">,
  output: SetupOutput,
  stop: Stop,
): Promise<void> {
  const children = new Set<OwnedChild>();
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  const why = `it was ended after its timeout of ${timeout / 1_000} s`;
  const late = setTimeout(() => over.reject(failed(why)), timeout);
  const listener = { stopped: over.reject };
  stop.add(listener);
  try {
    for (const step of steps) {
      await Promise.race([runStep(place, step, output, children), over.promise]);
    }
  } finally {
    clearTimeout(late);
    stop.remove(listener);
    for (const child of children) child.kill();
    await Promise.all([...children].map(({ gone }) => gone));
  }
}

async function runStep(
  place: SetupPlace,
  { name, commands }: SetupStep,
  output: SetupOutput,
  children: Set<OwnedChild>,
): Promise<void> {
  const exits = commands.map(async (command) => {
    const child = await place.start(command);
    children.add(child);
    child.stdin.end();
    const [exit] = await Promise.all([child.exit, output.take(child.stdout)]);
    return exit;
  });
  const exit = (await Promise.all(exits)).find((each) => each !== 0);
  if (exit !== undefined) throw failed(`${name} ended with ${exit}`);
}

function failed(why: string): TrunklineError {
  return new TrunklineError("unavailable", why);
}
