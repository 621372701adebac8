/** What programs need to run, and nothing that they have no business with, such as our keys. */
const USUAL = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP)$/,
  /^(?:LC_|XDG_)/,
  // Where a machine reaches the world through a proxy or with certificates of its own.
  /^(?:https?_proxy|no_proxy|all_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i,
];

/** The variables of our own environment that every child gets. */
export function usualVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => USUAL.some((usual) => usual.test(name))),
  );
}
