/**
 * The variables of our environment that git, ssh and gpg need to find the user's files and agents.
 */
const PASSED = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP|DISPLAY)$/,
  /^(?:LC_|XDG_)/,
  /^(?:https?_proxy|no_proxy|all_proxy|SSL_CERT_(?:FILE|DIR))$/i,
  /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GNUPGHOME|GPG_TTY)$/,
  // Not `GIT_DIR` and the like: they may come from a hook that started us, and name another
  // repository.
  /^GIT_CONFIG_(?:NOSYSTEM|SYSTEM|GLOBAL|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)$/,
  /^GIT_(?:CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH|SSL_NO_VERIFY|SSL_CAINFO)$/,
];

/**
 * The environment that git runs in: it asks nobody, opens neither pager nor editor, and speaks plain
 * English.
 */
export function gitEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(env).filter(([name]) => PASSED.some((each) => each.test(name)));
  return {
    ...Object.fromEntries(passed),
    LC_ALL: "C",
    LANGUAGE: "",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GIT_PAGER: "cat",
    PAGER: "cat",
    GIT_EDITOR: ":",
    GIT_SEQUENCE_EDITOR: ":",
  };
}
