import { TrunklineError } from "../base/errors.ts";

/** The number of a system call on x64, and on arm64. */
type SyscallNumbers = readonly [x64: number, arm64: number];

/** Calls that no program in a sandbox needs, and that were used to escape from one. */
const DENIED: Readonly<Record<string, SyscallNumbers>> = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  mbind: [237, 235],
  migrate_pages: [256, 238],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  name_to_handle_at: [303, 264],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  set_mempolicy: [238, 237],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vhangup: [153, 58],
};

/** Calls that are refused with certain arguments only. */
const CLONE: SyscallNumbers = [56, 220];
const CLONE3: SyscallNumbers = [435, 435];
const IOCTL: SyscallNumbers = [16, 29];
const SOCKET: SyscallNumbers = [41, 198];

/** A processor architecture. */
interface Architecture {
  /** Which of the numbers of a call is its own. */
  readonly column: 0 | 1;
  /** The value in `seccomp_data.arch`. */
  readonly audit: number;
  /** Numbers from here on belong to a second calling convention, which the filter refuses. */
  readonly foreign?: number;
}

const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
  x64: { column: 0, audit: 0xc000003e, foreign: 0x40000000 },
  arm64: { column: 1, audit: 0xc00000b7 },
};

// linux/bpf_common.h and linux/seccomp.h
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERRNO = 0x00050000;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in `seccomp_data`; of an argument, its lower half. */
const NUMBER = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e020000;
/** Inserts characters into the terminal's input, as if a person had typed them. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK, which tells what network interfaces there are. */
const FAMILIES = [1, 2, 10, 16];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/**
 * A filter of system calls, in the kernel's format (`struct sock_filter[]`): new namespaces, mounts,
 * keys, kernel modules, io_uring and the like are refused. Throws "unavailable" on a processor whose
 * numbers we do not know.
 */
export function seccompFilter(arch: NodeJS.Architecture = process.arch): Buffer {
  const known = ARCHITECTURES[arch];
  if (known === undefined) {
    const why = `the system call numbers of '${arch}' are not known`;
    throw new TrunklineError("unavailable", `Cannot make a seccomp filter: ${why}.`);
  }
  return assemble(programFor(known));
}

function programFor({ column, audit, foreign }: Architecture): Instruction[] {
  return [
    load(ARCH),
    ...unless(JUMP_IF_EQUAL, audit, [answer(KILL_PROCESS)]),
    load(NUMBER),
    ...(foreign === undefined ? [] : when(JUMP_IF_AT_LEAST, foreign, [refuse(ENOSYS)])),
    ...Object.values(DENIED).flatMap((call) => {
      return when(JUMP_IF_EQUAL, call[column], [refuse(EPERM)]);
    }),
    // Its flags are behind a pointer, which a filter cannot read. Programs fall back to clone.
    ...when(JUMP_IF_EQUAL, CLONE3[column], [refuse(ENOSYS)]),
    ...when(JUMP_IF_EQUAL, CLONE[column], [
      load(argument(0)),
      ...when(JUMP_IF_ANY_BIT, NEW_NAMESPACES, [refuse(EPERM)]),
      answer(ALLOW),
    ]),
    ...when(JUMP_IF_EQUAL, IOCTL[column], [
      load(argument(1)),
      ...when(JUMP_IF_EQUAL, TIOCSTI, [refuse(EPERM)]),
      ...when(JUMP_IF_EQUAL, TIOCLINUX, [refuse(EPERM)]),
      answer(ALLOW),
    ]),
    ...when(JUMP_IF_EQUAL, SOCKET[column], [
      load(argument(0)),
      ...FAMILIES.flatMap((family) => when(JUMP_IF_EQUAL, family, [answer(ALLOW)])),
      refuse(EAFNOSUPPORT),
    ]),
    answer(ALLOW),
  ];
}

function load(offset: number): Instruction {
  return [LOAD_WORD, 0, 0, offset];
}

function answer(action: number): Instruction {
  return [RETURN, 0, 0, action];
}

function refuse(errno: number): Instruction {
  return answer(ERRNO | errno);
}

function when(test: number, operand: number, body: readonly Instruction[]): Instruction[] {
  return [[test, 0, body.length, operand], ...body];
}

function unless(test: number, operand: number, body: readonly Instruction[]): Instruction[] {
  return [[test, body.length, 0, operand], ...body];
}

/** Eight bytes an instruction; a jump reaches 255 of them. */
function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  }
  return bytes;
}
