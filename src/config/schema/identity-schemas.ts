/** Identities as they are written in a configuration file. */
export const IDENTITY_SCHEMAS = {
  IdentitySettings: {
    description: "Who somebody is to git and to a forge.",
    type: "object",
    additionalProperties: false,
    required: ["provider"],
    properties: {
      provider: {
        enum: ["github", "gitlab", "bitbucket", "other"],
        description: "Kind of forge.",
      },
      host: {
        type: "string",
        minLength: 1,
        description:
          "Host of the forge's pages, with a port if it has one (`git.corp:8443`); default that of the provider, such as `github.com`.",
      },
      sshHost: {
        type: "string",
        pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        "x-form": "a name such as github-work, of letters, digits and any of _ . -",
        description: "Host name in the SSH configuration (an alias), by which ssh chooses the key.",
      },
      user: {
        type: "string",
        pattern: "^[^\\u0000-\\u001f\\u007f]+$",
        "x-form": "a name on one line, such as ada",
        description: "Name of the account on the forge.",
      },
      email: {
        type: "string",
        pattern: "^[^\\s<>]+@[^\\s<>]+$",
        "x-form": "an address such as ada@example.com",
        description: "Email address in commits.",
      },
      displayName: {
        type: "string",
        pattern: "^[^<>\\r\\n]*[^<>\\s.,:;\"'][^<>\\r\\n]*$",
        "x-form": "a name on one line, without < and >, such as Ada Lovelace",
        description: "Name in commits; default `user`.",
      },
      sshKey: {
        type: "string",
        pattern: "^(?:/|~/|[A-Za-z]:[\\\\/])",
        description: "File of the private key that ssh logs in with; absolute, or `~/…`.",
      },
      signing: { $ref: "#SigningSettings" },
      tokenSource: { $ref: "#TokenSource" },
      organizations: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description:
          "Repository owners that the identity is for, such as `acme` or `group/subgroup`.",
      },
      match: {
        type: "array",
        items: { $ref: "#MatchRule" },
        description: "Rules for repositories that the identity is for; one of them has to match.",
      },
      "x-juggler": {
        type: "object",
        description: "Fields of RemoteJuggler that Trunkline does not use, as imported.",
      },
    },
  },

  SigningSettings: {
    description: "How commits and tags are signed.",
    type: "object",
    additionalProperties: false,
    required: ["format"],
    properties: {
      format: { enum: ["openpgp", "ssh"], description: "Sign with gpg or with ssh." },
      key: {
        type: "string",
        minLength: 1,
        description:
          "For `openpgp` the id of a key, default the one for `email`; for `ssh` a file, default " +
          "`sshKey`.",
      },
      signCommits: {
        type: "boolean",
        description: "Whether commits are signed; true when left out.",
      },
      signTags: { type: "boolean", description: "Whether tags are signed; false when left out." },
      hardware: { type: "boolean", description: "Whether the key is on a hardware device." },
      touchPolicy: {
        type: "string",
        minLength: 1,
        description: "When the device requires a touch, such as `on`, `cached` or `off`.",
      },
    },
  },

  TokenSource: {
    description: "Where the token of an identity comes from; never the token itself.",
    type: "object",
    additionalProperties: false,
    required: ["kind"],
    properties: {
      kind: {
        enum: ["keychain", "environment", "command-line", "none"],
        description:
          "The system's keychain, a variable, the forge's own program (`gh`, `glab`), or nowhere.",
      },
      variable: { type: "string", minLength: 1, description: "With `environment`: its name." },
      service: {
        type: "string",
        minLength: 1,
        description: "With `keychain`: the name of the service it is stored under.",
      },
    },
  },

  MatchRule: {
    description: "A rule for repositories; all of its conditions must match.",
    type: "object",
    additionalProperties: false,
    properties: {
      host: {
        type: "string",
        minLength: 1,
        description: "Host of a remote, with or without its port; `*` stands for any text.",
      },
      owner: {
        type: "string",
        minLength: 1,
        description: "Owner of the repository, including groups below it; `*` stands for any text.",
      },
      path: {
        type: "string",
        pattern: "^(?:/|~/|[A-Za-z]:[\\\\/])",
        description:
          "Folder that contains the repository, absolute or `~/…`; `*` stands for any text.",
      },
      remote: {
        type: "string",
        minLength: 1,
        description: "Address of a remote; `*` stands for any text.",
      },
    },
  },
} as const;
