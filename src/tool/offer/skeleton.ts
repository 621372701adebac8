/**
 * Letters of other scripts, and symbols, that look like Latin ones in usual fonts. Capitals stand
 * beside the small letter that they are told apart from by their case alone. What Unicode itself
 * calls the same letter (full width, mathematical, with accents) need not be here: NFKD knows it.
 */
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  a: "аɑαᴀᎪАΑ",
  b: "ьƄƅʙВвΒβᏴ",
  c: "сϲᴄСϹᏟ",
  d: "ԁđᴅԀᎠᏧ",
  e: "еҽεєᴇ℮ЕΕᎬ",
  f: "ƒքꞙ",
  g: "ɡցɢԌᏀᏻ",
  h: "һհħнНʜΗᎻ",
  i: "іɩıɪιІΙᎥᏆ",
  j: "јϳյȷᴊЈᎫ",
  k: "кκᴋКΚᏦ",
  l: "ӏӀǀłꞁʟ∣ןᏞ",
  m: "мᴍМΜᎷ",
  n: "пոɴηΝ",
  o: "оοσօøᴏОΟՕסه",
  p: "рρᴘРΡᏢ",
  q: "ԛզԚ",
  r: "гʀᎡᏒ",
  s: "ѕꜱЅՏᏚ",
  t: "тτŧᴛТΤᎢ",
  u: "սυᴜՍ",
  v: "ѵνʋᴠѴᏙ",
  w: "ѡԝωաᴡԜᎳ",
  x: "хχХΧ",
  y: "уүγʏУҮΥᎩ",
  z: "ᴢΖᏃ",
  "3": "зЗ",
  "-": "‐‑‒–—−",
  "/": "∕⁄",
};

/** Made with the first name that needs it. */
let letters: ReadonlyMap<string, string> | undefined;

const IS_ASCII = /^[\x20-\x7e]*$/;

/**
 * The look of a name: two names with the same skeleton look alike
 * (Unicode Technical Standard #39, "Confusable Detection", with a small table of our own).
 */
export function skeleton(name: string): string {
  return (IS_ASCII.test(name) ? name : inLatin(name))
    .toLowerCase()
    .replaceAll(/[i1|!]/g, "l")
    .replaceAll("0", "o")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");
}

function inLatin(name: string): string {
  // Accents and invisible characters do not distinguish names.
  const bare = name
    .normalize("NFKD")
    .replaceAll(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "");
  const known = (letters ??= new Map(
    Object.entries(LOOKS_LIKE).flatMap(([letter, others]) =>
      Array.from(others, (other) => [other, letter] as const),
    ),
  ));
  return Array.from(bare, (character) => known.get(character) ?? character).join("");
}
