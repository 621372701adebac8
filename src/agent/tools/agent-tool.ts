import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Stop } from "../../base/stop.ts";
import type { TurnClient } from "../../session/agent.ts";
import type { Arguments, JsonSchema } from "../../tool/tool.ts";
import type { ActsAs } from "../command-environment.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import type { Need } from "../modes.ts";

/** What an editor shows a tool call as. */
export type ToolKind = "read" | "edit" | "search" | "execute" | "think" | "fetch" | "other";

/** What an editor shows in a tool call: text, a diff or a terminal. */
export type ShownContent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Location {
  readonly path: string;
  readonly line?: number;
}

/** Something that a model can have done. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly kind: ToolKind;
  readonly need: Need;
  /** Milliseconds that it may take; waiting for a person does not count. */
  readonly timeout?: number;
  /** What it is about to do, in few words; arguments may be wrong here. */
  title(args: Arguments): string;
  call(args: Arguments, work: ToolWork): Promise<ToolAnswer>;
}

export interface ToolAnswer {
  /** For the model. */
  readonly text: string;
  readonly isError?: boolean;
  /** For people; the text when left out. */
  readonly content?: readonly ShownContent[];
  readonly locations?: readonly Location[];
  readonly images?: readonly { readonly data: string; readonly mimeType: string }[];
}

/** What is asked of a person before something is done. All of it is shown, or it is not done. */
export interface Consent {
  readonly title?: string;
  /** What an "always" is remembered for. Without one it is not offered. */
  readonly subject?: string;
  /** The same in words for the person who is to say it; the subject itself when left out. */
  readonly covers?: string;
  /** What is about to be done, whole; the arguments when left out. */
  readonly content?: readonly ShownContent[];
  readonly locations?: readonly Location[];
}

/** What a tool has at hand while it runs. */
export interface ToolWork {
  readonly files: TurnFiles;
  readonly client: TurnClient;
  readonly stop: Stop;
  readonly log: Log;
  readonly sessionId: string;
  /** Who gave the prompt. */
  readonly principal: Principal;
  /** Whom commands act as to git. */
  readonly actsAs?: ActsAs | undefined;
  /** Shows how far it is. */
  readonly show: (shown: {
    readonly title?: string;
    readonly content?: readonly ShownContent[];
    readonly locations?: readonly Location[];
  }) => Promise<void>;
  /** Waits until a person allows it. Throws `Refused` when they do not. */
  readonly allow: (consent: Consent) => Promise<void>;
  plan(entries: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  /** It works, though it has nothing to show. */
  progressed(): void;
}

/** A person said no. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export function textContent(text: string): ShownContent {
  return { type: "content", content: { type: "text", text } };
}

/** The members of a schema that takes an object. */
export function inputOf(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}
