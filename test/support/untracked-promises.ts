// Loaded by `npm test` ahead of everything else (scripts/task.mjs).
//
// To know which test an error belongs to that nobody catches, Node's runner follows each promise from
// its creation to its collection. That takes a tenth of the processor time of all tests. Here it does
// not follow them: such an error ends the process, and test-together.ts names the file.

/** The groups whose files wait for something while they load (scripts/test-groups.mjs). */
const AWAITING = /-awaiting-[0-9a-f]+\.mjs$/;

const [, entry = ""] = process.argv;
if (!AWAITING.test(entry)) {
  const hooks = process.getBuiltinModule("node:async_hooks");
  const { createHook } = hooks;
  const createUntrackedHook: typeof createHook = (callbacks) =>
    createHook({ trackPromises: false, ...callbacks });
  // The runner takes the function from this object when `node:test` is first imported.
  Object.assign(hooks, { createHook: createUntrackedHook });
}
