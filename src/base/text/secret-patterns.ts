/** A kind of secret whose text gives it away. */
interface SecretShape {
  /** For people. */
  readonly name: string;
  /** Every such secret contains one of these texts, in lower or upper case. */
  readonly marks: readonly string[];
  readonly start: string;
  readonly rest: string;
  /** Fewest characters after the start: of what is masked, and of what may not be committed. */
  readonly least: number;
  readonly real: number;
}

const LETTERS = "[A-Za-z0-9]";
const WORD = "[\\w-]";

function shape(
  name: string,
  marks: readonly string[],
  start: string,
  rest: string,
  [least, real]: readonly [number, number],
): SecretShape {
  return { name, marks, start, rest, least, real };
}

/** The one list of secrets that are known by how they begin. */
const SHAPES: readonly SecretShape[] = [
  shape("an AWS access key", ["akia", "asia"], "(?:AKIA|ASIA)", "[A-Z0-9]", [16, 16]),
  shape(
    "a GitHub token",
    ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    "gh[pousr]_",
    LETTERS,
    [20, 36],
  ),
  shape("a GitHub token", ["github_pat_"], "github_pat_", "\\w", [20, 50]),
  shape(
    "a GitLab token",
    ["glpat-", "gldt-", "glptt-", "glrt-"],
    "gl(?:pat|dt|ptt|rt)-",
    WORD,
    [16, 20],
  ),
  shape("a Bitbucket token", ["atbb"], "ATBB", LETTERS, [20, 28]),
  shape("an npm token", ["npm_"], "npm_", LETTERS, [30, 36]),
  shape("a PyPI token", ["pypi-"], "pypi-", WORD, [32, 64]),
  shape("an Anthropic key", ["sk-ant-"], "sk-ant-", WORD, [16, 32]),
  // Names of styles begin so, too; they have no digits.
  shape(
    "an OpenAI key",
    ["sk-"],
    `sk-(?=${WORD}{0,199}\\d|(?:\\w{1,64}-){0,3}\\w{32})`,
    WORD,
    [16, 40],
  ),
  shape("a Groq key", ["gsk_"], "gsk_", LETTERS, [30, 50]),
  shape("an xAI key", ["xai-"], "xai-", LETTERS, [30, 60]),
  shape("a Hugging Face token", ["hf_"], "hf_", LETTERS, [30, 34]),
  shape("a Slack token", ["xox"], "xox[abeoprs]-", "[A-Za-z0-9-]", [10, 20]),
  shape("a Slack token", ["xapp-"], "xapp-", "[A-Za-z0-9-]", [20, 40]),
  shape("a Google key", ["aiza"], "AIza", WORD, [30, 35]),
  shape("a Google token", ["ya29."], "ya29\\.", WORD, [20, 40]),
  shape("a Stripe key", ["k_live_", "k_test_"], "[sr]k_(?:live|test)_", LETTERS, [16, 24]),
  shape("the secret of a webhook", ["whsec_"], "whsec_", "[\\w+/=-]", [20, 32]),
  shape("a SendGrid key", ["sg."], `SG\\.${WORD}{16,64}\\.`, WORD, [16, 40]),
  shape("a DigitalOcean token", ["dop_v1_"], "dop_v1_", "[a-f0-9]", [32, 64]),
  shape("a Docker token", ["dckr_pat_"], "dckr_pat_", WORD, [20, 27]),
  shape("a Linear key", ["lin_api_"], "lin_api_", LETTERS, [30, 40]),
  shape("an age key", ["age-secret-key-1"], "AGE-SECRET-KEY-1", "[0-9A-Z]", [40, 58]),
  shape("a token of Trunkline", ["tlk_"], "tlk_", WORD, [20, 20]),
];

const KEY_BEGIN = "-----BEGIN (?:[A-Z0-9]+ ){0,5}PRIVATE KEY(?: BLOCK)?-----";

/** What may not be committed. Of a private key some of its text, since the first line of all is the same. */
export const COMMITTED_SECRETS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["a private key", new RegExp(`${KEY_BEGIN}[^]{0,400}`, "g")],
  ...SHAPES.map(({ name, start, rest, real }) => {
    return [name, new RegExp(`\\b${start}${rest}{${real},}\\b`, "g")] as const;
  }),
];

/** Words in the names of variables, options and fields whose values are secrets. */
const NAMES =
  "token|secret|passw(?:or)?d|passphrase|(?:api|private|access|secret)[-_]?key|credentials?";
const ANY = `(?<!(?:progress|next|page|max)[-_]?)(?i:${NAMES})`;
const CAPITALS =
  "(?:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|(?:API|PRIVATE|ACCESS|SECRET)_?KEY|CREDENTIALS?|_PASS|_PWD)";
const FLAG = `--[\\w-]{0,32}(?i:${NAMES}|auth|bearer)`;
const HEADER =
  "(?i:(?:api|auth|access|private|secret|session|security|refresh)-(?:key|token|secret))";
const SCHEME = "(?i:bearer|basic|token|apikey|digest|negotiate)";

/** Not a value but where it comes from, or what to put there: `$X`, `<key>`, `KEY`, `true`. */
const LITERAL =
  "(?![$<({[%*.…•\\\\]|(?i:true|false|null|none|undefined|string)(?!\\w)|[A-Z_]{1,64}(?![^\\s\"'`;,)}\\]&|\\\\]))";
const UNQUOTED = "[^\\s\"'`;,&|<>(){}\\\\]";
/** Letters and digits, and no call or member of something. */
const MIXED =
  "(?=[A-Za-z_~!@#%^*+/-]{0,128}\\d)(?=[\\d_~!@#%^*+/-]{0,128}[A-Za-z])[\\w~!@#%^*+/-]{8,512}(?:={1,2})?(?![\\w(.[])";

/** Text that is a secret because of what stands before it. The search tries this at each character. */
const FOLLOWING = [
  // With a capital, a digit or a sign: `basic knowledge` is none.
  `(?<=\\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC) )(?=[a-z]{20}|[A-Z]?[a-z.~+/-]{0,64}[A-Z\\d=_])[\\w.~+/=-]{8,}`,
  // A password may hold an @ of its own; the last one before the path is the host's.
  String.raw`(?<=://[^/\s:@]{0,256}:)[^/\s]+(?=@)`,
  // Also `exaApiKey` and `X-Api-Key`.
  String.raw`(?<=[?&][\w-]{0,32}(?:[Tt]oken|[Ss]ecret|[Pp]assword|[Aa]pi[_-]?[Kk]ey|API_?KEY|TOKEN)=)(?![\u2026<{/)])[^&#\s"']+`,
  `(?<=${CAPITALS}=)${LITERAL}${UNQUOTED}{4,}`,
  `(?<=${CAPITALS}=")${LITERAL}[^"\\n\\\\]{4,}(?=")`,
  `(?<=${CAPITALS}=')${LITERAL}[^'\\n\\\\]{4,}(?=')`,
  `(?<=${ANY}=["']?)${MIXED}`,
  `(?<=${FLAG}=)${LITERAL}${UNQUOTED}+`,
  `(?<=${FLAG} )(?!-)${LITERAL}(?=${UNQUOTED}{6}|${UNQUOTED}{0,5}\\d)${UNQUOTED}{4,}`,
  `(?<=${FLAG}[= ]")${LITERAL}[^"\\n\\\\]+(?=")`,
  `(?<=${FLAG}[= ]')${LITERAL}[^'\\n\\\\]+(?=')`,
  `(?<=(?<![\\w-])(?:-u|--user)[= ]?["']?[^\\s:"'$=]{1,64}:)(?!\\d{1,5}(?![^\\s"']))${LITERAL}${UNQUOTED}+`,
  `(?<=${HEADER}: ?(?:${SCHEME} )?)(?!${SCHEME} )${LITERAL}${UNQUOTED}{6,}`,
  `(?<=(?i:authorization): ?${SCHEME} )${LITERAL}[\\w.~+/=-]{6,}`,
  `(?<=(?i:authorization): ?)${MIXED}`,
  `(?<=(?i:cookie): )[\\w.-]{1,64}=[^\\s"'\`;]{6,}[^"'\`\\n]*`,
  `(?<="[\\w.-]{0,64}(?i:${NAMES})\\\\{0,3}"\\s{0,4}:\\s{0,4}\\\\{0,3}")(?![\\d.^~]+[\\\\"])${LITERAL}(?=[^"\\\\\\s\\d]{0,512}[\\d+/=!#%^*])[^"\\\\\\s]{6,}(?=\\\\{0,3}")`,
  `(?<="[\\w.-]{0,64}(?i:${NAMES})\\\\{0,3}":\\\\{0,3}")${LITERAL}[^"\\\\]{4,}(?=\\\\{0,3}")`,
];

/** All text that has the shape of a secret, or follows what says that it is one. */
export const SECRET_TEXT = new RegExp(
  [
    `${KEY_BEGIN}[\\s\\S]*?(?:-----END (?:[A-Z0-9]+ ){0,5}PRIVATE KEY(?: BLOCK)?-----|$)`,
    `\\b(?:${SHAPES.map(({ start, rest, least }) => `${start}${rest}{${least},}`).join("|")})`,
    // Only from the start of a word: else each `ey` in a long word would be a start.
    `(?<!${WORD})ey${WORD}{10,}\\.ey${WORD}{10,}\\.${WORD}*`,
    // One look at the character before spares most places the rest.
    `(?<=[ =:"'])(?:${FOLLOWING.join("|")})`,
  ].join("|"),
  "g",
);

/** Names of fields whose values are secrets. */
export const SECRET_FIELD = new RegExp(
  `${NAMES}|cookie|authorization(?!\\w)|^(?:pin|bearer|auth)$`,
  "i",
);

/**
 * Each text in which the search above finds something has one of these in it. To look for them costs far
 * less than that search.
 */
const MARKS = [
  ...new Set(SHAPES.flatMap(({ marks }) => marks.map((mark) => RegExp.escape(mark)))),
  ...[NAMES, "private key", "\\.ey", "(?:bearer|basic) ", "://", "_pass=", "_pwd=", "--\\w*auth"],
  ...["(?:auth|session|security|refresh)-(?:key|token|secret)", "authorization:", "cookie: "],
  ...["-u[ =]?\\S", "--user"],
];
export const SECRET_MARK = new RegExp(MARKS.join("|"), "i");
