import { AMOUNTS } from "../base/limit/budget.ts";
import { SCOPES } from "../base/principal.ts";
import { EVENT_KINDS, SEVERITIES, STATES } from "./review/review-thread.ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;
const line = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;
const objectId = { type: "string", pattern: "^[0-9a-f]{1,64}$", "x-form": "an id of git" } as const;
const state = { type: "string", enum: STATES } as const;
const amount = { type: "number", minimum: Number.MIN_VALUE, maximum: Number.MAX_VALUE } as const;
/** Milliseconds since 1970 that a Date can have. */
const time = { type: "integer", minimum: -8.64e15, maximum: 8.64e15 } as const;

/** What a thread has wherever it is written down. */
const thread = {
  required: ["id", "anchor", "severity", "comment", "by", "source", "at", "events", "state"],
  properties: {
    id: text,
    anchor: { $ref: "#Anchor" },
    severity: { type: "string", enum: SEVERITIES },
    comment: text,
    suggestion: { $ref: "#Suggestion" },
    by: text,
    source: text,
    at: time,
    events: { type: "array", items: { $ref: "#WrittenEvent" } },
    state,
  },
} as const;

const commit = { type: "string", pattern: "^[0-9a-f]{40}$" } as const;
const commitOrNone = { type: "string", pattern: "^([0-9a-f]{40})?$" } as const;
const amountOrNone = { type: "number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
const count = { ...amountOrNone, type: "integer" } as const;
const day = { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" } as const;
const record = { type: "object", properties: {} } as const;

/** Records in files that several processes or machines share. Unknown members are accepted. */
export const schemas = {
  AccessToken: {
    type: "object",
    description: "The stored record of a token, with its hash instead of the token.",
    required: ["id", "name", "sha256", "created", "scopes"],
    properties: {
      id: text,
      name: text,
      sha256: {
        type: "string",
        pattern: "^[0-9a-f]{64}$",
        description:
          "Hash of the whole token in hexadecimal. 256 random bits need no salt and no slow hash.",
      },
      created: text,
      expires: { ...text, description: "Left out for a token that does not expire." },
      lastUsed: { ...text, description: "Accurate to about a minute." },
      scopes: {
        type: "array",
        items: { type: "string", enum: SCOPES },
        description: "What the bearer may do.",
      },
      limits: {
        type: "object",
        additionalProperties: false,
        properties: {
          agents: texts,
          tools: texts,
          folders: texts,
          repositories: texts,
          budget: {
            type: "object",
            additionalProperties: false,
            properties: Object.fromEntries(AMOUNTS.map((name) => [name, amount])),
          },
          concurrent: amount,
          observe: { type: "boolean" },
        },
      },
      profile: { ...text, description: "The profile of its bearer, by name." },
      person: { ...text, description: "Whose it is, where several are one person's." },
      maker: {
        ...text,
        description:
          "The id of the token that created it; it ends with that one. Left out if the owner created it.",
      },
    },
  },

  Device: {
    type: "object",
    description: "A browser that the owner has logged in, with the hash of its cookie.",
    required: ["id", "sha256", "name", "created", "lastSeen", "isPaired", "isLocal"],
    properties: {
      id: text,
      sha256: text,
      name: { ...text, description: "From what the browser says about itself." },
      created: text,
      lastSeen: { ...text, description: "Accurate to about a minute." },
      isPaired: { type: "boolean", description: "Paired for longer than a working day." },
      mark: {
        ...text,
        description: "The owner's token when it logged in: a new one logs out all devices.",
      },
      isLocal: {
        type: "boolean",
        description:
          "It logged in under a loopback name, where other users of the machine may run servers too.",
      },
      isOwn: {
        type: "boolean",
        description:
          "A program of the owner on this machine logged it in; it is not accepted from other machines.",
      },
    },
  },

  Approval: {
    type: "object",
    description: "The approval of one tool of one server.",
    required: ["server", "name"],
    properties: {
      server: text,
      name: text,
      approved: { $ref: "#Seen", description: "Left out while nobody has approved it." },
      byPerson: {
        const: true,
        description: "Approved by a person; otherwise it is what was seen first.",
      },
      held: {
        $ref: "#Seen",
        description: "The current description, which is held until it is approved.",
      },
    },
  },

  Seen: {
    type: "object",
    description: "A description of a tool, and when it was first seen.",
    required: ["fingerprint", "time"],
    properties: {
      fingerprint: { ...text, description: "SHA-256 of the canonical JSON of the description." },
      time: text,
      described: {
        $ref: "#Described",
        description: "Left out if it is very long; then only the fact of a change can be shown.",
      },
    },
  },

  Described: {
    type: "object",
    description: "The parts of a tool's definition that a model or a person reads.",
    required: ["name"],
    properties: {
      name: text,
      title: {},
      description: {},
      inputSchema: {},
      outputSchema: {},
      annotations: {},
      ui: {
        description:
          "The page that shows it, and who may call it (MCP Apps): all that counts of `_meta`.",
      },
    },
  },

  Anchor: {
    type: "object",
    description:
      "Where a comment is, with the context to find it again after the file has changed.",
    required: ["path", "side"],
    properties: {
      path: { ...text, description: "Path from the root of the repository, with `/`." },
      side: { type: "string", enum: ["old", "new"] },
      line: { ...line, description: "The first line, from 1; left out for the file as a whole." },
      end: { ...line, description: "The last line; the same as the first for a single one." },
      blob: { ...objectId, description: "Git's blob id of the file's text at that moment." },
      commit: {
        ...objectId,
        description: "The commit that was checked out, or that of the old side.",
      },
      quote: texts,
      before: texts,
      after: texts,
    },
  },

  Suggestion: {
    type: "object",
    description: "Lines that are to replace the commented ones.",
    required: ["lines"],
    properties: { lines: texts },
  },

  Proposal: {
    type: "object",
    description: "What an agent says it has changed for a thread.",
    properties: { text, commit: text, diff: text },
  },

  WrittenEvent: {
    type: "object",
    description: "An event of a thread, without its number: that differs between machines.",
    required: ["kind", "at", "by", "role"],
    properties: {
      kind: { type: "string", enum: EVENT_KINDS },
      at: { ...time, description: "Milliseconds since 1970." },
      by: text,
      role: { type: "string", enum: ["person", "agent"] },
      text,
      proposal: { $ref: "#Proposal" },
      comments: { ...texts, description: "The comments of the forge that it is." },
    },
  },

  TransferredThread: {
    type: "object",
    description: "A thread in an export.",
    required: thread.required,
    properties: {
      ...thread.properties,
      text: { ...text, description: "The file that was commented on, in base64." },
    },
  },

  ThreadDocument: {
    type: "object",
    description:
      "A thread with its whole history, without fields that only make sense on one machine.",
    required: [...thread.required, "repository"],
    properties: {
      ...thread.properties,
      repository: {
        type: "object",
        required: ["gitDir", "root", "remotes"],
        properties: { gitDir: text, root: text, remotes: texts, firstCommit: text },
      },
      fingerprint: text,
      events: {
        type: "array",
        items: { $ref: "#WrittenEvent" },
        minItems: 1,
        description: "In the order of time; the first one opened the thread.",
      },
      claim: {
        type: "object",
        description: "Of a claimed thread.",
        required: ["agent", "until", "before"],
        properties: {
          agent: text,
          until: time,
          before: { ...state, description: "The state of the thread when the claim is over." },
        },
      },
      isResolvedThere: {
        type: "boolean",
        description: "Of a thread of a forge: whether it was resolved there.",
      },
    },
  },

  MovedSession: {
    type: "object",
    description: "The first line of a bundle: what a session is beside its files.",
    required: ["format", "id", "agent", "created", "updated", "notes", "usage", "folders", "files"],
    properties: {
      format: { type: "string", enum: ["trunkline-session-1"] },
      id: { type: "string", pattern: "^(agent[.])?[A-Za-z0-9_-]{1,200}$" },
      ...{ agent: text, title: text, created: time, updated: time, notes: record },
      usage: { type: "array", maxItems: 100_000, items: { $ref: "#MovedUsage" } },
      folders: {
        ...texts,
        maxItems: 1_000,
        description: "In which it has worked, the last one last.",
      },
      work: { $ref: "#MovedWork" },
      files: { type: "array", maxItems: 10_000, items: { $ref: "#BundledFile" } },
    },
  },

  BundledFile: {
    type: "object",
    required: ["name", "size", "sha256"],
    properties: {
      name: {
        type: "string",
        pattern:
          "^(events|reviews|work[.]pack|agent/[A-Za-z0-9][A-Za-z0-9._-]{0,200}|undo/(undone/)?[0-9]{1,12}/(turn[.]jsonl|[0-9]{1,9}[.]before))$",
        description: "No other file is taken.",
      },
      ...{ size: count, sha256: text },
    },
  },

  MovedUsage: {
    type: "object",
    required: ["turn", "day", "tokens", "cost", "steps", "time"],
    properties: {
      ...{ turn: { ...text, maxLength: 200 }, day, tokens: amountOrNone, cost: amountOrNone },
      ...{ steps: count, time: amountOrNone, reportedCost: amountOrNone },
    },
  },

  MovedWork: {
    type: "object",
    description: "The state of a work tree, as commits of git.",
    required: ["head", "branch", "index", "tree", "inside", "carried"],
    properties: {
      head: { ...commitOrNone, description: "What is checked out; empty before the first commit." },
      branch: { ...text, description: "Empty for a detached HEAD." },
      index: { ...commit, description: "A commit with the index." },
      tree: { ...commit, description: "A commit with all files, byte for byte." },
      inside: { ...text, description: "The folder of the session in the work tree." },
      carried: { ...texts, maxItems: 10_000, description: "Ignored files that go along." },
    },
  },
} as const;
