// Runs one task of package.json's scripts. Plain JavaScript for old Nodes, without dependencies: it
// installs the dependencies, and the Node that runs everything else.
import { availableParallelism } from "node:os";
import { join, sep } from "node:path";
import { isBuilt, noteBuild } from "./build-stamp.mjs";
import { dependenciesInstalled, installDependencies, NODE, ROOT } from "./dependencies.mjs";
import { Failure } from "./failure.mjs";
import { withLock } from "./lock.mjs";
import { installPrograms, missingPrograms } from "./programs.mjs";
import { withProgress } from "./progress.mjs";
import { runTests } from "./run-tests.mjs";
import { capture, run } from "./run.mjs";
import { testFiles } from "./test-files.mjs";
import { testFolder } from "./test-folder.mjs";
import { groupTests } from "./test-groups.mjs";
import { installTestPackages, missingTestPackages } from "./test-packages.mjs";

const FORMAT = ["node_modules/oxfmt/bin/oxfmt"];
const LINT = ["node_modules/oxlint/bin/oxlint"];
const TYPES = ["node_modules/typescript/bin/tsc", "--project", "."];
/** The dashboard in the browser, which has other globals. */
const WEB_TYPES = ["node_modules/typescript/bin/tsc", "--project", "src/web"];
const GENERATE = ["scripts/generate.ts"];
/** Measures the structure of the sources; its table is printed even if the check passes. */
const SHAPE = ["scripts/shape.ts"];
/** Fails each test file that leaves processes, sockets, timers or files behind. */
const NOTHING_LEFT = "--import=./test/support/nothing-left.ts";
/** Saves time where files are grouped; without it the runner names the test of any error. */
const UNTRACKED = "--import=./test/support/untracked-promises.ts";
const REPORT = "--test-reporter=spec";
/** Seconds in which no test of a file begins, after which it hangs: longer than the limits of tests. */
const HANGING = { plain: 900, full: 10_800 };
/** Most of a small test file's time is type stripping, so its results are cached between files. */
const COMPILE_CACHE = ".cache/compile";

const SOURCES = join("src", sep);
/** Where the person's own Trunkline is. Tests have one of their own, whatever the shell has set. */
const OWN_SETTINGS = ["TRUNKLINE_CONFIG", "TRUNKLINE_DATA", "TRUNKLINE_TOKEN"];

const TASKS = {
  start: async (args) => {
    await build();
    return node(["dist/trunkline.js", "serve", "--open", ...args], { env: withoutNpm() });
  },
  // Whoever names a file wants it, however long it takes.
  test: (args) => {
    const isNamed = args.some((arg) => !arg.startsWith("-"));
    const tests = [...testFiles(ROOT), ...(isNamed ? testFiles(ROOT, "long") : [])];
    return test(args, { tests, isFull: false });
  },
  "test:long": (args) => test(args, { tests: testFiles(ROOT, "long"), isFull: false }),
  "test:interop": (args) => test(args, { tests: testFiles(ROOT, "interop"), isFull: true }),
  "test:everywhere": (args) => node(["scripts/test-everywhere.ts", ...args]),
  ok: () =>
    check({
      format: [...FORMAT, "--check"],
      lint: LINT,
      types: TYPES,
      "web types": WEB_TYPES,
      generated: [...GENERATE, "--check"],
      shape: SHAPE,
    }),
  build: () => build(),
  prepack: () => node(["scripts/build.ts", "--alone"]),
  executable: async (args) => {
    await build();
    return node(["scripts/executable/build.ts", ...args]);
  },
  bench: async (args) => {
    await build();
    return node(["bench/run.ts", ...args]);
  },
  generate: (args) => node([...GENERATE, ...args]),
  format: (args) => node([...FORMAT, ...args]),
  lint: (args) => node([...LINT, ...args]),
  types: (args) => node([...TYPES, ...args]),
};

async function main([name, ...args]) {
  const task = TASKS[name];
  if (task === undefined) {
    throw new Failure(
      `Cannot run '${name}': no such task. Tasks: ${Object.keys(TASKS).join(", ")}.`,
    );
  }
  process.chdir(ROOT);
  const tests = name.startsWith("test");
  // Whoever keeps new files private has a Node that the other users of tests may not run.
  if (tests) process.umask(0o022);
  await setUp({ tests, interop: name === "test:interop" });
  return task(args);
}

async function setUp({ tests, interop }) {
  // Some are large, and only tests with other people's programs need them.
  const programsOf = () =>
    missingPrograms().filter(({ isForInterop }) => interop || isForInterop !== true);
  const missing = () => (tests ? [...programsOf(), ...missingTestPackages()] : []);
  if (dependenciesInstalled() && missing().length === 0) return;
  const install = async () => {
    if (!dependenciesInstalled()) await installDependencies(say);
    if (!tests) return;
    const programs = programsOf();
    if (programs.length > 0) await installPrograms(programs, say);
    const folders = missingTestPackages();
    if (folders.length === 0) return;
    say(`Installing packages of ${folders.join(", ")} …`);
    await withProgress(
      (seconds) => `Installing packages of tests, ${seconds} s …`,
      () => Promise.all(folders.map((folder) => installTestPackages(folder))),
    );
  };
  await withLock(join(ROOT, ".cache/setup.lock"), install, () => {
    say("Waiting for another task that is installing …");
  });
}

async function build() {
  if (isBuilt(ROOT)) return 0;
  say("Building …");
  const { code, output } = await withProgress(
    (seconds) => `Building, ${seconds} s …`,
    () => capture(NODE, ["scripts/build.ts"]),
  );
  process.stderr.write(output);
  if (code !== 0) throw new Failure("Cannot build, see above.");
  noteBuild(ROOT);
  return code;
}

/**
 * Words select the test files whose path contains one of them; options go to Node's runner. With an
 * option each file has a process of its own: a pattern of names would also match the names of files.
 */
async function test(args, { tests, isFull }) {
  const words = args.filter((arg) => !arg.startsWith("-"));
  const options = args.filter((arg) => arg.startsWith("-"));
  const files = tests.filter(
    (file) => words.length === 0 || words.some((word) => file.includes(word)),
  );
  if (files.length === 0) {
    say(`No test file matches ${words.join(", ")}.`);
    return 1;
  }
  // Tests beside the sources run the sources; the others run the built program.
  if (files.some((file) => !file.startsWith(SOURCES))) await build();
  // By default Node leaves one processor free. These tests wait for programs, disks and timers half of
  // the time, so four more files than processors keep all processors busy.
  const concurrency = `--test-concurrency=${availableParallelism() + 4}`;
  const env = { ...process.env, NODE_COMPILE_CACHE: join(ROOT, COMPILE_CACHE) };
  for (const name of OWN_SETTINGS) delete env[name];
  // See test/support/full-run.ts.
  env.TRUNKLINE_TEST_FULL = isFull ? "1" : "0";
  const folder = testFolder(env);
  if (env.TMPDIR && folder !== env.TMPDIR) {
    say(`Temporary files are in ${folder}, since other users may not enter ${env.TMPDIR}.`);
  }
  if (folder !== undefined) env.TMPDIR = folder;
  const isGrouped = options.length === 0;
  const starts = isGrouped ? groupTests(ROOT, files) : files;
  const preloads = isGrouped ? [UNTRACKED] : [];
  const patience = isFull ? HANGING.full : HANGING.plain;
  const all = [...preloads, NOTHING_LEFT, REPORT, concurrency, ...options, ...starts];
  return runTests(all, env, patience);
}

/** Runs every step, even after a failure, so that one run shows all problems. */
async function check(steps) {
  const failed = [];
  for (const [name, args] of Object.entries(steps)) {
    const start = performance.now();
    const { code, output } = await capture(NODE, args);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${code === 0 ? "ok  " : "FAIL"} ${name.padEnd(9)} ${seconds} s`);
    if (code !== 0) failed.push(name);
    if (code !== 0 || args === SHAPE) console.log(output.trimEnd());
  }
  if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

function node(args, options) {
  return run(NODE, args, options);
}

/** Removes npm's own variables, which must not reach programs that a server starts, such as npx. */
function withoutNpm() {
  return Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key)));
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  say(error.message);
  process.exitCode = 1;
}
