// Runs inside a sandbox that bubblewrap has made, before the actual program: passes listeners in the
// sandbox's network out, restricts itself with Landlock, and becomes that program. Without a program it
// makes connections in that network, and passes them out, too.
import { dlopen, getRawPointer } from "node:ffi";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";

import type { HandleMessage } from "../base/process/child-process.ts";

/** The input of this program, as JSON in its only argument. */
export interface EnterInput {
  /** An absolute path, because PATH is not searched. Without it, lines of stdin are ports to connect to. */
  readonly program?: string;
  readonly args: readonly string[];
  /** Entered as the program's user: root without its capabilities may not enter it. */
  readonly cwd: string;
  /** Paths that may be read and paths that may be changed, each with everything in it. */
  readonly landlock?: { readonly read: readonly string[]; readonly write: readonly string[] };
  /** Environment variables of the program, and of nothing that runs before it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Ports of listeners in the sandbox's own network that are handed out, the proxy's first; 0 for any. */
  readonly ports: readonly number[];
}

// linux/landlock.h; the calls have the same numbers on every processor.
const CREATE_RULESET = 444n;
const ADD_RULE = 445n;
const RESTRICT_SELF = 446n;
const CREATE_RULESET_VERSION = 1n;
const RULE_PATH_BENEATH = 1n;

const EXECUTE = 1n << 0n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const READ = EXECUTE | READ_FILE | READ_DIR;
/** Rights that apply to a file as well as to a folder: execute, write, read, truncate, ioctl. */
const ON_FILES = EXECUTE | (1n << 1n) | READ_FILE | (1n << 14n) | (1n << 15n);
/** ABI 1 has 13 rights to files; 2 adds linking across folders, 3 truncating, 5 ioctl. */
const RIGHTS = [0, 13, 14, 15, 15, 16, 16, 16];

const O_PATH = 0x200000;
const O_CLOEXEC = 0x80000;
const PR_SET_NO_NEW_PRIVS = 38;
const F_SETFD = 2;
const SIGPIPE = 13;
const DEFAULT_ACTION = 0n;

const c = dlopen(null, {
  syscall: { arguments: ["i64", "i64", "i64", "i64", "i64"], return: "i64" },
  open: { arguments: ["pointer", "i32"], return: "i32" },
  close: { arguments: ["i32"], return: "i32" },
  prctl: { arguments: ["i32", "u64", "u64", "u64", "u64"], return: "i32" },
  fcntl: { arguments: ["i32", "i32", "i64"], return: "i32" },
  signal: { arguments: ["i32", "pointer"], return: "pointer" },
  execve: { arguments: ["pointer", "pointer", "pointer"], return: "i32" },
}).functions;

/** Memory that native code reads must not move, and must not be part of Node's pool. */
const kept: Buffer[] = [];

function addressOf(bytes: Buffer): bigint {
  const fixed = Buffer.from(new ArrayBuffer(bytes.length));
  bytes.copy(fixed);
  kept.push(fixed);
  return getRawPointer(fixed);
}

function text(value: string): bigint {
  return addressOf(Buffer.from(`${value}\0`));
}

function list(values: readonly string[]): bigint {
  const pointers = Buffer.alloc((values.length + 1) * 8);
  for (const [index, value] of values.entries()) pointers.writeBigUInt64LE(text(value), index * 8);
  return addressOf(pointers);
}

function fail(what: string): never {
  process.stderr.write(`trunkline: ${what}\n`);
  process.exit(126);
}

function restrict({ read, write }: NonNullable<EnterInput["landlock"]>): void {
  const abi = Number(c.syscall(CREATE_RULESET, 0n, 0n, CREATE_RULESET_VERSION, 0n));
  if (abi < 1) fail("Landlock is not in this kernel, though it was when the sandbox was planned");
  const rights = (1n << BigInt(RIGHTS[Math.min(abi, RIGHTS.length - 1)] ?? 13)) - 1n;
  const attributes = Buffer.alloc(8);
  attributes.writeBigUInt64LE(rights);
  const ruleset = c.syscall(CREATE_RULESET, addressOf(attributes), 8n, 0n, 0n);
  if (ruleset < 0n) fail("cannot make a Landlock ruleset");
  for (const path of read) allow(ruleset, path, rights & READ);
  for (const path of write) allow(ruleset, path, rights);
  c.prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n);
  if (c.syscall(RESTRICT_SELF, ruleset, 0n, 0n, 0n) < 0n) fail("cannot apply Landlock");
  c.close(Number(ruleset));
}

/** A path that does not exist needs no rule. */
function allow(ruleset: bigint, path: string, rights: bigint): void {
  const fd = c.open(text(path), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  const rule = Buffer.alloc(12);
  rule.writeInt32LE(fd, 8);
  for (const allowed of [rights, rights & ON_FILES]) {
    rule.writeBigUInt64LE(allowed);
    // Rights to folders cannot be given for a file, so only file rights are given.
    if (c.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, addressOf(rule), 0n) === 0n) break;
  }
  c.close(fd);
}

/** Opens listeners in the sandbox's own network, and passes them to the process that made the sandbox. */
async function handOutListeners(ports: readonly number[], isLast: boolean): Promise<void> {
  // Named ports first, so that none of them is picked for another listener.
  const named = new Map<number, Server>();
  for (const port of ports.filter((one) => one !== 0)) named.set(port, await listening(port));
  const listeners: Server[] = [];
  for (const port of ports) listeners.push(named.get(port) ?? (await listening(port)));
  for (const [index, listener] of listeners.entries()) {
    await handOut({ isLast: isLast && index === ports.length - 1 }, listener);
    // This process accepts no connections of it.
    listener.close();
  }
}

/** The other side confirms that it has it. */
async function handOut(said: HandleMessage, handle?: Server | Socket): Promise<void> {
  const taken = new Promise((resolve) => process.once("message", resolve));
  await new Promise<void>((resolve, reject) => {
    process.send?.(said, handle, {}, (error) => (error === null ? resolve() : reject(error)));
  });
  await taken;
}

/** Connects to ports of the sandbox's network, one after the other, until its input ends. */
async function handOutConnections(): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    // Paused, since what is read here is lost for whoever gets it.
    const socket = connect(Number(line), "127.0.0.1").pause();
    const problem = await new Promise<string | undefined>((resolve) => {
      socket.once("connect", () => resolve(undefined));
      socket.once("error", ({ message }) => resolve(message));
    });
    if (problem === undefined) await handOut({ isLast: false }, socket);
    else await handOut({ isLast: false, problem });
  }
  process.exit(0);
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.once("error", ({ message }) => fail(`cannot listen in the sandbox: ${message}`));
    server.listen(port, "127.0.0.1", resolve);
  });
  return server;
}

const entry = JSON.parse(process.argv[2] ?? "") as EnterInput;
const { program, args, cwd, landlock, ports } = entry;
try {
  process.chdir(cwd);
} catch {
  fail(`cannot enter the folder '${cwd}' in the sandbox`);
}
const all = Object.entries({ ...process.env, ...entry.variables });
const variables = new Map(all.map(([name, value]) => [name, value ?? ""]));
if (process.send !== undefined) {
  await handOutListeners(ports, program !== undefined);
  if (program === undefined) await handOutConnections();
  const { fd } = process.channel as unknown as { fd: number };
  c.close(fd);
}
if (program === undefined) fail("there is no program");
variables.delete("NODE_CHANNEL_FD");
variables.delete("NODE_CHANNEL_SERIALIZATION_MODE");
if (landlock !== undefined) restrict(landlock);
// Node sets close-on-exec on its standard streams, which the program needs.
for (const fd of [0, 1, 2]) c.fcntl(fd, F_SETFD, 0n);
// Node ignores it, and execve keeps ignored signals ignored.
c.signal(SIGPIPE, DEFAULT_ACTION);
c.execve(
  text(program),
  list([program, ...args]),
  list(Array.from(variables, (it) => it.join("="))),
);
fail(`cannot start '${program}' in the sandbox`);
