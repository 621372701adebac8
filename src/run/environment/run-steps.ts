import type { OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import type { FileOwner } from "../workspace/driver.ts";
import type { Workspace } from "../workspace/open-workspace.ts";
import type { Recipe } from "./recipe.ts";
import type { SetupOutput } from "./setup-output.ts";
import type { SetupStep } from "./setup-step.ts";

/** What the place of a set-up needs. */
export interface SetupPlaceOptions {
  /** A unique name of letters and digits. */
  readonly name: string;
  readonly workspace: Workspace;
  /** The folder at which programs see the files. */
  readonly folder: string;
  readonly owner: FileOwner | undefined;
  /** The folder that is HOME for its programs. */
  readonly home: string;
  /** Variables that the repository may have chosen: programs outside of the sandbox must not get them. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that must not be in a command line. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The folder of the objects that the repository uses as alternates. */
  readonly objects: string;
  /** Hosts that may be reached in addition to those of agents. */
  readonly allowHosts: readonly string[];
  /** Called when a host was refused. */
  readonly refused: (why: string) => void;
}

/** Where commands of set-up run, mostly a sandbox. They end when it is disposed. */
export interface SetupPlace extends AsyncDisposable {
  /** Starts a command. Its stderr goes to its stdout. */
  start(command: readonly string[]): Promise<OwnedChild>;
}

export type OpenSetupPlace = (options: SetupPlaceOptions) => Promise<SetupPlace>;

/** Runs the steps of a recipe. Throws "unavailable" if one fails, or the reason of `stop`. */
export async function runSteps(
  place: SetupPlace,
  { steps, timeout }: Pick<Recipe, "steps" | "timeout">,
  output: SetupOutput,
  stop: Stop,
): Promise<void> {
  const children = new Set<OwnedChild>();
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  const why = `it was stopped after its timeout of ${timeout / 1_000} s`;
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
