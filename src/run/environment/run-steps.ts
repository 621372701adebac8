import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { TrunklineError } from "../../base/errors.ts";
import { Throttle } from "../../base/limit/rate-limiter.ts";
import type { OwnedChild } from "../../base/process/child-process.ts";
import { untilAborted } from "../../base/abort.ts";
import { maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { FileOwner } from "../workspace/driver.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { SetupStep } from "./devcontainer.ts";
import type { Recipe } from "./recipe.ts";

export interface SetupOutputOptions {
  /** The path of the log. */
  readonly path: string;
  /** Called with some of the lines as they come. */
  readonly tell: (line: string) => void;
  /** Milliseconds between two calls of `tell`. */
  readonly tellEvery?: number;
  /** The most bytes of the log. */
  readonly most?: number;
}

const TELL_EVERY = 2_000;
const MOST = 4 * 1024 * 1024;
const TAIL = 20;
const LONGEST_LINE = 300;
/** The most characters of an unfinished line that are buffered. */
const LONGEST_REST = 64 * 1024;
/** Characters that stay buffered then: more than any secret has. */
const KEPT = 16 * 1024;
/** Programs show progress by returning to the start of the line. */
const LINE_END = /\r?\n|\r/;

/** The output of a set-up, line by line, with secrets masked. */
export function openOutput({ path, tell, tellEvery, most = MOST }: SetupOutputOptions) {
  const file = createWriteStream(path, { mode: 0o600 });
  /** Why the log could not be written. Set-up continues without it. */
  let problem: Error | undefined;
  file.on("error", (error) => (problem = error));
  const throttle = new Throttle({ limit: 1, windowMs: tellEvery ?? TELL_EVERY });
  const tail: string[] = [];
  let written = 0;

  const add = (text: string): void => {
    const line = maskWhole(text);
    const shown = visibleLine(stripVTControlCharacters(line).trim()).slice(0, LONGEST_LINE);
    if (shown !== "") {
      tail.push(shown);
      if (tail.length > TAIL) tail.shift();
      if (throttle.take() !== undefined) tell(shown);
    }
    const hadRoom = written <= most;
    written += Buffer.byteLength(line) + 1;
    if (written <= most) file.write(`${line}\n`);
    else if (hadRoom) file.write(`(The log ends here: it is over ${most} bytes.)\n`);
  };

  return {
    path,
    line: add,
    /** The last lines. */
    tail: tail as readonly string[],

    /** Reads lines from a stream until it ends. */
    take(stream: Readable): Promise<void> {
      let rest = "";
      stream.setEncoding("utf8").on("data", (text: string) => {
        const lines = (rest + text).split(LINE_END);
        rest = lines.pop() ?? "";
        for (const line of lines) add(line);
        if (rest.length < LONGEST_REST) return;
        // A secret may be cut at the end. That part stays buffered until the rest has come.
        const masked = maskWhole(rest);
        add(masked.slice(0, -KEPT));
        rest = masked.slice(-KEPT);
      });
      return new Promise((resolve) => {
        stream.on("error", () => {});
        stream.on("close", () => {
          if (rest !== "") add(rest);
          resolve();
        });
      });
    },

    async [Symbol.asyncDispose](): Promise<void> {
      file.end();
      if (problem === undefined && !file.closed) await once(file, "close").catch(() => {});
    },
  };
}

export type SetupOutput = ReturnType<typeof openOutput>;

/** What the place of a set-up needs. */
interface SetupPlaceOptions {
  /** A unique name of letters and digits. */
  readonly name: string;
  /** The address of the repository. */
  readonly url: string;
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
  /** The folders of the objects that the repository uses. */
  readonly objects: readonly string[];
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

export type SetupPlaceOpener = (options: SetupPlaceOptions) => Promise<SetupPlace>;

/** Runs the steps of a recipe. Throws "unavailable" if one fails, or the reason of `signal`. */
export async function runSteps(
  place: SetupPlace,
  { steps, timeout }: Pick<Recipe, "steps" | "timeout">,
  output: SetupOutput,
  signal: AbortSignal,
): Promise<void> {
  const children = new Set<OwnedChild>();
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const why = `it was stopped after its timeout of ${timeout / 1_000} s`;
  using _late = setTimeout(() => over.abort(failed(why)), timeout);
  try {
    for (const step of steps) await untilAborted(runStep(place, step, output, children), ends);
  } finally {
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
