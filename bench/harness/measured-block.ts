/** Puts a bench's output where a document shows it. Throws when the document does not. */
export function fillMeasured(document: string, bench: string, output: string): string {
  const [begin, end] = [`<!-- measured: ${bench} -->\n`, "<!-- /measured -->"];
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from < 0 || to < 0) {
    throw new Error(`The document shows no '${bench}': it has no block ${begin.trim()} … ${end}`);
  }
  const block = `${begin}\n\`\`\`text\n${output}\n\`\`\`\n\n`;
  return document.slice(0, from) + block + document.slice(to);
}
