import { spawn } from "node:child_process";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Milliseconds until a signal is passed on. A terminal sends Ctrl-C to the whole process group, so
 * the child has it already, and one that takes a second signal for "at once" must not get another
 * while it stops. Only when somebody signalled us alone is it still there by then.
 */
const ECHO_MS = 800;

/**
 * Runs a program to its end, in the foreground: it has the terminal. Resolves to its exit code, 0
 * also when it was signalled and ended well. If a signal ended it, it ends this process too.
 */
export async function run(command, args, options = {}) {
  const { code, signal } = await finish(spawn(command, args, { stdio: "inherit", ...options }));
  return code === 0 || signal === undefined ? code : dieBy(signal);
}

/**
 * Runs one step of several, in the background. Resolves to its exit code and all it printed. No
 * further step follows a signal, however this one ended.
 */
export async function capture(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  child.stderr.on("data", (chunk) => chunks.push(chunk));
  const { code, signal } = await finish(child);
  if (signal !== undefined) return dieBy(signal);
  return { code, output: Buffer.concat(chunks).toString() };
}

/** How the child ended, and the first signal that it or this process got meanwhile. */
async function finish(child) {
  let heard;
  let echo;
  const hear = (signal) => {
    heard ??= signal;
    echo ??= setTimeout(() => child.kill(signal), ECHO_MS);
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  try {
    return await new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code, signal) => resolve({ code, signal: signal ?? heard }));
    });
  } finally {
    clearTimeout(echo);
    for (const signal of SIGNALS) process.off(signal, hear);
  }
}

/** Ends this process as the signal would have, so that whoever started it sees the same. */
function dieBy(signal) {
  process.kill(process.pid, signal);
  return new Promise(() => {});
}
