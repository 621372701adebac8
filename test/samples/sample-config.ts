/** Chance, as far as a text is made of it. */
interface Chance {
  below(end: number): number;
  once(times: number): boolean;
  pick<T>(values: readonly T[]): T;
}

const SECTIONS = [
  "[user]",
  "[USER]",
  "[core]",
  "[Core] ; of old",
  "[commit]",
  "[gpg]",
  '[gpg "ssh"]',
  '[remote "origin"]',
  '[remote "up.stream"]',
  '[remote "we\\"ird\\\\"]',
  '[remote   "spaced"]',
  "[branch.Dotted]",
  '[url "git@host:"]',
  "[alias]",
  "[user] # x",
  "[core] [user]",
  "[user] name = Same Line",
];

const LINES = [
  "\tname = Ada Lovelace",
  "name=Ada",
  "\temail = ada@example.com # at home",
  "    Email    =   spaced@example.com   ",
  '\tname = "Quoted # not a comment" ; but this',
  "\tname = two\\\n  lines",
  '\tname = "tab\\tand \\"quotes\\" \\\\"',
  "\tsshCommand = ssh -i ~/.ssh/other",
  "\tsigningKey = ABCDEF",
  "\tgpgsign",
  "\tgpgSign = yes",
  "\tbare = false",
  "\turl = https://github.com/acme/app.git",
  "\turl = git@github.com:acme/app.git",
  "\turl = ssh://git@github.com:22/acme/app.git",
  "\tpushurl = git@github.com:acme/push.git",
  "\tfetch = +refs/heads/*:refs/remotes/origin/*",
  "\tinsteadOf = gh:",
  "\tx-y-1 = ",
  "\tempty =",
  "\tname = Zo\u00c3\u00ab \u00ff",
  "# a comment",
  "; another [user]",
  "",
  "   ",
  '\tco = !f() { echo \\"x\\"; }; f',
];

/**
 * A configuration file of git's as people write them, every byte a character: comments, continued
 * lines, quotes, odd sections, any kind of line end, with a mark at the start or without an end.
 */
export function sampleConfig(chance: Chance): Buffer {
  const lines = [
    ...(chance.once(20) ? ["stray = 1"] : []),
    "[core]",
    "\trepositoryformatversion = 0",
  ];
  for (let left = chance.below(6); left > 0; left--) {
    lines.push(chance.pick(SECTIONS));
    for (let more = chance.below(5); more > 0; more--) lines.push(chance.pick(LINES));
  }
  const eol = chance.once(4) ? "\r\n" : "\n";
  let text = lines.join("\n").replaceAll("\n", () => (chance.once(40) ? "\n" : eol));
  if (!chance.once(3)) text += eol;
  if (chance.once(8)) text = `\u00ef\u00bb\u00bf${text}`;
  return Buffer.from(text, "latin1");
}
