import { TrunklineError } from "../base/errors.ts";

/** What runs first in a sandbox: it restricts itself, and becomes the actual program. */
export interface Launch {
  /** An absolute path, because PATH is not searched. */
  readonly program: string;
  readonly args: readonly string[];
  /** Entered as the program's user: root without its capabilities may not enter it. */
  readonly cwd: string;
  /** Environment variables of the program, and of nothing that runs before it. */
  readonly variables: Readonly<Record<string, string>>;
  /** A listener in the sandbox's own network, which is passed out on the descriptor of `child_process`. */
  readonly listener?: { readonly port: number; readonly channel: number } | undefined;
  readonly landlock?: LandlockRules | undefined;
}

/** A second barrier, in case the first has a hole: paths that are not listed cannot be opened. */
export interface LandlockRules {
  readonly rights: LandlockRights;
  /** Paths that may be read and paths that may be changed, each with everything in it. */
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** How many rights to files kernels know: ABI 1 has 13; 2 adds linking across folders, 3 truncating, 5 ioctl. */
export const LANDLOCK_RIGHTS = [16, 15, 14, 13] as const;
export type LandlockRights = (typeof LANDLOCK_RIGHTS)[number];

/** What is said where a kernel knows fewer rights than these, or none. */
export const NO_LANDLOCK = "Landlock cannot be had, or not with as many rights";

// linux/landlock.h
const EXECUTE = 1n << 0n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const READ = EXECUTE | READ_FILE | READ_DIR;
/** Rights that apply to a file as well as to a folder: execute, write, read, truncate, ioctl. */
const ON_FILES = EXECUTE | (1n << 1n) | READ_FILE | (1n << 14n) | (1n << 15n);
const RULE_PATH_BENEATH = 1;

const AT_FDCWD = -100;
const O_PATH = 0x200000;
const CLOEXEC = 0x80000;
const PR_SET_NO_NEW_PRIVS = 38;
const [AF_INET, SOCK_STREAM, SOL_SOCKET, SCM_RIGHTS] = [2, 1, 1, 1] as const;
const MSG_NOSIGNAL = 0x4000;
const BACKLOG = 511;
const STDERR = 2;
const FAILED = 126;
/** A descriptor that nothing else has. What has it is closed when the program begins. */
const OPENED = 200;

/**
 * Makes calls of the system, one after the other. The code appends the environment that it is started with
 * to the variables that are there. Then, for each call, it loads the number and five arguments, stores the
 * result where the call says, and goes on with one of the two calls that it names.
 *
 *     x64                               arm64
 *     mov  rax, [rsp]                   ldr  x0, [sp]
 *     lea  rsi, [rsp+rax*8+16]          add  x1, sp, x0, lsl #3; add x1, x1, #16
 *     mov  rdi, [0x10000200]            movz x9, #0x200; movk x9, #0x1000, lsl #16; ldp x2, x9, [x9]
 *  1: mov  rax, [rsi]                1: ldr  x0, [x1], #8
 *     mov  [rdi], rax                   str  x0, [x2], #8
 *     add  rsi, 8; add rdi, 8
 *     test rax, rax; jnz 1b             cbnz x0, 1b
 *     mov  rbx, [0x10000208]
 *  2: mov  rax, [rbx]                2: ldp  x8, x0, [x9]
 *     mov  rdi, [rbx+8]                 ldp  x1, x2, [x9, #16]
 *     mov  rsi, [rbx+16]                ldp  x3, x4, [x9, #32]
 *     mov  rdx, [rbx+24]
 *     mov  r10, [rbx+32]
 *     mov  r8,  [rbx+40]
 *     syscall                           svc  #0
 *     mov  rcx, [rbx+48]                ldr  x10, [x9, #48]
 *     mov  [rcx], eax                   str  w0, [x10]
 *     mov  rcx, [rbx+64]                ldp  x11, x12, [x9, #56]
 *     mov  rbx, [rbx+56]
 *     test rax, rax                     cmp  x0, #0
 *     cmovs rbx, rcx; jmp 2b            csel x9, x12, x11, lt; b 2b
 */
const PROCESSORS = {
  x64: {
    machine: 62,
    code: "488b0424488d74c410488b3c2500020010488b064889074883c6084883c7084885c075ed488b1c2508020010488b03488b7b08488b7310488b53184c8b53204c8b43280f05488b4b308901488b4b40488b5b384885c0480f48d9ebd0",
    directory: 0x10000,
    calls: {
      ...{ write: 1, close: 3, socket: 41, sendmsg: 46, bind: 49, listen: 50, execve: 59 },
      ...{ chdir: 80, prctl: 157, exit_group: 231, openat: 257, dup3: 292 },
    },
  },
  arm64: {
    machine: 183,
    code: "e00340f9e16f208b21400091094080d20900a2f2222540a9208440f8408400f8c0ffffb5280140a9210941a9231142a9010000d42a1940f9400100b92bb143a91f0000f189b18b9af7ffff17",
    directory: 0x4000,
    calls: {
      ...{ write: 64, close: 57, socket: 198, sendmsg: 211, bind: 200, listen: 201, execve: 221 },
      ...{ chdir: 49, prctl: 167, exit_group: 94, openat: 56, dup3: 24 },
    },
  },
} as const;
const LANDLOCK = { create_ruleset: 444, add_rule: 445, restrict_self: 446 } as const;
const CLOSE_RANGE = 436;
const LAST_FD = 0xffffffff;

/** Where parts of the file are in memory. A page has up to 64 KiB, and is at the same place in both. */
const [CODE, CODE_AT] = [0x400000, 0x100] as const;
const DATA = 0x410000;
/** Two addresses, and those of the variables: where that of the next one goes, and the first call. */
const [ENVIRONMENT, ENVIRONMENT_AT, BEGIN] = [0x10000000, 0x200, 16] as const;
/** Memory for 524,288 more of them: the kernel passes on 6 MiB at most, of which each takes at least 13 bytes. */
const LONGEST_ENVIRONMENT = 0x400000;

interface Call {
  readonly number: number;
  readonly args: readonly number[];
  /** An address at which the result is stored. */
  readonly into?: number;
  /** Which of the calls after it gets the result as its first argument. */
  readonly passedTo?: number;
  /** How many of the calls after it are left out. */
  readonly ifDone?: number;
  readonly ifFailed?: number;
}

/** A call in memory: its number, five arguments, where the result goes, and the two calls after it. */
const CALL = 9 * 8;

/**
 * Makes an executable that becomes a program in a sandbox: a list of system calls, and a hundred bytes of
 * code that makes them. Bubblewrap knows none of these, and a program of Node takes longer to start than all
 * the rest. Throws "unavailable" on a processor whose code we do not have.
 */
export function launcher(launch: Launch, arch: NodeJS.Architecture = process.arch): Buffer {
  if (arch !== "x64" && arch !== "arm64") {
    const why = `there is no code for '${arch}'`;
    throw new TrunklineError("unavailable", `Cannot start programs in a sandbox: ${why}.`);
  }
  const { machine, code, directory, calls: numbers } = PROCESSORS[arch];
  const { program, cwd, listener, landlock } = launch;
  const variables = Object.entries(launch.variables).map((each) => each.join("="));
  /** Where the data begins in the file. */
  const dataAt = ENVIRONMENT_AT + BEGIN + 8 * variables.length;
  /** What is laid out so far. */
  const parts: Buffer[] = [];
  let size = 0;
  /** The address of what is laid out next. */
  const end = (): number => DATA + dataAt + size;

  /** Lays out some bytes. Returns their address. */
  const put = (bytes: Buffer): number => {
    const address = end();
    const padded = Buffer.concat([bytes], Math.ceil(bytes.length / 8) * 8);
    parts.push(padded);
    size += padded.length;
    return address;
  };
  const words = (values: readonly number[]): number => put(wordsOf(values));
  const text = (value: string): number => {
    if (!value.includes("\0")) return put(Buffer.from(`${value}\0`));
    // Without the text, which may be secret.
    const why = "its command line, its folder or a variable has a zero byte";
    throw new TrunklineError("usage", `Cannot start a program in a sandbox: ${why}.`);
  };

  /** A call without which nothing goes on. */
  const must = (problem: string, call: Call): Call[] => {
    const line = Buffer.from(`trunkline: ${problem}\n`);
    return [
      { ...call, ifDone: 2 },
      { number: numbers.write, args: [STDERR, put(line), line.length] },
      { number: numbers.exit_group, args: [FAILED] },
    ];
  };

  /** Opens a descriptor, which gets a number that is known now. */
  const open = (problem: string, call: Call): Call[] => {
    const move: Call = { number: numbers.dup3, args: [0, OPENED, CLOEXEC] };
    return [...must(problem, { ...call, passedTo: 3 }), ...must(problem, move)];
  };

  /** Opens a listener, and sends it as Node sends handles to its parent. */
  const handOut = ({ port, channel }: NonNullable<Launch["listener"]>): Call[] => {
    const problem = "cannot listen in the sandbox";
    const address = Buffer.from([AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1]);
    const said = { cmd: "NODE_HANDLE", type: "net.Server", msg: { isLast: true } };
    const line = Buffer.from(`${JSON.stringify(said)}\n`);
    // struct cmsghdr and struct msghdr, whose members are words or begin a word.
    const control = Buffer.alloc(24);
    for (const [index, each] of [20, 0, SOL_SOCKET, SCM_RIGHTS, OPENED].entries()) {
      control.writeUInt32LE(each, 4 * index);
    }
    const texts = words([put(line), line.length]);
    const message = words([0, 0, texts, 1, put(control), control.length, 0]);
    const name = [put(Buffer.concat([address], 16)), 16];
    return [
      ...open(problem, { number: numbers.socket, args: [AF_INET, SOCK_STREAM | CLOEXEC, 0] }),
      ...must(problem, { number: numbers.bind, args: [OPENED, ...name] }),
      ...must(problem, { number: numbers.listen, args: [OPENED, BACKLOG] }),
      ...must(problem, { number: numbers.sendmsg, args: [channel, message, MSG_NOSIGNAL] }),
      { number: numbers.close, args: [channel] },
    ];
  };

  /** A path that does not exist needs no rule. Rights to folders cannot be given for a file. */
  const allow = (path: string, rights: bigint): Call[] => {
    const at = text(path);
    const rule = (flags: number, allowed: bigint): [opened: Call, added: Call] => {
      const beneath = put(wordsOf([allowed, 0n]));
      const opened = { number: numbers.openat, args: [AT_FDCWD, at, O_PATH | CLOEXEC | flags] };
      return [
        { ...opened, into: beneath + 8, ifFailed: 1 },
        { number: LANDLOCK.add_rule, args: [OPENED, RULE_PATH_BENEATH, beneath, 0] },
      ];
    };
    const [opened, added] = rule(directory, rights);
    return [opened, { ...added, ifDone: 2, ifFailed: 2 }, ...rule(0, rights & ON_FILES)];
  };

  const restrict = ({ rights, read, write }: LandlockRules): Call[] => {
    const all = (1n << BigInt(rights)) - 1n;
    const made = { number: LANDLOCK.create_ruleset, args: [put(wordsOf([all])), 8, 0] };
    return [
      ...open(NO_LANDLOCK, made),
      ...read.flatMap((path) => allow(path, all & READ)),
      ...write.flatMap((path) => allow(path, all)),
      { number: numbers.prctl, args: [PR_SET_NO_NEW_PRIVS, 1] },
      ...must("cannot apply Landlock", { number: LANDLOCK.restrict_self, args: [OPENED, 0] }),
    ];
  };

  /** For results that nothing needs. */
  const nowhere = put(Buffer.alloc(8));
  const addresses = variables.map(text);
  const list = words([...[program, ...launch.args].map(text), 0]);
  const started = [text(program), list, ENVIRONMENT + ENVIRONMENT_AT + BEGIN];
  const all = [
    ...must(`cannot enter the folder '${cwd}' in the sandbox`, {
      number: numbers.chdir,
      args: [text(cwd)],
    }),
    ...(listener === undefined ? [] : handOut(listener)),
    ...(landlock === undefined ? [] : restrict(landlock)),
    // What whoever started us left open, such as a folder of the machine. Linux before 5.9 cannot.
    { number: CLOSE_RANGE, args: [STDERR + 1, LAST_FD] },
    ...must(`cannot start '${program}' in the sandbox`, { number: numbers.execve, args: started }),
  ];
  const first = end();
  for (const [at, call] of all.entries()) {
    const { number, args, into = nowhere, passedTo, ifDone = 0, ifFailed = 0 } = call;
    const after = (skipped: number): number => first + CALL * (at + 1 + skipped);
    const result = passedTo === undefined ? into : after(passedTo - 1) + 8;
    const whole = [...args, 0, 0, 0, 0].slice(0, 5);
    words([number, ...whole, result, after(ifDone), after(ifFailed)]);
  }
  const environment = wordsOf([ENVIRONMENT + dataAt, first, ...addresses]);

  const file = Buffer.alloc(dataAt);
  // elf(5): the header of the file, then one for each part of memory.
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20);
  file.set(wordsOf([CODE + CODE_AT, HEADER]), 24);
  for (const [index, each] of [HEADER, PART, PARTS].entries()) {
    file.writeUInt16LE(each, 52 + 2 * index);
  }
  const { length } = environment;
  for (const [index, [rights, at, used, base, more]] of [
    [READABLE | EXECUTABLE, 0, ENVIRONMENT_AT, CODE, 0] as const,
    [READABLE | WRITABLE, dataAt, size, DATA, 0] as const,
    [READABLE | WRITABLE, ENVIRONMENT_AT, length, ENVIRONMENT, LONGEST_ENVIRONMENT] as const,
  ].entries()) {
    const begin = HEADER + PART * index;
    file.writeUInt32LE(1, begin);
    file.writeUInt32LE(rights, begin + 4);
    file.set(wordsOf([at, base + at, base + at, used, used + more, LARGEST_PAGE]), begin + 8);
  }
  file.set(Buffer.from(code, "hex"), CODE_AT);
  file.set(environment, ENVIRONMENT_AT);
  return Buffer.concat([file, ...parts]);
}

const [HEADER, PART, PARTS] = [64, 56, 3] as const;
const LARGEST_PAGE = 0x10000;
const [EXECUTABLE, WRITABLE, READABLE] = [1, 2, 4] as const;

function wordsOf(values: readonly (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeBigInt64LE(BigInt(value), index * 8);
  return bytes;
}
