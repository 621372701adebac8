import { signal } from "@preact/signals";

export interface Shortcut {
  /** One key, or two after each other: "g s". */
  readonly keys: string;
  readonly says: string;
  /** False: not now, so that an older entry of the same keys may take it. */
  readonly run: () => boolean | void;
}

const active: Shortcut[][] = [];
/** What can be pressed on this page, for the help. */
export const shortcuts = signal<readonly Shortcut[]>([]);
const SEQUENCE_MS = 1500;

/** Adds shortcuts; the newest come first. Gives the function that removes them. */
export function addShortcuts(added: Shortcut[]): () => void {
  active.unshift(added);
  shortcuts.value = active.flat();
  return () => {
    active.splice(active.indexOf(added), 1);
    shortcuts.value = active.flat();
  };
}

/** Finds what a key does, given the key before it. Exported for its test. */
export function shortcutsFor(
  all: readonly Shortcut[],
  before: string | undefined,
  key: string,
): readonly Shortcut[] {
  const sequence = all.filter(({ keys }) => before !== undefined && keys === `${before} ${key}`);
  return sequence.length > 0 ? sequence : all.filter(({ keys }) => keys === key);
}

export function listenToKeys(): void {
  let before: { readonly key: string; readonly at: number } | undefined;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // In a dialog with fields, keys are for the fields.
    if (event.target instanceof Element && event.target.closest("dialog form") !== null) return;
    if (isTextField(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    // Shortcuts of the page behind a form do not run.
    if (event.target instanceof Element && event.target.closest(".form-dialog") !== null) return;
    // A button or link that has the focus takes Enter itself.
    if (event.key === "Enter" && event.target instanceof Element && isOperable(event.target))
      return;
    const isRecent = before !== undefined && event.timeStamp - before.at < SEQUENCE_MS;
    const found = shortcutsFor(active.flat(), isRecent ? before?.key : undefined, event.key);
    before = { key: event.key, at: event.timeStamp };
    for (const shortcut of found) {
      if (shortcut.run() === false) continue;
      event.preventDefault();
      before = undefined;
      return;
    }
  });
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !["checkbox", "radio", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function isOperable(target: Element): boolean {
  return target.matches("a, button, summary, [role=button], [role=tab]");
}
