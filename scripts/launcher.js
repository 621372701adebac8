#!/usr/bin/env node
// Becomes dist/trunkline.js. Its syntax is one that old Nodes read, so that they can say so.
(() => {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 26 || (major === 26 && minor < 1)) {
    const found = `Node ${process.versions.node} at ${process.execPath}`;
    process.stderr.write(
      `Trunkline needs Node 26.1 or newer; this is ${found}. Get a current one from ` +
        "https://nodejs.org/en/download; a checkout of Trunkline brings its own: npm start.\n",
    );
    process.exitCode = 1;
    return;
  }
  try {
    cacheCompiledCode();
  } catch {
    // Without the cache the program starts more slowly. That is no reason not to start.
  }
  const starts = "STARTS";
  const asked = String(process.argv[2]).replace(/^--mode=/, "");
  void import(`./${Object.hasOwn(starts, asked) ? starts[asked] : starts.main}`);
})();

/** What is in the cache is run, so its folder must be one that nobody else can write to. */
function cacheCompiledCode() {
  const { mkdirSync, statSync } = process.getBuiltinModule("node:fs");
  const { isAbsolute, join } = process.getBuiltinModule("node:path");
  const { HOME, XDG_CACHE_HOME } = process.env;
  const isSet = XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME);
  const ours = join(
    isSet ? XDG_CACHE_HOME : join(HOME || process.getBuiltinModule("node:os").homedir(), ".cache"),
    "trunkline",
  );
  const folder = join(ours, "compile");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const isPrivate = [ours, folder]
    .map((path) => statSync(path))
    .every(({ uid, mode }) => {
      return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    });
  if (isPrivate) process.getBuiltinModule("node:module").enableCompileCache(folder);
}
