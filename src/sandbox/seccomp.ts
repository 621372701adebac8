import { TrunklineError } from "../base/errors.ts";

/** The numbers of the filter's system calls on one processor architecture. */
interface Architecture {
  /** The value in `seccomp_data.arch`. */
  readonly audit: number;
  readonly numbers: Readonly<Record<SystemCall, number>>;
  /** Numbers from here on belong to a second calling convention, which the filter refuses. */
  readonly foreign?: number;
}

/** Calls that no program in a sandbox needs, and that were used to escape from one. */
const DENIED = [
  "acct",
  "add_key",
  "adjtimex",
  "bpf",
  "chroot",
  "clock_adjtime",
  "clock_settime",
  "delete_module",
  "fanotify_init",
  "finit_module",
  "fsconfig",
  "fsmount",
  "fsopen",
  "fspick",
  "init_module",
  "io_uring_enter",
  "io_uring_register",
  "io_uring_setup",
  "kexec_file_load",
  "kexec_load",
  "keyctl",
  "lookup_dcookie",
  "mbind",
  "migrate_pages",
  "mount",
  "mount_setattr",
  "move_mount",
  "move_pages",
  "name_to_handle_at",
  "nfsservctl",
  "open_by_handle_at",
  "open_tree",
  "perf_event_open",
  "pidfd_getfd",
  "pivot_root",
  "quotactl",
  "quotactl_fd",
  "reboot",
  "request_key",
  "set_mempolicy",
  "setdomainname",
  "sethostname",
  "setns",
  "settimeofday",
  "swapoff",
  "swapon",
  "syslog",
  "umount2",
  "unshare",
  "userfaultfd",
  "vhangup",
] as const;

type SystemCall = (typeof DENIED)[number] | "clone" | "clone3" | "ioctl" | "socket";

/** Those that have the same number on every processor. */
const COMMON = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
};

const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
  x64: {
    audit: 0xc000003e,
    foreign: 0x40000000,
    numbers: {
      ...COMMON,
      acct: 163,
      add_key: 248,
      adjtimex: 159,
      bpf: 321,
      chroot: 161,
      clock_adjtime: 305,
      clock_settime: 227,
      clone: 56,
      delete_module: 176,
      fanotify_init: 300,
      finit_module: 313,
      init_module: 175,
      ioctl: 16,
      kexec_file_load: 320,
      kexec_load: 246,
      keyctl: 250,
      lookup_dcookie: 212,
      mbind: 237,
      migrate_pages: 256,
      mount: 165,
      move_pages: 279,
      name_to_handle_at: 303,
      nfsservctl: 180,
      open_by_handle_at: 304,
      perf_event_open: 298,
      pivot_root: 155,
      quotactl: 179,
      reboot: 169,
      request_key: 249,
      set_mempolicy: 238,
      setdomainname: 171,
      sethostname: 170,
      setns: 308,
      settimeofday: 164,
      socket: 41,
      swapoff: 168,
      swapon: 167,
      syslog: 103,
      umount2: 166,
      unshare: 272,
      userfaultfd: 323,
      vhangup: 153,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    numbers: {
      ...COMMON,
      acct: 89,
      add_key: 217,
      adjtimex: 171,
      bpf: 280,
      chroot: 51,
      clock_adjtime: 266,
      clock_settime: 112,
      clone: 220,
      delete_module: 106,
      fanotify_init: 262,
      finit_module: 273,
      init_module: 105,
      ioctl: 29,
      kexec_file_load: 294,
      kexec_load: 104,
      keyctl: 219,
      lookup_dcookie: 18,
      mbind: 235,
      migrate_pages: 238,
      mount: 40,
      move_pages: 239,
      name_to_handle_at: 264,
      nfsservctl: 42,
      open_by_handle_at: 265,
      perf_event_open: 241,
      pivot_root: 41,
      quotactl: 60,
      reboot: 142,
      request_key: 218,
      set_mempolicy: 237,
      setdomainname: 162,
      sethostname: 161,
      setns: 268,
      settimeofday: 170,
      socket: 198,
      swapoff: 225,
      swapon: 224,
      syslog: 116,
      umount2: 39,
      unshare: 97,
      userfaultfd: 282,
      vhangup: 58,
    },
  },
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

function programFor({ audit, numbers, foreign }: Architecture): Instruction[] {
  const { clone, clone3, ioctl, socket } = numbers;
  return [
    load(ARCH),
    ...unless(JUMP_IF_EQUAL, audit, [answer(KILL_PROCESS)]),
    load(NUMBER),
    ...(foreign === undefined ? [] : when(JUMP_IF_AT_LEAST, foreign, [refuse(ENOSYS)])),
    ...DENIED.flatMap((name) => when(JUMP_IF_EQUAL, numbers[name], [refuse(EPERM)])),
    // Its flags are behind a pointer, which a filter cannot read. Programs fall back to clone.
    ...when(JUMP_IF_EQUAL, clone3, [refuse(ENOSYS)]),
    ...when(JUMP_IF_EQUAL, clone, [
      load(argument(0)),
      ...when(JUMP_IF_ANY_BIT, NEW_NAMESPACES, [refuse(EPERM)]),
      answer(ALLOW),
    ]),
    ...when(JUMP_IF_EQUAL, ioctl, [
      load(argument(1)),
      ...when(JUMP_IF_EQUAL, TIOCSTI, [refuse(EPERM)]),
      ...when(JUMP_IF_EQUAL, TIOCLINUX, [refuse(EPERM)]),
      answer(ALLOW),
    ]),
    ...when(JUMP_IF_EQUAL, socket, [
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
