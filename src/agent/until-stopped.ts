import type { Stop } from "../base/stop.ts";

/** Waits for work, but no longer than until it is called off: then rejects with the reason. */
export function untilStopped<T>(stop: Stop, work: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>();
  const listener = { stopped: (reason: Error) => over.reject(reason) };
  stop.add(listener);
  return Promise.race([work, over.promise]).finally(() => stop.remove(listener));
}
