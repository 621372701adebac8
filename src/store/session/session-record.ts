import type { Row } from "../database.ts";

/** What is stored of a session beside its events. */
export interface SessionFields {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title: string | undefined;
  readonly created: number;
  readonly updated: number;
  /** Id of the session that it was forked from. */
  readonly parent: string | undefined;
  /** Further data of its owner, as JSON. */
  readonly notes: Readonly<Record<string, unknown>>;
}

/** The stored record of a session, without its events. */
export interface SessionRecord extends SessionFields {
  readonly isDeleted: boolean;
  /** A process, perhaps this one, has the session open. */
  readonly isHeld: boolean;
}

export interface NewSession {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title?: string;
  readonly parent?: string;
  readonly notes: Readonly<Record<string, unknown>>;
}

/** A session that this process has open and may append to. */
export interface HeldSession {
  readonly key: number;
  readonly record: SessionRecord;
  /** Number of its last event. */
  readonly last: number;
}

export function fieldsOf(row: Row): SessionFields {
  return {
    id: String(row.uuid),
    cwd: String(row.cwd),
    agent: String(row.agent),
    title: (row.title as string | null) ?? undefined,
    created: Number(row.created),
    updated: Number(row.updated),
    parent: (row.parent as string | null) ?? undefined,
    notes: JSON.parse(String(row.notes)) as Record<string, unknown>,
  };
}
