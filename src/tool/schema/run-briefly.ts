import { createContext, Script } from "node:vm";

const room = createContext({ work: undefined });
const script = new Script("work()");

/**
 * Runs something synchronous that must not take long, and stops it when it does, even in the middle
 * of a regular expression. Undefined when it was stopped. It costs a thread for a moment, some
 * 200 µs: too much for what cannot take long.
 */
export function runBriefly<T extends object>(milliseconds: number, work: () => T): T | undefined {
  try {
    room.work = work;
    return script.runInContext(room, { timeout: milliseconds }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw error;
  } finally {
    room.work = undefined;
  }
}
