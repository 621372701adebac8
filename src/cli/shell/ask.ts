import { once } from "node:events";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { createInterface } from "node:readline/promises";

import { TrunklineError } from "../../base/errors.ts";
import { whyUnreadable } from "../../base/file/why-unreadable.ts";
import { visible } from "../../base/text/visible.ts";
import type { Invocation } from "./command.ts";

const ENTER = /[\r\n]/;
const INTERRUPT = "\u0003";
const ERASE = /[\b\u007f]/;

/**
 * Reads a secret: asks for it at a terminal, else reads standard input. It is never an argument, since
 * every user of the machine can read command lines.
 */
export async function readSecret(question: string): Promise<string> {
  return process.stdin.isTTY ? askSecret(question) : text(process.stdin);
}

/** Asks at the terminal for something that is not shown while it is typed. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.resume();
  let typed = "";
  try {
    for (;;) {
      const [chunk] = (await once(stdin, "data")) as [Buffer];
      for (const key of chunk.toString("utf8")) {
        if (key === INTERRUPT) process.exit(130);
        if (ENTER.test(key)) return typed;
        typed = ERASE.test(key) ? typed.slice(0, -1) : typed + key;
      }
    }
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

/** The text of a file that the command line names; `-` is standard input. */
export async function readGivenFile(
  { cwd }: Pick<Invocation, "cwd">,
  file: string,
): Promise<string> {
  if (file === "-") return text(process.stdin);
  return await readFile(resolve(cwd, file), "utf8").catch((error: unknown) => {
    const says = `Cannot read '${file}': ${whyUnreadable(error)}`;
    throw new TrunklineError("not-found", says, { cause: error });
  });
}

/**
 * Asks the person at the terminal to agree; anything but "y" or "yes" is a no. With a signal it waits beside
 * other work, until that ends.
 */
export async function confirm(message: string, signal?: AbortSignal): Promise<boolean> {
  return /^y(?:es)?$/i.test(await askLine(`${message}\n[y/N] `, signal));
}

/** Asks the person at the terminal for a line. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string> {
  const { stdin: input, stderr: output } = process;
  if (signal === undefined) {
    using lines = createInterface({ input, output });
    return (await lines.question(visible(question))).trim();
  }
  // Here Ctrl-C has to end the other work: as a signal, not as a key.
  using lines = createInterface({ input, output, terminal: false });
  return (await lines.question(visible(question), { signal })).trim();
}

/** A text as the person leaves it in their editor. Throws if the editor fails. */
export async function editText(
  text: string,
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const editor = env.VISUAL || env.EDITOR || "vi";
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-edit-"));
  const file = join(folder.path, name);
  await writeFile(file, text, { mode: 0o600 });
  // As git does: EDITOR may contain arguments, so a shell runs it.
  const child = spawn("sh", ["-c", `${editor} "$@"`, editor, file], { stdio: "inherit", env });
  const [code] = (await once(child, "close")) as [number | null];
  if (code === 0) return await readFile(file, "utf8");
  const says = `the editor '${editor}' failed with exit code ${code}`;
  throw new TrunklineError("unavailable", `Cannot read the text: ${says}.`);
}
