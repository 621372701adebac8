import { type AsyncHook, createHook } from "node:async_hooks";
import { readdirSync, readlinkSync } from "node:fs";

/** What keeps a process alive, as async_hooks names it. */
const TYPES: Readonly<Record<string, string>> = {
  FSEVENTWRAP: "watched file",
  PIPESERVERWRAP: "listening pipe",
  PIPEWRAP: "pipe",
  PROCESSWRAP: "child process",
  STATWATCHER: "watched file",
  TCPSERVERWRAP: "listening socket",
  TCPWRAP: "socket",
  Timeout: "timer",
  UDPWRAP: "UDP socket",
  WORKER: "worker thread",
};

/**
 * Who starts children that may live as long as this process: one ends what is left when that dies,
 * the others start programs.
 */
const FOR_LIFE = ["/src/base/process/watchdog.ts", "/src/git/program-shell.ts"];

interface Handle {
  readonly type: string;
  /** Node's own object for it. */
  readonly resource: { readonly fd?: number; readonly pid?: number; hasRef?(): boolean };
  readonly made: Error;
}

/** Knows every timer, socket and other handle that this process opens from now on, and who did it. */
export class OpenHandles {
  readonly #handles = new Map<number, Handle>();
  readonly #socketsBefore: ReadonlySet<string>;
  readonly #hook: AsyncHook;
  #isWatching = true;

  constructor() {
    // These are opened when they are first used, and stay.
    void [process.stdout, process.stderr];
    this.#socketsBefore = new Set(openSockets().values());
    this.#hook = createHook({
      init: (id, type, _, resource) => {
        if (this.#isWatching && type in TYPES) {
          this.#handles.set(id, { type, resource, made: new Error("made") });
        }
      },
      destroy: (id) => void this.#handles.delete(id),
      trackPromises: false,
    }).enable();
  }

  /** What is opened from here on is not meant. */
  ignoreNew(): void {
    this.#isWatching = false;
  }

  /** What is closed from here on is not noted either. */
  stop(): void {
    this.#hook.disable();
  }

  /** The children that end with this process, and not before. */
  childrenForLife(): Set<number | undefined> {
    const handles = [...this.#handles.values()].filter(isForLife);
    return new Set(handles.map(({ resource }) => resource.pid));
  }

  timers(): string[] {
    return this.#left(({ type }) => type === "Timeout");
  }

  /** Also those sockets that would let the process end. */
  others(): string[] {
    const sockets = openSockets();
    const known = new Set<string>();
    const left = this.#left(({ type, resource: { fd = -1 } }) => {
      const socket = sockets.get(fd) ?? "";
      known.add(socket);
      return type !== "Timeout" && !this.#socketsBefore.has(socket);
    }, sockets);
    const unknown = [...sockets].filter(
      ([, socket]) => !this.#socketsBefore.has(socket) && !known.has(socket),
    );
    return [
      ...left,
      ...unknown.map(([fd]) => `socket with descriptor ${fd}, opened by native code`),
    ];
  }

  #left(isMeant: (handle: Handle) => boolean, sockets = new Map<number, string>()): string[] {
    return [...this.#handles.values()]
      .filter(isMeant)
      .filter((handle) => !isForLife(handle))
      .filter(({ resource }) => resource.hasRef?.() === true || sockets.has(resource.fd ?? -1))
      .map(({ type, made }) => `${TYPES[type]}${whereFrom(made)}`);
  }
}

/** One that has something to do at the moment keeps this process alive, as any other. */
function isForLife({ made: { stack = "" }, resource }: Handle): boolean {
  return resource.hasRef?.() !== true && FOR_LIFE.some((file) => stack.includes(file));
}

/** The sockets of this process by descriptor. Only Linux tells. */
function openSockets(): Map<number, string> {
  const found = new Map<number, string>();
  if (process.platform !== "linux") return found;
  for (const name of readdirSync("/proc/self/fd")) {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      if (target.startsWith("socket:")) found.set(Number(name), target);
    } catch {
      // That was the descriptor of the folder that we read.
    }
  }
  return found;
}

/** The lines of ours in the stack, or the last of Node's where none is. */
function whereFrom({ stack = "" }: Error): string {
  const lines = stack.split("\n").filter((line) => line.startsWith("    at "));
  const ours = lines.filter((line) => !/\(?node:|open-handles\.ts/.test(line));
  return (ours.length > 0 ? ours.slice(0, 4) : lines.slice(-3))
    .map((line) => `\n  ${line}`)
    .join("");
}
