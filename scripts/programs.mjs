import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./failure.mjs";
import { withProgress } from "./progress.mjs";
import { capture } from "./run.mjs";

/**
 * Programs of the operating system that the tests start. Without an optional one the tests that
 * need it are skipped, and say so.
 */
const PROGRAMS = [
  { command: "git", package: "git", why: "the tests make repositories, clone and push" },
  { command: "zsh", package: "zsh", why: "the tests press Tab in it", optional: true },
  { command: "fish", package: "fish", why: "the tests press Tab in it", optional: true },
  { command: "sshd", package: "openssh-server", why: "the tests push to it", optional: true },
  {
    command: "bwrap",
    package: "bubblewrap",
    why: "remote runs are tested in its sandboxes",
    optional: true,
  },
  { command: "gpg", package: "gnupg", why: "the tests sign with it", optional: true },
  {
    command: "chromium",
    package: "chromium",
    why: "the dashboard is tested in it",
    optional: true,
  },
  {
    ...{ command: "ffmpeg", package: "ffmpeg", why: "the picture of the README is made by it" },
    ...{ optional: true, isForInterop: true },
  },
  { command: "nginx", package: "nginx-light", why: "the tests come through it", optional: true },
  {
    command: "nats-server",
    package: "nats-server",
    why: "gateways and workers of the tests meet there",
    optional: true,
  },
  {
    command: "prometheus",
    package: "prometheus",
    why: "the tests have it scrape a gateway",
    optional: true,
  },
];

/** Where Debian installs servers; not everybody has this in PATH. */
const SERVER_FOLDERS = ["/usr/sbin", "/sbin"];

export function missingPrograms(programs = PROGRAMS) {
  return programs.filter(({ command }) => !isInstalled(command));
}

/** Installs the programs if we are root on Debian, and otherwise says what to install. */
export async function installPrograms(missing, say) {
  const packages = missing.map((program) => program.package);
  const canInstall = process.getuid?.() === 0 && isInstalled("apt-get");
  if (!canInstall) {
    const needed = missing.filter(({ optional }) => optional !== true);
    if (needed.length > 0) throw new Failure(whatToInstall(needed));
    return;
  }
  say(`Installing ${packages.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = ["-o", "DPkg::Lock::Timeout=120"];
  const install = ["install", "--yes", "--no-install-recommends", ...packages];
  const [update, { code, output }] = await withProgress(
    (seconds) => `Installing programs, ${seconds} s …`,
    async () => [
      await capture("apt-get", [...options, "update"], { env }),
      await capture("apt-get", [...options, ...install], { env }),
    ],
  );
  if (code !== 0) {
    throw new Failure(`${update.output}${output}Cannot install ${packages.join(", ")}, see above.`);
  }
}

function whatToInstall(missing) {
  const needs = missing.map(({ command, why }) => `${command} (${why})`).join(", ");
  const packages = missing.map((program) => program.package).join(" ");
  return `Cannot find ${needs}. Install it with: sudo apt-get install ${packages}`;
}

function isInstalled(command) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...SERVER_FOLDERS];
  return folders.some((folder) => folder !== "" && isExecutable(join(folder, command)));
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
