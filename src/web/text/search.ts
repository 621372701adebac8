/** The words of rows in lower case, made once for each row. */
const texts = new WeakMap<object, string>();

/** Tells whether a row has all words of a search, in any order. */
export function matcher<T extends object>(
  search: string,
  wordsOf: (row: T) => string,
): (row: T) => boolean {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return () => true;
  return (row) => {
    let text = texts.get(row);
    if (text === undefined) {
      text = wordsOf(row).toLowerCase();
      texts.set(row, text);
    }
    return words.every((word) => text.includes(word));
  };
}
