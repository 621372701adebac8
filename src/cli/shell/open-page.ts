import type { Invocation } from "./command.ts";

/** Opens a page in a browser on this machine, if it has a screen. Returns whether a browser could be started. */
export async function openPage(url: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const opener = openerOf(env);
  return opener !== undefined && (await start(opener, url));
}

/** Whether a person is at the terminal, to whom a browser may be opened unasked. */
export function isAttended({ env, isTerminal }: Pick<Invocation, "env" | "isTerminal">): boolean {
  return isTerminal && (env.CI ?? "") === "";
}

function openerOf(env: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === "darwin") return "open";
  const hasScreen = (env.DISPLAY ?? env.WAYLAND_DISPLAY ?? "") !== "";
  return hasScreen ? "xdg-open" : undefined;
}

/** The browser is detached, so that it outlives this command. */
function start(opener: string, url: string): Promise<boolean> {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(opener, [url], { detached: true, stdio: "ignore" });
  child.unref();
  return new Promise((resolve) => {
    child.on("spawn", () => resolve(true));
    child.on("error", () => resolve(false));
  });
}
