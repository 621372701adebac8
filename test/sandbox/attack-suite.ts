import assert from "node:assert/strict";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";

import { inHome, type Inside, type OpenInside } from "./inside.ts";

/** What must never be seen inside. */
const SECRET = "s3cret-of-the-person";

/** Well-known files with keys, logins, histories and profiles, in a home folder. */
const CREDENTIALS = [
  ...[".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/config", ".gnupg/private-keys-v1.d/a.key", ".netrc"],
  ...[".aws/credentials", ".aws/sso/cache/a.json", ".azure/msal_token_cache.json", ".oci/config"],
  ...[
    ".config/gcloud/application_default_credentials.json",
    ".boto",
    ".s3cfg",
    ".config/hcloud/cli.toml",
  ],
  ...[
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".git-credentials",
    ".config/git/credentials",
  ],
  ...[".docker/config.json", ".kube/config", ".vault-token", ".terraform.d/credentials.tfrc.json"],
  ...[".npmrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".cargo/credentials.toml"],
  ...[
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".config/composer/auth.json",
  ],
  ...[
    ".pgpass",
    ".my.cnf",
    ".config/op/config",
    ".password-store/a.gpg",
    ".config/rclone/rclone.conf",
  ],
  ...[
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/goose/secrets.yaml",
  ],
  ...[
    ".mozilla/firefox/a/logins.json",
    ".config/google-chrome/Default/Cookies",
    ".thunderbird/a/key4.db",
  ],
  ...[".bash_history", ".zsh_history", ".psql_history", ".python_history", ".node_repl_history"],
  ...[
    ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
    ".foundry/keystores/a",
    ".config/solana/id.json",
  ],
  ...["Documents/taxes.txt", ".env", "other-project/.env", ".local/share/keyrings/login.keyring"],
];

/** Variables that hold secrets, or lead to those who act for the person. */
const VARIABLES = [
  ...["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "DATABASE_URL", "KUBECONFIG"],
  ...["SSH_AUTH_SOCK", "DOCKER_HOST", "NPM_TOKEN", "PGPASSWORD", "GOOGLE_APPLICATION_CREDENTIALS"],
  ...["SLACK_WEBHOOK", "MY_LOGIN", "DBUS_SESSION_BUS_ADDRESS", "npm_config__auth", "PIP_INDEX_URL"],
  ...["GIT_CONFIG_VALUE_0", "NODE_OPTIONS", "VAULT_ADDR", "XAUTHORITY", "TRUNKLINE_TOKEN"],
];

const SECRETS = Object.fromEntries(VARIABLES.map((name) => [name, `/x/${SECRET}`]));

const NODE = process.execPath;

/** A line that connects to a socket, and says what it heard, or why it could not. */
function connect(to: string): string {
  return `${NODE} -e 'net.connect(${to}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
}

/** Numbers of system calls on x64 and arm64 that nobody inside needs. */
const CALLS = {
  keyctl: [250, 219],
  io_uring_setup: [425, 425],
  bpf: [321, 280],
  unshare: [272, 97],
  mount: [165, 40],
  open_by_handle_at: [304, 265],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  init_module: [175, 105],
};

const CALL_SCRIPT = `
const { dlopen } = require("node:ffi");
const { functions } = dlopen(null, { syscall: { arguments: ["i64","i64","i64","i64","i64"], return: "i64" } });
const column = process.arch === "x64" ? 0 : 1;
for (const [name, numbers] of Object.entries(JSON.parse(process.argv[1]))) {
  console.log(name, functions.syscall(BigInt(numbers[column]), 0x10000000n, 0n, 0n, 0n) < 0n ? "refused" : "DONE");
}
// TIOCSTI, which types into a terminal.
const ioctl = column === 0 ? 16n : 29n;
console.log("TIOCSTI", functions.syscall(ioctl, 0n, 0x5412n, 0n, 0n) < 0n ? "refused" : "DONE");
`;

/** Attacks from inside of a sandbox, made against every kind. */
export function attackSuite(where: string, open: OpenInside, skip: string | false): void {
  describe(`${where} gets nothing when it`, { skip, timeout: 300_000 }, () => {
    const own = { ...process.env };
    let shared: Inside;
    const onShared = (attack: (at: Inside) => Promise<void>) => () => attack(shared);
    /** For an attack that leaves things behind which the next one would stumble over. */
    const onOwn = (attack: (at: Inside) => Promise<void>) => async () => {
      await using inside = await open(SECRETS);
      await attack(inside);
    };

    before(async () => {
      Object.assign(process.env, SECRETS);
      shared = await open(SECRETS);
    });

    after(async () => {
      for (const name of VARIABLES) delete process.env[name];
      Object.assign(process.env, own);
      await shared[Symbol.asyncDispose]();
    });

    it(
      "reads well-known credentials, by the person's path and in its own home",
      onShared(async (at) => {
        for (const name of CREDENTIALS) inHome(at, name, SECRET);
        const files = CREDENTIALS.flatMap((name) => [`'${join(at.home, name)}'`, `~/'${name}'`]);
        const out = await at.sh(`cat ${files.join(" ")}; cat ${at.home}/.* ${at.home}/*`);
        assert.doesNotMatch(out, new RegExp(SECRET));
        const places = `~ ${at.home} /tmp /var /etc /run /srv /opt /mnt /media /root/.??*`;
        const found = await at.sh(`grep -rls --exclude-dir=.pyenv ${SECRET} ${places}`);
        assert.equal(found, "");
      }),
    );

    it(
      "reads variables, its own and those of other processes",
      onShared(async (at) => {
        const out = await at.sh("env; cat /proc/self/environ /proc/1/environ /proc/[0-9]*/environ");
        assert.doesNotMatch(out, new RegExp(SECRET));
      }),
    );

    it(
      "looks for Trunkline's data, its tokens and its sockets",
      onShared(async (at) => {
        writeFileSync(join(at.data, "owner-token"), SECRET);
        const socket = createServer((it) => it.end("reached")).listen(join(at.data, "holder.sock"));
        await once(socket, "listening");
        const out = await at.sh(`ls -la ${at.data}; cat ${at.data}/owner-token ${at.data}/*/*`);
        assert.doesNotMatch(out, new RegExp(`${SECRET}|owner-token$`, "m"));
        assert.match(await at.sh(connect(`"${at.data}/holder.sock"`)), /ENOENT|EACCES/);
        socket.close();
      }),
    );

    it(
      "has programs outside act for it, by sockets in the home folder, abstract ones, and ports",
      onShared(async (at) => {
        const path = join(at.home, ".docker/run/docker.sock");
        mkdirSync(dirname(path), { recursive: true });
        const servers = [path, `\0${path}`, 0].map((it) =>
          createServer((socket) => socket.end("reached")).listen(it),
        );
        await Promise.all(servers.map((server) => once(server, "listening")));
        const { port = 0 } = (servers[2]?.address() ?? {}) as Partial<AddressInfo>;
        for (const to of [`"${path}"`, `"\\0${path}"`, `${port}, "127.0.0.1"`]) {
          assert.match(await at.sh(connect(to)), /^(?:ENOENT|ECONNREFUSED|EACCES)\n$/, to);
        }
        for (const server of servers) server.close();
      }),
    );

    it(
      "sees, signals and traces processes outside",
      onShared(async (at) => {
        const out = await at.sh(
          `kill -9 ${process.pid} ${process.ppid}; cat /proc/${process.pid}/environ; ls /proc | grep -c '^[0-9]'`,
        );
        assert.ok(Number(out.trim().split("\n").at(-1)) < 8, out);
      }),
    );

    it(
      "writes what a shell, a login, git or npx runs later",
      onShared(async (at) => {
        const names = [".bashrc", ".profile", ".zshenv", ".gitconfig", ".config/git/config"];
        const folders = [
          ".local/bin",
          ".npm/_npx",
          ".cache/pre-commit",
          ".config/systemd/user",
          "bin",
        ];
        for (const name of names) inHome(at, name, "mine");
        for (const name of folders) inHome(at, join(name, "mine"), "mine");
        const all = [...names, ...folders.map((name) => join(name, "mine"))];
        const lines = all.flatMap((name) => [
          `echo evil > '${join(at.home, name)}'`,
          `mkdir -p ~/'${dirname(name)}'; echo evil > ~/'${name}'`,
          `mv '${join(at.home, dirname(name))}' '${at.home}/moved'`,
        ]);
        await at.sh(lines.join("\n"));
        for (const name of all)
          assert.equal(readFileSync(join(at.home, name), "utf8"), "mine", name);
      }),
    );

    it(
      "plants compiled code, which our own program would run at its next start",
      onShared(async (at) => {
        const path = join(at.home, ".cache/trunkline/compile/v26/0a1b2c3d");
        inHome(at, ".cache/trunkline/compile/v26/0a1b2c3d", "mine");
        const folder = dirname(dirname(path));
        const evil = join(folder, "v26/evil");
        const out = await at.sh(`
          cat '${path}' && echo READ
          mkdir -p '${dirname(path)}'; echo evil > '${path}'; echo evil > '${evil}'
          mv '${folder}' '${folder}-was'; rm -rf '${folder}'; mkdir -p '${folder}'; ln -s /tmp '${folder}'
          mkdir -p ~/.cache/trunkline/compile/v26; echo evil > ~/.cache/trunkline/compile/v26/0a1b2c3d; true`);
        assert.doesNotMatch(out, /READ/);
        assert.equal(readFileSync(path, "utf8"), "mine");
        assert.deepEqual(readdirSync(folder, { recursive: true }), ["v26", "v26/0a1b2c3d"]);
      }),
    );

    it(
      "writes to the system, and to the program that runs it",
      onShared(async (at) => {
        const paths = ["/usr/bin/x", "/usr/lib/x", "/etc/x", "/x", "/root/x", "/srv/x", "/opt/x"];
        const out = await at.sh(
          `for p in ${paths.join(" ")}; do echo x > $p && echo "WROTE $p"; done; echo x >> ${NODE} && echo WROTE`,
        );
        assert.doesNotMatch(out, /WROTE/);
        for (const path of paths) assert.ok(!existsSync(path), path);
      }),
    );

    it(
      "gains rights: capabilities, set-user-id programs, namespaces, devices",
      onShared(async (at) => {
        const status = await at.sh(
          "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
        );
        assert.match(status, /CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2/);
        const tries = [
          "unshare -U true",
          "unshare -m true",
          "mount -t tmpfs x /tmp",
          "chroot / true",
        ];
        tries.push("mknod d b 8 0", "mknod d c 1 1", "nsenter -t 1 -m true", "chown 12345 .");
        const out = await at.sh(tries.map((it) => `${it} && echo "DID ${it}"`).join("\n"));
        assert.doesNotMatch(out, /DID/);
        const devices = (await at.sh("ls /dev; ls /sys 2>/dev/null")).trim().split("\n");
        // What has begun the program: an executable that nobody reads.
        assert.doesNotMatch(await at.sh("cat /dev/launcher && echo READ"), /READ/);
        const usual =
          /^(?:console|core|fd|full|launcher|null|ptmx|pts|random|shm|std\w+|tty|urandom|zero)$/;
        assert.deepEqual(
          devices.filter((name) => !usual.test(name)),
          [],
        );
        const kernel =
          "for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/irq/default_smp_affinity";
        assert.doesNotMatch(
          await at.sh(`${kernel}; do { : >>$f; } && echo WROTE $f; done`),
          /WROTE/,
        );
      }),
    );

    it(
      "makes system calls for keys, io_uring, bpf, traces and terminals",
      onShared(async (at) => {
        const args = `'${CALL_SCRIPT}' '${JSON.stringify(CALLS)}'`;
        const out = await at.sh(`${NODE} --experimental-ffi --no-warnings -e ${args}`);
        assert.doesNotMatch(out, /DONE/);
        assert.equal(out.match(/refused/g)?.length, Object.keys(CALLS).length + 1, out);
        assert.match(await at.sh("echo x > /dev/tty && echo TYPED; true"), /^(?!.*TYPED)/s);
      }),
    );

    it(
      "finds descriptors of the machine, or a way up from its folder",
      onShared(async (at) => {
        // Those of the pipe may be gone when they are looked at.
        const files = await at.sh(
          "ls -l /proc/$$/fd 2>/dev/null | awk '{print $NF}' | grep '^/' ; true",
        );
        assert.match(files, /^(?:\/(?:dev\/null|proc\/\d+\/fd)\n)*$/);
        const names = (await at.sh(`ls -a ${dirname(at.work)}; ls -a ${dirname(dirname(at.work))}`))
          .split("\n")
          .filter((name) => /secret|token|sock|state/.test(name));
        assert.deepEqual(names, []);
      }),
    );

    it(
      "plants links to Trunkline's data where something is mounted next",
      onOwn(async (at) => {
        writeFileSync(join(at.data, "owner-token"), SECRET);
        const folders = [
          ".git/modules/2/hooks",
          ".git/hooks",
          ".git/config",
          "node_modules",
          "a/b",
        ];
        const planted = folders.map(
          (name) => `mkdir -p $(dirname ${name}); rm -rf ${name}; ln -s ${at.data} ${name}`,
        );
        await at.sh(
          ["mkdir -p .git/modules/2; echo x > .git/modules/2/HEAD", ...planted].join("\n"),
        );
        const read = folders.map((name) => `cat ${name}/owner-token; ls ${name}/`).join("\n");
        const out = await at.sh(read).catch((error: Error) => error.message);
        assert.doesNotMatch(out, new RegExp(`${SECRET}|owner-token$`, "m"));
      }),
    );

    it(
      "plants links in its own home, where toolchains are mounted next",
      onOwn(async (at) => {
        inHome(at, ".local/bin/tool", "#!/bin/sh\n");
        inHome(at, ".rustup/settings.toml", "");
        const up = "../../../../../../../oldroot";
        const names = [".local", ".cargo", ".rustup", ".nvm", "work", ".config"];
        const lines = names.flatMap((name) => [
          `mv ~/${name} ~/was-${name}; rm -rf ~/${name}`,
          `ln -s ${up}${at.data} ~/${name} || ln -s ${at.data} ~/${name}`,
        ]);
        await at.sh(lines.join("\n"));
        const before = readFileSync(join(at.home, ".local/bin/tool"), "utf8");
        const out = await at.sh(`ls -R ~/ ; pwd; echo here`);
        assert.match(out, new RegExp(`${at.work}\nhere`));
        assert.doesNotMatch(out, /owner-token|holder/);
        assert.equal(readFileSync(join(at.home, ".local/bin/tool"), "utf8"), before);
        assert.ok(!existsSync(join(at.data, "bin")) && !existsSync(join(at.data, "share")));
      }),
    );

    it(
      "has its folder replaced by a link while it runs",
      onOwn(async (at) => {
        writeFileSync(join(at.data, "owner-token"), SECRET);
        await at.sh("true");
        renameSync(at.work, `${at.work}-moved`);
        symlinkSync(at.data, at.work);
        await assert.rejects(
          at.sh("cat owner-token"),
          /Cannot use '.*' in a sandbox: it is a link/,
        );
      }),
    );

    it(
      "makes the sandbox fail, with odd files where the project's are looked at",
      onOwn(async (at) => {
        await at.sh(`
        mkdir -p .git/modules/x .git/objects .git/refs "with
newline" && echo 'ref: refs/heads/main' > .git/HEAD && echo x > .git/modules/x/HEAD
        ln -s /proc/self/status .git/modules/x/config
        mkfifo pipe .git/modules/x/hooks; ln -s loop loop; echo x > file; mkdir -p deep
        cd deep && ${NODE} -e 'for (let i = 0; i < 10000; i++) fs.writeFileSync("f" + i, "")'`);
        const out = await at
          .sh("echo in; ls ..; ls /proc | grep -c '^[0-9]'")
          .catch((it: Error) => it);
        // It is refused in words, or it runs in the sandbox; it never runs without one.
        if (out instanceof Error) assert.match(out.message, /in a sandbox|no sandbox/);
        else assert.ok(Number(out.trim().split("\n").at(-1)) < 8, out);
      }),
    );

    it(
      "fills the places that it may write to with links and takes the next command there",
      onOwn(async (at) => {
        writeFileSync(join(at.data, "owner-token"), SECRET);
        await at.sh(`rm -rf /tmp/* ~/.cache; ln -s ${at.data} /tmp/a; ln -s ${at.data} ~/.cache`);
        const out = await at.sh("cat /tmp/a/* ~/.cache/*; echo x > ~/.cache/planted; true");
        assert.doesNotMatch(out, new RegExp(SECRET));
        assert.ok(!existsSync(join(at.data, "planted")));
      }),
    );
  });
}
