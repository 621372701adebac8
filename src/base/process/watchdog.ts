import type { ChildProcess } from "node:child_process";

import { attempt } from "../attempt.ts";
import { markOfOwn, ProcessTree } from "./process-tree.ts";

/**
 * A shell script that ends our process groups when this process dies, by SIGKILL as well. It reads lines that
 * add or remove a group; at the end of its input it kills the groups that are left, and everything they
 * started. Processes that left their group are found as in process-tree.ts. It ignores signals, since one
 * that is meant for us may reach it too.
 */
const SCRIPT = `
trap '' HUP INT TERM
mark=$1
live=
while read -r sign group; do
  rest=
  for each in $live; do [ "$each" = "$group" ] || rest="$rest $each"; done
  live=$rest
  [ "$sign" = + ] && live="$live $group"
done

# Numbers of processes, each followed by that of its parent.
pairs() {
  if [ -r /proc/self/status ]; then
    grep '^PPid:' /proc/[0-9]*/status | sed -n 's|^/proc/\\([0-9]*\\)/.*:[^0-9]*\\([0-9]*\\)$|\\1 \\2|p'
  else ps -A -o pid= -o ppid=; fi
}
marked() { grep -lF "$mark" /proc/[0-9]*/environ | sed 's|^/proc/\\([0-9]*\\)/.*|\\1|'; }
tree() {
  found=" $* "
  all=$(pairs)
  more=1
  while [ -n "$more" ]; do
    more=
    set -- $all
    while [ $# -gt 1 ]; do
      case "$found" in
        *" $1 "*) ;;
        *" $2 "*) found="$found$1 "; more=1 ;;
      esac
      shift 2
    done
  done
  echo "$found"
}
members=
if [ -n "$live" ]; then
  # Before they are asked to end: whose parent is gone is only known by its mark.
  members=$(tree $live)
  for each in $live; do kill -s TERM -- "-$each"; done
  sleep 1
  for each in $live; do kill -s KILL -- "-$each"; done
fi
# We may have been killed before a line could tell of a child. What is started while one looks is found
# by looking again.
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  set -- $members $(marked)
  [ $# -gt 0 ] || break
  for each in $(tree "$@"); do kill -s KILL "$each"; done
  members=
  sleep 0.1 || sleep 1
done
`;

const watch = {
  shell: undefined as ChildProcess | undefined,
  groups: new Set<number>(),
};
const { groups } = watch;

/**
 * Starts the watchdog if it does not run. A child that is started afterwards ends with us even if we are
 * killed before we can report it.
 */
export function startWatchdog(): void {
  watch.shell ??= start();
}

/**
 * Ends a process group, and what it started, when this process ends in whatever way. One small shell watches
 * all groups; it is started with the first. Returns a function that stops watching the group.
 */
export function watchGroup(group: number): () => void {
  groups.add(group);
  tell(`+ ${group}\n`);
  return () => {
    if (groups.delete(group)) tell(`- ${group}\n`);
  };
}

function tell(line: string): void {
  startWatchdog();
  watch.shell?.stdin?.write(line);
}

function start(): ChildProcess {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "trunkline", markOfOwn()], {
    stdio: ["pipe", "ignore", "ignore"],
    // Out of our group, so that what ends that does not end it.
    detached: true,
    cwd: "/",
    env: { PATH: process.env.PATH },
  });
  shell.on("error", forget);
  shell.on("exit", forget);
  shell.stdin.on("error", () => {});
  // If the former shell was killed, its groups are watched by this one.
  for (const group of groups) shell.stdin.write(`+ ${group}\n`);
  shell.unref();
  // It is a socket, as all of Node's pipes to children are.
  (shell.stdin as unknown as { unref(): void }).unref();
  return shell;
  function forget(): void {
    if (watch.shell === shell) watch.shell = undefined;
  }
}

// On an ordinary exit this process kills the groups itself, at once.
process.on("exit", () => {
  for (const group of groups) killTree(group);
});

/** Kills a process group at once, with whatever its first process started. */
export function killTree(group: number): void {
  new ProcessTree(group).killNow();
  killGroup(group, "SIGKILL");
}

/** Signals every process of a group. False when nobody is left in it. */
export function killGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  return attempt(() => process.kill(-group, signal)) === true;
}
