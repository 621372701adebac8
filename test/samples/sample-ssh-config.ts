/** Chance, as far as a text is made of it. */
interface Chance {
  below(end: number): number;
  once(times: number): boolean;
  pick<T>(values: readonly T[]): T;
}

const LINES = [
  "Host *",
  "Host github.com gitlab.com",
  "Host gh-other\n  HostName github.com\n  IdentityFile ~/.ssh/other",
  "Match host *.corp user git\n    ProxyJump bastion",
  "Match all",
  "  User git",
  "IdentitiesOnly yes",
  "\tServerAliveInterval=30",
  '  IdentityFile "~/.ssh/with space"',
  "# a comment",
  "   # Zo\u00c3\u00ab, indented",
  "",
  "  \t ",
  "CanonicalizeHostname no",
  "Include ~/.ssh/none/*",
];

/** A configuration of ssh as people write them, every byte a character, in any kind of line end. */
export function sampleSshConfig(chance: Chance): Buffer {
  const lines = Array.from({ length: chance.below(9) }, () => chance.pick(LINES));
  const eol = chance.once(5) ? "\r\n" : "\n";
  const text = lines.join("\n").replaceAll("\n", eol);
  return Buffer.from(chance.once(3) || text === "" ? text : text + eol, "latin1");
}
