import type { FileChange } from "./file-change.ts";
import type { ChangeKind, SettingChange, Subject } from "./journal.ts";

/** Everything that a command is about to change, and nothing has been yet. */
export interface Plan {
  readonly kind: ChangeKind;
  readonly identity?: string;
  readonly subject: Subject;
  readonly settings: readonly SettingChange[];
  readonly files: readonly FileChange[];
  /** What a person should know before. */
  readonly notes: readonly string[];
  /** Of an undo: what is undone. */
  readonly undoes?: string;
}
