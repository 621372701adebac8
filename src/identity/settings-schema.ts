import * as s from "../base/capability/settings.ts";

const person = (name: string, what: string): s.Setting =>
  s.shape(
    name,
    what,
    {
      name: s.text("The name in commits.", { minLength: 1, pattern: String.raw`^[^<>\r\n]+$` }),
      email: s.text("The address in commits.", { minLength: 1, pattern: String.raw`^[^<>\s]+$` }),
    },
    { required: ["name", "email"] },
  );

const matchRule = s.shape(
  "MatchRule",
  "A rule for repositories; all of its conditions must match.",
  {
    host: s.text("Host of a remote, with or without its port; `*` stands for any text."),
    owner: s.text("Owner of the repository, including groups below it; `*` stands for any text."),
    path: s.text(
      "Folder that contains the repository, absolute or `~/…`; `*` stands for any text.",
      { pattern: String.raw`^(?:/|~/|[A-Za-z]:[\\/])` },
    ),
    remote: s.text("Address of a remote; `*` stands for any text."),
  },
);

/** Git identities. */
export const identities = {
  name: "identities",
  settings: {
    identities: s.byName(
      s.shape(
        "IdentitySettings",
        "Who somebody is to git and to a forge.",
        {
          provider: s.choice(["github", "gitlab", "bitbucket", "other"], "Kind of forge."),
          host: s.text(
            "Host of the forge's pages, with a port if it has one (`git.corp:8443`); default that " +
              "of the provider, such as `github.com`.",
          ),
          sshHost: s.text(
            "Host name in the SSH configuration (an alias), by which ssh chooses the key.",
            {
              pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
              "x-form": "a name such as github-work, of letters, digits and any of _ . -",
            },
          ),
          user: s.text("Name of the account on the forge.", {
            pattern: String.raw`^[^\u0000-\u001f\u007f]+$`,
            "x-form": "a name on one line, such as ada",
          }),
          email: s.text("Email address in commits.", {
            pattern: String.raw`^[^\s<>]+@[^\s<>]+$`,
            "x-form": "an address such as ada@example.com",
          }),
          displayName: s.text("Name in commits; default `user`.", {
            pattern: String.raw`^[^<>\r\n]*[^<>\s.,:;"'][^<>\r\n]*$`,
            "x-form": "a name on one line, without < and >, such as Ada Lovelace",
          }),
          sshKey: s.text("File of the private key that ssh logs in with; absolute, or `~/…`.", {
            pattern: String.raw`^(?:/|~/|[A-Za-z]:[\\/])`,
          }),
          signing: s.shape(
            "SigningSettings",
            "How commits and tags are signed.",
            {
              // Git refuses every commit where `gpg.format` is `gpg`.
              format: s.choice(["openpgp", "ssh"], "Sign with gpg or with ssh."),
              key: s.text(
                "For `openpgp` the id of a key, default the one for `email`; for `ssh` a file, default " +
                  "`sshKey`.",
              ),
              signCommits: s.flag("Whether commits are signed; true when left out."),
              signTags: s.flag("Whether tags are signed; false when left out."),
              hardware: s.flag("Whether the key is on a hardware device."),
              touchPolicy: s.text(
                "When the device requires a touch, such as `on`, `cached` or `off`.",
              ),
            },
            { required: ["format"] },
          ),
          tokenSource: s.shape(
            "TokenSource",
            "Where the token of an identity comes from; never the token itself.",
            {
              kind: s.choice(
                ["keychain", "environment", "command-line", "none"],
                "The system's keychain, a variable, the forge's own program (`gh`, `glab`), or nowhere.",
              ),
              variable: s.text("With `environment`: its name."),
              service: s.text("With `keychain`: the name of the service it is stored under."),
            },
            { required: ["kind"] },
          ),
          organizations: s.list(
            s.NAME,
            "Repository owners that the identity is for, such as `acme` or `group/subgroup`.",
          ),
          match: s.list(
            matchRule,
            "Rules for repositories that the identity is for; one of them has to match.",
          ),
          "x-juggler": {
            type: "object",
            description: "Fields of RemoteJuggler that earlier versions kept. Not used.",
          },
        },
        { required: ["provider"] },
      ),
      "Git identities, by name; `trunkline identity add` writes one.",
      { default: {}, "x-project": false },
    ),
    agentCommits: s.list(
      s.shape("AgentCommitRule", "Who an agent is in the commits of a repository.", {
        agent: s.text("Name of the agent; `*` stands for any text, and is the default."),
        repositories: s.list(
          matchRule,
          "Rules for repositories, one of which has to match; default all.",
        ),
        identity: s.text(
          "Identity that it acts as, with its keys and token; default that of `agents.NAME`, else the " +
            "one that matches the repository.",
        ),
        author: person("CommitPerson", "Author of its commits; default the identity."),
        committer: person("CommitPerson", "Committer of its commits; default the identity."),
        coAuthor: person("CommitPerson", "Co-author of its commits, in a `Co-authored-by` line."),
        trailers: s.list(
          s.text("A line such as `Assisted-by: {agent}` or `Trunkline-Session: {session}`.", {
            pattern: String.raw`^[A-Za-z0-9-]+: [^\r\n]+$`,
            "x-form": "a line such as Assisted-by: {agent}",
          }),
          "Lines at the end of each message, with agent and session filled in where they are known.",
        ),
        signingKey: s.text("Key that it signs with, instead of the identity's."),
      }),
      "Who agents are in git; the first rule that matches agent and repository counts. The guard " +
        "accepts whom the rules for a repository name.",
      { default: [], "x-project": false },
    ),
    "x-juggler": {
      type: "object",
      description: "Other parts of RemoteJuggler's configuration, as imported.",
      "x-project": false,
    },
  },
} satisfies s.SettingsSchema;
