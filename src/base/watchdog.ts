import type { ChildProcess } from "node:child_process";

/**
 * Reads which process groups are alive, a line each, and ends them when the lines end: they do so
 * however this process dies, by SIGKILL as well. It heeds no signal, since one that is meant for us
 * may reach it too.
 */
const SCRIPT = `
trap '' HUP INT TERM
live=
while read -r sign group; do
  rest=
  for each in $live; do [ "$each" = "$group" ] || rest="$rest $each"; done
  live=$rest
  [ "$sign" = + ] && live="$live $group"
done
[ -z "$live" ] && exit 0
for each in $live; do kill -s TERM -- "-$each"; done
sleep 1
for each in $live; do kill -s KILL -- "-$each"; done
`;

let running: ChildProcess | undefined;
const groups = new Set<number>();

/**
 * Has a process group ended when this process ends, in whatever way. One small shell does it for
 * all groups and is started with the first. Returns how to let go of a group that is gone.
 */
export function watchGroup(group: number): () => void {
  groups.add(group);
  tell(`+ ${group}\n`);
  return () => {
    if (groups.delete(group)) tell(`- ${group}\n`);
  };
}

function tell(line: string): void {
  if (running === undefined) {
    running = start();
    // One that was ended by somebody has left its groups unwatched.
    for (const group of groups) running.stdin?.write(`+ ${group}\n`);
  }
  running.stdin?.write(line);
}

function start(): ChildProcess {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const shell = spawn("/bin/sh", ["-c", SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    // Out of our group, so that what ends that does not end it.
    detached: true,
    cwd: "/",
    env: { PATH: process.env.PATH },
  });
  shell.on("error", forget);
  shell.on("exit", forget);
  shell.stdin.on("error", () => {});
  shell.unref();
  // A socket, as every pipe of Node's to a child.
  (shell.stdin as unknown as { unref(): void }).unref();
  return shell;
  function forget(): void {
    if (running === shell) running = undefined;
  }
}

// The ordinary ends are seen from inside too, and there is no second to wait then.
process.on("exit", () => {
  for (const group of groups) killGroup(group, "SIGKILL");
});

/** Signals every process of a group. False when nobody is left in it. */
export function killGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
