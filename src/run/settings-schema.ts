import * as s from "../base/capability/settings.ts";

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
        spares: s.integer(
          "Sessions that `trunkline serve` prepares in advance: a workspace with a started " +
            "agent. One is prepared after the second session of a token on the same revision, and " +
            "ends after ten minutes.",
          { minimum: 0, maximum: 20, default: 2 },
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
