const AUTHOR = {
  type: "object",
  additionalProperties: false,
  required: ["name", "email"],
  properties: {
    name: {
      type: "string",
      minLength: 1,
      pattern: "^[^<>\\n]+$",
      description: "As commits have it.",
    },
    email: {
      type: "string",
      minLength: 1,
      pattern: "^[^<>\\s]+$",
      description: "As commits have it.",
    },
  },
} as const;

/** Agents that work on a revision of a repository, as it is written in a configuration file. */
export const REMOTE_SCHEMAS = {
  RemoteSettings: {
    description: "Remote runs: agents that work here on a revision of a repository.",
    type: "object",
    additionalProperties: false,
    properties: {
      allowHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9*._:-]+$" },
        default: [],
        description:
          "Hosts whose repositories may be worked on; `*.example.com` stands for all below it. Empty: " +
          "every public host.",
      },
      allowPrivate: {
        type: "boolean",
        default: false,
        description:
          "Whether repositories on private addresses may be worked on, this machine's too.",
      },
      protocols: {
        type: "array",
        items: { enum: ["https", "ssh", "http", "file"] },
        default: ["https", "ssh"],
        description: "How repositories may be reached.",
      },
      sandbox: {
        enum: ["on", "unsafe-off"],
        default: "on",
        description:
          "Whether agents of remote runs work in a sandbox. Without one they can do whatever you can.",
      },
      egress: {
        type: "object",
        additionalProperties: false,
        properties: {
          allowHosts: {
            type: "array",
            items: { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
            default: [],
            description:
              "Hosts that programs in a sandbox may reach, such as a registry of packages; " +
              "`*.example.com` stands for all below it. Providers of models are reached besides.",
          },
        },
      },
      turns: {
        type: "object",
        additionalProperties: false,
        description:
          "How many turns may run at once; the others wait, and are told their position in the queue.",
        properties: {
          running: {
            type: "integer",
            minimum: 1,
            default: 32,
            description: "Turns that run at once, of all tokens together.",
          },
          runningEach: {
            type: "integer",
            minimum: 1,
            default: 16,
            description: "Turns that run at once, of one token.",
          },
          waitingEach: {
            type: "integer",
            minimum: 0,
            default: 100,
            description: "Turns that wait, of one token; further ones are refused.",
          },
        },
      },
      bases: {
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 4,
        description: "Checked-out revisions that are kept of each repository.",
      },
      hibernateAfter: {
        type: "integer",
        minimum: 1,
        default: 86400,
        description:
          "Seconds after which the files of a run that nobody has open are kept as a commit only. " +
          "Files that git ignores are lost then; they stay until then.",
      },
      setup: { $ref: "#SetupSettings" },
      coAuthor: { ...AUTHOR, description: "Who is named as co-author of commits: the user." },
      pullRequest: {
        enum: ["off", "draft", "ready"],
        default: "off",
        description:
          "Whether a pull request (on GitLab: a merge request) is opened for a run's branch; clients " +
          "may ask otherwise. It needs a token of the identity that fits the repository.",
      },
      forges: {
        type: "object",
        additionalProperties: { enum: ["github", "gitlab", "gitea"] },
        default: {},
        description:
          "Whose software self-hosted forges run, by host; for opening pull requests. Forgejo is `gitea`.",
      },
      scan: {
        type: "object",
        additionalProperties: false,
        description: "What may not be committed.",
        properties: {
          maxFile: {
            type: "integer",
            minimum: 1,
            default: 10485760,
            description: "Bytes of a file that is added or changed.",
          },
          maxTotal: {
            type: "integer",
            minimum: 1,
            default: 104857600,
            description: "Bytes of all that is added or changed in a turn.",
          },
          maxFiles: {
            type: "integer",
            minimum: 1,
            default: 5000,
            description: "Files that may change in a turn.",
          },
          deny: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description:
              "Names and paths of files that are not committed either, such as " +
              "`.github/workflows/*`; `*` stands for any text within a name.",
          },
        },
      },
    },
  },
} as const;
