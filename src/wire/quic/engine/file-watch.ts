import { dlopen } from "node:ffi";
import { addressOf, fixedBuffer, type Pointer } from "../../../base/process/native-memory.ts";
import { native } from "./native.ts";

/** Files that are waited for until one has something to read, or takes more to write. */
export interface FileWatch {
  awaitInput(fd: number): void;
  awaitRoom(fd: number): void;
  /** Also of one that was closed. */
  forget(fd: number): void;
  /** Waits so many milliseconds at most, -1 without end, and names the files for which it was. */
  wait(milliseconds: number): readonly number[];
}

const IN = 1;
const OUT = 4;

/** The system's own list, where there is one: then a turn costs the same with however many files. */
export function watchFiles(): FileWatch {
  const epoll = loadEpoll();
  return epoll === undefined ? new PollWatch() : new EpollWatch(epoll);
}

const EPOLL = {
  epoll_create1: { arguments: ["i32"], return: "i32" },
  epoll_ctl: { arguments: ["i32", "i32", "i32", "pointer"], return: "i32" },
  epoll_wait: { arguments: ["i32", "pointer", "i32", "i32"], return: "i32" },
} as const;

type Epoll = NonNullable<ReturnType<typeof loadEpoll>>;

function loadEpoll() {
  return process.platform === "linux" ? dlopen(null, EPOLL).functions : undefined;
}

const CLOSE_ON_EXEC = 0x80000;
const ADD = 1;
const REMOVE = 2;
/** What is left over comes with the next turn. */
const MOST_READY = 256;
/** The kernel packs its events on this processor alone. */
const DATA = process.arch === "x64" ? 4 : 8;
const SIZE = DATA + 8;

class EpollWatch implements FileWatch {
  readonly #epoll: Epoll;
  readonly #fd: number;
  readonly #event = fixedBuffer(SIZE);
  readonly #eventAddress = addressOf(this.#event);
  readonly #ready = fixedBuffer(SIZE * MOST_READY);
  readonly #readyAddress: Pointer = addressOf(this.#ready);

  constructor(epoll: Epoll) {
    this.#epoll = epoll;
    this.#fd = epoll.epoll_create1(CLOSE_ON_EXEC);
    if (this.#fd < 0) throw new Error("The system has no files left");
  }

  awaitInput(fd: number): void {
    this.#control(ADD, fd, IN);
  }

  awaitRoom(fd: number): void {
    this.#control(ADD, fd, OUT);
  }

  forget(fd: number): void {
    this.#control(REMOVE, fd, 0);
  }

  wait(milliseconds: number): readonly number[] {
    const count = this.#epoll.epoll_wait(this.#fd, this.#readyAddress, MOST_READY, milliseconds);
    const ready: number[] = [];
    for (let at = DATA; ready.length < count; at += SIZE) ready.push(this.#ready.readInt32LE(at));
    return ready;
  }

  #control(operation: number, fd: number, events: number): void {
    this.#event.writeUInt32LE(events);
    this.#event.writeInt32LE(fd, DATA);
    this.#epoll.epoll_ctl(this.#fd, operation, fd, this.#eventAddress);
  }
}

const ITEM = 8;
const HAPPENED = 6;

/** Anywhere else: asks about all of them at every turn. */
class PollWatch implements FileWatch {
  readonly #files = new Map<number, number>();

  awaitInput(fd: number): void {
    this.#files.set(fd, IN);
  }

  awaitRoom(fd: number): void {
    this.#files.set(fd, OUT);
  }

  forget(fd: number): void {
    this.#files.delete(fd);
  }

  wait(milliseconds: number): readonly number[] {
    const files = [...this.#files];
    const items = fixedBuffer(ITEM * files.length);
    for (const [index, [fd, events]] of files.entries()) {
      items.writeInt32LE(fd, index * ITEM);
      items.writeUInt16LE(events, index * ITEM + 4);
    }
    native.poll(addressOf(items), BigInt(files.length), milliseconds);
    const happened = (_: unknown, index: number): boolean =>
      items.readUInt16LE(index * ITEM + HAPPENED) !== 0;
    return files.filter(happened).map(([fd]) => fd);
  }
}
