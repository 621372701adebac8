const AUTHOR = {
  type: "object",
  additionalProperties: false,
  required: ["name", "email"],
  properties: {
    name: {
      type: "string",
      minLength: 1,
      pattern: "^[^<>\\n]+$",
      description: "The name in commits.",
    },
    email: {
      type: "string",
      minLength: 1,
      pattern: "^[^<>\\s]+$",
      description: "The address in commits.",
    },
  },
} as const;

/** The settings of remote runs in a configuration file. */
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
          "Hosts whose repositories agents may work on; `*.example.com` matches all subdomains. Empty: " +
          "every public host.",
      },
      allowPrivate: {
        type: "boolean",
        default: false,
        description:
          "Whether agents may work on repositories at private addresses, including this machine.",
      },
      protocols: {
        type: "array",
        items: { enum: ["https", "ssh", "http", "file"] },
        default: ["https", "ssh"],
        description: "Protocols by which repositories may be reached.",
      },
      sandbox: {
        enum: ["on", "unsafe-off"],
        default: "on",
        description:
          "Whether agents of remote runs work in a sandbox. Without one they can do everything that you can.",
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
              "Hosts that programs in a sandbox may reach, such as a package registry; `*.example.com` " +
              "matches all subdomains. Configured model providers can always be reached.",
          },
        },
      },
      turns: {
        type: "object",
        additionalProperties: false,
        description:
          "How many turns may run at once. Further turns wait in a queue, and clients see their position.",
        properties: {
          running: {
            type: "integer",
            minimum: 1,
            default: 32,
            description: "Turns of all tokens together that run at once.",
          },
          runningEach: {
            type: "integer",
            minimum: 1,
            default: 16,
            description: "Turns of one token that run at once.",
          },
          waitingEach: {
            type: "integer",
            minimum: 0,
            default: 100,
            description: "Turns of one token that may wait; further ones are refused.",
          },
        },
      },
      bases: {
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 4,
        description:
          "Checked-out revisions that are kept for each repository, in addition to those in use.",
      },
      spares: {
        type: "integer",
        minimum: 0,
        maximum: 20,
        default: 2,
        description:
          "Sessions that `trunkline serve` prepares in advance: a workspace with a started agent. One is " +
          "prepared after the second session of a token on the same revision, and ends after ten minutes.",
      },
      hibernateAfter: {
        type: "integer",
        minimum: 1,
        default: 86400,
        description:
          "Seconds after which the files of a closed run are stored as a commit only. Files that git " +
          "ignores are deleted then.",
      },
      setup: { $ref: "#SetupSettings" },
      coAuthor: {
        ...AUTHOR,
        description: "The co-author of all commits, mostly the user of the server.",
      },
      pullRequest: {
        enum: ["off", "draft", "ready"],
        default: "off",
        description:
          "Whether a pull request (on GitLab: a merge request) is opened for a run's branch, unless the " +
          "client asks for something else. It needs a token of the identity that matches the repository.",
      },
      forges: {
        type: "object",
        additionalProperties: { enum: ["github", "gitlab", "gitea"] },
        default: {},
        description:
          "The software of self-hosted forges, by host, for pull requests. Use `gitea` for Forgejo.",
      },
      scan: {
        type: "object",
        additionalProperties: false,
        description: "Limits on what a run may commit.",
        properties: {
          maxFile: {
            type: "integer",
            minimum: 1,
            default: 10485760,
            description: "The most bytes of an added or changed file.",
          },
          maxTotal: {
            type: "integer",
            minimum: 1,
            default: 104857600,
            description: "The most bytes of all added and changed files of a turn.",
          },
          maxFiles: {
            type: "integer",
            minimum: 1,
            default: 5000,
            description: "The most files that may change in a turn.",
          },
          deny: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description:
              "Further names and paths of files that are never committed, such as " +
              "`.github/workflows/*`; `*` matches any text without a slash.",
          },
        },
      },
    },
  },
} as const;
