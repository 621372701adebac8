import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { resolve, sep } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** How a call to the disk fails. "torn": the first half of what is written gets there. */
export type Fault = "ENOSPC" | "EIO" | "SQLITE_BUSY" | "torn";

export interface DiskCall {
  readonly operation: string;
  readonly path: string;
}

type Any = (...args: never[]) => unknown;

const SQLITE_ERRORS = {
  ENOSPC: [13, "database or disk is full"],
  EIO: [778, "disk I/O error"],
  torn: [778, "disk I/O error"],
  SQLITE_BUSY: [5, "database is locked"],
} as const;

// oxlint-disable-next-line typescript/unbound-method
const EXEC = DatabaseSync.prototype.exec;

/** Calls that take a path. Of what writes there, half may be written. */
const BY_PATH = [
  "openSync",
  "mkdirSync",
  "renameSync",
  "readFileSync",
  "writeFileSync",
  "appendFileSync",
  "copyFileSync",
  "linkSync",
  "rmSync",
  "unlinkSync",
] as const;
const BY_DESCRIPTOR = ["writeSync", "fsyncSync", "readSync"] as const;
const PROMISED = ["open", "mkdir", "rename", "readFile", "writeFile", "appendFile", "rm"] as const;
const OF_HANDLES = ["write", "writeFile", "appendFile", "sync", "datasync", "readFile"] as const;

/**
 * Makes the disk fail for this process: whatever is opened, read or written in a folder, by files or
 * by SQLite, passes `decide` first. It stands between the program and Node, so that the program
 * needs no door for it and no call can be forgotten. Real disks do the same; they cannot be told to
 * fail the seventh call.
 */
export class DiskFaults implements Disposable {
  /** What has passed since it was last emptied. */
  calls: DiskCall[] = [];
  decide: (call: DiskCall, index: number) => Fault | undefined = () => undefined;
  readonly #folder: string;
  readonly #restores: (() => void)[] = [];
  readonly #descriptors = new Map<number, string>();
  /** Descriptors that took half of something, and have no room for the rest. */
  readonly #full = new Set<number>();
  /** Milliseconds that the clock was put forward: whoever waits for a lock gives up at once. */
  #late = 0;

  constructor(folder: string) {
    this.#folder = resolve(folder);
    this.#patchFiles();
    this.#patchDescriptors();
    this.#patchPromises();
    this.#patchSqlite();
    const now = Date.now;
    this.#replace(Date as never, "now", () => now() + this.#late);
    syncBuiltinESMExports();
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restores.toReversed()) restore();
    syncBuiltinESMExports();
  }

  /** What is to become of a call: undefined where it is to be made. */
  #pass(operation: string, path: unknown): Fault | undefined {
    if (!this.#isOurs(path)) return undefined;
    const call = { operation, path: String(path) };
    const index = this.calls.push(call) - 1;
    return this.decide(call, index);
  }

  #isOurs(path: unknown): boolean {
    if (typeof path !== "string") return false;
    const whole = resolve(path);
    return whole === this.#folder || whole.startsWith(this.#folder + sep);
  }

  #replace(target: Record<string, Any>, name: string, by: Any): void {
    const before = target[name];
    if (before === undefined) throw new Error(`There is no '${name}'`);
    target[name] = by;
    this.#restores.push(() => (target[name] = before));
  }

  #patchFiles(): void {
    const target = fs as unknown as Record<string, Any>;
    for (const name of BY_PATH) {
      const real = target[name] as (...args: unknown[]) => unknown;
      this.#replace(target, name, (...args: unknown[]) => {
        const fault = this.#pass(name, args[0]);
        if (fault !== undefined) throw this.#fileError(fault, name, args, real);
        const result = real(...args);
        if (name === "openSync" && this.#isOurs(args[0])) {
          this.#opened(result as number, String(args[0]));
        }
        return result;
      });
    }
  }

  #patchDescriptors(): void {
    const target = fs as unknown as Record<string, Any>;
    for (const name of BY_DESCRIPTOR) {
      const real = target[name] as (...args: unknown[]) => unknown;
      this.#replace(target, name, (descriptor: number, ...args: unknown[]) => {
        if (this.#full.delete(descriptor)) throw fileError("ENOSPC", name);
        const fault = this.#pass(name, this.#descriptors.get(descriptor));
        if (fault === undefined || fault === "SQLITE_BUSY") return real(descriptor, ...args);
        if (fault !== "torn" || name !== "writeSync") throw fileError(errorOf(fault), name);
        this.#full.add(descriptor);
        const bytes = Buffer.from(args[0] as string);
        const part = bytes.subarray(0, Math.ceil(bytes.length / 2));
        return real(descriptor, part, 0, part.length, args[3] ?? null);
      });
    }
    const close = fs.closeSync;
    this.#replace(target, "closeSync", (descriptor: number) => {
      this.#descriptors.delete(descriptor);
      this.#full.delete(descriptor);
      close(descriptor);
    });
  }

  #opened(descriptor: number, path: string): void {
    this.#full.delete(descriptor);
    this.#descriptors.set(descriptor, path);
  }

  #patchPromises(): void {
    const target = fs.promises as unknown as Record<string, Any>;
    for (const name of PROMISED) {
      const real = target[name] as (...args: unknown[]) => Promise<unknown>;
      this.#replace(target, name, async (...args: unknown[]) => {
        const fault = this.#pass(name, args[0]);
        if (fault !== undefined) {
          const half = (...given: unknown[]) =>
            fs.writeFileSync(given[0] as string, given[1] as "");
          throw this.#fileError(fault, name, args, half);
        }
        const result = await real(...args);
        if (name === "open" && this.#isOurs(args[0])) {
          this.#watchHandle(result as Record<string, Any>, String(args[0]));
        }
        return result;
      });
    }
  }

  #watchHandle(handle: Record<string, Any>, path: string): void {
    for (const name of OF_HANDLES) {
      const real = (handle[name] as (...args: unknown[]) => Promise<unknown>).bind(handle);
      handle[name] = async (...args: unknown[]) => {
        const fault = this.#pass(name, path);
        if (fault === undefined || fault === "SQLITE_BUSY") return real(...args);
        if (fault === "torn" && name === "writeFile") await real(half(args[0]));
        throw fileError(errorOf(fault), name);
      };
    }
  }

  #patchSqlite(): void {
    const check = (database: DatabaseSync, operation: string): void =>
      this.#sqlite(operation, database);
    const target = DatabaseSync.prototype as unknown as Record<string, Any>;
    // oxlint-disable-next-line typescript/unbound-method
    const { prepare } = DatabaseSync.prototype;
    this.#replace(target, "exec", function (this: DatabaseSync, sql: string) {
      check(this, sql.trim().split("\n")[0]?.slice(0, 40) ?? "");
      EXEC.call(this, sql);
    });
    this.#replace(target, "prepare", function (this: DatabaseSync, sql: string) {
      const statement = prepare.call(this, sql);
      for (const name of ["run", "get", "all", "iterate"] as const) {
        const real = (statement[name] as (...args: unknown[]) => unknown).bind(statement);
        Object.defineProperty(statement, name, {
          value: (...args: unknown[]) => {
            check(this, `${name} ${sql.trim().slice(0, 30)}`);
            return real(...args);
          },
        });
      }
      return statement;
    });
    // oxlint-disable-next-line typescript/unbound-method
    const { createTagStore } = DatabaseSync.prototype;
    this.#replace(target, "createTagStore", function (this: DatabaseSync) {
      const store = createTagStore.call(this);
      for (const name of ["run", "get", "all", "iterate"] as const) {
        const real = (store[name] as (...args: unknown[]) => unknown).bind(store);
        Object.defineProperty(store, name, {
          value: (text: TemplateStringsArray, ...args: unknown[]) => {
            check(this, `${name} ${text.join("?").slice(0, 30)}`);
            return real(text, ...args);
          },
        });
      }
      return store;
    });
  }

  #sqlite(operation: string, database: DatabaseSync): void {
    const fault = this.#pass(operation, database.location());
    if (fault === undefined) return;
    // SQLite itself rolls back what it cannot commit, and ends what it is told to roll back.
    if (operation === "ROLLBACK" || (operation === "COMMIT" && fault !== "SQLITE_BUSY")) {
      EXEC.call(database, "ROLLBACK");
    }
    if (fault === "SQLITE_BUSY") this.#late += 11_000;
    const [errcode, errstr] = SQLITE_ERRORS[fault];
    throw Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
  }

  #fileError(fault: Fault, name: string, args: unknown[], write: (...args: never[]) => unknown) {
    if (fault === "torn" && /^(?:write|append)File/.test(name)) {
      write(args[0] as never, half(args[1]) as never, args[2] as never);
    }
    return fileError(errorOf(fault), name, String(args[0]));
  }
}

function half(data: unknown): Buffer {
  const bytes = Buffer.from(data as string);
  return bytes.subarray(0, Math.floor(bytes.length / 2));
}

function errorOf(fault: Fault): "ENOSPC" | "EIO" {
  return fault === "EIO" ? "EIO" : "ENOSPC";
}

function fileError(code: "ENOSPC" | "EIO", call: string, path?: string): NodeJS.ErrnoException {
  const says = code === "EIO" ? "i/o error" : "no space left on device";
  const syscall = call.replace(/Sync$/, "");
  const shown = path === undefined ? "" : ` '${path}'`;
  const errno = code === "EIO" ? -5 : -28;
  return Object.assign(new Error(`${code}: ${says}, ${syscall}${shown}`), {
    code,
    errno,
    syscall,
    ...(path === undefined ? {} : { path }),
  });
}
