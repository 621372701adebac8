/** Every revision spoken here, newest first. */
export const REVISIONS = [
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const;

/** Dates compare as texts, so `revision >= "2025-06-18"` asks for what that revision brought. */
export type Revision = (typeof REVISIONS)[number];

/** From this one on there is no handshake: each request says what it needs known. */
export const MODERN: Revision = "2026-07-28";

/** The revisions that are agreed on by `initialize`. */
export const LEGACY = REVISIONS.filter((revision) => revision < MODERN);

/** What a server answers to `initialize`: the client's own revision when it speaks it, else its newest. */
export function agreeOn(requested: string): Revision {
  return LEGACY.find((revision) => revision === requested) ?? "2025-11-25";
}
