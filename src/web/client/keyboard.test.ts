import assert from "node:assert/strict";
import { test } from "node:test";

import { addShortcuts, shortcuts, shortcutsFor } from "./keyboard.ts";

const shortcut = (keys: string) => ({ keys, says: keys, run: () => {} });

test("shortcutsFor() prefers a sequence, and falls back to the single key", () => {
  const all = [shortcut("s"), shortcut("g s"), shortcut("j")];
  assert.deepEqual(
    shortcutsFor(all, "g", "s").map(({ keys }) => keys),
    ["g s"],
  );
  assert.deepEqual(
    shortcutsFor(all, "g", "j").map(({ keys }) => keys),
    ["j"],
  );
  assert.deepEqual(shortcutsFor(all, undefined, "x"), []);
});

test("addShortcuts() puts the newest first, and removes only its own", () => {
  const removePage = addShortcuts([shortcut("j")]);
  const removeDialog = addShortcuts([shortcut("j"), shortcut("y")]);
  assert.deepEqual(
    shortcuts.value.map(({ keys }) => keys),
    ["j", "y", "j"],
  );
  removePage();
  assert.deepEqual(
    shortcuts.value.map(({ keys }) => keys),
    ["j", "y"],
  );
  removeDialog();
  assert.deepEqual(shortcuts.value, []);
});
