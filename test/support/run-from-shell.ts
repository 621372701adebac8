import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempDisposableSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What the program reads; nothing by default. */
  readonly input?: string | Uint8Array;
}

/** A shell that waits for commands, and where it and they write. */
interface Shell {
  readonly commands: number;
  readonly statuses: number;
  readonly out: number;
  readonly err: number;
}

let shell: Shell | undefined;

/**
 * Runs a program and gives what it prints, as `execFileSync()` does. A shell of this process starts it:
 * Node copies the page tables of its whole process for each child, and a process that has run many tests
 * is large, so that takes longer than git.
 */
export function runFromShell(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): string {
  return runForBytes(file, args, options).toString();
}

export function runForBytes(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Buffer {
  const { cwd = process.cwd(), env = process.env, input } = options;
  shell ??= startShell();
  if (input !== undefined) {
    using folder = mkdtempDisposableSync(join(tmpdir(), "input-"));
    const path = join(folder.path, "input");
    writeFileSync(path, input);
    return runIn(shell, [file, ...args], { cwd, env, input: path });
  }
  return runIn(shell, [file, ...args], { cwd, env, input: "/dev/null" });
}

function runIn(
  { commands, statuses, out, err }: Shell,
  words: readonly string[],
  { cwd, env, input }: { cwd: string; env: NodeJS.ProcessEnv; input: string },
): Buffer {
  // A shell can give a program no other names.
  const given = Object.entries(env).filter(([name]) => /^[a-z_]\w*$/i.test(name));
  const settings = given.map(([name, value = ""]) => `${name}=${quote(value)}`);
  const program = [...settings, "exec", ...words.map(quote)].join(" ");
  const from = `<${quote(input)} >&3 2>&4 3>&- 4>&- 5>&-`;
  writeAll(commands, `(cd ${quote(cwd)} && ${program}) ${from}; echo $? >&5\n`);
  const status = Number(readLine(statuses));
  const [stdout, stderr] = [takeAll(out), takeAll(err)];
  if (status === 0) return stdout;
  const message = `Command failed: ${words.join(" ")}\n${stderr.toString()}`;
  throw Object.assign(new Error(message), { status, stdout, stderr });
}

/** It ends when this process does: then nobody is left who could write commands. */
function startShell(): Shell {
  using folder = mkdtempDisposableSync(join(tmpdir(), "shell-"));
  const at = (name: string): string => join(folder.path, name);
  execFileSync("mkfifo", [at("commands"), at("statuses")]);
  // To open a pipe for one direction only would wait for the other end.
  const [commands, statuses] = [openSync(at("commands"), "r+"), openSync(at("statuses"), "r+")];
  const [out, err] = [openSync(at("out"), "a+"), openSync(at("err"), "a+")];
  const read = openSync(at("commands"), "r");
  const stdio = [read, "ignore", "ignore", out, err, statuses] as const;
  // It outlives the test file, whose temporary folder it must not have (leftovers.ts).
  spawn("sh", [], {
    cwd: "/",
    env: { PATH: process.env.PATH, TMPDIR: "/" },
    stdio: [...stdio],
  }).unref();
  closeSync(read);
  writeAll(commands, "unset TMPDIR\n");
  return { commands, statuses, out, err };
}

function writeAll(file: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
}

function readLine(file: number): string {
  const bytes = Buffer.alloc(16);
  return bytes.toString("latin1", 0, readSync(file, bytes));
}

/** What programs have written into a file since it was last read. */
function takeAll(file: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(file).size);
  readSync(file, bytes, 0, bytes.length, 0);
  ftruncateSync(file);
  return bytes;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
