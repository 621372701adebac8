/** Words of a text as a search compares them: lower case, split at case and punctuation, stemmed. */
export function wordsOf(text: string): string[] {
  return spokenWords(text).flatMap((word) => (STOP.has(word) ? [] : [stem(word)]));
}

/** The same with the words that say nothing by themselves: `look` and `up` are more than `look`. */
export function allWordsOf(text: string): string[] {
  return spokenWords(text).map((word) => (STOP.has(word) ? word : stem(word)));
}

function spokenWords(text: string): string[] {
  const spaced = text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .replaceAll(/['’]s\b|['’]/g, "")
    .replaceAll(/[_\-/.]+/g, " ")
    .replaceAll(PHRASE, (phrase) => ` ${PHRASES[phrase] ?? ""} `);
  return [...spaced.matchAll(/[\p{L}\p{N}]+/gu)]
    .map(([word]) => word)
    .filter((word) => word.length <= LONGEST);
}

/** What a word of a query asks for: nothing, or what stands for it in tools. */
export function askedBy(word: string): readonly string[] {
  const question = QUESTIONS.get(word);
  if (question !== undefined) return question;
  return STOP.has(word) ? [] : [word];
}

/** A query without what it wants to have written, and with words for names of files and the like. */
export function plainQuery(text: string): string {
  const said = text.replaceAll(/"[^"]*"|“[^”]*”/g, " ");
  return (/[\p{L}\p{N}]/u.test(said) ? said : text)
    .replaceAll(/\b[A-Z]{2,}-\d+\b/g, " issue ")
    .replaceAll(FILE_NAME, " file ")
    .replaceAll(ADDRESS, " url ");
}

/** `notes.txt` asks for a tool for files, and `example.com` for one for pages. */
const FILE_NAME =
  /(?<!\S)[\w-]+\.(?:txt|md|csv|tsv|json|xml|ya?ml|toml|pdf|docx?|xlsx?|pptx?|log|html?|[jt]sx?|py|zip)\b/gi;
const ADDRESS = /\bhttps?:\/\/\S+|(?<!\S)(?:[\w-]+\.)+(?:com|org|net|io|dev|edu)\b/gi;

const QUESTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ["which", ["list"]],
  ["what", ["get"]],
  ["who", ["get", "user"]],
  ["when", ["get", "time"]],
  ["where", ["get", "locat"]],
]);

/** Several words that mean what one does. */
const PHRASES: Readonly<Record<string, string>> = {
  "pull request": "pr",
  "pull requests": "pr",
  "merge request": "mr",
  "merge requests": "mr",
  prs: "pr",
  mrs: "mr",
  "keep me posted": "subscribe",
  "get rid of": "delete",
  "throw away": "delete",
  "put away": "archive",
  "look for": "search",
  "look up": "search",
  "looking for": "search",
  "log in": "login",
  "sign in": "login",
  "log out": "logout",
  "sign out": "logout",
  "set up": "setup",
  "turn on": "enable",
  "switch on": "enable",
  "turn off": "disable",
  "switch off": "disable",
  "how many": "count",
  "how far": "distance",
  "web page": "page",
  "web site": "site",
  "roll back": "rollback",
  "shut down": "stop",
  "take over": "assign",
  "check out": "checkout",
  "read me": "readme",
  "fill in": "fill",
  "fill out": "fill",
  "hand over": "assign",
};

const PHRASE = new RegExp(`\\b(?:${Object.keys(PHRASES).join("|")})\\b`, "g");

/** Characters; a longer text is no word. */
const LONGEST = 40;

const STOP: ReadonlySet<string> = new Set(
  (
    "a an and are as at be been but by can could did do does for from had has have her here him his how i if " +
    "in into is it its just let me my of on or our out please she should so some than that the their them " +
    "then there these they this those to too up us via want was we were what when where which who will with " +
    "would you your about any also after before called named need like given using use used only not no"
  ).split(" "),
);

/**
 * The stem of an English word, roughly: endings are cut until words of one family meet (`creates`,
 * `creating`, `created` → `creat`). What matters is that both sides are cut the same way.
 */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let cut = word;
  if (cut.endsWith("ies")) cut = `${cut.slice(0, -3)}y`;
  else if (cut.endsWith("sses") || cut.endsWith("shes") || cut.endsWith("ches"))
    cut = cut.slice(0, -2);
  else if (cut.endsWith("xes")) cut = cut.slice(0, -2);
  else if (cut.endsWith("s") && !/(?:ss|us|is)$/.test(cut)) cut = cut.slice(0, -1);
  if (WHOLE.has(cut)) return cut;
  for (const [ending, least, instead = ""] of ENDINGS) {
    if (cut.endsWith(ending) && cut.length - ending.length >= least) {
      cut = undoubled(cut.slice(0, -ending.length)) + instead;
      break;
    }
  }
  return cut.length > 3 && cut.endsWith("e") ? cut.slice(0, -1) : cut;
}

/** What would become another word: a customer is nothing custom. */
const WHOLE: ReadonlySet<string> = new Set(["customer", "setting"]);

/** Endings, how many letters must be left, and what stands in their place. */
const ENDINGS: readonly (readonly [string, number, string?])[] = [
  ["ification", 3, "ify"],
  ["scription", 2, "scrib"],
  ["ation", 4],
  ["ating", 4],
  ["ated", 4],
  ["ator", 4],
  ["ate", 4],
  ["val", 4, "v"],
  ["ency", 5],
  ["ence", 5],
  ["ment", 4],
  ["ent", 5],
  ["ing", 3],
  ["ed", 3],
  ["ion", 4],
  ["er", 4],
  ["or", 4],
  ["ly", 4],
];

/** `runn` → `run`, `stopp` → `stop`. */
function undoubled(word: string): string {
  return /([bdgmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}
