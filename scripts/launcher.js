#!/usr/bin/env node
// Becomes dist/trunkline.js. Old Nodes can parse its syntax, so that a newer one can be found for it.

/** Filled in by the build. */
const PACK = "PACK";

const MONTH_MS = 30 * 24 * 60 * 60 * 1000;
/** Long enough for a start to be over. */
const STARTED_MS = 5000;

(() => {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 26 || (major === 26 && minor < 1)) {
    void import("./newer-node.mjs").then(({ startWithNewerNode }) =>
      startWithNewerNode(process.argv[1], process.argv.slice(2)),
    );
    return;
  }
  serveModules();
  cacheCompiledCode();
  void import("./start.js");
})();

/**
 * Has Node load the program's modules from the pack, as if each were a file beside this one. The pack
 * stays open, so this process works even if the package is removed or replaced. To find a module takes
 * no time either: Node would search folders for its package and its links.
 */
function serveModules() {
  const { openSync, readSync, realpathSync } = process.getBuiltinModule("node:fs");
  // Without import.meta, which old Nodes cannot parse.
  const folder = realpathSync.native(process.argv[1]).replace(/[^\\/]*$/, "");
  const base = process.getBuiltinModule("node:url").pathToFileURL(folder).href;
  const pack = openSync(folder + PACK, "r");
  const read = (at, length) => {
    const bytes = Buffer.allocUnsafeSlow(length);
    readSync(pack, bytes, 0, length, at);
    return bytes;
  };
  const indexLength = read(0, 4).readUInt32BE();
  const index = new Map(JSON.parse(read(4, indexLength).utf8Slice()));
  process.getBuiltinModule("node:module").registerHooks({
    resolve(specifier, context, next) {
      const isOurs = specifier.startsWith("./") && index.has(specifier.slice(2));
      if (!isOurs || !context.parentURL.startsWith(base)) return next(specifier, context);
      return { url: base + specifier.slice(2), format: "module", shortCircuit: true };
    },
    load(url, context, next) {
      const place = url.startsWith(base) ? index.get(url.slice(base.length)) : undefined;
      if (place === undefined) return next(url, context);
      const [at, length] = place;
      const source = read(4 + indexLength + at, length).utf8Slice();
      return { format: "module", source, shortCircuit: true };
    },
  });
}

/** Without the cache the program only starts more slowly. */
function cacheCompiledCode() {
  const { mkdirSync } = process.getBuiltinModule("node:fs");
  const { enableCompileCache, flushCompileCache } = process.getBuiltinModule("node:module");
  try {
    const ours = `${cacheHome()}/trunkline`;
    const folder = `${ours}/compile`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(ours) || !isPrivate(folder) || !hasRoom(folder)) return;
    // This does nothing if the user has enabled a cache for all programs.
    enableCompileCache(folder);
    // Node writes it when a process exits, but an editor may kill the program.
    setTimeout(() => {
      flushCompileCache();
      removeOld(folder);
    }, STARTED_MS).unref();
  } catch {
    // It cannot be made, for example because there is no home folder.
  }
}

function cacheHome() {
  const { HOME, XDG_CACHE_HOME } = process.env;
  const isSet = process.getBuiltinModule("node:path").isAbsolute(XDG_CACHE_HOME || "");
  return isSet ? XDG_CACHE_HOME : `${HOME || process.getBuiltinModule("node:os").homedir()}/.cache`;
}

/** Cached code is executed, so nobody else may be able to write to its folder. */
function isPrivate(path) {
  const { mode, uid } = process.getBuiltinModule("node:fs").statSync(path);
  if (process.getuid === undefined) return true;
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** On a full disk Node would leave an empty file for each module at each start. */
function hasRoom(path) {
  const { bavail, bsize } = process.getBuiltinModule("node:fs").statfsSync(path);
  return bavail * bsize > 16 * 1024 * 1024;
}

/** Removes what other versions have left; what is still used is made again. */
function removeOld(folder) {
  const { globSync, rmSync, statSync } = process.getBuiltinModule("node:fs");
  for (const name of globSync("*/*", { cwd: folder })) {
    const path = `${folder}/${name}`;
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) || {};
    if (mtimeMs < Date.now() - MONTH_MS) rmSync(path, { force: true });
  }
}
