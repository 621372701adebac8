import { join } from "node:path";
import { createInterface } from "node:readline";

import { background } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";

/** A request to `mount-main.ts`, one line of JSON each. */
export type MountRequest = { readonly id: number } & (
  | {
      readonly verb: "mount";
      /** The lower layers, the topmost first; they are not changed. */
      readonly lowers: readonly string[];
      /** A folder with `layer/upper` and `layer/work`, where changes go. */
      readonly changes: string;
      /** The mount point. */
      readonly tree: string;
      /** The owner of all files in the mount. On disk, root owns them. */
      readonly user?: { readonly uid: number; readonly gid: number } | undefined;
    }
  | { readonly verb: "unmount"; readonly tree: string }
);

interface MountAnswer {
  readonly id: number;
  /** Why the request failed. */
  readonly problem?: string;
}

/** Filled in by the bundler: the code of `mount-main.ts`. */
declare const __TRUNKLINE_MOUNT__: string | undefined;

type Command = MountRequest extends infer R
  ? R extends MountRequest
    ? Omit<R, "id">
    : never
  : never;

interface PendingMount {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Mounts and unmounts workspaces in one helper process, which is started for the first mount. */
export class Mounts implements AsyncDisposable {
  readonly #waiting = new Map<number, PendingMount>();
  #helper: Promise<OwnedChild> | undefined;
  #last = 0;
  #isOver = false;

  mount(command: Omit<Extract<Command, { verb: "mount" }>, "verb">): Promise<void> {
    return this.#ask({ verb: "mount", ...command });
  }

  unmount(tree: string): Promise<void> {
    return this.#ask({ verb: "unmount", tree });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const helper = await this.#helper?.catch(() => undefined);
    await helper?.end();
  }

  async #ask(command: Command): Promise<void> {
    // Nobody would end a helper that is started now, and it would keep this process alive.
    if (this.#isOver) throw failed("Trunkline is stopping");
    const helper = await (this.#helper ??= this.#start());
    const id = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(id, { resolve, reject });
    helper.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    return promise;
  }

  async #start(): Promise<OwnedChild> {
    const said: string[] = [];
    const helper = await OwnedChild.start({
      command: process.execPath,
      args: ["--experimental-ffi", "--no-warnings", ...mountProgram()],
      env: usualVariables(),
      stderr: (line) => said.push(line),
    });
    createInterface({ input: helper.stdout }).on("line", (line) => {
      const { id, problem } = JSON.parse(line) as MountAnswer;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (problem === undefined) waiting?.resolve();
      else waiting?.reject(failed(problem));
    });
    background(
      helper.exit.then((exit) => {
        this.#helper = undefined;
        const problem = `the mount helper ended (${exit}) ${said.at(-1) ?? ""}`.trim();
        for (const { reject } of this.#waiting.values()) reject(failed(problem));
        this.#waiting.clear();
      }),
      "Noting the end of a mount",
    );
    return helper;
  }
}

function failed(problem: string): TrunklineError {
  return new TrunklineError("unavailable", `Cannot mount a workspace: ${problem}.`);
}

/** The built program has the code in memory, because the files of its package may be gone. */
function mountProgram(): string[] {
  return typeof __TRUNKLINE_MOUNT__ === "string"
    ? ["--input-type=module", "--eval", __TRUNKLINE_MOUNT__]
    : [join(import.meta.dirname, "mount-main.ts")];
}
