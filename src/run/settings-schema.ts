import * as s from "../base/capability/settings.ts";

const LIMITS = {
  memory: s.integer("Bytes of memory; 4 GiB by default.", { minimum: 1 << 26 }),
  cpus: s.number("Processors, such as 1.5; 4 by default.", { minimum: 0.1 }),
  processes: s.integer("Processes and threads; 512 by default.", { minimum: 16 }),
  disk: s.integer(
    "Bytes on disk for the changes in a workspace, its home and its temporary files. They are " +
      "counted every few seconds; with more, the agent is ended. Without it there is no limit.",
    { minimum: 1 << 20 },
  ),
  time: s.integer(
    "Seconds that a turn may take. What is done by then is pushed. Without it there is no limit.",
    { minimum: 1 },
  ),
};

/** Remote runs. */
export const runs = {
  name: "runs",
  settings: {
    remote: s.shape(
      "RemoteSettings",
      "Remote runs: agents that work here on a revision of a repository.",
      {
        allowHosts: s.list(
          { type: "string", pattern: "^[A-Za-z0-9*._:-]+$" },
          "Hosts whose repositories agents may work on; `*.example.com` matches all subdomains. " +
            "Empty: every public host.",
          { default: [] },
        ),
        allowPrivate: s.flag(
          "Whether agents may work on repositories at private addresses, including this machine.",
          { default: false },
        ),
        protocols: s.list(
          { enum: ["https", "ssh", "http", "file"] },
          "Protocols by which repositories may be reached.",
          { default: ["https", "ssh"] },
        ),
        submodules: s.list(
          s.NAME,
          "Addresses of submodules, such as `https://git.example.com/libraries/*`, that are fetched " +
            "with the credentials of the identity that matches them. Those of the repository's own " +
            "host and owner always are; others are fetched without credentials, by HTTPS.",
          // A project's file could otherwise name any repository that you can read.
          { default: [], "x-project": false },
        ),
        maxLfs: s.integer(
          "The most bytes of Git LFS that are fetched for a revision. With more, there are pointers " +
            "in place of the files.",
          { minimum: 0, default: 2_147_483_648 },
        ),
        sandbox: s.choice(
          ["on", "unsafe-off"],
          "Whether agents of remote runs work in a sandbox. Without one they can do everything " +
            "that you can.",
          { default: "on" },
        ),
        egress: s.group({
          allowHosts: s.list(
            { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
            "Hosts that programs in a sandbox may reach, such as a package registry; " +
              "`*.example.com` matches all subdomains. Configured model providers can always be " +
              "reached.",
            { default: [] },
          ),
        }),
        limits: s.shape(
          "RunLimitSettings",
          "What the programs of one run may use together. Without a sandbox only `time` holds.",
          {
            ...LIMITS,
            repositories: s.byName(
              s.shape("RunLimits", "What the programs of one run may use together.", LIMITS),
              "Other limits for repositories, by `HOST/PATH` such as `github.com/acme/*`; the first " +
                "match applies.",
              { default: {} },
            ),
            tokens: s.byName(
              s.shape("RunLimits", "What the programs of one run may use together.", LIMITS),
              "Lower limits for the runs of tokens, by the token's name.",
              { default: {} },
            ),
          },
          { "x-project": false },
        ),
        turns: s.group(
          {
            running: s.integer("Turns of all tokens together that run at once.", {
              minimum: 1,
              default: 32,
            }),
            runningEach: s.integer("Turns of one token that run at once.", {
              minimum: 1,
              default: 16,
            }),
            waitingEach: s.integer("Turns of one token that may wait; further ones are refused.", {
              minimum: 0,
              default: 100,
            }),
          },
          {
            description:
              "How many turns may run at once. Further turns wait in a queue, and clients see their " +
              "position.",
          },
        ),
        bases: s.integer(
          "Checked-out revisions that are kept for each repository, in addition to those in use.",
          { minimum: 1, maximum: 100, default: 4 },
        ),
        hibernateAfter: s.integer(
          "Seconds after which the files of a closed run are stored as a commit only. Files that " +
            "git ignores are deleted then.",
          { minimum: 1, default: 86_400 },
        ),
        setup: s.shape(
          "SetupSettings",
          "Commands that run once before agents work on a repository. All runs on it use their " +
            "result.",
          {
            repositories: s.byName(
              s.shape("RepositorySetup", "How a repository is set up.", {
                command: s.text("A shell command, such as `npm ci`. Without it, `from` applies."),
                env: s.byName(
                  s.ANY_TEXT,
                  "Environment variables for set-up only. Use `secrets` for secrets.",
                ),
                secrets: s.list(
                  { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
                  "Environment variables that set-up gets, and agents do not: of the server, or stored " +
                    "in the system's keychain with `trunkline model key set NAME`.",
                ),
                keys: s.list(
                  s.NAME,
                  "Files that make set-up run again when they change, such as `schema/*.sql`. By default " +
                    "the usual lock files.",
                ),
                keep: s.list(
                  { type: "string", minLength: 1, pattern: String.raw`^[^!\n]+$` },
                  "Patterns, as in `.gitignore`, of files that are kept like ignored ones, and never " +
                    "committed.",
                ),
                allowHosts: s.list(
                  { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
                  "Hosts that set-up may reach in addition to `remote.egress.allowHosts`.",
                ),
                services: s.byName(
                  s.NAME,
                  "Shell commands that run beside each agent, in its sandbox and its network, such as " +
                    "`postgres -D ~/database` for its tests. They end with it; their output is in " +
                    "`~/services/NAME.log`.",
                ),
                timeout: s.integer("Milliseconds that set-up may take; ten minutes by default.", {
                  minimum: 1000,
                  maximum: 86_400_000,
                }),
              }),
              "By `HOST/PATH` of the repository, such as `github.com/acme/*`, with the port if it is " +
                "not the usual one; the first match applies.",
              // A project's file could otherwise read any secret: with a command, and its name in `secrets`.
              { default: {}, "x-project": false },
            ),
            from: s.list(
              { enum: ["script", "devcontainer"] },
              "Which files of a repository may define its set-up if no `command` is configured for " +
                "it: `.trunkline/setup.sh` (`script`), or its devcontainer.json (`devcontainer`).",
              { default: [] },
            ),
            layers: s.integer(
              "Results of set-up that are kept for each repository, in addition to those in use.",
              { minimum: 1, maximum: 100, default: 4 },
            ),
            maxLayer: s.integer("The most bytes that the result of a set-up may take on disk.", {
              minimum: 1,
              default: 10_737_418_240,
            }),
          },
        ),
        coAuthor: s.group(
          {
            name: s.text("The name in commits.", { minLength: 1, pattern: String.raw`^[^<>\n]+$` }),
            email: s.text("The address in commits.", {
              minLength: 1,
              pattern: String.raw`^[^<>\s]+$`,
            }),
          },
          {
            required: ["name", "email"],
            description: "The co-author of all commits, mostly the user of the server.",
          },
        ),
        pullRequest: s.choice(
          ["off", "draft", "ready"],
          "Whether a pull request (on GitLab: a merge request) is opened for a run's branch, " +
            "unless the client asks for something else. It needs a token of the identity that " +
            "matches the repository.",
          { default: "off" },
        ),
        forges: s.byName(
          { enum: ["github", "gitlab", "gitea"] },
          "The software of self-hosted forges, by host, for pull requests. Use `gitea` for " +
            "Forgejo.",
          { default: {} },
        ),
        scan: s.group(
          {
            maxFile: s.integer("The most bytes of an added or changed file.", {
              minimum: 1,
              default: 10_485_760,
            }),
            maxTotal: s.integer("The most bytes of all added and changed files of a turn.", {
              minimum: 1,
              default: 104_857_600,
            }),
            maxFiles: s.integer("The most files that may change in a turn.", {
              minimum: 1,
              default: 5000,
            }),
            deny: s.list(
              s.NAME,
              "Further names and paths of files that are never committed, such as " +
                "`.github/workflows/*`; `*` matches any text without a slash.",
              { default: [] },
            ),
          },
          { description: "Limits on what a run may commit." },
        ),
      },
    ),
  },
} satisfies s.SettingsSchema;
