/** The words of a command line, with quotes and backslashes as shells have them; undefined if a quote is open. */
export function commandWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (char === "\\" && quote !== "'") word = (word ?? "") + (line[++at] ?? "");
    else if (quote !== "") {
      if (char === quote) quote = "";
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (!/\s/.test(char)) word = (word ?? "") + char;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return quote === "" ? words : undefined;
}
