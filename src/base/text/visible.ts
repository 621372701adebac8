/**
 * Only lines of ASCII, Latin letters, dashes, quotes and ellipses: the text of most messages and lists,
 * and cheap to test.
 */
const PLAIN = /^[\n\t\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027]*$/;

/** The same without lines and tabs. */
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * Text of others as a person reads it: what would not be seen is written as JSON writes it, `\u202e`.
 * So JSON stays JSON with the same meaning. Lines and tabs are kept; see `visibleLine`.
 */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : withHiddenWritten(text);
}

/** The same for text that has to stay on one line, such as a cell of a table or a name in a sentence. */
export function visibleLine(text: string): string {
  if (PRINTABLE.test(text)) return text;
  return visible(text).replaceAll(/[\r\n\t]/g, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}

/**
 * Characters that a person does not see or that change how others are seen: control characters
 * (terminal escapes begin with one), format characters (bidirectional overrides and isolates,
 * zero-width characters, tags), line separators, halves of surrogate pairs, fillers that are drawn
 * as nothing, and code points that are no characters. Emoji keep the joiners and selectors that
 * they are made of, and lines may end with CR LF.
 *
 * The pattern is made when it is needed: it costs a start 0.8 ms.
 */
function withHiddenWritten(text: string): string {
  return text.replaceAll(
    /(?![\n\t]|\r\n|(?<=\p{Extended_Pictographic})\uFE0F|(?<=[\d#*])\uFE0F(?=\u20E3)|(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu,
    escaped,
  );
}

function escaped(character: string): string {
  let units = "";
  for (let at = 0; at < character.length; at++) {
    units += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return units;
}
