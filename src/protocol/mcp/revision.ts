/** The revisions that are agreed on by `initialize`, newest first. */
export const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export type Revision = (typeof REVISIONS)[number];

/** What a server answers: the client's own revision when it speaks it, else the newest it does. */
export function agreeOn(requested: string): Revision {
  return REVISIONS.find((revision) => revision === requested) ?? REVISIONS[0];
}
