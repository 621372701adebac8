/** npm passes a terminal's Ctrl-C on to a program that has it already. */
const ECHO_MS = 1_000;

/**
 * Resolves with the first request to stop. A second one, later than an echo of the first, means
 * that stopping takes too long for the person who asked: the process ends at once.
 */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      askedAt ??= performance.now();
      if (performance.now() - askedAt > ECHO_MS) process.exit(1);
      resolve(signal);
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    process.on("SIGHUP", stop);
  });
}
