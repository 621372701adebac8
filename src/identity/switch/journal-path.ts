import { join } from "node:path";

/** Apart from the journal itself, so that a start can see that there is none without loading it. */
export function journalPath(data: string): string {
  return join(data, "identity", "journal.jsonl");
}
