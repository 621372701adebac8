import { homedir } from "node:os";

import { usualVariables } from "../../../base/process/environment.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { Stopper } from "../../../base/stop.ts";
import { runProgram } from "../../../git/run-program.ts";
import type { How, NotifyEntry } from "../entries.ts";
import type { Message } from "../message.ts";
import type { SendResult } from "./sent.ts";

/** Bytes of output that are logged. */
const MOST_OUTPUT = 64 * 1024;

/** Starts a program, without a shell, that reads the message from its standard input. */
export async function sendCommand(
  message: Message,
  { name, timeout }: NotifyEntry,
  { command, args }: How & { kind: "command" },
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<SendResult> {
  const stop = new Stopper();
  const stopped = (): void => stop.stop(new TrunklineError("closed", "Trunkline was stopped"));
  signal.addEventListener("abort", stopped, { once: true });
  try {
    const { code, stdout, stderr } = await runProgram({
      command,
      args,
      env: { ...usualVariables(), ...desktopVariables() },
      cwd: homedir(),
      input: `${JSON.stringify(message)}\n`,
      timeout,
      maxOutput: MOST_OUTPUT,
      stop,
    });
    log.info("notify.command", { name, code, stdout: stdout.toString(), stderr });
    if (code === 0) return { state: "delivered", result: "the command ended with exit code 0" };
    const [why = ""] = stderr.trim().split("\n");
    const said = why === "" ? "" : `: ${why.slice(0, 200)}`;
    return { state: "retry", result: `the command ended with ${code}${said}` };
  } finally {
    signal.removeEventListener("abort", stopped);
  }
}

/** Where programs such as notify-send find the person's screen. */
function desktopVariables(): NodeJS.ProcessEnv {
  const { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS } = process.env;
  const found = { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}
