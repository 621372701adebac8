/** How people who are away are notified, as it is written in a configuration file. */
export const NOTIFY_SCHEMAS = {
  NotificationSettings: {
    description:
      "Who is notified of what happens in sessions, and how: by one of `command`, `webhook` and `push`.",
    type: "object",
    additionalProperties: false,
    properties: {
      name: {
        type: "string",
        pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description: "Name in `trunkline notifications list`.",
      },
      on: {
        type: "array",
        minItems: 1,
        items: { type: "string", enum: ["permission", "question", "turn-ended", "failed"] },
        description:
          "Reasons: an agent asks for permission, an agent asks a question, a turn has ended, a turn " +
          "has failed; all of them if left out.",
      },
      detail: {
        type: "boolean",
        description:
          "Whether to send the title of the session, what the agent asks and the folder. Without it, a " +
          "notification has no words of prompts, agents or code.",
      },
      command: {
        type: "array",
        minItems: 1,
        items: { type: "string" },
        description:
          "Program and arguments to start, without a shell. It reads the notification from standard " +
          "input, as JSON.",
      },
      timeout: {
        type: "integer",
        minimum: 1,
        maximum: 600,
        description: "Seconds that the command or the request may take; 30 if left out.",
      },
      webhook: {
        type: "object",
        additionalProperties: false,
        required: ["url"],
        properties: {
          url: {
            type: "string",
            format: "uri",
            pattern: "^https?://",
            description: "Address that the notification is posted to, as JSON; `https`.",
          },
          headers: {
            type: "object",
            additionalProperties: { type: "string" },
            description: "Headers to send with it.",
          },
        },
      },
      push: {
        type: "boolean",
        description: "Whether to notify the browsers that subscribed to it (Web Push).",
      },
      allowHosts: {
        type: "array",
        items: { type: "string", pattern: "^(\\*\\.)?[A-Za-z0-9_.-]+$" },
        description:
          "Hosts of push services, in addition to those of the known browsers; `*.` matches subdomains.",
      },
      allowPrivate: {
        type: "boolean",
        description:
          "Whether the address may be one of this machine or a private network, and without TLS.",
      },
    },
  },
} as const;
