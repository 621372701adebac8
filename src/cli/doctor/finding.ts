/** What a check found. */
export interface Finding {
  /** "warn" works, but not as one would want; "fail" does not work. */
  readonly state: "ok" | "warn" | "fail";
  readonly what: string;
  readonly says: string;
  /** What to do about it. */
  readonly next?: string;
}
