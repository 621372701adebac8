import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../..");
const ENTRY = join(ROOT, "src/plugin/sdk/trunkline-plugin.ts");
const CACHE = join(ROOT, ".cache/plugin-sdk");

/**
 * The folder of the SDK for plugins, made of the sources as they are. A plugin that imports the
 * sources themselves takes a second of processor time for each start, most of it to strip types.
 */
export const SDK_FOLDER = makeSdk();

/** The address of the module that plugins import. */
export const SDK = pathToFileURL(join(SDK_FOLDER, "trunkline-plugin.mjs")).href;

function makeSdk(): string {
  mkdirSync(CACHE, { recursive: true });
  const made = mkdtempSync(join(CACHE, "made-"));
  const esbuild = join(ROOT, "node_modules/esbuild/bin/esbuild");
  const how = ["--bundle", "--splitting", "--platform=node", "--target=node26", "--format=esm"];
  const where = [`--outdir=${made}`, "--out-extension:.js=.mjs", "--log-level=warning"];
  execFileSync(process.execPath, [esbuild, ENTRY, ...how, ...where]);
  const digest = createHash("sha256");
  for (const name of readdirSync(made)) digest.update(readFileSync(join(made, name)));
  const folder = join(CACHE, digest.digest("hex").slice(0, 16));
  try {
    renameSync(made, folder);
  } catch {
    // It is there already.
    rmSync(made, { recursive: true });
  }
  return folder;
}
