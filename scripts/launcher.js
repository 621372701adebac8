#!/usr/bin/env node
// Becomes dist/trunkline.js. Old Nodes can parse its syntax, so that a newer one can be found for it.

/** Filled in by the build: the script of each fast command, and the file with all other code. */
const BUILD = "BUILD";

/** The folder of this file, with a separator at its end. */
let folder;
/** The open file. It stays open, so that this process works even if the package is replaced. */
let pack;
/** The offset of each part, read when a part is first needed. */
let places;
let areModulesServed = false;
/** Scripts by name; each is run once. */
const loaded = new Map();

(() => {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 26 || (major === 26 && minor < 1)) {
    void import("./newer-node.mjs").then(({ startWithNewerNode }) =>
      startWithNewerNode(process.argv[1], process.argv.slice(2)),
    );
    return;
  }
  openPack();
  const [, , first, second] = process.argv;
  const asked = [String(first).replace(/^--mode=/, ""), `${first} ${second}`];
  const hot = asked.find((words) => Object.hasOwn(BUILD.starts, words));
  if (hot !== undefined) {
    const name = BUILD.starts[hot];
    const { readFileSync } = process.getBuiltinModule("node:fs");
    loadScript(name, readFileSync(folder + name, "utf8"));
    return;
  }
  serveModules();
  void import(`./${BUILD.main}`);
})();

/** Without import.meta, which old Nodes cannot parse. */
function openPack() {
  const { openSync, realpathSync } = process.getBuiltinModule("node:fs");
  folder = realpathSync.native(process.argv[1]).replace(/[^\\/]*$/, "");
  pack = openSync(folder + BUILD.pack, "r");
}

/** The text of a part, which is preceded by its name. */
function readPart(name, at, length) {
  const { readSync } = process.getBuiltinModule("node:fs");
  const head = name.length + 1;
  const bytes = Buffer.allocUnsafeSlow(head + length);
  let end = 0;
  for (let read = 1; read > 0 && end < bytes.length; end += read) {
    read = readSync(pack, bytes, end, bytes.length - end, at + end);
  }
  if (end === bytes.length && bytes.latin1Slice(0, head) === `${name}\n`) {
    return bytes.utf8Slice(head, end);
  }
  throw new Error(
    `Cannot load '${name}': ${folder}${BUILD.pack} was written over while the program runs. ` +
      "Start it again.",
  );
}

/** Undefined if there is no part of that name. */
function readPlaced(name) {
  if (places === undefined) {
    places = new Map(JSON.parse(readPart("index", BUILD.index[0], BUILD.index[1])));
  }
  const place = places.get(name);
  return place && readPart(name, place[0], place[1]);
}

/**
 * Runs a script with the code that was compiled for it at earlier starts. Node fills its own cache
 * before a script has run, when few functions are compiled. Ours is filled when the script has done its
 * work, over eight starts, because they use different functions: a list of comments is made in four ways.
 */
function loadScript(name, text) {
  const { Script } = process.getBuiltinModule("node:vm");
  const { code: cachedData, starts = 0 } = keptCode(name);
  const script = new Script(text, { filename: folder + name, cachedData });
  const isUsed = script.cachedDataRejected === false;
  if (!isUsed || starts < 8) {
    let isKept = false;
    const keep = () => {
      if (!isKept) keepCode(name, script.createCachedData(), isUsed ? starts + 1 : 1);
      isKept = true;
    };
    process.on("exit", keep);
    // An editor may kill the program, in which case there is no "exit".
    setTimeout(keep, 5000).unref();
  }
  const module = { exports: {} };
  script.runInThisContext()(module, load);
  return module.exports;
}

/** `require` for scripts, for what they load later. */
function load(path) {
  const name = path.slice("./".length);
  if (name.endsWith(".cjs")) {
    if (!loaded.has(name)) loaded.set(name, loadScript(name, readPlaced(name)));
    return loaded.get(name);
  }
  serveModules();
  const file = folder + name;
  return process.getBuiltinModule("node:module").createRequire(file)(file);
}

/** Makes Node load our modules from the pack, as if each were a file beside this one. */
function serveModules() {
  if (areModulesServed) return;
  areModulesServed = true;
  cacheModules();
  const base = process.getBuiltinModule("node:url").pathToFileURL(folder).href;
  const nameOf = (specifier, { parentURL }) => {
    if (specifier.startsWith(folder)) return specifier.slice(folder.length);
    const isBeside = specifier.startsWith("./") && parentURL && parentURL.startsWith(base);
    return isBeside ? specifier.slice("./".length) : undefined;
  };
  process.getBuiltinModule("node:module").registerHooks({
    resolve(specifier, context, next) {
      const name = nameOf(specifier, context);
      if (name === undefined) return next(specifier, context);
      return { url: base + name, format: "module", shortCircuit: true };
    },
    load(url, context, next) {
      const source = url.startsWith(base) ? readPlaced(url.slice(base.length)) : undefined;
      if (source === undefined) return next(url, context);
      return { format: "module", source, shortCircuit: true };
    },
  });
}

/** From earlier starts; for the first start, as it came with the package. */
function keptCode(name) {
  try {
    const folders = cacheFolders("code");
    const kept = folders.every(isPrivate) ? readCode(codePath(folders[1], name)) : undefined;
    return kept || readCode(codePath(folder, name)) || {};
  } catch {
    // Without the cache the program only starts more slowly.
    return {};
  }
}

/** V8 does not verify cached code, so it is stored twice: if the copies differ, it is corrupt. */
function readCode(path) {
  const { readFileSync, statSync } = process.getBuiltinModule("node:fs");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const bytes = readFileSync(path);
  const length = (bytes.length - 1) / 2;
  const code = bytes.subarray(0, length);
  const isWhole = code.equals(bytes.subarray(length, -1));
  return isWhole ? { code, starts: bytes[2 * length] } : undefined;
}

function keepCode(name, code, starts) {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
  try {
    const folders = cacheFolders("code");
    const path = codePath(folders[1], name);
    const draft = `${path}.${process.pid}`;
    mkdirSync(folders[1], { recursive: true, mode: 0o700 });
    if (!folders.every(isPrivate)) return;
    try {
      writeFileSync(draft, Buffer.concat([code, code, Buffer.of(starts)]), { mode: 0o600 });
      renameSync(draft, path);
    } catch {
      // A full disk has taken a part of it.
      rmSync(draft, { force: true });
    }
    removeOld(folders[1]);
  } catch {
    // The next start tries again.
  }
}

/** A script's name contains the hash of its text; the cached code is valid only for that text. */
function codePath(folder, name) {
  return `${folder}/${name}.${process.version}-${process.arch}`;
}

function removeOld(folder) {
  const { readdirSync, rmSync, statSync } = process.getBuiltinModule("node:fs");
  const month = 30 * 24 * 60 * 60 * 1000;
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (statSync(path).mtimeMs < Date.now() - month) rmSync(path, { force: true });
  }
}

/** For modules, which are many and seldom needed, Node's own cache is enough. */
function cacheModules() {
  try {
    const folders = cacheFolders("compile");
    process.getBuiltinModule("node:fs").mkdirSync(folders[1], { recursive: true, mode: 0o700 });
    if (!folders.every(isPrivate) || !hasRoom(folders[1])) return;
    // This does nothing if the cache is already enabled.
    process.getBuiltinModule("node:module").enableCompileCache(folders[1]);
  } catch {
    // Without the cache the program only starts more slowly, as above.
  }
}

/** On a full disk Node would leave an empty file for each module at each start. */
function hasRoom(path) {
  const { bavail, bsize } = process.getBuiltinModule("node:fs").statfsSync(path);
  return bavail * bsize > 16 * 1024 * 1024;
}

function cacheFolders(name) {
  const { isAbsolute } = process.getBuiltinModule("node:path");
  const { HOME, XDG_CACHE_HOME } = process.env;
  const isSet = XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME);
  const home = isSet ? "" : HOME || process.getBuiltinModule("node:os").homedir();
  const ours = `${isSet ? XDG_CACHE_HOME : `${home}/.cache`}/trunkline`;
  return [ours, `${ours}/${name}`];
}

/** Cached code is executed, so nobody else may be able to write to its folder. */
function isPrivate(path) {
  const stats = process.getBuiltinModule("node:fs").statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  if (process.getuid === undefined) return true;
  return stats.uid === process.getuid() && (stats.mode & 0o022) === 0;
}
