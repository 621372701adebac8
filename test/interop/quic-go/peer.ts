import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, join } from "node:path";

import { run, unpackDebianPackages } from "./debian-packages.ts";

const ROOT = join(import.meta.dirname, "../../..");
const CACHE = join(ROOT, ".cache/quic-go");
const BUF = join(ROOT, "node_modules/.bin/buf");
const SCHEMA = "orchestra/plugin/v1/plugin.proto";

/** It has Go 1.24 and quic-go 0.50, the one that the original uses. */
const RELEASE = "trixie";
const PACKAGES = [
  "golang-1.24-go",
  "golang-1.24-src",
  "golang-github-lucas-clemente-quic-go-dev",
  "golang-golang-x-crypto-dev",
  "golang-golang-x-exp-dev",
  "golang-golang-x-net-dev",
  "golang-golang-x-sys-dev",
  "golang-google-protobuf-dev",
];

/**
 * Gives the path of the quic-go peer, which is made when it is not there: fetched are Go and its
 * libraries, generated is what the schema says, and all of it stays in .cache for the next time.
 */
export async function quicPeer(): Promise<string> {
  return goProgram("quicpeer", globSync(join(import.meta.dirname, "*.go")).toSorted());
}

/** The same for a program of these sources, which find the schema as `NAME/pluginv1`. */
export async function goProgram(name: string, sources: readonly string[]): Promise<string> {
  const hash = hashOf([...sources, join(ROOT, "proto", SCHEMA)], [RELEASE, ...PACKAGES]);
  const program = join(CACHE, `${name}-${hash}`, name);
  if (existsSync(program)) return program;
  const lock = new URL("../../../scripts/lock.mjs", import.meta.url).href;
  const { withLock } = (await import(lock)) as {
    withLock: (folder: string, work: () => Promise<void>) => Promise<void>;
  };
  await withLock(join(ROOT, ".cache/quic-go.lock"), async () => {
    if (!existsSync(program)) await build(name, sources, program, await toolchain());
  });
  return program;
}

function hashOf(files: readonly string[], words: readonly string[]): string {
  const hash = createHash("sha256").update(process.arch);
  for (const word of words) hash.update(`\0${word}`);
  for (const file of files) hash.update(`\0${basename(file)}\0`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

/** The folder where the packages are unpacked. */
async function toolchain(): Promise<string> {
  const folder = join(CACHE, `debian-${hashOf([], [RELEASE, ...PACKAGES])}`);
  if (existsSync(folder)) return folder;
  // Of other packages, or of a time that was broken off.
  for (const old of globSync(join(CACHE, "debian-*"))) rmSync(old, { recursive: true });
  await timed("Fetching Go and quic-go", () => unpackDebianPackages(RELEASE, PACKAGES, folder));
  return folder;
}

async function build(
  name: string,
  sources: readonly string[],
  program: string,
  debian: string,
): Promise<void> {
  // Laid out as Go had it before modules, which it would fetch from elsewhere.
  const workspace = join(CACHE, "workspace");
  const go = join(debian, "usr/lib/go-1.24/bin/go");
  const env = {
    PATH: process.env.PATH,
    HOME: workspace,
    GOPATH: `${workspace}:${join(debian, "usr/share/gocode")}`,
    GOCACHE: join(CACHE, "go-build"),
    GO111MODULE: "off",
    GOTOOLCHAIN: "local",
    GOTELEMETRY: "off",
    CGO_ENABLED: "0",
    // For both builds, so that they share what they have in common.
    GOFLAGS: "-trimpath",
  };
  rmSync(workspace, { recursive: true, force: true });
  const main = join(workspace, "src", name);
  mkdirSync(main, { recursive: true });
  for (const source of sources) copyFileSync(source, join(main, basename(source)));

  const generator = join(workspace, "protoc-gen-go");
  await timed("Building what generates Go from the schema", () =>
    run(go, ["build", "-o", generator, "google.golang.org/protobuf/cmd/protoc-gen-go"], env),
  );
  const plugin = {
    local: generator,
    out: join(workspace, "src"),
    opt: `M${SCHEMA}=${name}/pluginv1`,
  };
  const template = JSON.stringify({ version: "v2", plugins: [plugin] });
  const path = join(ROOT, "proto", SCHEMA);
  await run(BUF, ["generate", join(ROOT, "proto"), "--path", path, "--template", template], env);

  const built = join(workspace, "bin", name);
  await timed(`Building ${name}`, () => run(go, ["build", "-o", built, name], env));
  for (const old of globSync(join(CACHE, `${name}-*`))) rmSync(old, { recursive: true });
  mkdirSync(join(program, ".."));
  renameSync(built, program);
  rmSync(workspace, { recursive: true });
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  process.stderr.write(`${what} …\n`);
  const start = performance.now();
  const result = await work();
  process.stderr.write(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  return result;
}
