import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { isExecutable } from "../base/file/path.ts";

/** Only folders of the system: PATH may name a folder of the project. */
const FOLDERS = [
  ...["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"],
  ...["/run/wrappers/bin", "/run/current-system/sw/bin"],
];

/** The path of a system program; undefined if it is not installed. */
export function systemProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find(isExecutable);
}

/** The properties of a machine that decide how to get a sandbox on it. */
export interface MachineFacts {
  /** A kernel setting, such as `user/max_user_namespaces`; undefined if there is none. */
  readonly setting: (name: string) => string | undefined;
  /** `ID` and `ID_LIKE` of os-release(5), such as `ubuntu debian`. */
  readonly system: string;
  readonly container: Container | undefined;
  readonly isRoot: boolean;
}

type Container = "docker" | "podman" | "kubernetes";

export function thisMachine(): MachineFacts {
  return {
    setting: (name) => read(`/proc/sys/${name}`)?.trim(),
    system: Array.from(
      read("/etc/os-release")?.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)/gm) ?? [],
      ([, value]) => value,
    ).join(" "),
    container: containerHere(),
    isRoot: process.getuid?.() === 0,
  };
}

function containerHere(): Container | undefined {
  if (process.env.KUBERNETES_SERVICE_HOST !== undefined) return "kubernetes";
  if (existsSync("/run/.containerenv")) return "podman";
  return existsSync("/.dockerenv") ? "docker" : undefined;
}

const INSTALL: Readonly<Record<string, string>> = {
  debian: "sudo apt install",
  ubuntu: "sudo apt install",
  fedora: "sudo dnf install",
  rhel: "sudo dnf install",
  arch: "sudo pacman -S",
  alpine: "sudo apk add",
  suse: "sudo zypper install",
};

/** The command that installs a package here. */
export function installing(name: string, { system }: MachineFacts): string {
  const found = system.split(/\s+/).find((word) => Object.hasOwn(INSTALL, word));
  const command = found === undefined ? undefined : INSTALL[found];
  return command === undefined ? `Install the package ${name}.` : `Run: ${command} ${name}`;
}

/** Kernel settings that forbid user namespaces, and the values that allow them. */
const SWITCHES = [
  { name: "kernel/apparmor_restrict_unprivileged_userns", closed: "1", open: "0" },
  { name: "kernel/unprivileged_userns_clone", closed: "0", open: "1" },
  { name: "user/max_user_namespaces", closed: "0", open: "15000" },
] as const;

/** What to do after bubblewrap has failed with a message. */
export function remedyFor(problem: string, machine: MachineFacts): string {
  const [, missing] = /not installed: install the package (\S+)/.exec(problem) ?? [];
  if (missing !== undefined) return installing(missing, machine);
  if (problem.includes("need Linux"))
    return "Run Trunkline on Linux, or in a virtual machine with Linux.";
  const found = SWITCHES.find(({ name, closed }) => machine.setting(name) === closed);
  if (found !== undefined) {
    const name = found.name.replace("/", ".");
    return `Run: sudo sysctl -w ${name}=${found.open} (and put it into /etc/sysctl.d to keep it)`;
  }
  if (machine.isRoot && /uid map: Operation not permitted/.test(problem)) {
    const options = "in a container `--user 1000`, or `runAsUser: 1000`";
    return `Run Trunkline as another user than root, which needs no rights for it (${options}).`;
  }
  const { container } = machine;
  if (container !== undefined) return `${CONTAINERS[container]} (docs/HOSTING.md).`;
  if (/mount proc/.test(problem)) {
    const units = "In a unit of systemd, remove `ProtectKernelTunables=`, `ProtectKernelLogs=`";
    const options = "`--security-opt systempaths=unconfined`, Podman `--security-opt unmask=ALL`";
    return `Something covers parts of /proc. ${units} and \`ProcSubset=\`; Docker needs ${options}.`;
  }
  return "Try: bwrap --unshare-all --ro-bind / / --proc /proc true";
}

/** What containers have to be allowed, so that a sandbox can be made in one. */
const CONTAINERS: Readonly<Record<Container, string>> = {
  docker:
    "Start the container with: --security-opt seccomp=unconfined --security-opt " +
    "apparmor=unconfined --security-opt systempaths=unconfined",
  podman: "Start the container with: --security-opt seccomp=unconfined --security-opt unmask=ALL",
  kubernetes:
    "Set `hostUsers: false` for the pod, and `procMount: Unmasked` and a seccomp profile that " +
    "allows namespaces for the container",
};

function read(file: string): string | undefined {
  return attempt(() => readFileSync(file, "utf8"));
}
