/** Replaces a bench's output in a document. Throws if the document has no block for it. */
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
