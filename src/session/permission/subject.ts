/**
 * What an "always" answer covers. It is a value with named parts: joined to a text, the parts of one
 * subject could read like those of another, and the answer would cover both.
 */
export type PermissionSubject =
  | { readonly action: "edit" }
  | {
      readonly action: "run";
      readonly command: string;
      /** Relative to the workspace. */
      readonly folder: string;
      /** "left": outside, though there is a sandbox. "none": this machine has none. */
      readonly sandbox: "in" | "left" | "none";
    }
  /** `programs` is a digest of what git runs; empty if it runs nothing. */
  | { readonly action: "commit"; readonly programs: string }
  | { readonly action: "connect" | "fetch"; readonly host: string }
  | {
      readonly action: "call";
      readonly tool: string;
      /** Whose tool it is; left out for our own. */
      readonly server?: string;
      /** The session's own server, which the client named. */
      readonly isBrought?: boolean;
    };

/** The same text for equal subjects, and for no others. */
export function subjectKey(subject: PermissionSubject): string {
  const parts = Object.entries(subject).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(parts.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** The subject of a key. */
export function subjectOf(key: string): PermissionSubject {
  return JSON.parse(key) as PermissionSubject;
}

/** For people. Never compared. */
export function subjectWords(subject: PermissionSubject): string {
  switch (subject.action) {
    case "edit":
      return "edit files";
    case "run": {
      const where = subject.folder === "." ? "" : ` in ${subject.folder}`;
      const outside = { in: "", left: "outside of the sandbox, ", none: "without a sandbox, " };
      return `${outside[subject.sandbox]}run ${subject.command}${where}`;
    }
    case "commit":
      return subject.programs === "" ? "git commit" : "git commit, with programs of the repository";
    case "connect":
      return `connect to ${subject.host}`;
    case "fetch":
      return `fetch from ${subject.host}`;
    case "call": {
      const of = subject.server === undefined ? "" : `${subject.server}/`;
      return `call ${subject.isBrought === true ? "session server " : ""}${of}${subject.tool}`;
    }
  }
}
