import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Debian's keys, which its package debian-archive-keyring brings. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Fetches packages of a Debian release and unpacks them into a folder, all at once or not at all.
 * Nothing is installed: apt works with lists and a cache of its own, and no package's scripts run.
 */
export async function unpackDebianPackages(
  release: string,
  packages: readonly string[],
  folder: string,
): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  using work = mkdtempDisposableSync(`${folder}.part-`);
  const failures: string[] = [];
  for (const mirror of await mirrors()) {
    try {
      await download(release, packages, mirror, work.path);
      await unpack(work.path);
      rmSync(folder, { recursive: true, force: true });
      renameSync(join(work.path, "root"), folder);
      return;
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  throw new Error(
    `Cannot fetch ${packages.join(", ")} of Debian ${release}: no mirror that apt is configured ` +
      `with has them. Check that 'apt-get update' works here.\n${failures.join("\n")}`,
  );
}

/** The archives that the machine's own apt uses, those with security fixes alone left out. */
async function mirrors(): Promise<string[]> {
  const uris = await run("apt-get", ["update", "--print-uris"], process.env);
  const found = [...uris.matchAll(/^'(\S+?)\/?dists\/([^/']+)\/InRelease'/gm)]
    .filter(([, , suite]) => suite?.endsWith("-security") === false)
    .map(([, uri]) => uri ?? "");
  if (found.length === 0) {
    throw new Error("Cannot fetch Debian packages: apt is configured with no archive.");
  }
  return [...new Set(found)];
}

async function download(
  release: string,
  packages: readonly string[],
  mirror: string,
  work: string,
): Promise<void> {
  const apt = join(work, "apt");
  const packagesFolder = join(work, "debs");
  for (const folder of ["lists/partial", "archives/partial"]) {
    mkdirSync(join(apt, folder), { recursive: true });
  }
  mkdirSync(packagesFolder, { recursive: true });
  const signedBy = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : "";
  writeFileSync(join(apt, "sources.list"), `deb ${signedBy}${mirror} ${release} main\n`);
  writeFileSync(join(apt, "status"), "");
  writeFileSync(join(apt, "apt.conf"), aptConfiguration(apt));
  // Read last: what it says holds, the rest (such as a proxy) is as the machine has it.
  const env = { ...process.env, APT_CONFIG: join(apt, "apt.conf") };
  await run("apt-get", ["update", "--error-on=any"], env);
  await run("apt-get", ["download", ...packages], env, packagesFolder);
}

function aptConfiguration(folder: string): string {
  return `
Dir::State "${folder}";
Dir::State::lists "${folder}/lists";
Dir::State::status "${folder}/status";
Dir::Cache "${folder}";
Dir::Cache::archives "${folder}/archives";
Dir::Etc::sourcelist "${folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
APT::Sandbox::User "root";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`;
}

async function unpack(work: string): Promise<void> {
  const folder = join(work, "debs");
  for (const name of await readdir(folder)) {
    await run("dpkg-deb", ["--extract", join(folder, name), join(work, "root")], process.env);
  }
}

/** Runs a program to its end. Gives what it printed; fails with that if it failed. */
export async function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd?: string,
): Promise<string> {
  const child = spawn(command, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [code] = (await once(child, "close").catch((error: Error) => {
    throw new Error(`Cannot start ${command}: ${error.message}`, { cause: error });
  })) as [number | null];
  if (code === 0) return output;
  throw new Error(`${command} ${args.join(" ")} failed (${code}):\n${errors}${output}`);
}
