import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { Ajv2020 } from "ajv/dist/2020.js";

import { OWNER, type Principal } from "../../src/base/principal.ts";
import type { ContentBlock, SessionUpdate, Turn, TurnClient } from "../../src/session/agent.ts";
import type {
  PermissionOutcome,
  PermissionRequest,
} from "../../src/session/permission/permission.ts";
import { QUICK } from "../acp/oracle.ts";
import { Packages } from "../support/packages.ts";

const packages = new Packages("test/agent");
let check: ((update: unknown) => string | undefined) | undefined;

/** Says what the official schema has against an update. */
async function schemaCheck(): Promise<NonNullable<typeof check>> {
  if (check !== undefined) return check;
  await packages.install();
  const file = packages.path("@agentclientprotocol/sdk/schema/v1/schema.json");
  const { $defs } = JSON.parse(readFileSync(file, "utf8")) as { $defs: object };
  const ajv = new Ajv2020({ ...QUICK, strict: false, validateFormats: false, logger: false });
  const validate = ajv.compile({ $defs, $ref: "#/$defs/SessionUpdate" });
  const permission = ajv.compile({ $defs, $ref: "#/$defs/RequestPermissionRequest" });
  check = (value) => {
    const isRequest = typeof value === "object" && value !== null && "options" in value;
    const used = isRequest ? permission : validate;
    return used(value) ? undefined : ajv.errorsText(used.errors);
  };
  return check;
}

export interface SampleTurnOptions {
  readonly prompt: string | readonly ContentBlock[];
  readonly client?: Partial<TurnClient>;
  /** Who prompts; the owner when left out. */
  readonly principal?: Principal;
  /** Answers questions for permission; allows when left out. */
  readonly decide?: (request: PermissionRequest) => PermissionOutcome | Promise<PermissionOutcome>;
  readonly onUpdate?: (update: SessionUpdate, turn: SampleTurn) => void | Promise<void>;
}

export const ALLOW: PermissionOutcome = {
  outcome: "selected",
  optionId: "allow",
  kind: "allow_once",
};
export const REJECT: PermissionOutcome = {
  outcome: "selected",
  optionId: "reject",
  kind: "reject_once",
};

/** One prompt, as the session layer hands it over; every update has to fit the official schema. */
export class SampleTurn implements Turn {
  readonly id = crypto.randomUUID();
  readonly prompt: readonly ContentBlock[];
  readonly principal: Principal;
  readonly stopper = new AbortController();
  readonly signal = this.stopper.signal;
  readonly client: TurnClient;
  readonly updates: SessionUpdate[] = [];
  readonly asked: PermissionRequest[] = [];
  /** What a mode has accepted, so that nobody was asked. */
  readonly accepted: PermissionRequest[] = [];
  readonly #options: SampleTurnOptions;
  readonly #steering: (readonly ContentBlock[])[] = [];

  constructor(options: SampleTurnOptions) {
    const { prompt } = options;
    this.#options = options;
    this.principal = options.principal ?? OWNER;
    this.prompt = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;
    this.client = { notices: true, compaction: false, ...options.client };
  }

  async update(update: SessionUpdate): Promise<void> {
    const problem = (await schemaCheck())(update);
    assert.equal(problem, undefined, JSON.stringify(update));
    assert.ok(JSON.stringify(update).length < 100 * 1024, "an update over its limit of size");
    this.updates.push(update);
    await this.#options.onUpdate?.(update, this);
  }

  async requestPermission(request: PermissionRequest): Promise<PermissionOutcome> {
    const { subject: _, acceptedBy, ...sent } = request;
    const problem = (await schemaCheck())({ sessionId: "s", ...sent });
    assert.equal(problem, undefined, JSON.stringify(request));
    if (acceptedBy !== undefined) {
      this.accepted.push(request);
      return ALLOW;
    }
    this.asked.push(request);
    return (await this.#options.decide?.(request)) ?? ALLOW;
  }

  progressed(): void {}

  steering(): readonly ContentBlock[] | undefined {
    return this.#steering.shift();
  }

  /** Says something while the turn runs. */
  steer(text: string): void {
    this.#steering.push([{ type: "text", text }]);
  }

  cancel(): void {
    this.stopper.abort(new Error("cancelled"));
  }

  ofKind(kind: string): SessionUpdate[] {
    return this.updates.filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  /** All that the agent said. */
  get text(): string {
    return this.ofKind("agent_message_chunk")
      .map(({ content }) => (content as { text: string }).text)
      .join("");
  }

  get notices(): string {
    return this.ofKind("notice")
      .map(
        ({ title, description }) =>
          `${title as string} ${(description as string | undefined) ?? ""}`,
      )
      .join("\n");
  }

  /** How each tool call ended. */
  get ends(): (string | undefined)[] {
    return this.ofKind("tool_call").map(({ toolCallId }) => {
      const updates = this.ofKind("tool_call_update").filter(
        (each) => each.toolCallId === toolCallId,
      );
      return updates.map(({ status }) => status as string | undefined).findLast(Boolean);
    });
  }
}
