import type { ToolDefinition } from "./tool.ts";

/** Whose a tool is, and what it is called there. */
export interface ToolSource {
  /** The name that the configuration gives the server. */
  readonly server: string;
  readonly name: string;
}

/** Says whether another server's tool may be offered as that server describes it now. */
export interface Approver {
  judge(server: string, definition: ToolDefinition): "approved" | "held";
  /** Why it is held. */
  why(server: string, name: string): "new" | "changed";
  /** Whether a person has approved it, as it is described now, and not only its being seen first. */
  vouches(server: string, definition: ToolDefinition): boolean;
  /** To be awaited before `vouches` is asked for anything that a person would else be asked. */
  ready?(): Promise<void>;
  /** Calls back when something may be judged otherwise than before. Returns how to stop it. */
  onChange(listener: () => void): () => void;
}
