import { spawn } from "node:child_process";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Milliseconds until a signal is forwarded. A terminal sends Ctrl-C to the whole process group, so the
 * child has received it already, and a child that treats a second signal as "at once" must not get
 * another while it stops. If only this process was signalled, the child is still running after this
 * time.
 */
const ECHO_MS = 800;

/**
 * Runs a program in the foreground, with the terminal, until it ends. Resolves to its exit code, 0 also
 * if it was signalled and exited normally. If a signal ended it, the same signal ends this process.
 */
export async function run(command, args, options = {}) {
  const { code, signal } = await finish(spawn(command, args, { stdio: "inherit", ...options }));
  return code === 0 || signal === undefined ? code : dieBy(signal);
}

/**
 * Runs one step of several, in the background. Resolves to its exit code and output. After a signal no
 * further step is run, however this one ended.
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

/** How the child ended, and the first signal that it or this process received. */
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

/** Ends this process with the signal, so that its parent sees the right exit status. */
function dieBy(signal) {
  process.kill(process.pid, signal);
  return new Promise(() => {});
}
